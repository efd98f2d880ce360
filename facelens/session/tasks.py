"""The long pieces of work the window asks for. Each runs in a thread, in the worker process or in a script alike."""

from __future__ import annotations

import multiprocessing
import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from facelens.errors import FaceLensError, InputError
from facelens.images import disguise, doctor, quality, quarantine, readers
from facelens.images.faceset import Column, FaceSet, Ids, Labels, Opened, Rows, face_ids
from facelens.images.packed import Packed
from facelens.images.protocol import Protocol
from facelens.progress import Tick, silent
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.analyses.jury import Average, Ruling
    from facelens.analyses.parts import Parts
    from facelens.features.card import Card
    from facelens.features.encoder import Encoder
    from facelens.features.featureset import FeatureSet
    from facelens.features.library import Inspection
    from facelens.features.parity import Parity
    from facelens.features.store import Store
    from facelens.features.whatif import WhatIf


QUERIES = "queries"  # source of the ids of a second side
GIVEN = "given"  # marks vectors that a workspace file gave to a model


def open_gallery(
    path: Path, *, kind: str | None = None, options: Mapping[str, str] | None = None, tick: Tick = silent
) -> readers.Reading:
    """Read a gallery; says so when it holds no picture at all."""
    reading = readers.read(path, kind=kind, options=options, tick=tick)
    if not len(reading.faces):
        raise InputError(
            tr("{name} holds no picture that FaceLens can list.", name=path.name),
            hint=tr(
                "Choose a folder with one sub-folder per person, a CSV or Parquet manifest, a pairs.txt or a .bin file."
            ),
        )
    return reading


def read_pairs(path: Path, faces: FaceSet, *, tick: Tick = silent) -> Protocol:
    """The pairs that a file lists, as a test of `faces`; its notes say what was left out."""
    tick(0, 1)
    return readers.pairs_of(path, faces)[0]


@dataclass(frozen=True, eq=False)
class Scores:
    """Columns for a gallery that came from a table, and how much of it fitted."""

    columns: Mapping[str, Column]
    report: quality.Joined


def import_scores(path: Path, faces: FaceSet, *, tick: Tick = silent) -> Scores:
    """The numbers that a table has for the faces of a gallery."""
    found, report = quality.joined(faces, quality.read(path, tick=tick))
    return Scores({name: found.columns[name] for name in report.columns}, report)


def check_gallery(faces: FaceSet, *, quarantined: Path | None = None, tick: Tick = silent) -> doctor.Diagnosis:
    """Read every picture once and list what is wrong.

    `quarantined` is the folder where pictures that crash the decoder are written down.
    """
    with quarantine.guarded(faces, quarantined, watch=in_worker(), tick=tick) as guard:
        return doctor.diagnose(faces, guard=guard, tick=tick)


def in_worker() -> bool:
    """Whether this process may end itself when a picture hangs: it will be started anew."""
    return multiprocessing.parent_process() is not None


def joined(first: FaceSet, second: FaceSet, *, apart: bool = False) -> FaceSet:
    """Both galleries as one: identities of the same name become one, a column of one side is missing on the other.

    Ids of the first stay; the second's are made of the path from the folder that holds both, so equal paths in two
    galleries do not clash. `apart`: the two are sides of a comparison, so that one picture may be in both.
    """
    if not apart and (first.embedded or second.embedded):
        raise InputError(tr("A .bin file cannot be joined with another gallery."), hint=tr("Open it on its own."))
    roots = [first.root.resolve(), second.root.resolve()]
    try:
        root = Path(os.path.commonpath(roots))
    except ValueError:  # on two drives
        root = roots[0]

    def from_root(faces: FaceSet, place: Path) -> list[bytes]:
        inside = os.path.relpath(place, root) if place.is_relative_to(root) else str(place)
        prefix = os.fsencode(inside.replace(os.sep, "/"))
        return [key if prefix == b"." else prefix + b"/" + key for key in faces.paths]

    n, m = len(first), len(second)
    columns: dict[str, Column] = {}
    for name in dict.fromkeys((*first.columns, *second.columns)):
        a, b = first.columns.get(name), second.columns.get(name)
        if isinstance(a, Labels) or isinstance(b, Labels):
            columns[name] = Labels.of([*_names(a, n), *_names(b, m)])
        else:
            columns[name] = np.concatenate([_numbers(a, n), _numbers(b, m)])
    landmarks = None
    if first.landmarks is not None or second.landmarks is not None:
        landmarks = np.full((n + m, 5, 2), np.nan, np.float32)
        if first.landmarks is not None:
            landmarks[:n] = first.landmarks
        if second.landmarks is not None:
            landmarks[n:] = second.landmarks
    both = FaceSet.build(
        f"{first.name} + {second.name}",
        root,
        paths=[*from_root(first, roots[0]), *from_root(second, roots[1])],
        identities=[*_names(first.identity, n), *_names(second.identity, m)],
        columns=columns,
        landmarks=landmarks,
        ids=np.concatenate([first.ids, face_ids(second.paths, source=QUERIES)]) if apart else None,
    )
    if apart:
        return both
    ids = np.concatenate([first.ids, both.ids[n:]])
    return both if len(np.unique(ids)) < n + m else replace(both, ids=ids)


