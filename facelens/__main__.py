"""The command line. Qt is imported only inside `gui` and `tour`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from facelens import __version__
from facelens.errors import Cancelled, FaceLensError, InputError, NoDisplay
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.images.faceset import FaceSet

NO_DISPLAY = 3  # exit code of `gui` where no window can be opened; run.py renders the tour then


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 = done, 1 = a stated failure, 2 = wrong usage, 3 = no display, 130 = stopped by the user."""
    arguments = _parser().parse_args(argv)
    try:
        code = int(arguments.run(arguments) or 0)
        sys.stdout.flush()  # here, where a reader that has gone is known about
        return code
    except NoDisplay as error:
        _complain(error)
        return NO_DISPLAY
    except FaceLensError as error:
        _complain(error)
        return 1
    except (Cancelled, KeyboardInterrupt):
        print(tr("Stopped."), file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def gui() -> int:
    """The entry point of desktop starters: the window."""
    return main(["gui", *sys.argv[1:]])


def _complain(error: FaceLensError) -> None:
    print(error.message, file=sys.stderr)
    if error.hint:
        print(error.hint, file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="facelens", description=tr("Look inside face embeddings. Everything stays on this computer.")
    )
    parser.add_argument("--version", action="version", version=f"FaceLens {__version__}")
    commands = parser.add_subparsers(title=tr("commands"), metavar="COMMAND", required=True)

    window = commands.add_parser("gui", help=tr("open the window"))
    window.add_argument("gallery", nargs="?", type=Path, help=tr("a folder, manifest, pairs.txt or .bin to open"))
    window.add_argument("--sample", action="store_true", help=tr("open the sample gallery"))
    window.set_defaults(run=_gui)

    tour = commands.add_parser("tour", help=tr("walk through every panel without a display and write pictures"))
    tour.add_argument("--out", type=Path, default=Path("tour"), help=tr("folder for the pictures (default: tour)"))
    tour.add_argument("--theme", choices=("dark", "light", "both"), default="both")
    tour.add_argument("gallery", nargs="?", type=Path, help=tr("another gallery than the sample"))
    tour.set_defaults(run=_tour)

    doctor = commands.add_parser("doctor", help=tr("say what is wrong with a gallery"))
    doctor.add_argument("gallery", type=Path)
    doctor.add_argument("--json", type=Path, metavar="FILE", help=tr("also write the findings as JSON"))
    doctor.set_defaults(run=_doctor)

    pairs = commands.add_parser("pairs", help=tr("build a verification list from a gallery"))
    pairs.add_argument("gallery", type=Path)
    pairs.add_argument("--out", type=Path, required=True, help=tr("pairs.txt or NAME.bin"))
    pairs.add_argument("--folds", type=int, default=10)
    pairs.add_argument(
        "--per-fold", type=int, default=300, help=tr("genuine pairs in a fold, and as many impostor pairs")
    )
    pairs.add_argument("--seed", type=int, default=0)
    pairs.set_defaults(run=_pairs)

    embed = commands.add_parser(
        "embed", help=tr("embed a gallery with a model; what is done already is not done again")
    )
    embed.add_argument("gallery", type=Path)
    embed.add_argument("--model", type=Path, required=True, metavar="FILE", help=tr("checkpoint or ONNX file"))
    embed.add_argument("--card", type=Path, help=tr("model card to use instead of the one beside the file"))
    embed.add_argument("--store", type=Path, metavar="DIR", help=tr("where vectors are kept (default: the cache)"))
    embed.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help=tr("also write the vectors: NAME.npz, NAME.parquet, or a folder for TensorBoard's projector"),
    )
    embed.add_argument("--skipped", type=Path, metavar="FILE", help=tr("also list the skipped pictures as CSV"))
    _detector_arguments(embed, required=False)
    embed.add_argument("--batch", type=int, default=32)
    embed.add_argument("--threads", type=int, default=None, help=tr("processor cores (default: all)"))
    embed.set_defaults(run=_embed)

    align = commands.add_parser("align", help=tr("find the five points of every face and write them as a manifest"))
    align.add_argument("gallery", type=Path)
    align.add_argument("--out", type=Path, required=True, metavar="FILE", help=tr("the manifest, a CSV file"))
    _detector_arguments(align, required=True)
    align.set_defaults(run=_align)

    models = commands.add_parser("models", help=tr("model files and cached vectors"))
    model_commands = models.add_subparsers(metavar="COMMAND", required=True)
    inspect = model_commands.add_parser("inspect", help=tr("say what a model file is; runs nothing of it"))
    inspect.add_argument("file", type=Path)
    inspect.add_argument("--card", type=Path)
    inspect.add_argument("--json", action="store_true", help=tr("print the card as JSON"))
    inspect.add_argument("--save-card", action="store_true", help=tr("write the card beside the file"))
    inspect.set_defaults(run=_models_inspect)
    whatif = model_commands.add_parser("whatif", help=tr("feed pictures in other ways than the card says and compare"))
    whatif.add_argument("file", type=Path)
    whatif.add_argument("gallery", type=Path)
    whatif.add_argument("--card", type=Path)
    whatif.add_argument("--n", type=int, default=160, help=tr("pictures of the sample (default: 160)"))
    whatif.add_argument("--pair", nargs=2, metavar="PICTURE", help=tr("also show the score of two pictures"))
    whatif.set_defaults(run=_models_whatif)
    parity = model_commands.add_parser("parity", help=tr("check that two forms of a model say the same"))
    parity.add_argument("first", type=Path, metavar="FILE_A")
    parity.add_argument("second", type=Path, metavar="FILE_B")
    parity.add_argument("gallery", type=Path)
    parity.add_argument("--n", type=int, default=200, help=tr("pictures to compare (default: 200)"))
    parity.set_defaults(run=_models_parity)
    cached = model_commands.add_parser("cached", help=tr("list cached vectors"))
    cached.add_argument("--store", type=Path, metavar="DIR")
    cached.add_argument("--purge", action="store_true", help=tr("delete them all"))
    cached.set_defaults(run=_models_cached)
    known = model_commands.add_parser("known", help=tr("list the networks FaceLens knows"))
    known.set_defaults(run=_models_known)

    sample = commands.add_parser("sample", help=tr("the drawn sample world"))
    sample_commands = sample.add_subparsers(metavar="COMMAND", required=True)
    build = sample_commands.add_parser("build", help=tr("draw the sample gallery"))
    build.add_argument("--out", type=Path, required=True)
    build.add_argument("--identities", type=int, default=64)
    build.add_argument("--pictures", type=int, default=10)
    build.add_argument("--size", type=int, default=None, help=tr("side of a picture in pixels"))
    build.add_argument("--seed", type=int, default=0)
    build.set_defaults(run=_sample_build)
    return parser


