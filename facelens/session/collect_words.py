"""What is said about a collected workspace: in the window, on the terminal, and in the README that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from facelens import __version__
from facelens.images import giving
from facelens.images.faceset import Labels
from facelens.session.archive import SUFFIX
from facelens.session.workspace import attributes
from facelens.words import escaped, plural, tr

if TYPE_CHECKING:
    from facelens.features.card import Card
    from facelens.session.collecting import Work

WORKSPACE = f"workspace{SUFFIX}"
README, MANIFEST = "README.txt", "manifest.csv"


def licence(card: Card) -> str:
    """What may be done with a model, as its card says."""
    return escaped(card.licence) or tr("licence not stated")


def told_of(work: Work, names: set[str], sent: Sequence[Card]) -> tuple[str, ...]:
    """What is inside and what is not, a sentence each; `names` are of models that are there, `sent` are their files."""
    given, choice, part = work.given, work.choice, work.gallery
    people = plural(len(part.inside.identity.names), "{n} person", "{n} people")
    said = [tr("{faces} of {people}.", faces=plural(len(part.inside), "{n} face", "{n} faces"), people=people)]
    if work.asking is not None:
        said.append(plural(len(work.asking.inside), "{n} query.", "{n} queries."))
    said.append(
        {
            "none": tr("No picture is inside; each face has a drawn tile in its place."),
            "thumbnails": tr(
                "Large pictures are smaller, with {n} pixels or more on the shorter side.", n=giving.SMALL
            ),
            "originals": tr("Pictures have the size of the originals."),
        }[choice.pictures]
    )
    if choice.guise.blur and choice.pictures != "none":
        said.append(
            tr(
                "All pictures are blurred: some nine pixels across are left, so that colours remain and models "
                "cannot use them. Whoever has the very same picture can find it again."
            )
        )
    elif work.hidden and choice.pictures != "none":
        said.append(tr("People can be recognised on the pictures."))
    if choice.vectors and given.features:
        said.append(plural(len(given.features), "Vectors of {n} model.", "Vectors of {n} models."))
    said += [tr("Model {name}: {licence}.", name=escaped(one.name), licence=licence(one)) for one in sent]
    if work.hidden:
        said += _hidden(work)
        if sent:
            said.append(tr("Files of models are as they are; what stands in them was not looked at."))
    left = len(given.faces) - len(given.kept)
    if left:
        said.append(plural(left, "{n} excluded face is left out.", "{n} excluded faces are left out."))
    unread = part.unread + (work.asking.unread if work.asking is not None else 0)
    if unread:
        words = "{n} picture could not be read and is left out.", "{n} pictures could not be read and are left out."
        said.append(plural(unread, *words))
    if part.renamed:
        words = "{n} picture has another name.", "{n} pictures have other names, which every system can have."
        said.append(plural(part.renamed, *words))
    missing = [one for one in given.models if one.card.name not in names]
    if missing:
        words = "The file of {n} model is not inside.", "The files of {n} models are not inside."
        said.append(plural(len(missing), *words))
    return (*said, *work.notes)


def _hidden(work: Work) -> list[str]:
    """What pseudonyms stand for, and what may still tell something."""
    columns = work.given.faces.columns
    text = [name for name in attributes(work.given.faces) if isinstance(columns[name], Labels)]
    coded = [name for name in text if not _same(work, name)]
    said = [tr("People, pictures and the gallery have pseudonyms; what pictures said of themselves is removed.")]
    said.append(tr("Columns of numbers are as they were."))
    if coded:
        said.append(tr("Text became codes or was left out in: {names}.", names=", ".join(map(escaped, coded))))
    marked = work.given.annotations.tags or work.given.annotations.notes or work.given.subsets
    if marked and work.choice.words:
        said.append(tr("Notes, and names of tags and subsets, are as they were written."))
    elif marked:
        said.append(tr("Notes are left out; tags and subsets have numbers for names."))
    return [*said, tr("Filters and the places of files on this computer are left out.")]


def _same(work: Work, name: str) -> bool:
    inside, here = work.gallery.inside.columns.get(name), work.given.faces.columns[name]
    return isinstance(inside, Labels) and isinstance(here, Labels) and {*inside.names} <= {*here.names}


def readme(work: Work, said: Sequence[str]) -> list[str]:
    """Lines for whoever unzips it."""
    lines = [
        tr("Faces collected with FaceLens {version}", version=__version__),
        "",
        tr("Unzip all of it into a folder, then open {file} in FaceLens (File, Open workspace).", file=WORKSPACE),
        "",
        *(f"- {line}" for line in said),
        "",
        tr("What is where"),
        f"  {WORKSPACE}  " + tr("how the faces were looked at: plans, selection, flags, ratings, tags, subsets"),
        f"  {work.folder}/{MANIFEST}  " + tr("a row for each face: path, identity, columns"),
    ]
    if work.choice.vectors and work.given.features:
        lines += [
            "  vectors/  " + tr("npz files: names, identity, vectors, norms"),
            "",
            tr(
                "Vectors are biometric data: whoever has the model can compare them with pictures of people. "
                "Pseudonyms and blurring do not change that."
            ),
        ]
    if not work.hidden:
        lines += ["", tr("Names are as they were: share it only with those who may know them.")]
    return lines