def heads(galleries: Sequence[Opened]) -> tuple[str, ...]:
    """How the paths of each of several galleries begin that were joined; () where that cannot be told."""
    roots = [one.root.resolve() for one in galleries if one.root is not None]
    if len(roots) < 2 or len(roots) < len(galleries):
        return ()
    try:
        root = os.path.commonpath(roots)
    except ValueError:  # on two drives
        return ()
    return tuple(os.path.relpath(one, root).replace(os.sep, "/") for one in roots)


def as_it_lay(faces: FaceSet, now: Sequence[str], then: Sequence[str]) -> tuple[Packed, Ids]:
    """Paths and ids that faces of joined galleries had when their paths began as `then`; they begin as `now`."""
    if not then or len(now) != len(then) or tuple(now) == tuple(then):
        return faces.paths, faces.ids
    starts = [b"" if head == "." else os.fsencode(head) + b"/" for head in now]
    places = [b"" if head == "." else os.fsencode(head) + b"/" for head in then]
    shared = [os.path.commonpath([posixpath.join("/", head) for head in then[: i + 1]]) for i in range(len(then))]
    inner = [os.fsencode(posixpath.relpath(posixpath.join("/", head), root)) for head, root in zip(then, shared)]
    longest = sorted(range(len(now)), key=lambda i: -len(starts[i]))  # one may lie inside another
    paths, keys = [], []
    for path in faces.paths:
        of = next((i for i in longest if path.startswith(starts[i])), 0)
        own = path.removeprefix(starts[of])
        paths.append(places[of] + own)
        keys.append((b"" if not of or inner[of] == b"." else inner[of] + b"/") + own)
    ids = face_ids(keys)
    if len(np.unique(ids)) < len(ids):  # as in `joined`
        ids = face_ids(paths)
    return Packed.of(paths), ids


def _names(column: object, n: int) -> list[str | None]:
    if isinstance(column, Labels):
        return [column.names[code] if code >= 0 else None for code in column.codes]
    if column is None:
        return [None] * n
    return [f"{value:g}" for value in np.asarray(column)]


def _numbers(column: object, n: int) -> np.ndarray:
    return np.full(n, np.nan) if column is None else np.asarray(column, np.float64)


def write_list(faces: FaceSet, rows: Rows, out: Path, *, tick: Tick = silent) -> int:
    """Write the faces at `rows` with all columns and landmarks as CSV, JSON or Parquet; returns how many."""
    from facelens.images import builder

    tick(0, len(rows))
    if faces.landmarks is not None:  # so that the list is a manifest with everything that was found
        from facelens.images import detect

        faces = faces.with_columns(detect.as_columns(faces.landmarks))
    builder.write_list(out, faces, rows)
    tick(len(rows), len(rows))
    return len(rows)


def build_protocol(
    faces: FaceSet, out: Path, *, folds: int = 10, per_fold: int = 300, seed: int = 0, tick: Tick = silent
) -> int:
    """Write a verification list of the gallery as pairs.txt or .bin, by the ending; returns the number of pairs."""
    from facelens.images import builder

    tick(0, 2, tr("Choosing pairs"))
    if faces.disguised:  # who comes first must not follow from the names that are hidden
        faces = disguise.arranged(faces)
    pairs = builder.build_pairs(faces, folds=folds, per_fold=per_fold, seed=seed)
    tick(1, 2, tr("Writing"))
    write = builder.write_bin if out.suffix == ".bin" else builder.write_pairs_txt
    write(out, faces, pairs)
    tick(2, 2, "")
    return len(pairs)


