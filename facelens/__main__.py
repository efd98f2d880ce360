"""The command line. Qt is imported only inside `gui` and `tour`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from facelens import __version__
from facelens.errors import Cancelled, FaceLensError, InputError, NoDisplay
from facelens.words import escaped, tr

if TYPE_CHECKING:
    from facelens.analyses.plan import MatchPlan, PartsPlan
    from facelens.features.featureset import FeatureSet
    from facelens.features.patching import Model
    from facelens.images.faceset import FaceSet
    from facelens.progress import Tick

Result = TypeVar("Result")
NO_DISPLAY = 3  # exit code of `gui` where no window can be opened; run.py renders the tour then


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 = done, 1 = a stated failure, 2 = wrong usage, 3 = no display, 130 = stopped by the user."""
    arguments = _parser().parse_args(argv)
    try:
        _use_settings()
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


def _use_settings() -> None:
    """Limits that were raised in the window hold for commands too; the environment has the last word."""
    from facelens import limits
    from facelens.session.settings import Settings

    settings = Settings.load()
    for name, value in limits.chosen(settings.megapixels, settings.model_gb).items():
        if float(value) != limits.USUAL[name]:
            os.environ.setdefault(name, value)


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
    embed.add_argument("--network", metavar="NAME", help=tr("which network of a file that holds several"))
    _detector_arguments(embed, required=False)
    embed.add_argument("--batch", type=int, default=32)
    embed.add_argument("--threads", type=int, default=None, help=tr("processor cores (default: all)"))
    embed.set_defaults(run=_embed)

    _evaluate_arguments(
        commands.add_parser("evaluate", help=tr("verification, identification and retrieval, with intervals"))
    )

    _uncertainty_arguments(
        commands.add_parser(
            "uncertainty", help=tr("where several models disagree, and what refusing such pictures does")
        )
    )

    _confidence_arguments(
        commands.add_parser(
            "confidence", help=tr("how sure the parts of an embedding are, and how they vote on a pair")
        )
    )

    _learners_arguments(
        commands.add_parser("learners", help=tr("what each learner of a divided embedding finds alone"))
    )

    _match_arguments(
        commands.add_parser("match", help=tr("search for a face by its embedding and by its patches, and say why"))
    )

    _rerank_arguments(
        commands.add_parser("rerank", help=tr("what a second stage by patches does to many searches, before and after"))
    )

    _train_arguments(commands.add_parser("train", help=tr("train a model as a recipe says")))

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
    inspect.add_argument("--network", metavar="NAME", help=tr("which network of a file that holds several"))
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
    build.add_argument(
        "--checkpoints", action="store_true", help=tr("also train the sample checkpoints (about half an hour)")
    )
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


