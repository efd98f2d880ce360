"""Every command of the window in one table: it feeds the menus, the shortcuts and the palette.

An action says when it cannot be used, and why; the views only look that up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from facelens.session.keys import hint
from facelens.session.workspace import Workspace
from facelens.words import plural, tr

Reason = Callable[[Workspace], str]  # "" = can be used


def always(workspace: Workspace) -> str:
    """No condition."""
    return ""


def recipe_ready(workspace: Workspace) -> str:
    """Needs a recipe that can be trained as it is."""
    if workspace.draft is None:
        return tr("Needs a recipe. Choose one first (Train a model).")
    from facelens.session.draft import reason

    return reason(workspace.draft, gallery=workspace.faces is not None)


def run_unfinished(workspace: Workspace) -> str:
    """Needs a training that was stopped."""
    run = workspace.run
    return "" if run is not None and not run.files else tr("No training is waiting to go on.")


def trained(workspace: Workspace) -> str:
    """Needs a training that has told something."""
    run = workspace.run
    return "" if run is not None and run.rows else tr("Nothing is trained yet. Open Training first.")


def gallery_open(workspace: Workspace) -> str:
    """Needs a gallery."""
    return "" if workspace.faces is not None else tr("Needs a gallery. Open one first{key}.", key=hint("gallery.open"))


def something_open(workspace: Workspace) -> str:
    """Needs anything to save."""
    return "" if workspace.models else gallery_open(workspace)


def faces_shown(workspace: Workspace) -> str:
    """Needs faces on the grid."""
    return gallery_open(workspace) or ("" if len(workspace.shown) else tr("No face is shown. Clear the filter{key}.", key=hint("select.none")))


def diagnosed(workspace: Workspace) -> str:
    """Needs findings of the doctor."""
    if reason := gallery_open(workspace):
        return reason
    if workspace.diagnosis is None:
        return tr("The gallery is not checked yet. Open Doctor first.")
    return "" if workspace.diagnosis.findings or workspace.notes else tr("Nothing is wrong with this gallery.")


def some_selected(workspace: Workspace) -> str:
    """Needs a selection."""
    return gallery_open(workspace) or (
        "" if len(workspace.selection) else tr("Needs a selection. Click a face, or select all{key}.", key=hint("select.all"))
    )


def face_current(workspace: Workspace) -> str:
    """Needs a face that is looked at."""
    return gallery_open(workspace) or (
        "" if workspace.selection.current is not None else tr("Needs a face. Click one first.")
    )


def some_face(workspace: Workspace) -> str:
    """Needs faces that can be marked: selected ones, or the one that is looked at."""
    return "" if len(workspace.selection) and workspace.faces is not None else face_current(workspace)


def person_current(workspace: Workspace) -> str:
    """Needs a face that is looked at and has an identity."""
    if reason := face_current(workspace):
        return reason
    faces = workspace.faces
    row = faces.row_of(workspace.selection.current) if faces is not None else None
    known = faces is not None and row is not None and faces.identity.codes[row] >= 0
    return "" if known else tr("The current face has no identity. Give it one first{key}.", key=hint("identity.name"))


def some_edited(workspace: Workspace) -> str:
    """Needs identities that were edited."""
    return gallery_open(workspace) or ("" if len(workspace.identity_edits) else tr("No identity is edited."))


def edited_at_hand(workspace: Workspace) -> str:
    """Needs faces at hand whose identity was edited."""
    if reason := some_edited(workspace) or some_face(workspace):
        return reason
    selection, edits = workspace.selection, workspace.identity_edits
    current = np.array([] if selection.current is None else [selection.current], np.int64)
    there = len(edits.among(selection.ids)) or len(edits.among(current))
    return "" if there else tr("The identity of these faces is not edited.")


def list_outdated(workspace: Workspace) -> str:
    """Needs faces that were marked since the list was arranged by marks."""
    return gallery_open(workspace) or ("" if workspace.standing is not None else tr("The list is up to date."))


def two_selected(workspace: Workspace) -> str:
    """Needs two to four faces."""
    n = len(workspace.selection)
    if n == 0:
        return gallery_open(workspace) or tr("Needs two to four selected faces; none is selected.")
    needs = (
        "Needs two to four selected faces; {n} is selected.",
        "Needs two to four selected faces; {n} are selected.",
    )
    return gallery_open(workspace) or ("" if 2 <= n <= 4 else plural(n, *needs))


def some_excluded(workspace: Workspace) -> str:
    """Needs excluded faces."""
    return gallery_open(workspace) or ("" if len(workspace.excluded) else tr("Nothing is excluded."))


def undoable(workspace: Workspace) -> str:
    """Needs a step that was done."""
    return "" if workspace.history.undo else tr("Nothing to undo.")


def redoable(workspace: Workspace) -> str:
    """Needs a step that was undone."""
    return "" if workspace.history.redo else tr("Nothing to redo.")


def filter_on(workspace: Workspace) -> str:
    """Needs a filter."""
    return gallery_open(workspace) or ("" if workspace.arrangement.filter else tr("No filter is set."))


def identities_known(workspace: Workspace) -> str:
    """Needs names."""
    if workspace.faces is None:
        return gallery_open(workspace)
    return (
        "" if len(workspace.faces.identity.names) > 1 else tr("Needs two identities or more; this gallery has fewer.")
    )


def model_loaded(workspace: Workspace) -> str:
    """Needs a model or imported vectors."""
    return "" if workspace.model_names else tr("Needs a model. Open one first{key}.", key=hint("model.open"))


def triable(workspace: Workspace) -> str:
    """Needs a gallery and any model."""
    return model_loaded(workspace) or gallery_open(workspace)


def model_usable(workspace: Workspace, name: str = "") -> str:
    """Needs a gallery and a model file that fits."""
    if reason := model_loaded(workspace):
        return reason
    found = workspace.inspection(name or workspace.model)
    if found is None:
        return tr("Needs a model file; these vectors were imported.")
    if not found.fits:
        return tr("The weights do not fit the architecture. Choose another in the card.")
    return gallery_open(workspace)


def embeddable(workspace: Workspace, name: str = "") -> str:
    """Needs a gallery, and a model (the one looked at by default) that fits and has not seen every face yet."""
    if reason := model_usable(workspace, name):
        return reason
    done, total = workspace.embedded(name or workspace.model)
    if not total:
        return tr("No face is left: all pictures are excluded.")
    return "" if done < total else tr("All faces are embedded with this model.")


def vectors_there(workspace: Workspace) -> str:
    """Needs vectors of the model that is looked at."""
    if reason := model_loaded(workspace):
        return reason
    return "" if workspace.model in workspace.features else tr("Needs vectors. Embed the gallery first.")


def two_models(workspace: Workspace) -> str:
    """Needs a model that is A or B."""
    if reason := model_loaded(workspace):
        return reason
    return "" if workspace.model_a or workspace.model_b else tr("Needs a model with vectors. Embed the gallery first.")


def evaluable(workspace: Workspace) -> str:
    """Needs vectors of model A or B for the open gallery."""
    if reason := gallery_open(workspace) or model_loaded(workspace):
        return reason
    if workspace.crossing and len(workspace.evaluable) < 2:
        return tr("Needs vectors of two models; choose A and B in the toolbar.")
    if not workspace.evaluable:
        return tr("Needs vectors. Embed the gallery first.")
    return named(workspace)


def named(workspace: Workspace) -> str:
    """Needs to know who is on the pictures, or a list that says which of them belong together."""
    faces = workspace.faces
    if faces is None or len(faces.identity.names) or workspace.protocol is not None:
        return ""
    return tr("Needs identities, or a list of pairs; nobody in this gallery has a name.")


def assessable(workspace: Workspace) -> str:
    """Needs vectors of two models, or of one and several transforms."""
    if reason := gallery_open(workspace) or model_loaded(workspace):
        return reason
    n = len(workspace.resolved_ensemble.members)
    if workspace.resolved_ensemble.size >= 2:
        return ""
    words = (
        "Variance needs two models or more; {n} has vectors. Embed the gallery with a second one.",
        "Variance needs two models or more; {n} have vectors. Embed the gallery with some.",
    )
    return plural(n, *words)


def assessed(workspace: Workspace) -> str:
    """Needs an ensemble that has said something."""
    if reason := assessable(workspace):
        return reason
    return "" if workspace.uncertainty is not None else tr("The ensemble has not been asked yet{key}.", key=hint("uncertainty.run"))


def rejected(workspace: Workspace) -> str:
    """Needs a curve of what refusing does."""
    if reason := assessed(workspace):
        return reason
    found = workspace.uncertainty
    there = found is not None and found.verification is not None
    return "" if there else tr("What refusing does is still being worked out.")


def partable(workspace: Workspace) -> str:
    """Needs vectors of any model."""
    if reason := gallery_open(workspace) or model_loaded(workspace):
        return reason
    return "" if workspace.features else tr("Needs vectors. Embed the gallery first.")


def parted(workspace: Workspace) -> str:
    """Needs parts that are known."""
    if reason := partable(workspace):
        return reason
    return "" if workspace.parts is not None else tr("The parts are not known yet. Open Confidence first.")


def studied(workspace: Workspace) -> str:
    """Needs a study of the parts."""
    if reason := parted(workspace):
        return reason
    there = workspace.study is not None and workspace.study.complete
    return "" if there else tr("What the parts are good for is still being worked out.")


def learnt(workspace: Workspace) -> str:
    """Needs a look at the learners."""
    if reason := partable(workspace):
        return reason
    there = workspace.learners is not None and workspace.learners.complete
    return "" if there else tr("The learners are not known yet. Open Learners first.")


def matchable(workspace: Workspace) -> str:
    """Needs vectors of a model whose file gives patch maps."""
    if reason := partable(workspace):
        return reason
    words = tr("Needs the file of a model with a patch map, and its vectors. Open one in Models and embed the gallery.")
    return "" if workspace.resolved_match.model else words


def matched(workspace: Workspace) -> str:
    """Needs a search that was done."""
    if reason := matchable(workspace):
        return reason
    kept = workspace.match_answer
    there = kept is not None and bool(workspace.match_question) and kept.question == workspace.match_question
    return "" if there else tr("No face is searched for. Open Match and click one.")


def upgradable(workspace: Workspace) -> str:
    """Needs vectors of an old and of a new model, and names."""
    if reason := gallery_open(workspace) or model_loaded(workspace):
        return reason
    if not workspace.upgradable:
        return tr("Needs vectors of two models; choose the old one as A and the new one as B in the toolbar.")
    faces = workspace.faces
    known = faces is not None and len(faces.identity.names)
    return "" if known else tr("Needs identities; nobody in this gallery has a name.")


def upgraded(workspace: Workspace) -> str:
    """Needs a look at the upgrade."""
    if reason := upgradable(workspace):
        return reason
    return "" if workspace.upgrade is not None else tr("The upgrade is not looked at yet{key}.", key=hint("upgrade.run"))


def mapped(workspace: Workspace) -> str:
    """Needs a map of the faces."""
    if reason := gallery_open(workspace):
        return reason
    return "" if workspace.projection is not None else tr("There is no map yet. Open Projection first.")


def flipped(workspace: Workspace) -> str:
    """Needs flips."""
    if reason := upgraded(workspace):
        return reason
    there = workspace.upgrade is not None and workspace.upgrade.flips is not None
    return "" if there else tr("What changed is not worked out; the two models may not be comparable.")


def filled(workspace: Workspace) -> str:
    """Needs orders of the backfill."""
    if reason := upgraded(workspace):
        return reason
    there = workspace.upgrade is not None and workspace.upgrade.backfill is not None
    return "" if there else tr("The backfill is not worked out; the two models may not be comparable.")


def evaluated(workspace: Workspace) -> str:
    """Needs a result."""
    if reason := evaluable(workspace):
        return reason
    return "" if workspace.evaluation is not None else tr("Nothing is drawn yet. Run Evaluate first{key}.", key=hint("evaluate.run"))


def verified(workspace: Workspace) -> str:
    """Needs operating points."""
    if reason := evaluated(workspace):
        return reason
    found = workspace.evaluation
    there = found is not None and any(
        report is not None and report.verification is not None and report.verification.n_impostor
        for report in (found.a, found.b)
    )
    return "" if there else tr("Needs impostor pairs; this test has none.")


@dataclass(frozen=True)
class Action:
    """One command. `menu` is the title of its menu, "" for none (palette and keys only); "-" before the text draws a line above."""

    id: str
    text: str
    menu: str
    keys: tuple[str, ...] = ()
    icon: str = ""
    tip: str = ""
    needs: Reason = always
    checkable: bool = False
    line_above: bool = False

    @property
    def place(self) -> tuple[str, ...]:
        """Titles of the menus it lies in. What leaves a page lies one further in: all together are higher than a screen."""
        leaves = self.menu == "Analyse" and self.icon in ("export", "image", "copy")
        return (self.menu, "Export") if leaves else (self.menu,)


MENUS = ("File", "Edit", "View", "Select", "Mark", "Gallery", "Models", "Analyse", "Figure", "Window", "Help")

# fmt: off
ACTIONS: tuple[Action, ...] = (
    Action("gallery.open", "Open gallery folder…", "File", ("Ctrl+O",), "open", "A folder with one sub-folder per person, or with a manifest"),
    Action("gallery.open_file", "Open manifest, pairs or .bin…", "File", ("Ctrl+Shift+O",), "folder", "CSV, TSV, Parquet, pairs.txt, insightface .bin, IJB files"),
    Action("gallery.open_sample", "Open the sample gallery", "File", (), "image", "640 drawn faces of 64 people who do not exist"),
    Action("workspace.open", "Open workspace…", "File", ("Ctrl+Alt+O",), "folder", "A .facelens file: galleries, models, marks and how you looked at them", line_above=True),
    Action("workspace.save", "Save workspace", "File", ("Ctrl+S",), "save", "After the first time it is saved by itself", needs=something_open),
    Action("workspace.save_as", "Save workspace as…", "File", ("Ctrl+Shift+S",), "save", "No picture and no vector is in the file", needs=something_open),
    Action("workspace.earlier", "Open an earlier version…", "File", (), "history", "The last ten versions of each workspace are kept on this computer"),
    Action("workspace.collect", "Collect for sharing…", "File", (), "export", "One zip with pictures, marks and vectors that opens on another computer; with pseudonyms and blurred where you want", needs=gallery_open),
    Action("gallery.add", "Add a gallery to this one…", "File", (), "plus", "Identities are joined by name", needs=gallery_open, line_above=True),
    Action("match.queries", "Open query set…", "File", (), "search", "A folder whose faces are searched for in this gallery, in Match", needs=gallery_open),
    Action("gallery.close", "Close gallery", "File", ("Ctrl+W",), needs=gallery_open),
    Action("application.quit", "Quit", "File", ("Ctrl+Q",), line_above=True),
    Action("history.undo", "Undo", "Edit", ("Ctrl+Z",), "undo", "Takes back the last step; a text field that is being edited takes back its own", needs=undoable),
    Action("history.redo", "Redo", "Edit", ("Ctrl+Shift+Z", "Ctrl+Y"), "redo", "Does again what was undone last", needs=redoable),
    Action("history.show", "Show the history", "Edit", (), "history", "Every step since the gallery was opened; click one to go there"),
    Action("find.focus", "Filter the gallery", "Edit", ("Ctrl+F",), "filter", "Words, or a rule such as blur > p90 and identity ~ \"smith\"", needs=gallery_open, line_above=True),
    Action("find.clear", "Clear the filter", "Edit", (), "close", needs=filter_on),
    Action("find.again", "Arrange the list again", "Edit", ("F5",), "", "Faces that were marked stay in their place until this, or until sorting or filter change", needs=list_outdated),
    Action("palette.open", "Find a command, identity or picture", "Edit", ("Ctrl+K", "Ctrl+Shift+P"), "search"),
    Action("view.grid", "Grid", "View", ("G",), "grid", needs=gallery_open),
    Action("view.loupe", "Loupe", "View", ("E",), "loupe", "One face, large", needs=face_current),
    Action("view.compare", "Compare", "View", ("C",), "compare", "Two to four faces side by side", needs=two_selected),
    Action("view.larger", "Larger thumbnails", "View", ("Ctrl++", "Ctrl+="), line_above=True, needs=gallery_open),
    Action("view.smaller", "Smaller thumbnails", "View", ("Ctrl+-",), needs=gallery_open),
    Action("theme.system", "Follow the system", "View", (), checkable=True, line_above=True),
    Action("theme.light", "Light", "View", (), "sun", checkable=True),
    Action("theme.dark", "Dark", "View", (), "moon", checkable=True),
    Action("view.still", "Reduce motion", "View", (), "", "What would glide is there at once", checkable=True, line_above=True),
    Action("select.all", "Select all shown", "Select", ("Ctrl+A",), needs=faces_shown),
    Action("select.invert", "Invert selection", "Select", ("Ctrl+I",), needs=faces_shown),
    Action("select.none", "Step back", "Select", ("Esc",), "", "Closes what is open, then clears the selection, then the filter"),
    Action("select.identity", "Select this identity", "Select", ("Ctrl+Shift+I",), "", "All shown faces of the current face's identity", needs=face_current),
    Action("select.next", "Next face", "Select", ("N",), line_above=True, needs=faces_shown),
    Action("select.previous", "Previous face", "Select", ("Shift+N",), needs=faces_shown),
    Action("mark.flag", "Flag", "Mark", ("P",), "flag", "The selected faces, in the loupe the one that is shown", needs=some_face),
    Action("mark.reject", "Reject", "Mark", ("X",), "close", "Shows them pale with a cross; nothing on disk changes", needs=some_face),
    Action("mark.unflag", "Neither flag nor reject", "Mark", ("U",), needs=some_face),
    Action("mark.rate_one", "Rate 1", "Mark", ("1",), needs=some_face, line_above=True),
    Action("mark.rate_two", "Rate 2", "Mark", ("2",), needs=some_face),
    Action("mark.rate_three", "Rate 3", "Mark", ("3",), needs=some_face),
    Action("mark.rate_four", "Rate 4", "Mark", ("4",), needs=some_face),
    Action("mark.rate_five", "Rate 5", "Mark", ("5",), needs=some_face),
    Action("mark.rate_none", "No rating", "Mark", ("0",), needs=some_face),
    Action("mark.tag", "Tag…", "Mark", ("T",), "tag", "The selected faces, or the current one; tags are typed, known ones are offered", needs=some_face, line_above=True),
    Action("mark.note", "Write a note…", "Mark", (), "", "On the current face, in the inspector", needs=face_current),
    Action("identity.name", "Identity…", "Mark", ("I",), "user", "Says who the selected faces are, also of a whole cluster; nothing on disk changes", needs=some_face, line_above=True),
    Action("identity.rename", "Rename this person…", "Mark", ("Shift+I",), "pencil", "All faces of the current face's identity; with a name that is known, two people become one", needs=person_current),
    Action("identity.none", "No identity", "Mark", (), "", "The selected faces are of nobody; what compares people leaves them out", needs=some_face),
    Action("identity.back", "Take back identity edits", "Mark", (), "undo", "The selected faces are again who the gallery says", needs=edited_at_hand),
    Action("identity.back_all", "Take back all identity edits", "Mark", (), "", "Every face is again who the gallery says", needs=some_edited),
    Action("identity.show", "Show faces with an edited identity", "Mark", (), "filter", "Filters the gallery by them", needs=some_edited),
    Action("subset.make", "Make a subset of the selection…", "Mark", (), "plus", "Keeps the selected faces under a name", needs=some_selected, line_above=True),
    Action("subset.make_shown", "Make a subset of the shown faces…", "Mark", (), "filter", "Keeps what the filter leaves under a name", needs=faces_shown),
    Action("subset.combine", "Combine subsets…", "Mark", (), "layers", "And, or, xor, not of two subsets, tags, the selection or what is shown", needs=gallery_open),
    Action("mark.advance", "Move on after marking", "Mark", (), "", "Flag, reject and ratings of one face lead to the next", checkable=True, line_above=True),
    Action("doctor.run", "Check the gallery again", "Gallery", (), "doctor", "Reads every picture and lists what is wrong", needs=gallery_open),
    Action("doctor.show", "Show what the doctor found", "Gallery", ("Ctrl+D",), "doctor", needs=gallery_open),
    Action("faces.find", "Find faces…", "Gallery", (), "search", "Five points of every face in whole photographs, with a YuNet file of yours", needs=gallery_open),
    Action("scores.import", "Import scores…", "Gallery", (), "download", "Quality scores by file name: CSV, TSV or Parquet, of OFIQ for example; columns to sort and filter by", needs=gallery_open),
    Action("faces.exclude", "Exclude selected faces", "Gallery", ("Del",), "cross", "Leaves them out of the gallery here; nothing on disk changes", needs=some_selected, line_above=True),
    Action("faces.copy_paths", "Copy file paths", "Gallery", ("Ctrl+Shift+C",), "copy", "Paths of the selected faces, or of the current one, a line each", needs=face_current),
    Action("faces.include_all", "Take back all excluded faces", "Gallery", (), "undo", needs=some_excluded),
    Action("protocol.build_pairs", "Build a pairs.txt…", "Gallery", (), "plus", "A verification list from this gallery, with seed and counts", needs=identities_known, line_above=True),
    Action("protocol.build_bin", "Build a .bin…", "Gallery", (), "plus", "The same list with the pictures inside, as insightface reads it", needs=identities_known),
    Action("model.open", "Open model…", "Models", ("Ctrl+M",), "cube", "A checkpoint or an ONNX file; nothing in it is run"),
    Action("model.show", "Show models", "Models", (), "cube", "Cards, key reports and vectors of the loaded models"),
    Action("model.embed", "Embed the gallery", "Models", (), "play", "With the model that is looked at; what is done already is kept", needs=embeddable, line_above=True),
    Action("model.compare", "Compare forms…", "Models", (), "compare", "Whether another file of this model (ONNX, half precision) says the same", needs=model_usable),
    Action("model.feed", "Feeding what-if…", "Models", (), "sliders", "Other channel orders, scalings and crops on a sample of the gallery", needs=model_usable),
    Action("model.variance", "Single-model variance…", "Models", (), "sliders", "How much one model wavers by mirror image, crop or dropout; not the variance of an ensemble", needs=model_usable),
    Action("model.swap", "Swap the old and the new model", "Models", ("\\",), "swap", "The old one is dashed in every chart, the new one solid", needs=two_models),
    Action("model.remove", "Take the model off the list", "Models", (), "minus", "The file and its vectors on disk stay", needs=model_loaded),
    Action("training.show", "Train a model…", "Models", (), "play", "What the papers train, on a gallery of yours or on drawn people", line_above=True),
    Action("training.open", "Open recipe…", "Models", (), "folder", "A TOML file that says what is trained and how"),
    Action("training.start", "Start training", "Models", (), "play", "The recipe on the training page", needs=recipe_ready),
    Action("training.stop", "Stop training", "Models", (), "stop", "After the step at hand; what was learned is saved"),
    Action("training.resume", "Resume training", "Models", (), "play", "From the last step that is saved", needs=run_unfinished),
    Action("vectors.import", "Import vectors…", "Models", (), "download", "Vectors made elsewhere: npy, npz, Parquet, TSV, safetensors", needs=gallery_open, line_above=True),
    Action("vectors.export", "Export vectors…", "Models", (), "export", "For numpy, pandas, Embedding Atlas, TensorBoard or FiftyOne", needs=vectors_there),
    Action("vectors.delete", "Delete vectors…", "Models", (), "trash", "Of the model that is looked at, for this gallery", needs=vectors_there),
    Action("evaluate.run", "Evaluate", "Analyse", ("Ctrl+R",), "play", "Models A and B by the chosen protocol: verification, identification, retrieval", needs=evaluable),
    Action("evaluate.show", "Show the evaluation", "Analyse", (), "points", "Curves, tables and the pairs behind them"),
    Action("evaluate.export", "Export tables…", "Analyse", (), "export", "JSON, CSV or LaTeX of every number of the evaluation", needs=evaluated, line_above=True),
    Action("evaluate.latex", "Copy the table", "Analyse", (), "copy", "As LaTeX: operating points of models A and B, with intervals", needs=evaluated),
    Action("evaluate.policy", "Export threshold policy…", "Analyse", (), "export", "The threshold of the current operating point as JSON, with what it rests on", needs=verified),
    Action("evaluate.figure", "Export evaluation figures…", "Analyse", (), "image", "PNG, SVG or PDF of every curve and table, a file each", needs=evaluated),
    Action("uncertainty.run", "Ensemble and variance", "Analyse", ("Ctrl+U",), "play", "Maps models into one space and orders the faces by how much they disagree", needs=assessable, line_above=True),
    Action("uncertainty.show", "Show the uncertainty", "Analyse", (), "points", "Variance, what refusing does, and who is sure and wrong"),
    Action("uncertainty.export", "Export refused faces…", "Analyse", (), "export", "CSV of the faces above the line, worst first, to re-enrol", needs=rejected),
    Action("uncertainty.export_all", "Export scores of all faces…", "Analyse", (), "export", "CSV of every face with variance, percentile and who disagrees", needs=assessed),
    Action("uncertainty.curve", "Export rejection curves…", "Analyse", (), "export", "CSV or JSON: errors at every share of faces kept, with intervals", needs=rejected),
    Action("uncertainty.figure", "Export uncertainty figures…", "Analyse", (), "image", "PNG, SVG or PDF of histogram, curves and the three-row strip, a file each", needs=rejected),
    Action("confidence.show", "Show the confidence", "Analyse", ("Ctrl+J",), "grid", "Which parts of an embedding are sure of a face, and how each votes on a pair", line_above=True),
    Action("confidence.export", "Export parts of all faces…", "Analyse", (), "export", "CSV of every face with confidence and uncertainty of each part", needs=parted),
    Action("confidence.study", "Export what the parts are good for…", "Analyse", (), "export", "JSON: attributes, correlation, rates without each part and with it alone", needs=studied),
    Action("confidence.figure", "Export confidence figures…", "Analyse", (), "image", "PNG, SVG or PDF of heat maps, distributions, correlation and jury, a file each", needs=parted),
    Action("learners.show", "Show the learners", "Analyse", (), "points", "What each learner of a divided embedding finds by itself", line_above=True),
    Action("learners.export", "Export learners…", "Analyse", (), "export", "JSON or CSV: recall of each learner and of the baseline, specialists, clusters", needs=learnt),
    Action("learners.figure", "Export learner figures…", "Analyse", (), "image", "PNG, SVG or PDF of specialists, table, curve and clusters, a file each", needs=learnt),
    Action("match.show", "Show the match", "Analyse", ("Ctrl+Shift+F",), "compare", "Searches the gallery for the current face, by its embedding and by its patches", line_above=True),
    Action("match.sweep", "Search for all faces", "Analyse", (), "play", "What the second stage does to every query, at several alphas", needs=matchable),
    Action("match.export", "Export ranking…", "Analyse", (), "export", "CSV or JSON: the shortlist before and after, with cosine, EMD and blend", needs=matched),
    Action("match.figure", "Export match figures…", "Analyse", (), "image", "PNG, SVG or PDF of flow, ranking, sweep and regions, a file each", needs=matched),
    Action("upgrade.run", "Look at the upgrade", "Analyse", ("Ctrl+Shift+U",), "play", "Queries of the new model in the gallery of the old one: gains, flips, backfill", needs=upgradable, line_above=True),
    Action("upgrade.show", "Show the upgrade", "Analyse", (), "swap", "Whether new queries find people in the old gallery, and who is lost"),
    Action("upgrade.report", "Export upgrade report…", "Analyse", (), "export", "A folder with a page of everything: verdict, figures, tables, flips, order of the backfill", needs=upgraded),
    Action("upgrade.figure", "Export upgrade figures…", "Analyse", (), "image", "PNG, SVG or PDF of matrix, gains, flips and backfill, a file each", needs=upgraded),
    Action("upgrade.export", "Export upgrade numbers…", "Analyse", (), "export", "JSON of verdict, cross-tests, gains, flips and backfill", needs=upgraded),
    Action("upgrade.flips", "Export flips…", "Analyse", (), "export", "CSV of every search and pair that is lost or gained", needs=flipped),
    Action("upgrade.order", "Export order of the backfill…", "Analyse", (), "export", "CSV of the gallery, first to be embedded anew first", needs=filled),
    Action("projection.show", "Show the projection", "Analyse", (), "points", "The faces as a map, near each other where a model finds them alike", line_above=True),
    Action("projection.beside", "Show the projection under the gallery", "Analyse", (), "points", "The map at the foot of the window, beside whatever page is open", needs=gallery_open),
    Action("projection.export", "Export points of the map…", "Analyse", (), "export", "A table, a face a row; or with vectors for Embedding Atlas, TensorBoard or FiftyOne", needs=mapped),
    Action("projection.figure", "Export map…", "Analyse", (), "image", "PNG, SVG or PDF of the map as it is coloured", needs=mapped),
    Action("figure.export", "Export figures…", "Figure", ("Ctrl+E",), "export", "PNG, SVG or PDF of the page in front, with a preview and a recipe; of the gallery the selected faces, or those shown", needs=faces_shown),
    Action("figure.copy", "Copy the figure", "Figure", ("Ctrl+C",), "copy", "Of the page in front; of the gallery the selected faces, or those shown", needs=faces_shown),
    Action("data.export", "Export list…", "Figure", ("Ctrl+Shift+E",), "export", "CSV, JSON or Parquet of the selected faces, or of those shown, with all columns", needs=faces_shown),
    Action("figure.pseudonyms", "Pseudonyms in exports", "Figure", (), "", "People are P0001, P0002, … in every file and figure that leaves the window; other numbers each time", checkable=True, line_above=True),
    Action("figure.blur", "Blur faces in exports", "Figure", (), "", "Nobody can be made out on the pictures of figures and lists", checkable=True),
    Action("report.export", "Export report…", "Figure", (), "export", "A folder with a page of all that is worked out: settings, data and models, tables, figures, caveats; JSON and LaTeX beside it", needs=gallery_open, line_above=True),
    Action("layout.browse", "Browse layout", "Window", ("Ctrl+1",), checkable=True),
    Action("layout.match", "Match layout", "Window", ("Ctrl+2",), checkable=True),
    Action("layout.upgrade", "Upgrade layout", "Window", ("Ctrl+3",), checkable=True),
    Action("layout.report", "Report layout", "Window", ("Ctrl+4",), checkable=True),
    Action("layout.reset", "Reset layout", "Window", (), line_above=True),
    Action("region.next", "Next region", "Window", ("F6",), "", "Walks toolbar, stage and docks with the keyboard"),
    Action("region.previous", "Previous region", "Window", ("Shift+F6",)),
    Action("jobs.cancel", "Cancel all jobs", "Window", (), "close"),
    Action("guide.open", "Guide", "Help", ("F1",), "help", "What each page says, how it is worked out, and what it does not say; opens at the page in front"),
    Action("guide.what", "What is this?", "Help", ("Shift+F1",), "help", "Click a chart or a control: what it is, its formula and where that comes from"),
    Action("keys.show", "Keyboard shortcuts", "Help", ("?",), "keyboard", line_above=True),
    Action("cache.show", "Local data…", "Help", (), "shield", "What FaceLens keeps on this computer; show or delete it"),
    Action("limits.show", "Limits…", "Help", (), "sliders", "How large pictures and model files may be"),
    Action("log.show", "Show the log", "Help", (), "log"),
    Action("application.about", "About FaceLens", "Help", (), "info"),
)

# fmt: on

BY_ID = {action.id: action for action in ACTIONS}