def _detector_arguments(command: argparse.ArgumentParser, *, required: bool) -> None:
    command.add_argument(
        "--detector", type=Path, required=required, metavar="FILE", help=tr("YuNet ONNX file that finds faces")
    )
    command.add_argument(
        "--policy",
        choices=("largest", "centre", "best", "only"),
        default="largest",
        help=tr("which of several faces (default: largest)"),
    )


def _gui(arguments: argparse.Namespace) -> int:
    from facelens.views.app import run

    return run(gallery=arguments.gallery, sample=arguments.sample)


def _tour(arguments: argparse.Namespace) -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from facelens.views.tour import walk

    themes = ("dark", "light") if arguments.theme == "both" else (arguments.theme,)
    written = walk(arguments.out, themes=themes, gallery=arguments.gallery)
    print(tr("The tour is in {folder}: {n} files.", folder=arguments.out.resolve(), n=len(written)))
    for path in written:
        print(f"  {path.relative_to(arguments.out)}")
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from facelens.files import atomic_write
    from facelens.images import doctor
    from facelens.session.tasks import open_gallery

    reading = open_gallery(arguments.gallery)
    diagnosis = doctor.diagnose(reading.faces, tick=_Line(tr("Checking")))
    for line in (*reading.notes, *doctor.report(diagnosis, reading.faces)):
        print(line)
    if arguments.json:
        with atomic_write(arguments.json) as file:
            file.write(json.dumps(doctor.as_json(diagnosis, reading.faces), indent=2).encode())
    return 0


def _pairs(arguments: argparse.Namespace) -> int:
    from facelens.session.tasks import build_protocol, open_gallery

    faces = open_gallery(arguments.gallery).faces
    written = build_protocol(
        faces, arguments.out, folds=arguments.folds, per_fold=arguments.per_fold, seed=arguments.seed
    )
    print(tr("{n} pairs written to {path}.", n=written, path=arguments.out))
    return 0


def _embed(arguments: argparse.Namespace) -> int:
    from facelens.session import tasks

    if arguments.export and arguments.export.suffix.lower() not in ("", ".npz", ".parquet"):
        raise InputError(
            tr("Vectors cannot be written as {suffix}.", suffix=arguments.export.suffix),
            hint=tr("Use NAME.npz, NAME.parquet, or a folder without an ending for TensorBoard's projector."),
        )
    faces = tasks.open_gallery(arguments.gallery).faces
    if arguments.detector:
        faces = _aligned(faces, arguments)
    done = tasks.embed_gallery(
        faces,
        arguments.model,
        card=arguments.card,
        root=_store_root(arguments.store),
        consents=_consents(),
        batch=arguments.batch,
        threads=arguments.threads,
        tick=_Line(tr("Embedding")),
    )
    print(done.sentence)
    for line in done.notes:
        print(line)
    print(tr("Store: {path}", path=done.store))
    if arguments.skipped:
        tasks.write_skipped(arguments.skipped, faces, skipped=done.skipped)
    if arguments.export:
        tasks.export_vectors(done.features(faces), faces, arguments.export, tick=_Line(tr("Writing")))
        print(tr("Vectors written to {path}.", path=arguments.export))
    return 0


