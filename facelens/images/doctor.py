"""What is wrong with a gallery, before any work is spent on it.

Shapes    ids (n,) int64 of the faces a finding is about; group (n,) int32: faces with the same number belong together
          (copies of one file), all 0 where a finding is about single faces
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from facelens.images.faceset import SPLIT, Column, FaceSet, Ids, Labels
from facelens.images.quarantine import Guard
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

# From worst to mildest. An "error" cannot be used at all, a "warning" spoils results, a "note" is good to know.
SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, eq=False)
class Finding:
    """One kind of trouble, the sentence about it, and the faces that have it."""

    kind: str
    severity: str
    message: str
    ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    group: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    details: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The kind as a label."""
        return tr(self.kind).capitalize()


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """All findings about a gallery, worst first, and what was measured on the way (for `faces.with_columns`)."""

    faces: int
    findings: tuple[Finding, ...] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)

    @property
    def bad_ids(self) -> Ids:
        """Ids of the faces that cannot be used: no picture comes out of their file."""
        bad = [finding.ids for finding in self.findings if finding.severity == "error"]
        return np.unique(np.concatenate(bad)) if bad else np.zeros(0, np.int64)

    def usable(self, ids: Ids) -> Ids:
        """`ids` without those that cannot be used, order kept."""
        return ids[~np.isin(ids, self.bad_ids)]

    def finding(self, kind: str) -> Finding | None:
        """The finding of that kind, or None."""
        return next((finding for finding in self.findings if finding.kind == kind), None)


TINY = 32  # pixels of the shorter side below which a face shows next to nothing
LISTED = 1000  # lines of details a finding has at most
_BATCH = 16


def diagnose(
    faces: FaceSet, *, tick: Tick = silent, threads: int | None = None, guard: Guard | None = None
) -> Diagnosis:
    """Read every picture once, whole, and list what is wrong. Nothing on disk is changed.

    Pictures that the `guard` keeps out are not read.
    """
    seen = _look_at_all(faces, tick=tick, threads=threads or min(8, os.cpu_count() or 1), guard=guard)
    findings = [
        *_unusable(faces, seen),
        *_copies(faces, seen),
        *_same_pictures(faces, seen, tick=tick),
        *_about_identities(faces),
        *_about_pixels(faces, seen),
    ]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    columns: dict[str, Column] = {
        name: np.where(seen.good, values, np.nan)
        for name, values in (
            ("width", seen.width),
            ("height", seen.height),
            ("channels", seen.channels),
            ("bytes", seen.size),
        )
    }
    return Diagnosis(len(faces), tuple(findings), columns)


ACROSS = " across identities"
_OF_NAMES = ("no identities", "no identity", "one identity", "singletons", "identities across split")


def of_other_names(diagnosis: Diagnosis, faces: FaceSet) -> Diagnosis:
    """The same pictures under the identities that they have now; no picture is looked at again."""
    old = diagnosis.findings
    copies: list[Finding] = []
    for kind in _WORDS:
        parts = [finding for finding in old if finding.kind in (kind, kind + ACROSS)]
        if parts:
            ids, group = (np.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "group"))
            here = np.isin(ids, faces.ids)
            copies += _grouped(faces, faces.rows_of(ids[here]), group[here].astype(np.int64), kind)
    first = (*_UNUSABLE, "damaged")
    follow = (*_OF_NAMES, *(kind + suffix for kind in _WORDS for suffix in ("", ACROSS)))
    before = [finding for finding in old if finding.kind in first]
    after = [finding for finding in old if finding.kind not in (*first, *follow)]
    findings = [*before, *copies, *_about_identities(faces), *after]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return replace(diagnosis, findings=tuple(findings))


class _Seen:
    """What the look at each picture gave; one entry a row."""

    def __init__(self, n: int) -> None:
        self.reason = np.zeros(n, object)  # "" = good
        self.said: dict[int, str] = {}
        self.width, self.height, self.channels, self.size = (np.zeros(n, np.float64) for _ in range(4))
        self.animated, self.sound = np.zeros(n, bool), np.ones(n, bool)
        self.digest = np.zeros((n, 2), np.uint64)
        self.look = np.zeros(
            (n, 4), np.uint32
        )  # 128 bits: is each cell brighter than its right and its lower neighbour

    @property
    def good(self) -> NDArray[np.bool_]:
        """(N,) rows out of whose file a picture comes."""
        return np.asarray(self.reason == "", bool)