# -- models


@dataclass(frozen=True)
class Embedded:
    """What came of embedding a gallery: sentences for the user, and where the vectors are."""

    store: Path
    fingerprint: str
    model: str
    sentence: str
    embedded: int
    skipped: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()

    def features(self, faces: FaceSet | None = None) -> FeatureSet:
        """The vectors, mapped from disk, in the order of `faces`."""
        from facelens.features.store import Store

        return Store.open(self.store.parent, self.fingerprint).features(faces)


def inspect_model(
    path: Path,
    *,
    card: Card | None = None,
    architecture: str | None = None,
    network: str | None = None,
    consents: Path | None = None,
    tick: Tick = silent,
) -> Inspection:
    """Open a model file safely and say what it is; `consents` is the book of trusted programs.

    `card` decides how it is read, or else `architecture`, or else the card beside the file, or else a guess; `network`
    is one of several in the file.
    """
    from facelens.features import library
    from facelens.features.checkpoint import ConsentBook, nobody

    trusted = ConsentBook(consents) if consents else nobody
    return library.inspect(path, card=card, architecture=architecture, network=network, consents=trusted, tick=tick)


def inspect_models(paths: Sequence[Path], *, tick: Tick = silent) -> list[Inspection]:
    """Say what several files are."""
    found = []
    for number, path in enumerate(paths):
        tick(number, len(paths), path.name)
        found.append(inspect_model(path))
    return found


def embed_gallery(
    faces: FaceSet,
    model: Path,
    *,
    root: Path,
    card: Card | Path | None = None,
    consents: Path | None = None,
    batch: int = 32,
    threads: int | None = None,
    network: str | None = None,
    quarantined: Path | None = None,
    tick: Tick = silent,
) -> Embedded:
    """Embed a gallery with a model; vectors that are there already are kept. `quarantined` as in `check_gallery`."""
    from facelens.features import extract

    encoder, seen, kept = _ready(
        faces, model, root=root, card=card, consents=consents, network=network, threads=threads
    )
    with quarantine.guarded(faces, quarantined, watch=in_worker(), tick=tick) as guard:
        done = extract.embed(faces, encoder, kept, batch=batch, guard=guard, tick=tick)
        crashing = sum(bool(guard.why(row)) for row in faces.rows_of(np.array([face for face, _ in done.skipped])))
    notes = [note for note in (*seen.notes, done.notice) if note]
    if crashing:
        notes.append(quarantine.sentence(crashing))
    invalid = kept.features(faces, lazy=True).invalid
    if len(invalid):
        notes.append(
            plural(
                len(invalid),
                "{n} vector is no use (not a number, or zero) and is left out.",
                "{n} vectors are no use (not a number, or zero) and are left out.",
            )
        )
    return Embedded(
        kept.folder, kept.fingerprint, seen.card.name, done.sentence(), done.embedded, done.skipped, tuple(notes)
    )


def _ready(
    faces: FaceSet,
    model: Path,
    *,
    root: Path,
    card: Card | Path | None,
    consents: Path | None,
    network: str | None = None,
    threads: int | None = None,
) -> tuple[Encoder, Inspection, Store]:
    """A model ready to be used, what is known of it, and where its vectors of a gallery are kept."""
    from facelens.features import library, store
    from facelens.features.checkpoint import ConsentBook, nobody

    trusted = ConsentBook(consents) if consents else nobody
    encoder, seen = library.encoder(model, card=card, consents=trusted, network=network, threads=threads)
    kept = store.Store.create(
        root,
        store.fingerprint(faces, weights=seen.sha256, card=seen.card),
        card=seen.card,
        weights=seen.sha256,
        gallery=faces.name,
        dimensions=encoder.dimensions,
        parts=encoder.parts,
        opened=faces.opened,
        file=Path(model),
    )
    return encoder, seen, kept


