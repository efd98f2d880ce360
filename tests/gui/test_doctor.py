"""The doctor's page: not checked, nothing wrong, findings with their pictures, leaving out and taking back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt

from facelens.images.doctor import Finding
from facelens.views.main_window import MainWindow
from facelens.views.panels.doctor import DoctorPanel


def findings(page: DoctorPanel) -> list[Finding]:
    return [line.of for line in page.list.lines]


def show(page: DoctorPanel, kind: str) -> None:
    page.list.go([finding.kind for finding in findings(page)].index(kind))


def ill(make_gallery: Callable, root: Path) -> Path:
    """Two broken, one empty, one doubled, one alone."""
    make_gallery(root, broken=2, manifest=False)
    (root / "Ada_Byron" / "zero.png").write_bytes(b"")
    shutil.copy(root / "Bo_Chen" / "00.png", root / "Bo_Chen" / "same.png")
    make_gallery(root, people=("Lone",), pictures=1, manifest=False, seed=5)
    return root


def test_not_checked_yet(panel: Callable, load: Callable, tiny_faces: Path, calls) -> None:
    page = panel(DoctorPanel)
    assert page.waiting.isVisible()
    load(tiny_faces, check=False)
    assert page.waiting.isVisible() and page.header.subtitle() == ""
    page.grab()


def test_nothing_is_wrong(panel: Callable, load: Callable, make_gallery: Callable, tmp_path: Path) -> None:
    page = panel(DoctorPanel)
    load(make_gallery(tmp_path / "well", manifest=False))
    assert page.clean.isVisible()
    assert page.header.subtitle() == "12 faces checked, 0 findings"


def test_findings_and_their_pictures(panel: Callable, load: Callable, make_gallery: Callable, tmp_path, desk) -> None:
    page = panel(DoctorPanel)
    load(ill(make_gallery, tmp_path / "ill"))
    severities = [finding.severity for finding in findings(page)]
    assert [line.text for line in page.list.lines] == [finding.title for finding in findings(page)]
    assert severities == sorted(severities, key=["error", "warning", "note"].index), "worst first"
    assert page.finding.severity == "error"
    for i in range(len(page.list.lines)):
        page.list.go(i)
        finding = page.finding
        assert page.message.text() == finding.message
        assert set(page.grid.ids.tolist()) == set(finding.ids.tolist())
        assert page.exclude.isEnabled() == bool(len(finding.ids))
        assert page.figure_view().finding == finding.kind
        page.grab()
    diagnosis = desk.workspace.diagnosis
    assert len(diagnosis.bad_ids) == 3
    assert page.header.subtitle() == f"15 faces checked, {len(diagnosis.findings)} findings"


def test_exclude_and_take_back(panel: Callable, load: Callable, make_gallery: Callable, tmp_path: Path, desk) -> None:
    page = panel(DoctorPanel)
    load(ill(make_gallery, tmp_path / "ill"))
    before = len(desk.workspace.shown)
    kind = next(f.kind for f in desk.workspace.diagnosis.findings if f.severity != "error" and len(f.ids))
    show(page, kind)
    n = len(page.finding.ids)
    assert page.exclude.text() == f"Exclude {n}"
    page.exclude.click()
    assert len(desk.workspace.shown) == before - n
    assert page.exclude.text() == f"Take back {n}" and page.finding.kind == kind, "the list never jumps"
    page.exclude.click()
    assert len(desk.workspace.shown) == before


def test_selecting(panel: Callable, load: Callable, make_gallery: Callable, tmp_path: Path, desk) -> None:
    page = panel(DoctorPanel)
    load(ill(make_gallery, tmp_path / "ill"))
    page.select.click()
    assert set(desk.workspace.selection.ids.tolist()) == set(page.finding.ids.tolist())
    face = int(page.finding.ids[0])
    page.grid.look.emit(face)
    assert desk.workspace.selection.current == face


def test_a_double_click_shows_the_face_large(
    window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    window.opening.open(ill(make_gallery, tmp_path / "ill"))
    settle(window)
    window.act("doctor.show")
    page = window.panel("doctor")
    kind = next(f.kind for f in window.store.workspace.diagnosis.findings if f.severity != "error" and len(f.ids))
    show(page, kind)
    face = int(page.finding.ids[0])
    page.grid.open_face.emit(face)
    assert window.stage.word == "gallery" and window.panel("gallery").view == "loupe"
    assert window.store.workspace.selection.current == face


def test_the_choice_stays_when_the_gallery_is_checked_again(
    window: MainWindow, make_gallery: Callable, tmp_path: Path, settle: Callable
) -> None:
    window.opening.open(ill(make_gallery, tmp_path / "ill"))
    settle(window)
    window.act("doctor.show")
    page = window.panel("doctor")
    page.list.go(len(page.list.lines) - 1)
    kind = page.finding.kind
    window.act("doctor.run")
    settle(window)
    assert page.finding.kind == kind


def test_notes_of_the_reader_are_listed(panel: Callable, load: Callable, tiny_faces: Path, desk) -> None:
    page = panel(DoctorPanel)
    load(tiny_faces)
    desk.store.update(notes=("3 files are no pictures: <b>a</b>.txt",))
    show(page, "reading notes")
    assert page.message.text() == "1 note from reading the gallery."
    assert page.detail.text() == "3 files are no pictures: <b>a</b>.txt"
    assert page.detail.textFormat() == Qt.TextFormat.PlainText
    assert not page.exclude.isEnabled()


def test_closing_the_gallery_empties_the_page(browsing: MainWindow) -> None:
    browsing.act("doctor.show")
    page = browsing.panel("doctor")
    browsing.store.update(faces=None, diagnosis=None, source=None)
    assert browsing.stage.word == "gallery"
    browsing.stage.show_page("doctor")
    assert page.waiting.isVisible() and len(page.list.lines) == 0


def test_while_it_is_being_checked_it_says_so(browsing: MainWindow, settle: Callable, until: Callable) -> None:
    browsing.store.update(diagnosis=None)
    browsing.act("doctor.show")
    page = browsing.panel("doctor")
    seen: list[str] = []
    stop = browsing.jobs.listen(lambda job: seen.append(page.header.subtitle()))
    browsing.act("doctor.run")
    settle(browsing)
    stop()
    assert "checking" in seen
    assert page.header.subtitle().startswith("12 faces checked")


def test_a_narrow_page_puts_the_list_above(
    panel: Callable, load: Callable, make_gallery: Callable, tmp_path, pump
) -> None:
    page = panel(DoctorPanel)
    load(ill(make_gallery, tmp_path / "ill"))
    assert page.split.orientation() == Qt.Orientation.Horizontal
    page.resize(400, 640)
    pump()
    assert page.split.orientation() == Qt.Orientation.Vertical
    assert page.list.width() > 380 and page.message.width() > 350
    page.resize(900, 640)
    assert page.split.orientation() == Qt.Orientation.Horizontal


def test_the_keyboard_moves_on_when_the_findings_come(browsing: MainWindow, settle: Callable) -> None:
    from PySide6.QtWidgets import QApplication

    browsing.store.update(diagnosis=None)
    browsing.act("doctor.show")
    page = browsing.panel("doctor")
    assert QApplication.focusWidget() is page.check
    page.check.click()
    settle(browsing)
    assert QApplication.focusWidget() is page.list