def _look_at_all(faces: FaceSet, *, tick: Tick, threads: int, guard: Guard | None) -> _Seen:
    seen = _Seen(len(faces))
    batches = [range(start, min(start + _BATCH, len(faces))) for start in range(0, len(faces), _BATCH)]

    def look(batch: range) -> int:
        for row in batch:
            if guard is not None and (why := guard.why(row)):
                seen.reason[row], seen.said[row] = "kept out", f"{faces.file_name(row)} {why}."
                continue
            with guard.reading(row) if guard is not None else nullcontext():
                _look_at(faces, row, seen)
        return len(batch)

    done = 0
    tick(0, len(faces))
    pool = ThreadPoolExecutor(threads, thread_name_prefix="doctor")
    try:
        for count in pool.map(look, batches):
            done += count
            tick(done, len(faces))
    finally:
        pool.shutdown(cancel_futures=True)
    return seen


def _look_at(faces: FaceSet, row: int, seen: _Seen) -> None:
    from facelens.images import decode

    try:
        data = decode.face_bytes(faces, row)
        seen.size[row] = len(data)
        seen.digest[row] = np.frombuffer(hashlib.blake2b(data, digest_size=16).digest(), np.uint64)
        head = decode.header_face(faces, row) if faces.embedded else decode.header_of(data, name=faces.file_name(row))
        if head.format == "array":
            pixels, sound = decode.read_face(faces, row), True
        else:
            pixels, sound = decode.checked(data, name=faces.file_name(row))
    except decode.PictureError as error:
        seen.reason[row] = error.reason
        seen.said[row] = error.message
        return
    seen.height[row], seen.width[row] = pixels.shape[:2]
    seen.channels[row], seen.animated[row], seen.sound[row] = head.channels, head.animated, sound
    seen.look[row] = _look_bits(pixels)
    seen.reason[row] = ""


def _look_bits(pixels: NDArray[np.uint8]) -> NDArray[np.uint32]:
    from PIL import Image

    # A margin of two grey levels keeps flat areas, whose noise differs between copies, from deciding.
    grey = np.asarray(Image.fromarray(pixels).convert("L").resize((9, 9), Image.Resampling.BILINEAR)).astype(np.int16)
    right = grey[:8, :8] - grey[:8, 1:] > 2
    below = grey[:8, :8] - grey[1:, :8] > 2
    return np.packbits(np.concatenate([right.ravel(), below.ravel()])).view(np.uint32)


def _finding(
    faces: FaceSet,
    rows: NDArray[np.int64],
    kind: str,
    severity: str,
    *,
    message: str,
    group: NDArray[np.int64] | None = None,
    details: Sequence[str] = (),
) -> Finding:
    groups = np.zeros(len(rows), np.int32) if group is None else group.astype(np.int32)
    return Finding(kind, severity, message, faces.ids[rows], groups, tuple(details[:LISTED]))


_UNUSABLE = {
    "zero-byte": (("empty",), "{n} file is empty", "{n} files are empty"),
    "missing": (("missing",), "{n} picture is not there any more", "{n} pictures are not there any more"),
    "truncated": (("truncated",), "{n} picture ends too early", "{n} pictures end too early"),
    "huge": (("too large",), "{n} picture is larger than the limit", "{n} pictures are larger than the limit"),
    "crash": (("kept out",), "{n} picture crashes the decoder", "{n} pictures crash the decoder"),
    "unreadable": (
        ("unreadable", "not a picture", "not supported", "not allowed"),
        "{n} picture could not be read",
        "{n} pictures could not be read",
    ),
}


