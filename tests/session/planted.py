"""A gallery whose every name is a trap, all results of it, and every file that FaceLens writes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from facelens.analyses import divided, evaluation, jury, parts, projection, uncertainty, universal, upgrade
from facelens.analyses.plan import EnsemblePlan, MatchPlan, PartsPlan, Plan, ProjectionPlan, UpgradePlan
from facelens.analyses.same_class import same_class
from facelens.features import whatif  # noqa: F401  the home of torch, before numba
from facelens.features.card import Card
from facelens.features.featureset import FeatureSet, Provenance
from facelens.figures.projection import Look
from facelens.images import builder, doctor
from facelens.images.disguise import Guise
from facelens.images.faceset import FaceSet, Labels
from facelens.images.protocol import Protocol
from facelens.session import (
    annotations,
    exporting,
    match_tables,
    part_tables,
    policy,
    projection_tables,
    refusals,
    reports,
    subsets,
    tables,
    tasks,
    upgrade_tables,
)
from facelens.session.confidence_report import ConfidenceReport
from facelens.session.drawing import (
    draw_charts,
    draw_confidence,
    draw_gallery,
    draw_learners,
    draw_match,
    draw_projection,
    draw_uncertainty,
    draw_upgrade,
)
from facelens.session.learners_report import LearnersReport
from facelens.session.mark_columns import spoken
from facelens.session.matched import Subject
from facelens.session.outgoing import Sentences, carried, outgoing
from facelens.session.uncertainty_report import UncertaintyReport
from facelens.session.upgrade_report import UpgradeReport, write_report
from facelens.session.workspace import attributes, with_model_columns
from tests.figures import matched

MARK = "Qzmarkzq"
PEOPLE, EACH, D = 40, 5, 16
# What a name may begin with; each makes a spreadsheet, a page or a drawing do something.
TRAPS = (
    "=cmd|'/C calc'!A0 {}", "+1+1 {}", "-2+3 {}", "@SUM(1) {}", "\t=tab {}", "\r=return {}",
    "<script>alert('{}')</script>",
    '"quoted" {}', "'=guarded {}", "a & b < {} > c", "]]><b>{}", "&lt;{}&gt;", "{}", "javascript:{}", "éü {}", "{}%s%n",
    "$x^2$ {}", "\\x {}", "-{}", "={}",
)  # fmt: skip


def trapped(number: int) -> str:
    """A name that means harm; all of them have the mark in them."""
    return TRAPS[number % len(TRAPS)].format(f"{MARK}{number}")


@dataclass(frozen=True, eq=False)
class World:
    """Everything that is known of the gallery."""

    faces: FaceSet
    protocol: Protocol
    features: dict[str, FeatureSet]
    evaluation: evaluation.Evaluation
    listed: evaluation.Evaluation
    uncertainty: uncertainty.Uncertainty
    ensemble: EnsemblePlan
    parts: parts.Parts
    study: universal.Study
    parts_plan: PartsPlan
    verdict: jury.Verdict
    ruling: jury.Ruling
    learners: divided.Learners
    projection: projection.Projection
    look: Look
    upgrade: upgrade.Upgrade
    people: Any
    diagnosis: doctor.Diagnosis


@cache
def world(folder: Path) -> World:
    """Made once; the folder is where its pictures lie."""
    root = folder / f"={MARK} home" / f"{MARK} gallery"
    rng = np.random.default_rng(0)
    paths, people = [], []
    for person in range(PEOPLE):
        for picture in range(EACH):
            name = f"{trapped(person).replace('/', '_')}/{trapped(person + picture).replace('/', '_')} {picture}.png"
            paths.append(name)
            people.append(trapped(person) if person else None)  # of the first nobody knows who it is
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (40, 40, 3), np.uint8)).save(root / name)
    (root / paths[-1]).write_bytes(b"no picture")
    n = len(paths)
    codes = np.repeat(np.arange(PEOPLE), EACH)
    columns = {
        "yaw": rng.normal(0, 20, n),
        "below": -np.arange(n, dtype=np.int64),
        "camera": Labels.of([trapped(i % 3) for i in range(n)]),
        "glasses": Labels.of(["yes" if i % 2 else "no" for i in range(n)]),
    }
    faces = FaceSet.build(f"={MARK} gallery", root, paths=paths, identities=people, columns=columns)
    faces = replace(faces, landmarks=rng.uniform(5, 35, (n, 5, 2)).astype(np.float32))
    centres = rng.normal(size=(PEOPLE, D))
    features = {}
    for name, noise in (("old", 1.2), ("new", 0.8), ("upper", 0.5)):
        x = (centres[codes] + noise * rng.normal(size=(n, D))).astype(np.float32)
        card = Card(name, "small_plain", dimensions=D, notes=f"made by {MARK}")
        source = Provenance(f"{MARK}-{name}", name, "ab" * 32, card, file=f"/home/{MARK}/{name}.pt")
        sure = rng.uniform(0.5, 2, (n, 4)).astype(np.float32)
        features[name] = FeatureSet(faces.ids, x, source, confidence=sure if name == "new" else None)
    faces = with_model_columns(faces, features, {})
    pairs = builder.build_pairs(faces, folds=2, per_fold=20)
    protocol = Protocol(f"{MARK} pairs.txt", pairs)
    asked = Plan(resamples=20, fars=(0.1, 0.02), breakdown="camera")
    both = {"a": features["old"], "b": features["new"]}
    whole = evaluation.evaluate_both(faces, None, asked, **both)
    of_people = replace(asked, protocol=protocol.name, breakdown="identity")
    listed = evaluation.evaluate_both(faces, protocol, of_people, **both)
    wanted = EnsemblePlan(
        members=("old", "new", "upper"), target="new", far=0.1, resamples=10, fitted_on=f'identity ~ "{MARK}"'
    )
    fitting = faces.ids[codes < PEOPLE // 2]
    unsure = uncertainty.assess(faces, wanted, features=features, fitting=fitting)
    plan = PartsPlan(model="new", parts=4, far=0.1)
    cut = parts.cut(faces, plan, features=features["new"])
    plan = replace(plan, show=next(iter(cut.values)))
    study = universal.study(faces, cut, plan, features=features["new"], columns=attributes(faces), resamples=10)
    ruling = jury.ruling(cut, match="cosine", kept=np.ones(4, bool), far=0.1)
    pair = int(faces.ids[6]), int(faces.ids[7])
    verdict = jury.verdict(
        cut, features["new"], *pair, match="cosine", kept=np.ones(4, bool), ruling=ruling
    )
    sliced = PartsPlan(model="old", baseline="upper", parts=4)
    found = divided.learners(faces, sliced, features=features, resamples=10)
    laid = projection.project(
        faces, ProjectionPlan(model="old", other="new", method="pca"), features=features["old"], other=features["new"]
    )
    look = Look(by="identity", focus=frozenset(faces.identity.names[:3]), shape="camera",
                augmented=frozenset([trapped(0)]))  # fmt: skip
    moved = UpgradePlan(
        old="old", new="new", upper="upper", far=0.1, fpir=0.1, resamples=10, fitted_on=f'identity ~ "{MARK}"',
    )  # fmt: skip
    upgraded = upgrade.study(faces, moved, features=features, fitting=fitting)
    upgraded = replace(upgraded, plan=replace(upgraded.plan, files=(("forward", f"/home/{MARK}/t.safetensors"),)))
    same = same_class(features, "old", ["new"], faces.ids[codes < 4])
    diagnosis = doctor.diagnose(faces)
    return World(
        faces, protocol, features, whole, listed, unsure, wanted, cut, study, plan, verdict, ruling, found, laid, look,
        upgraded, same, diagnosis,
    )  # fmt: skip


def said(faces: FaceSet) -> FaceSet:
    """With marks, as lists are exported."""
    marks = annotations.tagged(annotations.Annotations(), faces.ids[:9], f"tag {MARK}")
    marks = annotations.noted(annotations.flagged(marks, faces.ids[3:5], 1), faces.ids[:2], f"a note on {MARK}")
    named = subsets.put(subsets.Subsets(), f"={MARK} friends", faces.ids[2:12])
    return faces.with_columns(spoken(faces, marks, named))


def write_all(folder: Path, w: World, guise: Guise) -> None:
    """Every writer there is, as the window calls them."""
    folder.mkdir(parents=True, exist_ok=True)
    faces, rows = w.faces, np.arange(len(w.faces))
    searched = replace(matched.make_searched(faces), notes=(f"1 picture gives no patches: {faces.file_name(5)}.",))
    case: dict[str, Any] = {
        "searched": searched, "pair": matched.make_pair(faces, 4), "other": matched.make_pair(faces, 8),
        "query": int(faces.ids[6]), "sweep": matched.make_sweep(faces),
    }  # fmt: skip
    why = "ends before its picture is complete."
    skipped = tuple((int(faces.ids[row]), f"{faces.file_name(row)} {why}") for row in (1, 7))
    plan = MatchPlan(model="new", alpha=0.5, shortlist=4)

    def send(call: Callable[..., object], *args: object, ticked: bool = True, **kwargs: object) -> None:
        if not ticked:
            call, args, kwargs = _ticked, (call, args, kwargs), {}
        carried(guise, faces, call, args, kwargs, tick=lambda done, total, note="": None)

    send(tasks.write_list, said(faces), rows, folder / "list.csv")
    send(tasks.write_skipped, folder / "skipped.csv", faces, skipped=skipped, ticked=False)
    send(tasks.build_protocol, faces, folder / "pairs.txt", folds=2, per_fold=20)
    send(tasks.build_protocol, faces.take(np.arange(195)), folder / "pairs.bin", folds=1, per_fold=5)
    for ending in (".npz", ".parquet", ""):
        send(exporting.export, w.features["new"], faces, folder / f"vectors{ending}")
    for name, one in (("all", w.evaluation), ("listed", w.listed)):
        send(tables.write_json, folder / f"{name}.json", one, faces=faces, ticked=False)
        send(tables.write_csv, folder / f"{name}.csv", one, faces=faces, ticked=False)
        send(tables.write_latex, folder / f"{name}.tex", one, faces=faces, ticked=False)
        send(policy.write_policy, folder / f"{name} policy.json", one, target=0.1, ticked=False)
        send(draw_charts, folder / f"{name}.svg", one)
    send(refusals.write_faces, folder / "faces.csv", faces, w.uncertainty, limit=0.2)
    send(refusals.write_curves, folder / "curves.csv", w.uncertainty)
    send(refusals.write_curves, folder / "curves.json", w.uncertainty)
    send(draw_uncertainty, folder / "uncertainty.svg", faces, w.uncertainty, step=1)
    send(part_tables.write_confidence, folder / "parts.csv", faces, w.parts)
    send(part_tables.write_study, folder / "parts.json", faces, w.parts, w.study, w.parts_plan)
    judged = {"verdict": w.verdict, "ruling": w.ruling}
    send(draw_confidence, folder / "confidence.svg", faces, w.parts, w.study, **judged)
    send(part_tables.write_learners, folder / "learners.json", faces, w.learners)
    send(part_tables.write_learners, folder / "learners.csv", faces, w.learners)
    send(draw_learners, folder / "learners.svg", faces, w.learners)
    asked = {"query": case["query"], "queries": None}
    for ending in (".csv", ".json"):
        send(match_tables.write_ranking, folder / f"ranking{ending}", faces, searched, plan, **asked)
    send(match_tables.write_sweep, folder / "sweep.json", faces, case["sweep"], plan)
    send(draw_match, folder / "match.svg", faces, plan=plan, **case)
    for ending in (".csv", ".parquet", ".npz"):
        send(projection_tables.write_points, folder / f"points{ending}", faces, w.projection)
    send(draw_projection, folder / "map.svg", faces, w.projection, look=w.look, which=("map",))
    send(upgrade_tables.write_flips, folder / "flips.csv", faces, w.upgrade)
    send(upgrade_tables.write_order, folder / "order.csv", faces, w.upgrade)
    send(upgrade_tables.write_upgrade_json, folder / "upgrade.json", faces, w.upgrade, features=w.features)
    send(draw_upgrade, folder / "upgrade.svg", faces, w.upgrade, people=w.people)
    send(write_report, folder / "report", faces, w.upgrade, people=w.people, features=w.features)
    send(draw_gallery, folder / "sheet.svg", faces, rows[24:40])
    # What commands print.
    notes = (f"The pictures of {faces.name} are in {faces.root}.", f"{faces.file_name(8)} is odd, says {trapped(4)}.")
    hidden, found, listed, diagnosis, more = outgoing(
        guise, faces, w.evaluation, w.listed, w.diagnosis, Sentences(notes)
    )
    printed = [*more.lines, *reports.lines(found, faces=hidden), *reports.lines(listed, faces=hidden)]
    printed += doctor.report(diagnosis, hidden)
    for report in (
        UncertaintyReport(faces, w.uncertainty, w.ensemble, notes=notes),
        UpgradeReport(faces, w.upgrade, features=w.features, notes=notes),
        ConfidenceReport(faces, w.parts, w.study, w.parts_plan, w.ruling, None, None, notes=notes),
        LearnersReport(faces, w.learners, 10, notes),
    ):
        (told,) = outgoing(guise, report)
        printed += told.lines()
        told.write_json(folder / f"{type(report).__name__}.json")
    (subject,) = outgoing(guise, Subject(faces, searched, plan, case["query"]))
    printed += [subject.called, *subject.told]
    (folder / "printed.txt").write_text("\n".join(printed), "utf-8", "backslashreplace")
    tables.written(folder / "doctor.json", tables.json_text(doctor.as_json(diagnosis, hidden)))


def _ticked(call: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any], *, tick: object) -> object:
    return call(*args, **kwargs)