def measure_stability(
    faces: FaceSet,
    model: Path,
    kind: str,
    *,
    root: Path,
    card: Card | Path | None = None,
    consents: Path | None = None,
    threads: int | None = None,
    quarantined: Path | None = None,
    tick: Tick = silent,
) -> str:
    """Measure how much a model wavers about the faces of a gallery, and keep it beside its vectors; a sentence.

    `kind` is one of `stability.KINDS`; what has been measured before is kept. `quarantined` as in `check_gallery`.
    """
    from facelens.features import stability

    encoder, seen, kept = _ready(faces, model, root=root, card=card, consents=consents, threads=threads)
    with quarantine.guarded(faces, quarantined, watch=in_worker(), tick=tick) as guard:
        done = stability.measure(faces, encoder, kept, kind, guard=guard, tick=tick)
    parts = [plural(done.embedded, "{n} face measured", "{n} faces measured")]
    if done.reused:
        parts.append(tr("{n} were there already", n=done.reused))
    if done.skipped:
        parts.append(plural(len(done.skipped), "{n} picture skipped", "{n} pictures skipped"))
    said = tr(
        "{Kind} variance of {name}: {parts}.", Kind=kind.capitalize(), name=seen.card.name, parts=", ".join(parts)
    )
    return f"{said} {done.notice}".strip()


@dataclass(frozen=True, eq=False)
class Kept:
    """What is on disk of a model for a gallery: vectors (None for none), bytes, variances by kind."""

    features: FeatureSet | None
    size: int
    variances: Mapping[str, NDArray[np.float32]]


def stored_vectors(
    faces: FaceSet,
    root: Path,
    fingerprint: str,
    *,
    before: str = "",
    heads: tuple[Sequence[str], Sequence[str]] = ((), ()),
    tick: Tick = silent,
) -> Kept:
    """The vectors of a model for a gallery that are on disk, verified and mapped, and what was measured of them.

    `before` is the store of where the gallery lay, when it has moved since and there is none yet; `heads` of joined
    galleries say how their paths begin now, and began then.
    """
    from facelens.features import stability
    from facelens.features.store import Store, follow

    _, ids = as_it_lay(faces, *heads) if before else (None, faces.ids)
    if before and (ids is not faces.ids or not (root / fingerprint).is_dir()):
        follow(faces, root, before, fingerprint, ids=ids, tick=tick)
    try:
        kept = Store.open(root, fingerprint)
    except InputError:
        return Kept(None, 0, {})
    features = kept.features(faces)
    variances = stability.read(faces, kept.folder)
    return Kept(features if len(features) else None, kept.size if len(features) or variances else 0, variances)


@dataclass(frozen=True)
class Imported:
    """Vectors that came from a file, sentences about what did not fit, and where they are kept."""

    features: FeatureSet
    report: tuple[str, ...] = ()
    name: str = ""
    store: Path | None = None
    size: int = 0
    source: str = ""  # a sentence


def import_vectors(
    path: Path,
    faces: FaceSet,
    *,
    names: Path | None = None,
    by_order: bool = False,
    root: Path | None = None,
    card: Card | None = None,
    weights: str = "",
    tick: Tick = silent,
) -> Imported:
    """Read vectors made elsewhere and give each to its face; NeedsChoice where the file names none.

    With `root` they are kept there, as the vectors of a model are: mapped, and found again when the gallery is opened.
    With `card` (and the SHA-256 of its `weights`) they are those of that model, as a workspace file says it; then they
    are found again through that file alone.
    """
    from facelens.features import exchange

    found = exchange.join(exchange.read(path, names=names, tick=tick), faces, by_order=by_order)
    if not len(found.features):
        raise InputError(
            tr("No vector of {name} belongs to a face of this gallery.", name=escaped(path.name)),
            hint=tr("Its names must be paths or file names of the pictures in this gallery."),
            details="\n".join(found.report),
        )
    if card is not None and found.features.dimensions != card.dimensions:
        words = "{name} has vectors of {n} dims, the model {model} gives {m}."
        given = {"name": escaped(path.name), "n": found.features.dimensions, "m": card.dimensions}
        raise InputError(tr(words, model=escaped(card.name), **given), hint=tr("They are not of this model."))
    if root is None:
        return Imported(found.features, tuple(found.report), path.stem if card is None else card.name)
    kept = _keep_imported(path, faces, found.features, root=root, how=(names, by_order), card=card, weights=weights)
    return replace(_imported(kept, faces), report=tuple(found.report))


