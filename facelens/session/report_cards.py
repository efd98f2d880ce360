"""The cards of a report: which data, which models, by which settings, on what computer. Each as blocks and as plain
values for JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from facelens.analyses.measure import rate
from facelens.analyses.plan import PLAIN_SUM
from facelens.features.card import Card
from facelens.images.doctor import SEVERITIES
from facelens.images.faceset import FaceSet, Opened
from facelens.session.blocks import Block, Rows
from facelens.session.depicting import order_of
from facelens.session.replay import versions
from facelens.session.tables import model_json, plain
from facelens.session.workspace import Workspace
from facelens.words import escaped, number, plural, tr


@dataclass(frozen=True)
class CardOf:
    """One card: what is shown, the same as plain values, and what must not be read into it."""

    blocks: Sequence[Block]
    numbers: Any
    caveats: Sequence[str] = field(default=())


# Data


def data(workspace: Workspace, faces: FaceSet) -> CardOf:
    """The gallery, and the one that is searched for where that is another."""
    told = [_gallery(workspace, faces)]
    blocks = [_gallery_block(told[0], _findings(workspace))]
    if workspace.queries is not None:
        told.append(_counted(workspace.queries) | {"searched_for": True, "places": _places(workspace.queries)})
        blocks.append(_gallery_block(told[1], ()))
    spoilt = [message for severity, message in _findings(workspace) if severity == SEVERITIES[1]]
    return CardOf(
        blocks, plain(told), [tr("That the pictures are as they should be: {found}", found=one) for one in spoilt]
    )


def _gallery(workspace: Workspace, faces: FaceSet) -> dict[str, Any]:
    bad = workspace.diagnosis.bad_ids if workspace.diagnosis is not None else np.zeros(0, np.int64)
    broken = int(np.isin(workspace.excluded, bad).sum())
    test = workspace.protocol
    return _counted(faces) | {
        "excluded": {"not_readable": broken, "by_hand": len(workspace.excluded) - broken},
        "protocol": None if test is None else test.name,
        "protocol_digest": None if test is None else test.digest,
        "pairs": None if test is None or test.pairs is None else len(test.pairs),
        "places": _places(faces, workspace.galleries),
        "tables": [{"file": one.path.name, "holds": one.kind} for one in workspace.tables],
        "found": [{"severity": severity, "message": message} for severity, message in _findings(workspace)],
    }


def _counted(faces: FaceSet) -> dict[str, Any]:
    counts = faces.identity.counts()
    return {
        "name": faces.name,
        "faces": len(faces),
        "identities": int((counts > 0).sum()),
        "singletons": int((counts == 1).sum()),
        "without_identity": int((faces.identity.codes < 0).sum()),
        "most_of_one": int(counts.max(initial=0)),
        "digest": faces.digest,
    }


def _places(faces: FaceSet, opened: Sequence[Opened] = ()) -> list[str]:
    """Where the pictures lie; not told of faces in disguise."""
    if faces.disguised:
        return []
    return [escaped(str(one.path)) for one in opened] or [escaped(str(faces.root))]


def _findings(workspace: Workspace) -> list[tuple[str, str]]:
    """What the doctor found: how bad it is, and a sentence."""
    found = workspace.diagnosis.findings if workspace.diagnosis is not None else ()
    return [(one.severity, one.message) for one in found]


def _gallery_block(told: Mapping[str, Any], findings: Sequence[tuple[str, str]]) -> Block:
    title = tr("Searched for: {name}") if told.get("searched_for") else tr("Gallery: {name}")
    rows = [
        [tr("faces"), f"{told['faces']:,}"],
        [tr("people"), tr("{n}, at most {most} faces of one", n=told["identities"], most=told["most_of_one"])],
        [tr("with one picture"), plural(told["singletons"], "{n} person", "{n} people")],
        [tr("without a name"), plural(told["without_identity"], "{n} face", "{n} faces")],
    ]
    if (out := told.get("excluded")) is not None:
        why = tr("{broken} cannot be read, {hand} by hand", broken=out["not_readable"], hand=out["by_hand"])
        rows.append([tr("left out"), f"{sum(out.values()):,}" + (f": {why}" if any(out.values()) else "")])
        test = told["protocol"]
        pairs = tr("; {pairs}", pairs=plural(told["pairs"], "{n} pair", "{n} pairs")) if told["pairs"] else ""
        rows.append([tr("published test"), f"{escaped(test)}{pairs}" if test is not None else tr("none")])
    rows += [[tr("table of {kind}", kind=tr(one["holds"])), escaped(one["file"])] for one in told.get("tables", ())]
    rows += [[tr("lies in"), escaped(place)] for place in told["places"]]
    rows.append([tr("digest"), told["digest"]])
    said = [message for _, message in findings]
    return Block(title.format(name=escaped(told["name"])), rows, said, headed=False)


# Models


def models(workspace: Workspace) -> CardOf:
    """Every model that has vectors of the gallery."""
    told = [_model(workspace, name) for name in workspace.features]
    if not told:
        return CardOf([Block(told=(tr("No model has vectors of this gallery."),))], [])
    heads = [tr("model"), tr("is"), tr("architecture"), tr("input"), tr("dimensions"), tr("vectors"), tr("licence")]
    rows = [heads]
    for one in told:
        counted = tr("{n} of {total}", n=one["vectors"], total=one["faces"])
        unusable = tr("; {n} unusable", n=one["unusable"]) if one["unusable"] else ""
        said = [one["architecture"] or tr("not known"), one["input"] or tr("not known"), str(one["dimensions"])]
        licence = escaped(one["licence"]) or tr("not stated")
        rows.append([escaped(one["name"]), one["is"] or "", *said, counted + unusable, licence])
    files = [[tr("model"), tr("SHA-256 of its file")]]
    files += [[escaped(one["name"]), one["weights_sha256"] or tr("imported vectors; no file is known")] for one in told]
    notes = [[escaped(one["name"]), escaped(one["notes"])] for one in told if one["notes"]]
    blocks = [Block(rows=rows), Block(tr("Files"), files)]
    blocks += [Block(tr("What their cards say"), notes, headed=False)] if notes else []
    open_ = [escaped(one["name"]) for one in told if not one["licence"]]
    words = tr("Whether they may be used so: no licence is stated for {names}.", names=", ".join(open_))
    return CardOf(blocks, plain(told), [words] if open_ else [])


def _model(workspace: Workspace, name: str) -> dict[str, Any]:
    found, seen = workspace.features[name], workspace.inspection(name)
    card = seen.card if seen is not None else found.provenance.card
    done, total = workspace.embedded(name)
    letters = [letter for letter, slot in (("A", workspace.model_a), ("B", workspace.model_b)) if slot == name]
    return model_json(name, found.provenance) | {
        "is": ", ".join({"A": tr("A, old"), "B": tr("B, new")}[letter] for letter in letters),
        "architecture": escaped(card.architecture) if card is not None else "",
        "input": _input(card) if card is not None else "",
        "dimensions": found.dimensions,
        "vectors": done,
        "faces": total,
        "unusable": len(found.invalid),
        "licence": card.licence if card is not None else "",
        "notes": card.notes if card is not None else "",
        "weights_sha256": (seen.sha256 if seen is not None else found.provenance.weights) or None,
        "fingerprint": found.provenance.fingerprint,
    }


def _input(card: Card) -> str:
    """How pictures are fed."""
    mean, std = (", ".join(dict.fromkeys(f"{value:g}" for value in values)) for values in (card.mean, card.std))
    said = [f"{card.size[0]} × {card.size[1]} {card.order}", tr("(x − {mean}) / {std}", mean=mean, std=std)]
    said.append(tr("not aligned") if card.template == "none" else escaped(card.template))
    said += [tr("with its mirror image")] if card.flip else []
    return ", ".join(said)


# Settings

# What the fields of plans are called. What is not named here is said elsewhere.
NAMES = {
    "alone": "without a baseline",
    "alpha": "share of the patches, α",
    "baseline": "baseline",
    "breakdown": "broken down by",
    "by": "refused by",
    "copies": "transforms of each member",
    "cut": "cut by",
    "detector_score": "templates weigh detector scores",
    "direction": "direction",
    "emptied": "templates without a picture left",
    "empty_templates": "templates without a usable picture",
    "epsilon": "ε",
    "far": "FAR",
    "fars": "FAR",
    "files": "transforms from files",
    "fitted_on": "transforms fitted on",
    "flip": "mirror images in templates",
    "fpir": "FPIR",
    "fpirs": "FPIR",
    "grid": "patches",
    "junk": "pictures of the query's own camera dropped",
    "keep_norm": "lengths of vectors kept in templates",
    "layer": "layer of the patches",
    "lower": "low values refused first",
    "match": "parts matched by",
    "members": "members",
    "method": "method",
    "metric": "metric",
    "min_dist": "least distance",
    "mode": "mode",
    "model": "model",
    "neighbours": "neighbours",
    "new": "new model",
    "nmi_mean": "mean of NMI",
    "old": "old model",
    "open_rule": "rule of TPIR",
    "order": "order of the backfill",
    "other": "second model",
    "others": "further models",
    "part": "part",
    "parts": "parts",
    "perplexity": "perplexity",
    "protocol": "test",
    "queries": "queries by",
    "r_mode": "R of MAP@R",
    "recalls": "Recall at",
    "refuse": "pictures refused of a pair",
    "resamples": "draws for intervals",
    "right": "recognised by",
    "rule": "rule of TAR",
    "seed": "seed",
    "share": "share embedded anew",
    "shortlist": "shortlist",
    "show": "shown of parts",
    "solver": "solver",
    "space": "two models on one map",
    "target": "space of",
    "task": "task",
    "traffic": "traffic",
    "transforms": "transforms",
    "unit": "slices brought to length 1",
    "upper": "upper model",
    "weights": "weights",
}
RATES = frozenset({"far", "fars", "fpir", "fpirs"})


def settings(workspace: Workspace, names: Sequence[str]) -> CardOf:
    """What was asked for in these sections, as it was understood."""
    blocks, told = [], {}
    for name in names:
        plan, more = _asked(workspace, name)
        rows = [
            [tr(NAMES[f.name]), _value(f.name, getattr(plan, f.name))] for f in fields(plan) if _counts(plan, f.name)
        ]
        rows += [[title, value] for title, value in more.items()]
        blocks.append(Block(tr(TITLES[name]), [row for row in rows if row[1]], headed=False))
        told[name] = plain(plan)
    return CardOf(blocks, told)


TITLES = {
    "evaluation": "Evaluation",
    "uncertainty": "Uncertainty",
    "confidence": "Confidence",
    "learners": "Learners",
    "match": "Match",
    "upgrade": "Upgrade",
    "projection": "Projection",
}


def _asked(workspace: Workspace, name: str) -> tuple[Any, dict[str, str]]:
    """The plan of a panel with everything named, and what else decides."""
    if name == "evaluation":
        crossed = {"ab": tr("queries of A in the gallery of B"), "ba": tr("queries of B in the gallery of A")}
        point, by_hand = workspace.operating, workspace.operating.threshold
        more = {tr("models"): crossed.get(workspace.crossing, ""), tr("operating point"): f"FAR {rate(point.far)}"}
        if by_hand is not None:
            more[tr("threshold set by hand")] = f"{number(by_hand, 4)} ({point.of.upper()})"
        return workspace.plan, more
    if name == "confidence":
        out = ", ".join(str(part + 1) for part in workspace.left_out)
        return workspace.resolved_parts, {tr("parts left out"): out}
    if name == "upgrade":
        return workspace.resolved_upgrade, {tr("order shown"): order_of(workspace)}
    plans = {
        "uncertainty": workspace.resolved_ensemble,
        "learners": workspace.resolved_learners,
        "match": workspace.resolved_match,
        "projection": workspace.resolved_projection,
    }
    return plans[name], {}


def _counts(plan: Any, name: str) -> bool:
    """Whether a field has a part in the result."""
    method = getattr(plan, "method", "")
    needs = {"neighbours": "umap", "min_dist": "umap", "perplexity": "tsne"}
    if name in needs:
        return bool(method == needs[name])
    if name == "space":
        return bool(plan.other)
    if name == "seed":
        return method != "pca"
    if name == "epsilon":
        return bool(plan.solver != "exact")
    return name in NAMES


def _value(name: str, value: object) -> str:
    """A setting in words; "" where nothing is set."""
    if isinstance(value, bool):
        return tr("yes") if value else ""
    if name in RATES:
        return ", ".join(rate(one) for one in (value if isinstance(value, tuple) else (value,)))  # type: ignore[arg-type]
    if name == "alpha" and value == PLAIN_SUM:
        return tr("plain sum")
    if name == "files":
        return ", ".join(f"{escaped(one)}: {escaped(Path(file).name)}" for one, file in value)  # type: ignore[attr-defined]
    if name == "grid":
        return "" if value is None else "{} × {}".format(*value)  # type: ignore[misc]
    if name == "part" and isinstance(value, int):
        return str(value + 1)
    if isinstance(value, tuple):
        return ", ".join(escaped(str(one)) for one in value)
    if isinstance(value, int):
        return f"{value:,}" if value or name == "seed" else ""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else escaped(str(value))


# Environment


def environment() -> CardOf:
    """What everything was worked out with."""
    told = {"platform": platform.platform(), "machine": platform.machine(), "cores": os.cpu_count() or 1}
    made = dict(versions())
    rows: Rows = [[name, value] for name, value in made.items()]
    rows += [[tr("system"), told["platform"]], [tr("cores"), str(told["cores"])]]  # type: ignore[list-item]
    return CardOf([Block(rows=rows, headed=False)], plain(told | {"versions": made}))
