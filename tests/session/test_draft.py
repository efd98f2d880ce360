"""A recipe that is to be trained: which files it names, and what of it may be followed when a file brings it."""

from __future__ import annotations

from pathlib import Path

import pytest

from facelens.session.draft import Draft

HEAD = 'kind = "compatible"\nsteps = 3\n'


def draft(text: str, folder: Path = Path(), out: Path = Path("/own/run")) -> Draft:
    return Draft("tiny", HEAD + text, folder, "drawn", out)


def own(path: Path) -> bool:
    return path.is_relative_to("/own")


def test_files_it_names_start_at_its_folder() -> None:
    made = draft('[models]\nold = "a.pt"\nnew = "/b.pt"\n[data]\ngallery = "g"\n', Path("/own"))
    named = {"models.old": Path("/own/a.pt"), "models.new": Path("/b.pt"), "data.gallery": Path("/own/g")}
    assert dict(made.files) == named
    staged = draft('[[stages]]\nname = "one"\nchange = { "models.start" = "/c.pt", "data.share" = 0.5 }\n')
    assert dict(staged.files) == {"stages.0.models.start": Path("/c.pt")}


def test_what_may_not_be_followed_is_taken_out(tmp_path: Path) -> None:
    made = draft('[models]\nold = "//far/share"  # theirs\nnew = "/own/b.pt"\n', out=Path("/etc/cron.d"))
    found = made.permitted(own, root=tmp_path)
    assert found is not None and found.out == tmp_path / "tiny"
    assert dict(found.files) == {"models.new": Path("/own/b.pt")}
    assert "old" in found.missing, "so that it cannot be started before a model is given"
    far = draft('[models]\nold = "a.pt"\n', Path("/far")).permitted(own, root=tmp_path)
    assert far is not None and far.folder == Path() and not far.files
    assert draft('[models]\nold = "a.pt"\n', Path("/own")).permitted(own, root=tmp_path) is not None
    (tmp_path / "tiny").mkdir()
    again = made.permitted(own, root=tmp_path)
    assert again is not None and again.out == tmp_path / "tiny-2", "nothing is written over"


@pytest.mark.parametrize(
    "text",
    [
        'models = { old = "/far.pt" }\n',
        'models.old = """/far.pt"""\n[batch]\nsize = 4\n',
        '[[stages]]\nname = "one"\nchange = { "models.start" = "/far.pt" }\n',
        '[[stages]]\nname = "one"\n[stages.change.models]\nstart = "/far.pt"\n',
    ],
)
def test_what_cannot_be_taken_out_is_refused_whole(text: str, tmp_path: Path) -> None:
    made = draft(text)
    found = made.permitted(own, root=tmp_path)
    assert found is None or (not found.files and "/far.pt" not in found.text)
    if made.recipe is not None:
        assert made.files, "it is seen"


@pytest.mark.parametrize("text", ["network.options" + ".a" * 20_000 + " = 1\n", "a = " + "[" * 20_000, "seed = \0\n"])
def test_hostile_texts_are_a_problem_of_the_text(text: str, tmp_path: Path) -> None:
    made = draft(text)
    assert made.problem is not None and made.permitted(own, root=tmp_path) is not None