def _keep_imported(
    path: Path,
    faces: FaceSet,
    found: FeatureSet,
    *,
    root: Path,
    how: tuple[Path | None, bool],
    card: Card | None,
    weights: str,
) -> Store:
    import hashlib
    import json

    from facelens.features import checkpoint, store
    from facelens.features.card import Card

    digest = checkpoint.sha256(path)
    listed = checkpoint.sha256(how[0]) if how[0] is not None else ""
    told: list[object] = ["imported", store.FORMAT, store.place_of(faces), digest, listed, how[1], found.dimensions]
    source = {"file": escaped(path.name), "sha256": digest, "place": store.place_of(faces)}
    if card is not None:
        told += [card.as_json(), weights]
        source[GIVEN] = "yes"
    parts = 0 if found.confidence is None else found.confidence.shape[1]
    kept = store.Store.create(
        root,
        hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32],
        card=card or Card(escaped(path.stem), "imported", template="none", dimensions=found.dimensions),
        weights=weights,
        gallery=faces.name,
        parts=parts,
        opened=faces.opened,
        imported=source,
    )
    if len(kept.missing(faces, lazy=True)) > len(faces) - len(found) - len(found.invalid):
        nothing = np.full((len(found.invalid), found.dimensions), np.nan, np.float32)
        unsure = np.full((len(found.invalid), parts), np.nan, np.float32) if parts else None
        with kept.writer(total=len(found) + len(found.invalid)) as writer:
            writer.append(found.ids, found.vectors, confidence=found.confidence)
            # Vectors that are no use are kept as such: they are to be told of the next time as well.
            writer.append(found.invalid, nothing, confidence=unsure)
        kept.compact(faces)
    return kept


def _imported(kept: Store, faces: FaceSet) -> Imported:
    said = kept.imported or {}
    source = tr(
        "Imported from {file}, SHA-256 {digest}…", file=said.get("file", ""), digest=said.get("sha256", "")[:12]
    )
    return Imported(kept.features(faces), (), kept.card.name, kept.folder, kept.size, source)


def kept_imports(faces: FaceSet, root: Path, *, tick: Tick = silent) -> tuple[Imported, ...]:
    """Vectors that were imported for a gallery before, mapped from disk; not those of a workspace file."""
    from facelens.features import store

    found = []
    for kept in store.imported(faces, root):
        if GIVEN in (kept.imported or {}):
            continue
        try:
            one = _imported(kept, faces)
        except FaceLensError:
            continue  # a store of a newer version, or one that is being deleted
        if len(one.features):
            found.append(one)
    return tuple(found)


def write_skipped(out: Path, faces: FaceSet, *, skipped: tuple[tuple[int, str], ...]) -> None:
    """The pictures an embedding left out, with their reasons, as CSV."""
    import csv
    import io

    from facelens.files import atomic_write
    from facelens.images.builder import guarded

    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["path", "reason"])
    for face, reason in skipped:
        row = faces.row_of(face)
        if row is not None:
            writer.writerow([guarded(os.fsdecode(faces.paths[row])), guarded(faces.said(row, reason))])
    with atomic_write(out) as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def describe_model(found: Inspection) -> list[str]:
    """An inspection as lines of text."""
    card = found.card
    lines = [
        tr("{name}: {title}", name=escaped(found.path.name), title=found.title),
        tr("  keys      {sentence}", sentence=found.keys.sentence) if found.keys.sentence else "",
        tr(
            "  input     {h} × {w}, {order}, mean {mean}, std {std}",
            h=card.size[0],
            w=card.size[1],
            order=card.order,
            mean=_brief(card.mean),
            std=_brief(card.std),
        ),
        tr(
            "  aligned   {template}{crop}{flip}",
            template=card.template,
            crop=f", crop {card.crop}" if card.crop else "",
            flip=", flip" if card.flip else "",
        ),
        tr("  output    {n} dimensions", n=card.dimensions),
        tr("  patches   {layer}, {rows} × {columns}", layer=card.patch_layer, rows=card.grid[0], columns=card.grid[1])
        if card.grid
        else "",
        tr("  licence   {licence}", licence=card.licence or tr("not stated")),
        tr("  SHA-256   {digest}", digest=found.sha256),
    ]
    if found.networks:
        from facelens.features.library import network_words

        used, *others = (network_words(one) for one in found.networks)
        lines.append(tr("  network   {used}; also there: {others}", used=used, others="; ".join(others)))
    if found.code:
        lines.append(tr("  code      the file wanted to run {names}; nothing was run", names=", ".join(found.code)))
    lines += [f"  note      {note}" for note in (*found.notes, card.notes) if note]
    if not found.fits and found.rivals:
        lines.append(
            tr("  or        {names}", names=", ".join(f"{title} {score:.0%}" for _, title, score in found.rivals))
        )
    return [line for line in lines if line]


