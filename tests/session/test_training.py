"""What the folder of a training tells: whose it is, how far it is saved, and what is wrong with it. No torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from facelens.errors import InputError
from facelens.features import recipe as recipes
from facelens.features.history import add_row
from facelens.session import training
from facelens.session.draft import Draft, free


def folder(out: Path, recipe: str, **told: Any) -> Path:
    """A folder as `train_model` leaves it before the first step."""
    out.mkdir(parents=True)
    said = {"recipe": recipes.load(recipe).as_json(), "gallery": "", "name": "", "excluded": [], **told}
    (out / training.RUN).write_text(json.dumps(said, default=list))
    return out


def saved(out: Path, step: int, *, rows: int, steps: int = 6) -> None:
    """Rows of history, and a state saved at a step."""
    out.mkdir(exist_ok=True)
    for number in range(1, rows + 1):
        add_row(out, {"step": number, "steps": steps, "rate": 0.1, "terms": {"loss": 1.0}})
    head = json.dumps({"__metadata__": {"facelens_state": json.dumps({"step": step})}}).encode()
    (out / training.STATE).write_bytes(len(head).to_bytes(8, "little") + head)
    (out / training.CHECKPOINT).write_bytes(b"")


def test_a_folder_tells_what_it_holds(tmp_path: Path) -> None:
    assert training.held(tmp_path / "nothing") is None
    out = folder(tmp_path / "run", "bct", gallery="/faces", name="faces", excluded=[7, 9])
    begun = training.held(out)
    assert begun is not None and begun.recipe == recipes.load("bct") and not begun.rows and not begun.files
    assert (begun.gallery, begun.name, begun.excluded, begun.step) == (Path("/faces"), "faces", (7, 9), 0)
    saved(out, 4, rows=5)
    killed = training.held(out)
    assert killed is not None and killed.step == 4 and not killed.files
    assert [row["step"] for row in killed.rows] == [1, 2, 3, 4], "what is not saved comes again"


def test_a_training_is_finished_when_its_last_step_is_saved(tmp_path: Path) -> None:
    out = folder(tmp_path / "run", "cosface")
    saved(out, 6, rows=6)
    done = training.held(out)
    assert done is not None and done.made == ((out / training.CHECKPOINT,), ())


def test_stages_lie_below_each_other(tmp_path: Path) -> None:
    out = folder(tmp_path / "run", "sequential")
    saved(out / "phi1", 6, rows=6)
    saved(out / "phi2", 2, rows=3)
    run = training.held(out)
    assert run is not None and run.stages == ("phi1", "phi2") and run.stage == "phi2" and run.step == 2
    assert len(run.rows) == 8 and not run.files


@pytest.mark.parametrize("text", ["", "{", "[]", '{"recipe": {"kind": "none"}}', '{"recipe": 3, "gallery": ""}'])
def test_a_folder_that_cannot_be_read_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / training.RUN).write_text(text)
    with pytest.raises(InputError):
        training.held(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\xff" * 64, (4).to_bytes(8, "little") + b"null"])
def test_a_state_that_cannot_be_read_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / training.STATE).write_bytes(data)
    assert training.saved_step(tmp_path / training.STATE) == 0


def test_a_draft_knows_whether_its_folder_is_taken(tmp_path: Path) -> None:
    draft = Draft.of("sequential", source="drawn", root=tmp_path)
    assert draft.out == tmp_path / "sequential" and not draft.taken
    folder(draft.out, "sequential")
    assert not draft.taken, "nothing is saved yet"
    saved(draft.out / "phi1", 1, rows=1)
    assert draft.taken and free(draft.out) == tmp_path / "sequential-2"


def test_drawn_people_or_the_open_gallery_take_the_place_of_a_stated_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('kind = "margin"\nsteps = 3\n[data]\ngallery = "faces"\n')
    draft = Draft.of(file, source="open", root=tmp_path)
    assert draft.source == "stated" and draft.final is not None
    assert draft.final.data.gallery == str(tmp_path / "faces"), "relative to the recipe"
    for source in ("open", "drawn"):
        other = Draft(draft.name, draft.text, draft.folder, source, draft.out)  # type: ignore[arg-type]
        assert other.final is not None and other.final.data.gallery == ""