def _aligned(faces: FaceSet, arguments: argparse.Namespace) -> FaceSet:
    from facelens.session.tasks import align_gallery

    done = align_gallery(faces, arguments.detector, policy=arguments.policy, tick=_Line(tr("Finding faces")))
    print(done.sentence)
    return done.faces


def _align(arguments: argparse.Namespace) -> int:
    import numpy as np

    from facelens.images import detect
    from facelens.images.builder import write_list
    from facelens.session.tasks import open_gallery

    faces = _aligned(open_gallery(arguments.gallery).faces, arguments)
    assert faces.landmarks is not None
    write_list(arguments.out, faces.with_columns(detect.as_columns(faces.landmarks)), np.arange(len(faces)))
    print(tr("The manifest is {path}.", path=arguments.out))
    return 0


def _models_whatif(arguments: argparse.Namespace) -> int:
    from facelens.features import whatif
    from facelens.session.tasks import open_gallery, try_feeding

    faces = open_gallery(arguments.gallery).faces
    pair = None
    if arguments.pair:
        at = {os.fsdecode(path): row for row, path in enumerate(faces.paths)}
        if unknown := [name for name in arguments.pair if name not in at]:
            raise InputError(
                tr("{name} is not in this gallery.", name=escaped(unknown[0])),
                hint=tr("Name pictures by their path inside the gallery."),
            )
        pair = (at[arguments.pair[0]], at[arguments.pair[1]])
    result = try_feeding(
        faces,
        arguments.file,
        pair=pair,
        card=arguments.card,
        consents=_consents(),
        limit=arguments.n,
        tick=_Line(tr("Trying")),
    )
    for line in whatif.lines(result):
        print(line)
    return 0


def _models_parity(arguments: argparse.Namespace) -> int:
    from facelens.features import parity
    from facelens.session.tasks import compare_forms, open_gallery

    faces = open_gallery(arguments.gallery).faces
    result = compare_forms(
        faces, arguments.first, arguments.second, n=arguments.n, consents=_consents(), tick=_Line(tr("Comparing"))
    )
    for line in parity.lines(result, faces):
        print(line)
    return 0 if result.passed else 1


def _store_root(given: Path | None) -> Path:
    from facelens.session import folders

    return given if given is not None else folders.cache() / "features"


def _consents() -> Path:
    """The programs the user has allowed in the window; nothing can be allowed here."""
    from facelens.session import folders

    return folders.state() / "consents.json"


def _models_inspect(arguments: argparse.Namespace) -> int:
    from facelens.features import card, library
    from facelens.features.checkpoint import ConsentBook
    from facelens.session.tasks import describe_model

    found = library.inspect(arguments.file, card=arguments.card, consents=ConsentBook(_consents()))
    if arguments.json:
        print(json.dumps(found.card.as_json(), indent=2))
    else:
        for line in describe_model(found):
            print(line)
    if arguments.save_card:
        card.save(found.card, card.beside(arguments.file))
        print(tr("Card written to {path}.", path=card.beside(arguments.file)))
    return 0 if found.fits else 1


def _models_cached(arguments: argparse.Namespace) -> int:
    from facelens.features import store

    root = _store_root(arguments.store)
    for info in store.stores(root):
        print(f"{info.size / 1e6:9.1f} MB  {info.rows:>9,}  {info.model}  {info.fingerprint[:12]}")
    if arguments.purge:
        store.purge(root)
        print(tr("All cached vectors are deleted."))
    return 0


def _models_known(arguments: argparse.Namespace) -> int:
    from facelens.features.models import MODELS

    for spec in MODELS.values():
        size = f"{spec.card.size[0]} × {spec.card.size[1]}"
        print(f"{spec.name:26} {spec.title:32} {size:>9}  {spec.card.dimensions:>5}-d  {spec.parameters / 1e6:6.2f} M")
    return 0


def _sample_build(arguments: argparse.Namespace) -> int:
    from facelens.images.synthetic.gallery import build_gallery

    size = {} if arguments.size is None else {"size": arguments.size}
    build_gallery(
        arguments.out,
        identities=arguments.identities,
        pictures=arguments.pictures,
        seed=arguments.seed,
        tick=_Line(tr("Drawing")),
        **size,
    )
    print(tr("The sample gallery is in {folder}.", folder=arguments.out.resolve()))
    return 0


class _Line:
    """A tick that redraws one line on a terminal, and stays silent elsewhere."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __call__(self, done: int, total: int, note: str = "") -> None:
        if sys.stderr.isatty():
            end = "\n" if done >= total else "\r"
            print(f"\x1b[2K{self.title} {done:,} of {total:,}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