@dataclass(frozen=True)
class Aligned:
    """A gallery with the five points of its faces, and what there is to say about single pictures (by face id)."""

    faces: FaceSet
    found: int
    missing: int
    notes: Mapping[int, str]
    sentence: str


def align_gallery(
    faces: FaceSet,
    detector: Path,
    *,
    policy: str = "largest",
    threads: int | None = None,
    quarantined: Path | None = None,
    tick: Tick = silent,
) -> Aligned:
    """Find the five points of every face that has none, with a detector file; `policy` decides among several faces."""
    from facelens.images import detect

    with quarantine.guarded(faces, quarantined, watch=in_worker(), tick=tick) as guard:
        points, notes = detect.landmarks_for(
            faces, detect.Detector(detector), policy=policy, threads=threads, guard=guard, tick=tick
        )
    has = np.isfinite(points).all((1, 2))
    found, missing = int(has.sum()), int((~has).sum())
    sentence = plural(found, "{n} face has its five points", "{n} faces have their five points")
    if missing:
        sentence += ", " + plural(missing, "{n} picture has none", "{n} pictures have none")
    return Aligned(replace(faces, landmarks=points), found, missing, notes, sentence + ".")


def try_feeding(
    faces: FaceSet,
    model: Path,
    *,
    rows: Rows | None = None,
    pair: tuple[int, int] | None = None,
    card: Card | Path | None = None,
    consents: Path | None = None,
    limit: int = 160,
    tick: Tick = silent,
) -> WhatIf:
    """Feed a sample of the gallery (or of `rows`) in other ways than the card says; rows of a `pair` are added."""
    from facelens.features import library, whatif
    from facelens.features.checkpoint import ConsentBook, nobody

    encoder, _ = library.encoder(model, card=card, consents=ConsentBook(consents) if consents else nobody)
    chosen = whatif.sample(faces, rows, limit=limit)
    return whatif.try_out(faces, chosen, encoder, pair=pair, tick=tick)


def compare_forms(
    faces: FaceSet, first: Path, second: Path, *, n: int = 200, consents: Path | None = None, tick: Tick = silent
) -> Parity:
    """Whether two model files say the same about `n` pictures spread over the gallery.

    A file that does not say how it is fed (ONNX, TorchScript) and has no card is fed as the other one.
    """
    from facelens.features import library, parity
    from facelens.features.checkpoint import WEIGHTS, ConsentBook, nobody

    trusted = ConsentBook(consents) if consents else nobody
    seen = [library.inspect(path, consents=trusted) for path in (first, second)]
    said = [one.from_card or one.kind == WEIGHTS for one in seen]
    cards = [one.card for one in seen]
    for one, other in ((0, 1), (1, 0)):
        if said[other] and not said[one]:
            cards[one] = parity.fed_alike(cards[one], cards[other])
    a, b = (library.encoder(one.path, card=card, consents=trusted)[0] for one, card in zip(seen, cards))
    rows = np.unique(np.linspace(0, len(faces) - 1, min(n, len(faces))).round().astype(np.int64))
    names = (escaped(first.name), escaped(second.name))
    return parity.compare(faces, rows, a, b, names=names, tick=tick)


def _brief(values: tuple[float, ...]) -> str:
    return f"{values[0]:g}" if len(set(values)) == 1 else ", ".join(f"{value:g}" for value in values)


def jury_average(
    parts: Parts, features: FeatureSet, *, ids: Ids, which: str, match: str, kept: NDArray[np.bool_], far: float
) -> tuple[Average, Ruling]:
    """How parts vote on many pairs of one kind, and what is ruled by those that are `kept`."""
    from facelens.analyses.jury import Bench, average

    bench = Bench(parts, match)
    ruling = bench.ruling(kept=kept, far=far)
    return average(parts, features, which=which, ids=ids, match=match, kept=kept, ruling=ruling, bench=bench), ruling
