"""Whatever a user reads goes through `tr`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

METHODS = {
    "setText",
    "setToolTip",
    "setStatusTip",
    "setWhatsThis",
    "setWindowTitle",
    "setTitle",
    "setPlaceholderText",
    "setAccessibleName",
    "setAccessibleDescription",
    "setInformativeText",
    "setDetailedText",
    "setPrefix",
    "setSuffix",
    "setSpecialValueText",
    "setLabelText",
    "setHeaderLabels",
    "setHorizontalHeaderLabels",
    "setVerticalHeaderLabels",
    "addAction",
    "addMenu",
    "addTab",
    "addItem",
    "addItems",
    "addRow",
    "showMessage",
    "setTabText",
    "setTabToolTip",
    "setItemText",
}
CLASSES = {
    "QLabel",
    "QPushButton",
    "QToolButton",
    "QCheckBox",
    "QRadioButton",
    "QGroupBox",
    "QAction",
    "QMenu",
    "QDockWidget",
    "QMessageBox",
}


def texts(node: ast.expr) -> Iterator[ast.Constant]:
    """Literal text that the expression passes on as it is; what other functions get is theirs to answer for."""
    match node:
        case ast.Constant(value=str()):
            yield node
        case ast.JoinedStr(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            for part in parts:
                yield from texts(part)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            yield from texts(one)
            yield from texts(other)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()) as text, attr="format")):
            yield text
        case ast.NamedExpr(value=value) | ast.Starred(value=value):
            yield from texts(value)


def untranslated(folder: Path) -> list[str]:
    """Calls in `folder` that show a literal text of more than one plain lower-case word."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name not in METHODS | CLASSES:
                continue
            for argument in [
                *call.args,
                *(keyword.value for keyword in call.keywords if keyword.arg in ("text", "title")),
            ]:
                for text in texts(argument):
                    words = str(text.value).replace("FaceLens", "")  # a name is the same in every language
                    if any(c.isalpha() for c in words) and any(c.isspace() or c.isupper() for c in words):
                        found.append(f"{file.relative_to(folder).as_posix()}:{text.lineno}: {name}({words!r})")
    return found


def test_all_words_go_through_tr() -> None:
    assert untranslated(ROOT / "facelens" / "views") == []


@pytest.mark.parametrize(
    "source",
    [
        'label.setText("No gallery yet")',
        'label.setText("Open")',
        'x = QLabel("Two words")',
        'x = QtWidgets.QPushButton("Cancel", self)',
        'x.setToolTip(f"{n} faces")',
        'x.setToolTip("Old" if old else tr("New"))',
        'x.setWindowTitle("Gallery" + name)',
        'menu.addAction(icon, "Export all", self.export)',
        'x.setPlaceholderText("{n} of {m}".format(n=1, m=2))',
        'x.setAccessibleName(name or "Gallery grid")',
        'x.setHorizontalHeaderLabels(["Name", tr("Count")])',
        'x = QAction(text="Close")',
    ],
)
def test_planted_words_are_caught(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.py").write_text(source)
    assert len(untranslated(tmp_path)) == 1


@pytest.mark.parametrize(
    "source",
    [
        'label.setText(tr("No gallery yet"))',
        'label.setText(plural(n, "{n} Face", "{n} Faces"))',
        'label.setText("")',
        'window.setWindowTitle(f"{name} - FaceLens")',
        'label.setText("·  ×")',
        'label.setText(f"{a} · {b}")',
        "label.setText(name)",
        'label.setObjectName("Some name")',
        'x.setText(tr("a b") if old else tr("c d"))',
    ],
)
def test_what_is_allowed(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.py").write_text(source)
    assert untranslated(tmp_path) == []
