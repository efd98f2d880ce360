"""History: what was done by hand, step by step, to go back and forth in.

A step keeps the undoable values of the workspace before and after, nothing else; answers are asked for anew. A plan is
kept field by field, so what has changed beside it since (a model that was renamed) stays as it is. To make a new field
of the workspace undoable, give it a row in UNDOABLE.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from facelens.analyses.plan import ALL_PAIRS, CURRENT, OWN, PLAIN_SUM
from facelens.session import filters, looks
from facelens.session.annotations import joined
from facelens.session.mark_columns import called
from facelens.session.selection import Mode
from facelens.words import escaped, number, plural, tr

if TYPE_CHECKING:
    from facelens.images.faceset import FaceSet
    from facelens.session.annotations import Annotations
    from facelens.session.identities import IdentityEdits
    from facelens.session.subsets import Subsets
    from facelens.session.workspace import Workspace

Key = tuple[str, str]  # a field of the workspace and, where that is a plan, the plan's field, else ""
Move = tuple[Any, Any]  # from, to

MOST = 500  # steps
MOST_BYTES = 1 << 28  # of faces in all steps; a selection of a million takes 8 MB
PAUSE = 0.7  # s; changes of one thing that follow faster are one step
TYPING = 3.0  # s; the same for what is typed into one place of a text
BLINK = 0.1  # s; no hand does two things as fast


@dataclass(frozen=True, eq=False)
class Step:
    """What one act of the user has changed; `lead` is what it was about."""

    label: str
    lead: Key
    moves: Mapping[Key, Move]

    @property
    def place(self) -> str:
        """The title of the panel it belongs to."""
        return looks.ABOUT[self.lead[1]][0] if self.lead[0] == "looks" else UNDOABLE[self.lead[0]].place

    @property
    def size(self) -> int:
        """Bytes of the faces in it, about."""
        return sum(_bytes(new) for _, new in self.moves.values())


@dataclass(frozen=True, eq=False)
class History:
    """The steps, and how many of them are done: those behind were undone."""

    steps: tuple[Step, ...] = ()
    done: int = 0
    open: bool = False  # whether the newest step may grow

    @property
    def undo(self) -> str:
        """What would be undone, "" for nothing."""
        return self.steps[self.done - 1].label if self.done else ""

    @property
    def redo(self) -> str:
        """What would be done again, "" for nothing."""
        return self.steps[self.done].label if self.done < len(self.steps) else ""

    def noted(
        self, before: Workspace, after: Workspace, changed: Iterable[str], *, since: float, held: bool = False
    ) -> History:
        """With what was done just now: a step of its own, or more of the last one where the hand has not paused.

        `since` are the seconds that have passed since the last one; `held` says that no mouse button was let go since.
        """
        moves = moves_of(before, after, changed)
        if not moves:
            return self
        lead, kept = _lead(moves), self.steps[: self.done]
        last = kept[-1] if kept and self.open and kept[-1].lead == lead else None
        if last is not None and (held or _goes_on(lead, last.moves[lead], moves[lead], since)):
            moves = _joined(last.moves, moves)
            kept = kept[:-1]
        if lead in moves:
            kept = _bounded((*kept, Step(_label(before, lead, moves), lead, moves)))
        return History(kept, len(kept), lead in moves)

    def followed(self, before: Workspace, after: Workspace, changed: Iterable[str]) -> History:
        """With what followed by itself from the step that was noted last."""
        moves = moves_of(before, after, changed)
        if not moves or not self.open:
            return self
        last = self.steps[-1]
        return replace(self, steps=(*self.steps[:-1], replace(last, moves=_joined(last.moves, moves))))

    def at(self, done: int) -> History:
        """With that many steps done."""
        return History(self.steps, min(max(done, 0), len(self.steps)))

    def towards(self, workspace: Workspace, done: int) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Fields of the workspace as they were when that many steps were done, and words for what fits no more."""
        done = self.at(done).done
        back, forth = self.steps[done : self.done][::-1], self.steps[self.done : done]
        ways = [{key: (new, old) for key, (old, new) in step.moves.items()} for step in back]
        values: dict[str, Any] = {}
        gone: dict[str, None] = {}
        for moves in (*ways, *(step.moves for step in forth)):
            for (name, part), (origin, target) in moves.items():
                now = values.get(name, getattr(workspace, name))
                if part and not hasattr(now, part):
                    continue
                row = UNDOABLE[name]
                if word := row.misfit(replace(workspace, **values), part, target):
                    gone[word] = None
                elif part:
                    values[name] = replace(now, **{part: target})
                else:
                    values[name] = row.moved(now, origin, target)
        return values, tuple(gone)


