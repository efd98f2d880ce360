"""A workspace of two made-up models and people with names that try to be more than names."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from facelens.analyses.plan import EnsemblePlan, Plan, ProjectionPlan, UpgradePlan
from facelens.images.faceset import FaceSet, Labels
from facelens.session.workspace import Workspace
from tests.analyses.upgraded import gallery, models

SCRIPT = "<script>alert(1)</script>&co"
FORMULA = "=cmd|' /C calc'!A0"
TEX = r"\input{/etc/passwd} 50% _$#~^"
MARKUP = "]]>\" onload='x' &amp; \u202egnp.\x07"
HOSTILE = (SCRIPT, FORMULA, TEX, MARKUP)
QUICK = {
    "plan": Plan(resamples=20, fars=(0.1, 1e-2, 1e-6), nmi_mean=""),
    "ensemble": EnsemblePlan(resamples=20, far=0.1, fpir=0.2),
    "upgrade_plan": UpgradePlan(far=0.1, fpir=0.2, resamples=20),
    "projection_plan": ProjectionPlan(method="pca"),
}


def people() -> FaceSet:
    """24 people, five pictures of each, some with hostile names."""
    faces = gallery(24, 5)
    called = {f"p{i:02}": name for i, name in enumerate(HOSTILE * 6)}
    names = [f"{called[name]} {name}" for name in map(faces.identity.name, range(len(faces)))]
    paths = [f"{name.replace('/', ':')}/{row}.png".encode("utf-8", "surrogateescape") for row, name in enumerate(names)]
    made = FaceSet.build(f"drawn {SCRIPT}", Path("nowhere"), paths=paths, identities=names, columns=faces.columns)
    return replace(made, identity=Labels.of(names))


def workspace() -> Workspace:
    """Nothing is answered yet; there is no file of a model, so no face can be searched for by its patches."""
    faces = people()
    found = models(faces)
    features = {name: found[name] for name in ("old", "new")}
    return Workspace(faces=faces, features=features, model_a="old", model_b="new", **QUICK)  # type: ignore[arg-type]


class Tags(HTMLParser):
    """What a page is made of, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.seen if name == tag]


def tags_of(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert not tags.open
    return tags
