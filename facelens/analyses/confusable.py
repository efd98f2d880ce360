"""Confusable people: who is taken for whom.

Computes    for every two people the pairs of their faces at or above a threshold, and the highest score between them
Shapes      Scores in; people by most false matches, then by the highest score
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from facelens.analyses.scores import Scores

LIMIT = 100  # pairs of people in the table
CHUNK = 1 << 16  # pairs looked through at once for people who are not known yet


@dataclass(frozen=True)
class Confusable:
    """Two people whose pictures look alike to the model."""

    first: int  # identity code
    second: int
    best: float  # highest score between them
    pair: tuple[int, int]  # ids behind it
    false_matches: int  # pairs at or above the threshold of the table
    pairs: int  # pairs compared (kept ones)


def confusable(scores: Scores, *, threshold: float, limit: int = LIMIT) -> tuple[Confusable, ...]:
    """People taken for one another: most false matches at `threshold` first, then the highest score.

    Only pairs that are kept are looked at, so where others are only counted `pairs` does not have them.
    """
    one, other = scores.identity[scores.first], scores.identity[scores.second]
    places = np.flatnonzero(~scores.genuine & (one >= 0) & (other >= 0) & (one != other))
    if not len(places):
        return ()
    one, other = one[places].astype(np.int64), other[places].astype(np.int64)
    people = int(max(one.max(), other.max())) + 1
    both = np.minimum(one, other) * people + np.maximum(one, other)
    # Scores descend, so matches stand in front, the first of two people is their best, and a smaller place is a better
    # one. Sorting all pairs by people would take seconds where there are millions.
    stop = int(np.searchsorted(places, scores.above(threshold)))
    names, best, matches = np.unique(both[:stop], return_index=True, return_counts=True)
    order = np.lexsort((best, -matches))[:limit]
    names, best, matches = names[order], best[order], matches[order]
    while len(names) < limit and stop < len(both):
        part = both[stop : stop + CHUNK]
        further, first = np.unique(part, return_index=True)
        new = np.flatnonzero(~np.isin(further, names))
        new = new[np.argsort(first[new])][: limit - len(names)]
        names, best = np.concatenate([names, further[new]]), np.concatenate([best, first[new] + stop])
        matches = np.concatenate([matches, np.zeros(len(new), np.int64)])
        stop += len(part)
    by_name = np.argsort(names)
    at = np.minimum(np.searchsorted(names[by_name], both), len(names) - 1)
    known = names[by_name][at] == both
    counts = np.zeros(len(names), np.int64)
    counts[by_name] = np.bincount(at[known], minlength=len(names))
    made = []
    for n in range(len(names)):
        place = int(places[best[n]])
        a, b = int(scores.first[place]), int(scores.second[place])
        if scores.identity[a] > scores.identity[b]:
            a, b = b, a
        made.append(
            Confusable(
                first=int(scores.identity[a]),
                second=int(scores.identity[b]),
                best=float(scores.score[place]),
                pair=(int(scores.ids[a]), int(scores.ids[b])),
                false_matches=int(matches[n]),
                pairs=int(counts[n]),
            )
        )
    return tuple(made)