def _goes_on(lead: Key, last: Move, move: Move, since: float) -> bool:
    if lead in TYPED:
        return since <= TYPING and _in_one_place(last, move)
    return since <= (BLINK if UNDOABLE[lead[0]].apart(*move) else PAUSE)


def _in_one_place(first: Move, then: Move) -> bool:
    """Whether lines of a text were changed again that were changed before.

    >>> _in_one_place(("a", "a\\nb = 1"), ("a\\nb = 1", "a\\nb = 12")), _in_one_place(("a", "b"), ("b", "b\\nc"))
    (True, False)
    """
    (_, _), (start, end) = _lines(*first)
    (at, to), _ = _lines(*then)
    return start <= at < to <= end


def _lines(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Which lines differ, before and after."""
    was, now = old.splitlines(), new.splitlines()
    shorter = min(len(was), len(now))
    head = next((i for i in range(shorter) if was[i] != now[i]), shorter)
    tail = next((i for i in range(shorter - head) if was[-1 - i] != now[-1 - i]), shorter - head)
    return (head, len(was) - tail), (head, len(now) - tail)


def same(old: object, new: object) -> bool:
    """Whether two values of a field are equal."""
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return old is new or (type(old) is type(new) and np.array_equal(old, new))  # type: ignore[arg-type]
    return old is new or bool(old == new)


def moves_of(before: Workspace, after: Workspace, changed: Iterable[str]) -> dict[Key, Move]:
    """What differs of the undoable fields, in the order of UNDOABLE."""
    names, found = frozenset(changed), {}
    for name, row in UNDOABLE.items():
        if name not in names:
            continue
        old, new = getattr(before, name), getattr(after, name)
        if row.whole or not (is_dataclass(old) and type(old) is type(new)):
            found[name, ""] = (old, new)
            continue
        for part in fields(old):
            one, other = getattr(old, part.name), getattr(new, part.name)
            if not same(one, other):
                found[name, part.name] = (one, other)
    return found


def _joined(first: Mapping[Key, Move], then: Mapping[Key, Move]) -> dict[Key, Move]:
    """Both one after the other; what comes back to where it was is no move."""
    both = {**first, **{key: (first[key][0] if key in first else old, new) for key, (old, new) in then.items()}}
    return {key: move for key, move in both.items() if not same(*move)}


def _bounded(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    steps = steps[-MOST:]
    room, first = MOST_BYTES, len(steps)
    while first and (first == len(steps) or room >= steps[first - 1].size):
        first -= 1
        room -= steps[first].size
    return steps[first:]


def _bytes(value: object) -> int:
    found = getattr(value, "nbytes", None) or getattr(getattr(value, "ids", value), "nbytes", 0)
    return found if isinstance(found, int) else 0


def _lead(moves: Mapping[Key, Move]) -> Key:
    """The first move, but naming what went without saying (a model that was taken anyway) only where it is all."""
    named = [key for key, (old, _) in moves.items() if not (key[1] and _unset(old))]
    named += [key for key in moves if key[1] != "model"]
    return named[0] if named else next(iter(moves))


def _label(before: Workspace, lead: Key, moves: Mapping[Key, Move]) -> str:
    name, part = lead
    said = UNDOABLE[name].say(before, part, *moves[lead])
    if UNDOABLE[name].alone:
        return said
    beside = [key for key, (old, _) in moves.items() if key[0] == name and key != lead and not _unset(old)]
    return tr("{step} and {n} more", step=said, n=len(beside)) if beside and part else said


# What steps are called


WORDS = {
    "alone": "no other model",
    "breakdown": "breakdown",
    "by": "refusing by",
    "copies": "copies",
    "cut": "kind of slices",
    "detector_score": "detector scores",
    "direction": "direction",
    "emptied": "emptied templates",
    "empty_templates": "empty templates",
    "far": "FAR",
    "fars": "FARs",
    "files": "transform files",
    "fitted_on": "fitted on",
    "flip": "mirror images",
    "fpir": "FPIR",
    "fpirs": "FPIRs",
    "junk": "same camera left out",
    "keep_norm": "norms kept",
    "layer": "patch layer",
    "lower": "low values first",
    "match": "matching",
    "method": "method",
    "min_dist": "least distance",
    "mode": "common space",
    "nmi_mean": "clustering",
    "new": "new model",
    "old": "old model",
    "open_rule": "open-set rule",
    "order": "order of the backfill",
    "other": "second model",
    "others": "further models",
    "protocol": "test",
    "r_mode": "rule of R",
    "refuse": "1:1 leaves out",
    "right": "recognised",
    "share": "share re-embedded",
    "show": "value shown",
    "target": "query model",
    "unit": "slices of length 1",
    "upper": "upper bound",
    "weights": "weighting",
}


# What a value of a plan is called on the screen, where it is kept under another word.
VALUES: Mapping[str, Mapping[object, str]] = {
    "cut": {"order": "as they lie", "rotation": "after a learned rotation"},
    "emptied": {"keep": "keeps the surest one", "unenrol": "is un-enrolled"},
    "match": {"weighted": "confidence-weighted", "likelihood": "mutual likelihood"},
    "method": {"pca": "PCA", "umap": "UMAP", "tsne": "t-SNE", "procrustes": "Procrustes", "rbt": "RBT"},
    "mode": {"m2m": "M2M", "unified": "Unified"},
    "nmi_mean": {"": "none", "arithmetic": "NMI, arithmetic", "geometric": "NMI, geometric"},
    "open_rule": {"nist": "NIST", "roc": "ROC", "mixbct": "MixBCT", "pfe": "PFE"},
    "part": {None: "all parts", CURRENT: "the current one"},
    "queries": {"target": "the query model", "ensemble": "the ensemble itself"},
    "r_mode": {"exclude_self": "the others", "paper": "the query too"},
    "refuse": {"both": "pairs with a refused picture", "gallery": "refused gallery pictures"},
    "right": {"pairs": "by most of its pairs", "nearest": "by the nearest face"},
    "rule": {"nist": "NIST", "roc": "ROC", "pfe": "PFE"},
    "solver": {"sinkhorn": "Sinkhorn"},
    "weights": {
        "apc": "APC", "sc distance": "SC", "sc similarity": "SC sim", "cc": "CC", "lmk": "LMK",
        "equal": "the same", "inverse": "1 / variance", "exponential": "exp(−variance / mean)",
    },
}  # fmt: skip


def _unset(value: object) -> bool:
    return value is None or value == "" or value == ()


def _value(value: object) -> str:
    """A value of a control in few words."""
    if isinstance(value, bool):
        return tr("on") if value else tr("off")
    if _unset(value):
        return tr("usual")
    if isinstance(value, float):
        if 0 < abs(value) < 0.01:
            return f"{value:.0e}".replace("e-0", "e-")
        text = number(value)
        return text.removesuffix("0")
    if isinstance(value, tuple):
        if all(isinstance(one, int) for one in value):
            return " × ".join(map(str, value))
        return escaped(str(value[0])) if len(value) == 1 else f"{len(value):,}"
    return f"{value:,}" if isinstance(value, int) else escaped(str(value))


def _changed(word: str, old: object, new: object) -> str:
    if _unset(old):
        return tr("{word} {new}", word=word, new=_value(new))
    return tr("{word} {old} → {new}", word=word, old=_value(old), new=_value(new))


def _of_plan(before: Workspace, part: str, old: Any, new: Any) -> str:
    if part == "alpha" and PLAIN_SUM in (old, new):
        old, new = (tr("sum") if alpha == PLAIN_SUM else _value(alpha) for alpha in (old, new))
    elif part == "far":
        old, new = (f"{rate:.0e}".replace("e-0", "e-") for rate in (old, new))
    elif part == "fpir":
        old, new = (f"{100 * rate:g} %" for rate in (old, new))
    elif part == "part":
        old, new = (value if value in VALUES[part] else value + 1 for value in (old, new))
    if part in VALUES:
        said = VALUES[part]
        old, new = (tr(said[one]) if isinstance(one, Hashable) and one in said else one for one in (old, new))
    return _changed(tr(WORDS.get(part, part.replace("_", " "))), old, new)


def _called(word: str) -> Callable[..., str]:
    return lambda before, part, old, new: _changed(tr(word), old, new)


def _who(faces: FaceSet | None, face: int) -> str:
    row = faces.row_of(face) if faces is not None else None
    if faces is None or row is None:
        return tr("a face")
    code = int(faces.identity.codes[row])
    return _shown(faces.identity.names[code]) if code >= 0 else faces.file_name(row)


def _shown(identity: str) -> str:
    return escaped(identity).replace("_", " ")


def _of_selection(before: Workspace, part: str, old: Any, new: Any) -> str:
    if not np.array_equal(old.ids, new.ids):
        if not len(new):
            return tr("clear selection")
        who = _who(before.faces, int(new.ids[0])) if len(new) == 1 else plural(len(new), "{n} face", "{n} faces")
        return tr("selection of {faces}", faces=who)
    if new.pair != old.pair and new.pair is not None:
        first, second = (_who(before.faces, face) for face in new.pair)
        return tr("pair of {first} and {second}", first=first, second=second)
    if new.current is None:
        return tr("look at nobody")
    return tr("look at {face}", face=_who(before.faces, new.current))


def _of_excluded(before: Workspace, part: str, old: Any, new: Any) -> str:
    out = len(np.setdiff1d(new, old))
    if out:
        return plural(out, "exclusion of {n} face", "exclusion of {n} faces")
    return plural(len(np.setdiff1d(old, new)), "return of {n} face", "return of {n} faces")


def _of_annotations(before: Workspace, part: str, old: Annotations, new: Annotations) -> str:
    """What was said about which faces; of several things at once only that."""
    told = [*_of_levels(old, new), *_of_tags(old, new)]
    noted = [face for face in {**old.notes, **new.notes} if old.notes.get(face) != new.notes.get(face)]
    if noted:
        there = any(face in new.notes for face in noted)
        who = _who(before.faces, noted[0]) if len(noted) == 1 else _faces(len(noted))
        told.append(tr("note on {faces}", faces=who) if there else tr("no note on {faces}", faces=who))
    return told[0] if len(told) == 1 else tr("marks")


def _of_levels(old: Annotations, new: Annotations) -> list[str]:
    told = []
    for kind in ("flags", "ratings"):
        levels = getattr(new, kind).since(getattr(old, kind))
        for level in np.unique(levels).tolist():
            faces = _faces(int((levels == level).sum()))
            if kind == "ratings":
                told.append(
                    tr("rating {n} of {faces}", n=level, faces=faces)
                    if level
                    else tr("no rating of {faces}", faces=faces)
                )
            else:
                said = {1: "flag of {faces}", -1: "rejection of {faces}", 0: "no flag on {faces}"}
                told.append(tr(said[level], faces=faces))
    return told


def _of_tags(old: Annotations, new: Annotations) -> list[str]:
    told = []
    gone, come = (sorted(one.tags.keys() - other.tags.keys()) for one, other in ((old, new), (new, old)))
    if len(gone) == len(come) == 1 and np.array_equal(old.tags[gone[0]], new.tags[come[0]]):
        return [tr("tag {old} → {new}", old=escaped(gone[0]), new=escaped(come[0]))]
    for name in dict.fromkeys((*new.tags, *old.tags)):
        was, now = (one.tags.get(name, np.zeros(0, np.int64)) for one in (old, new))
        if was is now:
            continue
        on, off = len(joined(now, was, Mode.REMOVE)), len(joined(was, now, Mode.REMOVE))
        if on:
            told.append(tr("tag {tag} on {faces}", tag=escaped(name), faces=_faces(on)))
        if off:
            told.append(tr("tag {tag} off {faces}", tag=escaped(name), faces=_faces(off)))
    return told


def _faces(n: int) -> str:
    return plural(n, "{n} face", "{n} faces")


def _of_subsets(before: Workspace, part: str, old: Subsets, new: Subsets) -> str:
    gone, come = [name for name in old if name not in new], [name for name in new if name not in old]
    if len(gone) == len(come) == 1:
        return tr("subset {old} → {new}", old=escaped(gone[0]), new=escaped(come[0]))
    if come:
        return tr("subset {name}", name=escaped(come[-1]))
    if gone:
        return tr("no subset {name}", name=escaped(gone[0]))
    return next((tr("subset {name}", name=escaped(one)) for one in new if new[one] is not old[one]), tr("subsets"))


def _of_identities(before: Workspace, part: str, old: IdentityEdits, new: IdentityEdits) -> str:
    """Who was said to be who; of several people at once only how many faces."""
    from facelens.session.identities import changes

    if before.faces is None:
        return tr("identities")
    ids, was, now = changes(before.faces, old, new)
    faces = _faces(len(ids))
    if not len(new.among(ids)):
        return tr("original identity of {faces}", faces=faces)
    if len(now.names) + bool((now.codes < 0).any()) > 1:
        return tr("identities of {faces}", faces=faces)
    if not now.names:
        return tr("no identity on {faces}", faces=faces)
    name, rows = _shown(now.names[0]), before.faces.rows_of(ids)
    everybody = int((before.faces.identity.codes == before.faces.identity.codes[rows[0]]).sum())
    if len(was.names) == 1 and bool((was.codes == 0).all()) and everybody == len(ids) > 1:
        return tr("identity {old} → {new} on {faces}", old=_shown(was.names[0]), new=name, faces=faces)
    return tr("identity {name} on {faces}", name=name, faces=faces)


def _of_arrangement(before: Workspace, part: str, old: Any, new: Any) -> str:
    if part == "descending":
        return tr("sort descending") if new else tr("sort ascending")
    clear = {"filter": tr("clear filter"), "sort": tr("clear sorting"), "group": tr("clear grouping")}
    said = {"filter": "filter {value}", "sort": "sort by {value}", "group": "group by {value}"}
    return tr(said[part], value=escaped(new)) if new else clear[part]


def _of_operating(before: Workspace, part: str, old: Any, new: Any) -> str:
    if new.threshold is not None:
        return tr("threshold {value}", value=number(new.threshold))
    return tr("operating point FAR {value}", value=_value(new.far))


def _of_refusal(before: Workspace, part: str, old: int, new: int) -> str:
    risk = before.uncertainty.verification if before.uncertainty is not None else None
    if risk is None or max(old, new) >= len(risk.coverage):
        return tr("refusal line")
    shares = (number(100 * (1 - float(risk.coverage[step])), 1) for step in (old, new))
    return tr("refusal line {old} % → {new} %", **dict(zip(("old", "new"), shares, strict=True)))


def _of_occlusion(before: Workspace, part: str, old: Any, new: Any) -> str:
    from facelens.images.occlusion import title

    if new is None:
        return tr("clear occlusion")
    if new.kind == "brush":
        return tr("brush stroke")
    if old is None or old.kind != new.kind:
        return tr("occlusion {kind}", kind=title(new.kind).lower())
    return _changed(tr("strength"), old.strength, new.strength) if old.strength != new.strength else tr("occlusion")


def _of_query(before: Workspace, part: str, old: Any, new: Any) -> str:
    return tr("query {face}", face=_who(before.query_faces, new)) if new is not None else tr("clear query")


def _of_queries(before: Workspace, part: str, old: FaceSet | None, new: FaceSet | None) -> str:
    return tr("query set {name}", name=escaped(new.name)) if new is not None else tr("query set of this gallery")


def _of_slot(slot: str) -> Callable[..., str]:
    def say(before: Workspace, part: str, old: str, new: str) -> str:
        other = before.model_b if slot == "A" else before.model_a
        if old and new and new == other:
            return tr("swap of A and B")
        return _changed(tr("model {slot}", slot=slot), old, new)

    return say


def _of_part(before: Workspace, part: str, old: int, new: int) -> str:
    return tr("part {old} → {new}", old=old + 1, new=new + 1)


def _of_left_out(before: Workspace, part: str, old: tuple[int, ...], new: tuple[int, ...]) -> str:
    differing = sorted(set(old) ^ set(new))
    if len(differing) == 1:
        n = differing[0] + 1
        return tr("part {n} left out", n=n) if len(new) > len(old) else tr("part {n} votes again", n=n)
    return plural(len(new), "{n} part left out", "{n} parts left out") if new else tr("all parts vote")


def _of_crossing(before: Workspace, part: str, old: str, new: str) -> str:
    words = {"ab": tr("queries of A in B"), "ba": tr("queries of B in A")}
    return words.get(new, tr("each model by itself"))


def _of_looks(before: Workspace, part: str, old: Any, new: Any) -> str:
    return _changed(tr(looks.ABOUT[part][1]), *(looks.said(part, value) for value in (old, new)))


def _of_draft(before: Workspace, part: str, old: Any, new: Any) -> str:
    from facelens.session.draft import SOURCES, Draft, told

    if part == "text":
        return _changed(*told(old, new)) if any(told(old, new)[1:]) else told(old, new)[0]
    if part == "source":
        return _changed(tr("faces"), tr(SOURCES[old]), tr(SOURCES[new]))
    if part == "out":
        return _changed(tr("folder"), old.name, new.name)
    name = new.title if isinstance(new, Draft) else Path(str(new)).name.removesuffix(".toml")
    return tr("recipe {name}", name=escaped(name))


# What fits no more


def _misfit(workspace: Workspace, part: str, value: Any) -> str:
    """A model, column or test that a plan asks for and that is gone; "" where all is there."""
    faces = workspace.faces
    if part in ("model", "baseline", "target", "members", "old", "new", "upper", "other", "others"):
        named = (value,) if isinstance(value, str) else value
        return next((name for name in named if name and name not in workspace.model_names), "")
    if part in ("breakdown", "by", "traffic") and value and value not in OWN:
        return value if faces is None or value not in faces.columns else ""
    if part in ("sort", "group") and value:
        known = faces.sortable if faces is not None else ()
        return "" if value in known or (faces is not None and value in called(faces).values()) else value
    if part == "filter" and value and faces is not None:
        try:
            filters.parse(value).rows(workspace.marked_faces or faces)
        except filters.FilterError:
            return str(value)
    if part == "protocol" and value != ALL_PAIRS:
        return value if workspace.protocol is None or workspace.protocol.name != value else ""
    return ""


def _misfit_model(workspace: Workspace, part: str, value: str) -> str:
    return _misfit(workspace, "model", value)


def _misfit_face(workspace: Workspace, part: str, value: int | None) -> str:
    home = workspace.query_faces
    known = value is None or (home is not None and home.row_of(value) is not None)
    return "" if known else tr("the query")


# How a value goes back


def _taken(now: Any, origin: Any, target: Any) -> Any:
    return target


def _without_the_rest(now: Any, origin: Any, target: Any) -> Any:
    """Faces in and out as in the step; what the doctor left out meanwhile stays out."""
    return np.union1d(np.setdiff1d(now, np.setdiff1d(origin, target)), np.setdiff1d(target, origin))


# Which changes are steps of their own however fast they come


def _never(old: Any, new: Any) -> bool:
    return False


def _always(old: Any, new: Any) -> bool:
    return True


def _of_many(old: Any, new: Any) -> bool:
    """Walking from face to face is one step; putting faces to a selection is one each."""
    return len(old) > 1 or len(new) > 1


def _stroke(old: Any, new: Any) -> bool:
    return new is None or new.kind == "brush"


@dataclass(frozen=True)
class Row:
    """How an undoable field is told, checked and brought back."""

    place: str  # title of its panel
    say: Callable[[Workspace, str, Any, Any], str] = _of_plan  # before, field of the plan, from, to
    misfit: Callable[[Workspace, str, Any], str] = _misfit  # what of a value is gone, in words
    moved: Callable[[Any, Any, Any], Any] = _taken  # the value now, and as it was at both ends of the step
    apart: Callable[[Any, Any], bool] = _never
    whole: bool = False  # no plan of single controls
    alone: bool = False  # what changes beside the first field follows from it, and is not counted


# Where a step changes several fields, the first of them here names it.
UNDOABLE: Mapping[str, Row] = {
    "excluded": Row("Gallery", _of_excluded, moved=_without_the_rest, apart=_always),
    "annotations": Row("Gallery", _of_annotations, apart=_always, whole=True),
    "subsets": Row("Gallery", _of_subsets, apart=_always, whole=True),
    "identity_edits": Row("Gallery", _of_identities, apart=_always, whole=True),
    "arrangement": Row("Gallery", _of_arrangement),
    "ensemble": Row("Uncertainty"),
    "refusal": Row("Uncertainty", _of_refusal),
    "plan": Row("Evaluation"),
    "crossing": Row("Evaluation", _of_crossing),
    "operating": Row("Evaluation", _of_operating, whole=True),
    "parts_plan": Row("Confidence"),
    "left_out": Row("Confidence", _of_left_out, apart=_always),
    "part": Row("Confidence", _of_part),
    "learners_plan": Row("Learners"),
    "projection_plan": Row("Projection"),
    "upgrade_plan": Row("Upgrade"),
    "match_plan": Row("Match"),
    "queries": Row("Match", _of_queries, apart=_always, whole=True),
    "occlusion": Row("Match", _of_occlusion, apart=_stroke, whole=True),
    "query": Row("Match", _of_query, _misfit_face),
    "model_a": Row("Models", _of_slot("A"), _misfit_model, apart=_always),
    "model_b": Row("Models", _of_slot("B"), _misfit_model, apart=_always),
    "model": Row("Models", _called("model looked at"), _misfit_model),
    "draft": Row("Training", _of_draft, alone=True),
    "looks": Row("", _of_looks, misfit=lambda workspace, part, value: ""),
    "selection": Row("Gallery", _of_selection, apart=_of_many, whole=True),
}
TYPED: tuple[Key, ...] = (("draft", "text"),)