def _evaluate_arguments(command: argparse.ArgumentParser) -> None:
    from facelens.analyses import plan

    command.add_argument(
        "store",
        nargs="?",
        metavar="STORE",
        help=tr("vectors to evaluate: a store's folder, the start of its name in the cache, or an exported file"),
    )
    command.add_argument(
        "--query", metavar="STORE", help=tr("queries: other faces, or the same by another model, searched in STORE")
    )
    command.add_argument("--query-gallery", type=Path, metavar="PATH", help=tr("where the pictures of --query are now"))
    command.add_argument("--compare", metavar="STORE", help=tr("a second model; shows what it does better or worse"))
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument(
        "--model",
        type=Path,
        nargs="+",
        metavar="FILE",
        help=tr("embed --gallery with this model first (two: compare them) instead of giving a STORE"),
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument(
        "--protocol", type=Path, metavar="FILE", help=tr("pairs.txt, or a table with the columns a, b, same, fold")
    )
    command.add_argument("--all-pairs", action="store_true", help=tr("compare all pairs, whatever test there is"))
    command.add_argument("--only", nargs="+", choices=plan.PARTS, help=tr("leave the others out"))
    command.add_argument("--far", nargs="+", type=_rate, help=tr("false accept rates (default: 1e-1 to 1e-6)"))
    command.add_argument("--rule", choices=plan.RULES, help=tr("of TAR at a FAR (default: roc)"))
    command.add_argument("--fpir", nargs="+", type=_rate, help=tr("of open-set searches (default: 1e-1 to 1e-3)"))
    command.add_argument("--open-rule", choices=plan.OPEN_RULES, help=tr("default: nist"))
    command.add_argument("--r-mode", choices=plan.R_MODES, help=tr("whether R counts the query itself"))
    command.add_argument("--no-junk", action="store_true", help=tr("keep what the query's own camera saw"))
    command.add_argument("--nmi", choices=plan.NMI_MEANS, help=tr("mean (2019 numbers: geometric)"))
    command.add_argument("--cluster", action="store_true", help=tr("NMI also where it takes many minutes"))
    command.add_argument("--breakdown", metavar="COLUMN", help=tr("also for each value of a column"))
    command.add_argument("--resamples", type=int, help=tr("draws for intervals (default: 1000; 0 for none)"))
    command.add_argument("--seed", type=int)
    command.add_argument("--no-detector-score", action="store_true", help=tr("templates: all pictures count alike"))
    command.add_argument("--unit-length", action="store_true", help=tr("templates: pictures at unit length"))
    command.add_argument("--no-flip", action="store_true", help=tr("templates: vectors without the mirrored picture"))
    command.add_argument("--empty-templates", choices=plan.EMPTY, help=tr("pairs of a template without usable picture"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("also write all numbers as JSON"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("also as CSV, with every search and query"))
    command.add_argument("--latex", type=Path, metavar="FILE", help=tr("also the main table as LaTeX"))
    command.add_argument("--policy", type=Path, metavar="FILE", help=tr("also the thresholds for --policy-far as JSON"))
    command.add_argument("--policy-far", type=_rate, default=1e-3, help=tr("default: 1e-3"))
    command.set_defaults(run=_evaluate)


def _uncertainty_arguments(command: argparse.ArgumentParser) -> None:
    from facelens.analyses import plan

    usual = plan.EnsemblePlan()
    command.add_argument(
        "stores",
        nargs="*",
        metavar="STORE",
        help=tr("vectors of one gallery by two models or more, named as in evaluate"),
    )
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument(
        "--model", type=Path, nargs="+", metavar="FILE", help=tr("embed --gallery with these instead of giving STOREs")
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument("--members", nargs="+", default=(), metavar="NAME", help=tr("models (default: all)"))
    command.add_argument("--target", default="", metavar="NAME", help=tr("the query model (default: the last)"))
    command.add_argument(
        "--mode", choices=plan.MODES, default=usual.mode, help=tr("into the query model's space, or a new one")
    )
    command.add_argument(
        "--method", choices=plan.METHODS, default=usual.method, help=tr("of fitting transforms (default: auto)")
    )
    command.add_argument("--copies", type=_count, default=1, metavar="N", help=tr("transforms of each model"))
    command.add_argument(
        "--transform",
        action="append",
        default=[],
        metavar="[MODEL=]FILE",
        help=tr("one that was fitted elsewhere; again for further models"),
    )
    command.add_argument(
        "--fit-on", default="", metavar="FILTER", help=tr('e.g. "split = train" (default: half of the people)')
    )
    command.add_argument(
        "--queries", choices=plan.QUERIES, default=usual.queries, help=tr("who is compared with the ensemble")
    )
    command.add_argument(
        "--scores", type=Path, action="append", default=[], metavar="FILE", help=tr("table of scores; again for more")
    )
    command.add_argument("--by", metavar="COLUMN", help=tr("refuse by this score (default: the variance)"))
    command.add_argument("--low-first", action="store_true", help=tr("low values of --by are refused first"))
    command.add_argument("--reject", type=_rate, metavar="SHARE", help=tr("of the faces (default: 0.05)"))
    command.add_argument("--far", type=_rate, default=usual.far, help=tr("of 1:1 (default: 1e-3)"))
    command.add_argument("--fpir", type=_rate, default=usual.fpir, help=tr("of 1:N (default: 1e-2)"))
    command.add_argument("--refuse", choices=plan.REFUSE, default=usual.refuse, help=tr("1:1, whose pictures"))
    command.add_argument(
        "--emptied", choices=plan.EMPTIED, default=usual.emptied, help=tr("1:N, a template that lost all its pictures")
    )
    command.add_argument(
        "--weights", choices=plan.WEIGHTS, default=usual.weights, help=tr("1:N, of the pictures of a template")
    )
    command.add_argument(
        "--right", choices=plan.RECOGNISED, default=usual.right, help=tr("when a face counts as recognised")
    )
    command.add_argument("--resamples", type=int, default=usual.resamples, help=tr("draws for intervals; 0 for none"))
    command.add_argument("--seed", type=int, default=usual.seed)
    command.add_argument(
        "--update-query", default="", metavar="NAME", help=tr("also another query model, by its name or its STORE")
    )
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("all faces with their scores"))
    command.add_argument("--refused", type=Path, metavar="FILE", help=tr("the refused faces alone, as CSV"))
    command.add_argument("--curve", type=Path, metavar="FILE", help=tr("the errors that are left: NAME.csv or .json"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers about the ensemble"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the charts: NAME.pdf, .svg or .png"))
    command.set_defaults(run=_uncertainty)


def _part_arguments(command: argparse.ArgumentParser, *, models: str) -> None:
    from facelens.analyses import plan

    usual = plan.PartsPlan()
    command.add_argument("store", nargs="?", metavar="STORE", help=tr("vectors of a model, named as in evaluate"))
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument("--model", type=Path, nargs="+", metavar="FILE", help=models)
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument(
        "--parts", type=_count, default=0, metavar="K", help=tr("slices of an ordinary embedding (default: 16)")
    )
    command.add_argument(
        "--cut", choices=plan.CUTS, default=usual.cut, help=tr("slices as they lie, by principal axes, or by chance")
    )
    command.add_argument("--unit", action="store_true", help=tr("bring each slice to length 1"))
    command.add_argument("--resamples", type=int, default=500, help=tr("draws for intervals; 0 for none"))
    command.add_argument("--seed", type=int, default=usual.seed)
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers but those of single faces"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the figures: NAME.pdf, .svg or .png"))


def _confidence_arguments(command: argparse.ArgumentParser) -> None:
    from facelens.analyses import plan

    usual = plan.PartsPlan()
    _part_arguments(command, models=tr("embed --gallery with this instead of giving a STORE"))
    command.add_argument(
        "--show", choices=plan.SHOWN, default="", help=tr("of each part (default: the first there is)")
    )
    command.add_argument("--match", choices=plan.MATCHES, default=usual.match, help=tr("how parts are matched"))
    command.add_argument("--far", type=_rate, default=usual.far, help=tr("default: 1e-3"))
    command.add_argument("--drop", type=_numbers, default=(), metavar="4,9", help=tr("parts that do not vote"))
    command.add_argument("--pair", nargs=2, default=(), metavar="PICTURE", help=tr("also how the parts vote on these"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("all faces, part by part"))
    command.set_defaults(run=_confidence)


def _learners_arguments(command: argparse.ArgumentParser) -> None:
    _part_arguments(command, models=tr("embed --gallery with this (and a baseline) instead of giving a STORE"))
    command.add_argument("--baseline", metavar="STORE", help=tr("an undivided model, cut into as many slices"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("all queries with the rank of each learner"))
    command.set_defaults(run=_learners)


def _patch_arguments(command: argparse.ArgumentParser) -> None:
    from facelens.analyses import plan

    usual = plan.MatchPlan()
    command.add_argument("--gallery", type=Path, metavar="PATH", help=tr("where the pictures are now"))
    command.add_argument(
        "--model", type=Path, metavar="FILE", help=tr("the model that made the vectors (default: where it lay then)")
    )
    command.add_argument("--store", dest="root", type=Path, metavar="DIR", help=tr("where vectors are kept"))
    command.add_argument("--solver", choices=plan.SOLVERS, default=usual.solver, help=tr("default: exact"))
    command.add_argument(
        "--epsilon", type=_above, default=usual.epsilon, help=tr("of sinkhorn and paper (default: 0.05)")
    )
    command.add_argument(
        "--grid", type=_grid, metavar="4x4", help=tr("rows and columns of patches (default: as the model has them)")
    )
    command.add_argument(
        "--shortlist", type=_size, metavar="K", help=tr("faces the second stage looks at (default: 100; 0: all)")
    )
    command.add_argument("--occlude", choices=OCCLUSIONS, help=tr("paint this on what is searched for"))


OCCLUSIONS = ("mask", "sunglasses", "crop70", "blocks")


def _match_arguments(command: argparse.ArgumentParser) -> None:
    from facelens.analyses import plan

    command.add_argument("query", metavar="QUERY", help=tr("a picture, or the path of one inside the gallery"))
    command.add_argument("store", metavar="GALLERY_STORE", help=tr("vectors of the gallery, named as in evaluate"))
    _patch_arguments(command)
    command.add_argument("--alpha", type=_alpha, default=plan.ALPHA, help=tr("share of the patches (0.7), or sum"))
    command.add_argument("--weights", type=_weights, default="uniform", help=tr("default: uniform"))
    command.add_argument("--identity", default="", metavar="NAME", help=tr("who a picture from elsewhere shows"))
    _detector_arguments(command, required=False)
    command.add_argument("--top", type=_count, default=10, metavar="N", help=tr("faces to list (default: 10)"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the figures: NAME.pdf, .svg or .png"))
    command.add_argument("--csv", type=Path, metavar="FILE", help=tr("the shortlist before and after"))
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers, with the plans of two faces"))
    command.set_defaults(run=_match)


def _rerank_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("store", metavar="STORE", help=tr("vectors of the gallery, named as in evaluate"))
    _patch_arguments(command)
    command.add_argument(
        "--queries",
        default="",
        metavar="FILTER",
        help=tr('who is searched for, e.g. "role = query", or a folder (default: all with another picture)'),
    )
    command.add_argument("--apart", action="store_true", help=tr("leave all queries out of the gallery"))
    command.add_argument(
        "--weights", type=_many(_weights), default=(), metavar="A,B", help=tr("default: all that can be used")
    )
    command.add_argument(
        "--alphas", type=_many(_alpha), default=ALPHAS, metavar="0.3,0.7,sum", help=tr("default: 0,0.3,0.5,0.7,1,sum")
    )
    command.add_argument("--json", type=Path, metavar="FILE", help=tr("all numbers but those of single queries"))
    command.add_argument("--figure", type=Path, metavar="FILE", help=tr("the curves: NAME.pdf, .svg or .png"))
    command.set_defaults(run=_rerank)


ALPHAS = (0.0, 0.3, 0.5, 0.7, 1.0, -1.0)  # as published, and the plain sum


def _train_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("recipe", help=tr("a recipe's name (cosface, universal, ...) or a TOML file"))
    command.add_argument("--gallery", type=Path, help=tr("what to train on (default: the recipe's, or drawn people)"))
    command.add_argument("--out", type=Path, metavar="DIR", help=tr("default: trained/RECIPE"))
    command.add_argument("--cache", type=Path, metavar="DIR", help=tr("where cut-out faces are kept (default: --out)"))
    command.add_argument("--resume", action="store_true", help=tr("go on where a training stopped"))
    command.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help=tr("another value, e.g. loss.margin=0.4"),
    )
    command.add_argument(
        "--device", default="", help=tr("cpu, cuda, cuda:1 (default: the first graphics card, if any)")
    )
    command.set_defaults(run=_train)


def _rate(word: str) -> float:
    value = float(word)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(tr("{word} is no rate between 0 and 1", word=word))
    return value


def _count(word: str) -> int:
    value = int(word)
    if value < 1:
        raise argparse.ArgumentTypeError(tr("{word} is no number from 1 up", word=word))
    return value


def _size(word: str) -> int:
    value = int(word)
    if value < 0:
        raise argparse.ArgumentTypeError(tr("{word} is no number from 0 up", word=word))
    return value


def _numbers(word: str) -> tuple[int, ...]:
    return tuple(_count(one) for one in word.split(","))


def _many(read: Callable[[str], Result]) -> Callable[[str], tuple[Result, ...]]:
    def several(word: str) -> tuple[Result, ...]:
        return tuple(dict.fromkeys(read(one.strip()) for one in word.split(",")))

    return several


def _alpha(word: str) -> float:
    value = -1.0 if word == "sum" else float(word)
    if not (0 <= value <= 1 or value == -1):
        raise argparse.ArgumentTypeError(tr("{word} is no share from 0 to 1, nor sum", word=word))
    return value


def _above(word: str) -> float:
    value = float(word)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(tr("{word} is not above 0", word=word))
    return value


def _grid(word: str) -> tuple[int, int]:
    rows, cross, columns = word.lower().replace("×", "x").partition("x")
    if not cross:
        raise argparse.ArgumentTypeError(tr("{word} is no grid such as 4x4", word=word))
    return _count(rows), _count(columns)


def _weights(word: str) -> str:
    from facelens.analyses.plan import PATCH_WEIGHTS

    name = {"sc": "sc distance"}.get(word.lower(), word.lower().replace("-", " "))
    if name not in PATCH_WEIGHTS:
        known = ", ".join(name.replace(" ", "-") for name in PATCH_WEIGHTS)
        raise argparse.ArgumentTypeError(tr("{word} is none of {known}", word=word, known=known))
    return name


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
    from facelens.session.tasks import check_gallery, open_gallery

    reading = open_gallery(arguments.gallery)
    diagnosis = _apart(check_gallery, reading.faces, tick=_Line(tr("Checking")))
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
    done = _apart(
        tasks.embed_gallery,
        faces,
        arguments.model,
        card=arguments.card,
        root=_store_root(arguments.store),
        consents=_consents(),
        batch=arguments.batch,
        threads=arguments.threads,
        network=arguments.network,
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


def _evaluate(arguments: argparse.Namespace) -> int:
    from facelens.analyses.evaluation import evaluate_both
    from facelens.analyses.plan import ALL_PAIRS, PARTS, Plan
    from facelens.session import policy, reports, tables, vectors

    if arguments.query_gallery and not arguments.query:
        raise InputError(tr("--query-gallery is given without --query."), hint=tr("Give the store of the queries too."))
    if arguments.query and arguments.compare:
        raise InputError(
            tr("--query and --compare cannot be given together."), hint=tr("Evaluate the two one after the other.")
        )
    names = _evaluated_stores(arguments)
    opened = vectors.open_stores(
        names,
        cache=_store_root(arguments.root),
        gallery=arguments.gallery,
        protocol=arguments.protocol,
        query=arguments.query or "",
        query_gallery=arguments.query_gallery,
    )
    test = None if arguments.all_pairs else opened.protocol
    said: dict[str, Any] = {
        "parts": arguments.only and tuple(part for part in PARTS if part in arguments.only),
        "fars": arguments.far and tuple(sorted(set(arguments.far), reverse=True)),
        "rule": arguments.rule,
        "fpirs": arguments.fpir and tuple(sorted(set(arguments.fpir), reverse=True)),
        "open_rule": arguments.open_rule,
        "r_mode": arguments.r_mode,
        "breakdown": arguments.breakdown,
        "nmi_mean": arguments.nmi,
        "clustered": sys.maxsize if arguments.cluster else None,
        "empty_templates": arguments.empty_templates,
        "resamples": arguments.resamples,
        "seed": arguments.seed,
    }
    plan = Plan(
        protocol=test.name if test is not None else ALL_PAIRS,
        junk=not arguments.no_junk,
        flip=not arguments.no_flip,
        detector_score=not arguments.no_detector_score,
        keep_norm=not arguments.unit_length,
        **{name: value for name, value in said.items() if value is not None},
    )
    second = opened.features[1] if len(opened.features) > 1 else None
    found = evaluate_both(
        opened.faces,
        test,
        plan,
        a=opened.features[0],
        b=second,
        query_a=opened.queries,
        searching=opened.searching,
        tick=_Line(tr("Evaluating")),
    )
    for line in (*opened.notes, *reports.lines(found, faces=opened.faces)):
        print(line)
    for out, write in (
        (arguments.json, tables.write_json),
        (arguments.csv, tables.write_csv),
        (arguments.latex, tables.write_latex),
    ):
        if out:
            write(out, found, faces=opened.faces)
    if arguments.policy:
        policy.write_policy(arguments.policy, found, target=arguments.policy_far)
    return 0


def _uncertainty(arguments: argparse.Namespace) -> int:
    from facelens.analyses.plan import VARIANCE, EnsemblePlan
    from facelens.session import ensembles, folders, refusals
    from facelens.session.uncertainty_report import SHARE, UncertaintyReport

    if arguments.low_first and not arguments.by:
        raise InputError(tr("--low-first is given without --by."), hint=tr("Give the column to refuse by too."))
    gathered = ensembles.gathered(
        _ensemble_stores(arguments),
        cache=_store_root(arguments.root),
        gallery=arguments.gallery,
        scores=arguments.scores,
        update=arguments.update_query,
    )
    same = ("target", "mode", "method", "copies", "queries", "far", "fpir", "refuse", "emptied", "weights", "right")
    asked = {name: getattr(arguments, name) for name in (*same, "resamples", "seed")}
    wanted = EnsemblePlan(
        members=tuple(dict.fromkeys(arguments.members)),
        fitted_on=arguments.fit_on,
        by=arguments.by or VARIANCE,
        lower=arguments.low_first,
        **asked,
    )
    plan = ensembles.planned(gathered, wanted, files=arguments.transform)
    folder, tick = folders.cache() / "transforms", _Line(tr("Assessing"))
    found = ensembles.assessed(gathered, plan, folder=folder, tick=tick)
    report = UncertaintyReport(
        gathered.faces,
        found,
        plan,
        share=arguments.reject or SHARE,
        scores=gathered.scores,
        update=ensembles.updated(gathered, plan, folder=folder, tick=tick) if gathered.update else None,
        notes=gathered.notes,
    )
    for line in report.lines():
        print(line)
    for out, only in ((arguments.csv, None), (arguments.refused, report.refused)):
        if out:
            refusals.write_faces(out, gathered.faces, found, limit=report.limit, only=only)
    if arguments.curve:
        refusals.write_curves(arguments.curve, found)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_uncertainty

        draw_uncertainty(arguments.figure, gathered.faces, found, step=report.step, lower=found.lower)
    return 0


def _ensemble_stores(arguments: argparse.Namespace) -> list[str]:
    """The stores that are asked for; those of --model are filled first."""
    if not arguments.model and not arguments.stores:
        raise InputError(
            tr("No vectors are given."), hint=tr("Give two STOREs or more, or --gallery PATH and --model FILE FILE.")
        )
    if not arguments.model:
        return list(arguments.stores)
    if arguments.stores or arguments.gallery is None:
        raise InputError(
            tr("--model embeds the gallery of --gallery and stands in place of STORE."),
            hint=tr("Give --gallery PATH and no STORE."),
        )
    return _embedded_stores(arguments)


def _confidence(arguments: argparse.Namespace) -> int:
    from facelens.session import vectors
    from facelens.session.confidence_report import confidence_of
    from facelens.session.part_tables import write_confidence

    names = _part_stores(arguments, most=1)
    opened = vectors.open_stores(names, cache=_store_root(arguments.root), gallery=arguments.gallery)
    report = confidence_of(
        opened,
        _parts_plan(arguments, show=arguments.show, match=arguments.match, far=arguments.far),
        drop=arguments.drop,
        pair=arguments.pair,
        resamples=arguments.resamples,
        tick=_Line(tr("Looking at parts")),
    )
    for line in report.lines():
        print(line)
    if arguments.csv:
        write_confidence(arguments.csv, report.faces, report.parts)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_confidence

        draw_confidence(
            arguments.figure,
            report.faces,
            report.parts,
            report.study,
            shown=report.study.shown,
            verdict=report.pair.verdict if report.pair is not None else None,
            ruling=report.ruling,
            match=report.plan.match,
            far=report.plan.far,
            model=report.plan.model,
        )
    return 0


def _learners(arguments: argparse.Namespace) -> int:
    from facelens.session import vectors
    from facelens.session.learners_report import learners_of
    from facelens.session.part_tables import write_queries

    names = _part_stores(arguments, most=1 if arguments.baseline else 2)
    if arguments.baseline:
        names.append(arguments.baseline)
    opened = vectors.open_stores(names, cache=_store_root(arguments.root), gallery=arguments.gallery)
    report = learners_of(
        opened, _parts_plan(arguments), resamples=arguments.resamples, tick=_Line(tr("Looking at learners"))
    )
    for line in report.lines():
        print(line)
    if arguments.csv:
        write_queries(arguments.csv, report.faces, report.found)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_learners

        draw_learners(arguments.figure, report.faces, report.found)
    return 0


def _match(arguments: argparse.Namespace) -> int:
    from facelens.session import match_report
    from facelens.session.match_tables import write_ranking
    from facelens.session.matched import Subject

    faces, features, notes = _opened_one(arguments)
    query = match_report.query_of(faces, arguments.query, identity=arguments.identity)
    queries, said = query.queries, [*notes, *query.notes]
    if queries is not None and arguments.detector:
        queries = _aligned(queries, arguments)
    elif queries is not None and faces.landmarks is not None:
        said.append(tr("The picture is taken as an aligned face; of a photograph find the face with --detector FILE."))
    asked = _match_plan(arguments, len(faces), alpha=arguments.alpha, weights=arguments.weights)
    model, plan, _ = match_report.ready(features, asked, file=arguments.model, consents=_consents())
    found = _apart(
        match_report.examine,
        faces,
        query.face,
        plan,
        queries=queries,
        **_patches_from(arguments, features, model),
        tick=_Line(tr("Matching")),
    )
    home = query.face if queries is None else None
    name = "" if queries is None else queries.file_name(0)
    subject = Subject(faces, found.searched, plan, home, name)
    report = match_report.MatchReport(subject, found, top=arguments.top, notes=tuple(said))
    for line in report.lines():
        print(line)
    if arguments.csv:
        write_ranking(arguments.csv, faces, found.searched, plan, query=home, name=name)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_match

        draw_match(
            arguments.figure,
            faces,
            found.searched,
            found.pair,
            plan=plan,
            query=home,
            name=name,
            other=found.other,
            which=("flow", "ranking", "regions"),
        )
    return 0


def _rerank(arguments: argparse.Namespace) -> int:
    from facelens.session import match_report, matching

    faces, features, notes = _opened_one(arguments)
    asking = match_report.asking(faces, arguments.queries)
    asked = _match_plan(arguments, len(faces))
    if arguments.weights:
        asked = replace(asked, weights=arguments.weights[0])
    model, plan, grid = match_report.ready(features, asked, file=arguments.model, consents=_consents())
    sweep = _apart(
        matching.sweep,
        faces,
        plan,
        queries=asking.queries,
        among=asking.among,
        excluded=asking.among if arguments.apart else None,
        weights=arguments.weights,
        alphas=arguments.alphas,
        **_patches_from(arguments, features, model),
        tick=_Line(tr("Searching")),
    )
    report = match_report.RerankReport(faces, sweep, plan, grid, notes=(*notes, *asking.notes))
    for line in report.lines():
        print(line)
    if arguments.json:
        report.write_json(arguments.json)
    if arguments.figure:
        from facelens.session.drawing import draw_match

        shown = replace(plan, grid=grid)
        draw_match(arguments.figure, faces, None, None, plan=shown, sweep=sweep, which=("sweep",))
    return 0


def _opened_one(arguments: argparse.Namespace) -> tuple[FaceSet, FeatureSet, tuple[str, ...]]:
    """The gallery of a store, its vectors, and what there is to say of them."""
    from facelens.session import vectors

    opened = vectors.open_stores([arguments.store], cache=_store_root(arguments.root), gallery=arguments.gallery)
    return opened.faces, opened.features[0], opened.notes


def _match_plan(arguments: argparse.Namespace, faces: int, **more: Any) -> MatchPlan:
    from facelens.analyses.plan import MatchPlan
    from facelens.session.match_report import checked

    same = {name: getattr(arguments, name) for name in ("solver", "epsilon", "grid")}
    plan = MatchPlan(**same, **more)
    if arguments.shortlist is not None:
        plan = replace(plan, shortlist=arguments.shortlist)
        checked(plan, faces)
    return plan


def _patches_from(arguments: argparse.Namespace, features: FeatureSet, model: Model) -> dict[str, Any]:
    """What every search by patches needs."""
    from facelens.images.occlusion import Occlusion
    from facelens.session import folders

    occlusion = Occlusion(arguments.occlude) if arguments.occlude else None
    return {"features": features, "model": model, "folder": folders.cache() / "patches", "occlusion": occlusion}


def _parts_plan(arguments: argparse.Namespace, **more: Any) -> PartsPlan:
    from facelens.analyses.plan import PartsPlan

    same = {name: getattr(arguments, name) for name in ("parts", "cut", "unit", "seed")}
    return PartsPlan(**same, **more)


def _part_stores(arguments: argparse.Namespace, *, most: int) -> list[str]:
    """The store that is asked for; those of --model are filled first, `most` of them."""
    if not arguments.model and not arguments.store:
        raise InputError(tr("No vectors are given."), hint=tr("Give a STORE, or --gallery PATH and --model FILE."))
    if not arguments.model:
        return [arguments.store]
    if arguments.store or arguments.gallery is None or len(arguments.model) > most:
        raise InputError(
            tr("--model embeds the gallery of --gallery and stands in place of STORE."),
            hint=tr("Give --gallery PATH, no STORE, and no more models than are looked at."),
        )
    return _embedded_stores(arguments)


def _train(arguments: argparse.Namespace) -> int:
    from facelens.features import recipe as recipes
    from facelens.session.training import train_model

    recipe = recipes.load(arguments.recipe, changes=arguments.set)
    out = arguments.out or Path("trained") / recipe.name
    with _Steps() as steps:
        done = train_model(
            recipe,
            out,
            gallery=arguments.gallery,
            cache=arguments.cache,
            resume=arguments.resume,
            device=arguments.device,
            tick=steps,
        )
    if steps.talks:
        for line in done.lines():
            print(line)
    return 0


def _evaluated_stores(arguments: argparse.Namespace) -> list[str]:
    """The stores that are asked for; those of --model are filled first."""
    further = [arguments.compare] if arguments.compare else []
    if not arguments.model:
        if not arguments.store:
            raise InputError(
                tr("Nothing to evaluate is given."), hint=tr("Give a STORE, or --gallery PATH and --model FILE.")
            )
        return [arguments.store, *further]
    if arguments.store or arguments.gallery is None or len(arguments.model) > (1 if further or arguments.query else 2):
        raise InputError(
            tr("--model embeds the gallery of --gallery and stands in place of STORE."),
            hint=tr("Give --gallery PATH, no STORE, and two models at most."),
        )
    return [*_embedded_stores(arguments), *further]


def _embedded_stores(arguments: argparse.Namespace) -> list[str]:
    """The stores of --model, filled."""
    from facelens.session import tasks

    faces = tasks.open_gallery(arguments.gallery).faces
    made = []
    for model in arguments.model:
        root, tick = _store_root(arguments.root), _Line(tr("Embedding"))
        done = _apart(tasks.embed_gallery, faces, model, root=root, consents=_consents(), tick=tick)
        for line in (done.sentence, *done.notes):
            print(line)
        made.append(str(done.store))
    return made


def _aligned(faces: FaceSet, arguments: argparse.Namespace) -> FaceSet:
    from facelens.session.tasks import align_gallery

    done = _apart(align_gallery, faces, arguments.detector, policy=arguments.policy, tick=_Line(tr("Finding faces")))
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

    found = library.inspect(
        arguments.file, card=arguments.card, network=arguments.network, consents=ConsentBook(_consents())
    )
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
    if arguments.checkpoints:
        from facelens.session import sample

        folder = arguments.out / sample.FOLDER
        for name, measured in sample.build_checkpoints(folder, arguments.out, tick=_Line(tr("Training"))).items():
            print(f"{name}: {json.dumps(measured)}")
        print(tr("The sample checkpoints are in {folder}.", folder=folder.resolve()))
    return 0


def _apart(call: Callable[..., Result], *arguments: object, tick: Tick, **named: object) -> Result:
    """Read pictures in a worker process: one that crashes the decoder is found out and left out, the rest goes on."""
    import logging

    from facelens.images.quarantine import Again
    from facelens.session import folders
    from facelens.session.jobs import Request, run_apart

    logging.getLogger("facelens.jobs").addHandler(logging.NullHandler())  # what fails is told once, by `main`
    book = folders.quarantine()
    request = Request(call.__name__, call, arguments, {**named, "quarantined": book}, again=Again(book))
    return run_apart(request, tick=tick)  # type: ignore[return-value]


class _Line:
    """A tick that redraws one line on a terminal, and stays silent elsewhere."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __call__(self, done: int, total: int, note: str = "") -> None:
        if sys.stderr.isatty():
            end = "\n" if done >= total else "\r"
            print(f"\x1b[2K{self.title} {done:,} of {total:,}", end=end, file=sys.stderr, flush=True)


class _Steps(_Line):
    """Prints each row of a training; Ctrl-C ends it after the step at hand, so that it can be resumed there."""

    def __init__(self) -> None:
        super().__init__("")
        self.talks = os.environ.get("RANK", "0") == "0"  # under torchrun one process speaks for all
        self._stopped = False
        self._usual: Any = None

    def __enter__(self) -> _Steps:
        try:
            self._usual = signal.signal(signal.SIGINT, self._stop)
        except ValueError:  # not the main thread: whoever runs us there deals with Ctrl-C
            self._usual = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)

    def _stop(self, *_: object) -> None:
        if self._stopped:
            raise KeyboardInterrupt
        self._stopped = True

    def __call__(self, done: int, total: int, note: str = "") -> None:
        if self._stopped:
            raise Cancelled
        self.title = note
        if self.talks:
            super().__call__(done, total)

    def partial(self, row: object) -> None:
        from facelens.session.training import words

        if self.talks:
            print(words(row), flush=True)


if __name__ == "__main__":
    sys.exit(main())