def _unusable(faces: FaceSet, seen: _Seen) -> list[Finding]:
    found = []
    for kind, (reasons, one, many) in _UNUSABLE.items():
        rows = np.flatnonzero(np.isin(seen.reason.astype(str), reasons))
        if len(rows):
            message = tr("{what} and cannot be used.", what=plural(len(rows), one, many))
            details = [seen.said[int(row)] for row in rows[:LISTED]]
            found.append(_finding(faces, rows, kind, "error", message=message, details=details))
    damaged = np.flatnonzero(~seen.sound)
    if len(damaged):
        one, many = (
            "{n} picture is damaged inside, but can be shown.",
            "{n} pictures are damaged inside, but can be shown.",
        )
        found.append(_finding(faces, damaged, "damaged", "warning", message=plural(len(damaged), one, many)))
    return found


def _copies(faces: FaceSet, seen: _Seen) -> list[Finding]:
    rows = np.flatnonzero(seen.good)
    keys = seen.digest[rows].view([("a", np.uint64), ("b", np.uint64)]).ravel()
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    several = counts[inverse] > 1
    return _grouped(faces, rows[several], inverse[several], "copies")


_WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "copies": {
        "across": (
            "{n} file has copies under other identities.",
            "{n} files are copies of one another under different identities.",
        ),
        "within": ("{n} file is a copy of another.", "{n} files are copies of one another."),
    },
    "same picture": {
        "across": (
            "{n} picture is also there under another identity.",
            "{n} pictures show the same under different identities, saved differently.",
        ),
        "within": ("{n} picture is there twice.", "{n} pictures are the same as another, saved differently."),
    },
}


def _grouped(
    faces: FaceSet,
    rows: NDArray[np.int64],
    group: NDArray[np.int64],
    kind: str,
) -> list[Finding]:
    """One finding for the groups with more than one identity, which are worse, and one for the others."""
    if not len(rows):
        return []
    order = np.lexsort((rows, group))
    rows, group = rows[order], np.unique(group[order], return_inverse=True)[1].astype(np.int64)
    codes = faces.identity.codes[rows]
    pairs = np.unique(np.stack([group[codes >= 0], codes[codes >= 0]], 1), axis=0)
    across = np.bincount(pairs[:, 0], minlength=int(group.max()) + 1)[group] > 1
    found = []
    for mask, suffix, place in ((across, ACROSS, "across"), (~across, "", "within")):
        if not mask.any():
            continue
        # Pairs inside a .bin share pictures by design.
        severity = "note" if faces.embedded and not suffix else "warning"
        message = plural(int(mask.sum()), *_WORDS[kind][place])
        details = [
            " = ".join(escaped(os.fsdecode(faces.paths[int(row)])) for row in rows[mask][group[mask] == number][:6])
            for number in np.unique(group[mask])[:100]
        ]
        found.append(
            _finding(faces, rows[mask], kind + suffix, severity, message=message, group=group[mask], details=details)
        )
    return found


def _same_pictures(faces: FaceSet, seen: _Seen, *, tick: Tick) -> list[Finding]:
    """Pictures that look the same though their files differ: other size, format or compression."""
    good = np.flatnonzero(seen.good)
    _, first = np.unique(seen.digest[good], axis=0, return_index=True)
    rows = good[np.sort(first)]  # one of each set of copies
    pairs = similar_looks(seen.look[rows])
    small: dict[int, NDArray[np.float32]] = {}
    root = np.arange(len(rows))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = int(root[i])
        return i

    for count, (a, b) in enumerate(pairs.tolist()):
        if count % 64 == 0:
            tick(len(faces), len(faces), tr("Comparing pictures that look alike"))
        if find(a) != find(b) and _alike(faces, seen, int(rows[a]), int(rows[b]), small):
            root[find(b)] = find(a)
    tops = np.array([find(i) for i in range(len(rows))], np.int64)
    several = np.bincount(tops, minlength=len(rows))[tops] > 1 if len(rows) else np.zeros(0, bool)
    return _grouped(faces, rows[several], tops[several], "same picture")


