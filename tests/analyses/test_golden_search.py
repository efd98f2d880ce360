"""Searches, retrieval and clusters against numbers from independent implementations; a new folder is a new case."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from facelens.analyses.identification import Identification, identify
from facelens.analyses.retrieval import agreement, retrieve

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(os.environ.get("FACELENS_SHARED", ROOT.parent / "shared")) / "golden"
FAMILIES = ("identification", "retrieval", "market1501", "clustering")  # the others have files of their own


def cases() -> list[str]:
    if not GOLDEN.is_dir():
        return []
    found = []
    for file in sorted(GOLDEN.glob("*/expected.json")):
        if json.loads(file.read_text())["family"] in FAMILIES:
            found.append(file.parent.name)
    return found


def case(golden: Path, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    with np.load(golden / name / "inputs.npz", allow_pickle=False) as inputs:
        arrays = {key: inputs[key] for key in inputs.files}
    return arrays, json.loads((golden / name / "expected.json").read_text())


def close(measured: dict[str, float | None], expected: dict[str, Any]) -> None:
    wanted = {key: value for key, value in expected["expected"].items() if value is not None}
    assert wanted.keys() <= measured.keys(), wanted.keys() - measured.keys()
    for key, value in wanted.items():
        assert measured[key] == pytest.approx(value, abs=expected["tolerance_abs"]), key


def searched(z: dict[str, NDArray[Any]], rule: str) -> Identification:
    return identify(
        z["probe"].astype(np.float64),
        z["gallery"].astype(np.float64),
        query_ids=np.arange(len(z["probe"])) + 10_000,
        gallery_ids=np.arange(len(z["gallery"])),
        query_identity=z["probe_labels"],
        gallery_identity=z["gallery_labels"],
        fpirs=(0.1, 0.01),
        rule=rule,
        resamples=20,
    )


def identification(z: dict[str, NDArray[Any]], expected: dict[str, Any]) -> dict[str, float | None]:
    nist, roc = searched(z, "nist"), searched(z, "roc")
    measured: dict[str, float | None] = {"n_mated": nist.n_mated, "n_nonmated": nist.n_unmated}
    measured |= {f"cmc@{r}": m.value for r, m in nist.ranks}
    for point, other in zip(nist.open, roc.open):
        at = f"fpir={point.target:g}"
        measured |= {f"tpir@{at}_rank1": point.rank1.value, f"tpir@{at}_anyrank": point.anyrank.value}
        measured |= {f"tpir@{at}_rank1_roc": other.rank1.value, f"tpir@{at}_anyrank_roc": other.anyrank.value}
        measured[f"real_fpir@{at}"] = point.fpir
        status = expected["status"][f"tpir@{at}"]
        assert (point.rank1.value is None) == status.startswith("undefined")
        assert point.attainable == (status == "ok")
        assert status == "ok" or (not point.rank1.defined and point.rank1.why)
    return measured


def retrieval(z: dict[str, NDArray[Any]], expected: dict[str, Any]) -> dict[str, float | None]:
    ids = np.arange(len(z["emb"]))
    emb = z["emb"].astype(np.float64)
    found = retrieve(
        emb,
        emb,
        query_ids=ids,
        gallery_ids=ids,
        query_identity=z["labels"],
        gallery_identity=z["labels"],
        same_set=True,
        resamples=20,
    )
    m = {name: measure.value for name, measure in found.measures.items()}
    named = {"map": "mAP", "map_at_r": "MAP@R", "mrr": "MRR", "precision_at_1": "P@1", "r_precision": "RP"}
    measured = {key: m[name] for key, name in named.items()}
    measured |= {f"recall@{k}": m[f"Recall@{k}"] for k in (1, 2, 4, 8, 10)}
    return measured | {"queries_used": found.n_queries}


def market(z: dict[str, NDArray[Any]], expected: dict[str, Any]) -> dict[str, float | None]:
    found = retrieve(
        z["query"].astype(np.float64),
        z["gallery"].astype(np.float64),
        query_ids=np.arange(len(z["query"])),
        gallery_ids=np.arange(len(z["gallery"])),
        query_identity=z["query_labels"],
        gallery_identity=z["gallery_labels"],
        query_camera=z["query_cams"],
        gallery_camera=z["gallery_cams"],
        same_set=False,
        resamples=20,
    )
    m = {name: measure.value for name, measure in found.measures.items()}
    measured = {"map": m["mAP"], "minp": m["mINP"], "valid_queries": found.n_queries}
    return measured | {f"cmc@{k}": m[f"CMC@{k}"] for k in (1, 5, 10)}


def clusters(z: dict[str, NDArray[Any]], expected: dict[str, Any]) -> dict[str, float | None]:
    found = agreement(z["labels"], z["clusters"])
    geometric = agreement(z["labels"], z["clusters"], mean="geometric")
    reference = expected["oracles"].get("sklearn", {}).get("nmi_geometric")
    if reference is not None:
        assert geometric["NMI"].value == pytest.approx(reference, abs=expected["tolerance_abs"])
    return {name.lower(): measure.value for name, measure in found.items()}


RUN = {
    "identification": identification,
    "retrieval": retrieval,
    "market1501": market,
    "clustering": clusters,
}


@pytest.mark.parametrize("name", cases() or ["absent"])
def test_golden(golden: Path, name: str) -> None:
    arrays, expected = case(golden, name)
    close(RUN[expected["family"]](arrays, expected), expected)