def similar_looks(look: NDArray[np.uint32], *, most: int = 6, bucket: int = 24) -> NDArray[np.int64]:
    """(P, 2) pairs of rows whose 128 bits differ in at most `most` places.

    Found through equal quarters, so that up to three differences never hide a pair and N log N suffices; where more
    than `bucket` rows share a quarter (blank pictures), each row is compared with its next neighbours only.
    """
    found = []
    for quarter in range(4):
        others = [look[:, i] for i in range(4) if i != quarter]
        order = np.lexsort((*others, look[:, quarter]))
        keys = look[order, quarter]
        for step in range(1, bucket + 1):
            equal = np.flatnonzero(keys[step:] == keys[:-step])
            if not len(equal):
                break
            a, b = order[equal], order[equal + step]
            near = np.bitwise_count(look[a] ^ look[b]).sum(1) <= most
            found.append(np.minimum(a, b)[near] * len(look) + np.maximum(a, b)[near])
    if not found:
        return np.zeros((0, 2), np.int64)
    pairs = np.unique(np.concatenate(found))  # as one number each: rows would sort far slower
    return np.stack([pairs // len(look), pairs % len(look)], 1)


def _alike(faces: FaceSet, seen: _Seen, a: int, b: int, small: dict[int, NDArray[np.float32]]) -> bool:
    shapes = np.log((seen.width[[a, b]]) / (seen.height[[a, b]]))
    if abs(shapes[0] - shapes[1]) > 0.03:
        return False
    first, second = _small(faces, a, small), _small(faces, b, small)
    if first is None or second is None:
        return False
    away = float(np.abs(first - second).mean())
    a_part, b_part = first - first.mean(), second - second.mean()
    spread = float(np.linalg.norm(a_part) * np.linalg.norm(b_part))
    if spread < 32 * 32:  # next to blank: there is nothing to correlate
        return away <= 2
    # Copies at half the size and poor quality correlate above 0.996; two shots of a burst reach 0.991.
    return bool((a_part * b_part).sum() / spread >= 0.994 and away <= 8)


def _small(faces: FaceSet, row: int, small: dict[int, NDArray[np.float32]]) -> NDArray[np.float32] | None:
    from PIL import Image

    from facelens.images import decode

    if row not in small:
        if len(small) > 20_000:
            small.clear()
        try:
            pixels = decode.read_face(faces, row)
        except decode.PictureError:
            return None
        grey = Image.fromarray(pixels).convert("L").resize((32, 32), Image.Resampling.BILINEAR)
        small[row] = np.asarray(grey, np.float32)
    return small[row]


def _about_identities(faces: FaceSet) -> list[Finding]:
    codes, names = faces.identity.codes, faces.identity.names
    found: list[Finding] = []
    if not len(faces):
        return found
    if not names:
        message = tr("No face has an identity, so nothing that compares people can be measured.")
        return [_finding(faces, np.zeros(0, np.int64), "no identities", "note", message=message)]
    if (codes < 0).any():
        rows = np.flatnonzero(codes < 0)
        message = plural(len(rows), "{n} face has no identity.", "{n} faces have no identity.")
        found.append(_finding(faces, rows, "no identity", "note", message=message))
    counts = faces.identity.counts()
    if len(names) == 1:
        message = tr("All faces are of one identity, so there is no pair of different people.")
        found.append(_finding(faces, np.zeros(0, np.int64), "one identity", "warning", message=message))
    single = np.flatnonzero((codes >= 0) & (np.append(counts, 0)[codes] == 1))
    if len(single) == (codes >= 0).sum():
        message = tr("Every identity has one picture, so there is no pair of the same person.")
        found.append(_finding(faces, single, "singletons", "warning", message=message))
    elif len(single):
        one, many = "{n} identity has only one picture.", "{n} identities have only one picture."
        details = [escaped(faces.identity.name(int(row))) for row in single[:LISTED]]
        found.append(
            _finding(faces, single, "singletons", "note", message=plural(len(single), one, many), details=details)
        )
    split = faces.columns.get(SPLIT)
    if isinstance(split, Labels) and len(split.names) > 1:
        both = (codes >= 0) & (split.codes >= 0)
        pairs = np.unique(np.stack([codes[both], split.codes[both]], 1), axis=0)
        across = np.flatnonzero(np.bincount(pairs[:, 0], minlength=len(names)) > 1)
        if len(across):
            rows = np.flatnonzero(np.isin(codes, across))
            one, many = "{n} identity is in more than one split.", "{n} identities are in more than one split."
            details = [escaped(names[code]) for code in across[:LISTED]]
            message = plural(len(across), one, many)
            kind = "identities across split"
            found.append(
                _finding(
                    faces, rows, kind, "warning", message=message, group=codes[rows].astype(np.int64), details=details
                )
            )
    return found


def _about_pixels(faces: FaceSet, seen: _Seen) -> list[Finding]:
    found: list[Finding] = []
    good = np.flatnonzero(seen.good)
    none = np.zeros(0, np.int64)
    if not len(good):
        return found
    sizes, counts = np.unique(np.stack([seen.width[good], seen.height[good]], 1), axis=0, return_counts=True)
    if len(sizes) > 1:
        order = np.argsort(-counts, kind="stable")
        details = [f"{int(w)} x {int(h)}: {n:,}" for (w, h), n in zip(sizes[order][:20], counts[order], strict=False)]
        message = tr("The pictures have {n} different sizes.", n=len(sizes))
        found.append(_finding(faces, none, "size mix", "note", message=message, details=details))
    kinds, counts = np.unique(seen.channels[good], return_counts=True)
    if len(kinds) > 1:
        words = {1: tr("grey"), 3: tr("colour"), 4: tr("with transparency")}
        details = [f"{words[int(kind)]}: {n:,}" for kind, n in zip(kinds, counts, strict=True)]
        rare = good[seen.channels[good] == kinds[np.argmin(counts)]]
        message = (
            tr("Grey and colour pictures are mixed.")
            if set(kinds) >= {1, 3}
            else tr("Some pictures have transparency.")
        )
        found.append(_finding(faces, rare, "channel mix", "note", message=message, details=details))
    tiny = good[np.minimum(seen.width[good], seen.height[good]) < TINY]
    if len(tiny):
        one, many = "{n} picture is smaller than {size} pixels.", "{n} pictures are smaller than {size} pixels."
        message = plural(len(tiny), one.replace("{size}", str(TINY)), many.replace("{size}", str(TINY)))
        found.append(_finding(faces, tiny, "tiny", "note", message=message))
    moving = good[seen.animated[good]]
    if len(moving):
        one, many = (
            "{n} picture has several frames; the first is used.",
            "{n} pictures have several frames; the first is used.",
        )
        found.append(_finding(faces, moving, "frames", "note", message=plural(len(moving), one, many)))
    return found


def report(diagnosis: Diagnosis, faces: FaceSet, *, examples: int = 5) -> list[str]:
    """The findings as lines of text, with some of the pictures each."""
    bad = len(diagnosis.bad_ids)
    lines = [tr("{n} faces, {bad} of them cannot be used.", n=diagnosis.faces, bad=bad)]
    if not diagnosis.findings:
        lines.append(tr("Nothing is wrong."))
    for finding in diagnosis.findings:
        lines.append(f"{finding.severity:8}{finding.message}")
        shown = finding.details[:examples]
        if not shown:
            rows = faces.rows_of(finding.ids[:examples])
            shown = tuple(escaped(os.fsdecode(faces.paths[int(row)])) for row in rows)
        total = max(len(finding.details), 0 if finding.details else len(finding.ids))
        lines += [f"          {line}" for line in shown]
        if total > len(shown):
            lines.append("          " + tr("and {n} more", n=total - len(shown)))
    return lines


def as_json(diagnosis: Diagnosis, faces: FaceSet) -> dict[str, object]:
    """The findings as plain values; paths are escaped where they are no text, ids are exact."""
    findings = []
    for finding in diagnosis.findings:
        rows = faces.rows_of(finding.ids).tolist()
        findings.append(
            {
                "kind": finding.kind,
                "severity": finding.severity,
                "message": finding.message,
                "count": len(finding.ids),
                "ids": faces.told_ids[rows].tolist() if faces.disguised else finding.ids.tolist(),
                "group": finding.group.tolist(),
                "paths": [escaped(os.fsdecode(faces.paths[row])) for row in rows],
                "details": list(finding.details),
            }
        )
    return {"faces": diagnosis.faces, "unusable": len(diagnosis.bad_ids), "findings": findings}
