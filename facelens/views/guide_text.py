"""A page of the guide as it is read: Markdown in the colours of the theme, to select, to zoom, with links inside.

Nothing outside the guide is ever opened or loaded: a link that leads elsewhere does nothing, and a reference is text.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import (
    QBrush,
    QFont,
    QResizeEvent,
    QShowEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableCellFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QTextBrowser, QTextEdit

from facelens.session import guide
from facelens.views import theme
from facelens.words import tr

BODY, SMALL, CODE = 12, 11, 11  # px
HEADS = {1: 18, 2: 14, 3: 12}
ABOVE = {1: 0, 2: 18, 3: 10}  # px over a heading
WIDEST = 680  # px of a line, beyond which one does not read well
LEAST, MOST, STEP = 0.7, 2.0, 0.1  # of the zoom
FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML


class GuideText(QTextBrowser):
    """Shows one page at a time; it says where a link leads, and goes nowhere itself."""

    followed = Signal(str, str)  # page, anchor
    zoomed = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("guide")
        self.setAccessibleName(tr("Page of the guide"))
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QTextEdit.Shape.NoFrame)
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.anchorClicked.connect(self._on_link)
        self.page = ""
        self.zoom = 1.0
        self._worn: theme.Theme | None = None  # what the page is dressed in
        self._heads: dict[str, int] = {}  # block numbers of the headings, by anchor
        theme.follow(self, self._on_theme)

    def show_page(self, word: str) -> None:
        """Another page, from its beginning; the same one anew, where it stands."""
        top = self.verticalScrollBar().value() if word == self.page else 0
        self.page = word
        document = self.document()
        document.setDefaultFont(self._font(BODY))
        document.setMarkdown(guide.told(guide.page(word).source), FEATURES)
        self._dress()
        self.verticalScrollBar().setValue(top)

    def show_anchor(self, anchor: str) -> None:
        """Bring a section to the top; the beginning for ""."""
        block = self.document().findBlockByNumber(self._heads.get(anchor, 0))
        layout = self.document().documentLayout()
        self.verticalScrollBar().setValue(int(layout.blockBoundingRect(block).top()) - 10 if anchor else 0)

    def anchor_here(self) -> str:
        """The section at the top."""
        here = self.cursorForPosition(self.viewport().rect().topLeft()).block().blockNumber()
        found = [anchor for anchor, block in self._heads.items() if block <= here + 1]
        return found[-1] if found else ""

    def find_words(self, typed: str) -> None:
        """Mark where words of a search stand; none for ""."""
        marks: list[QTextEdit.ExtraSelection] = []
        for word in typed.split():
            cursor = self.document().find(word)
            while not cursor.isNull():
                mark = QTextEdit.ExtraSelection()
                mark.cursor = cursor  # type: ignore[attr-defined]
                mark.format.setBackground(theme.current().q("soft"))  # type: ignore[attr-defined]
                marks.append(mark)
                cursor = self.document().find(word, cursor)
        self.setExtraSelections(marks)

    def set_zoom(self, zoom: float) -> None:
        """Larger or smaller, within limits."""
        zoom = round(min(max(zoom, LEAST), MOST), 2)
        if zoom != self.zoom:
            anchor, self.zoom = self.anchor_here(), zoom
            if self.page:
                self.show_page(self.page)
                self.show_anchor(anchor)
            self._fit()
            self.zoomed.emit(zoom)

    # -- what is never done

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Nothing is loaded: a page has no pictures, and no file or address is read for it."""
        return None

    def _on_link(self, link: QUrl) -> None:
        found = guide.place(link.toString(), self.page)
        if found is not None:
            self.followed.emit(*found)

    # -- how it looks

    def _font(self, px: int, *, bold: bool = False, mono: bool = False) -> QFont:
        font = QFont(theme.font(px, bold=bold, mono=mono))
        font.setPixelSize(round(px * self.zoom))
        return font

    def _on_theme(self) -> None:
        if self.page and self.isVisible():
            self.show_page(self.page)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.page and self._worn != theme.current():
            self.show_page(self.page)

    def _dress(self) -> None:
        self._worn = now = theme.current()
        document = self.document()
        document.setDocumentMargin(0)
        frame = document.rootFrame().frameFormat()
        frame.setMargin(0)
        frame.setLeftMargin(28 * self.zoom)
        frame.setRightMargin(28 * self.zoom)
        frame.setTopMargin(22 * self.zoom)
        frame.setBottomMargin(40 * self.zoom)
        document.rootFrame().setFrameFormat(frame)
        whole = QTextCursor(document)
        whole.beginEditBlock()  # it is laid out once, not after every word
        codes: list[tuple[int, int]] = []
        block = document.begin()
        while block.isValid():
            shape = block.blockFormat()
            if shape.property(QTextFormat.Property.BlockCodeFence):
                self._dress_code(block)
                if codes and codes[-1][1] + 1 == block.blockNumber():
                    codes[-1] = (codes[-1][0], block.blockNumber())
                else:
                    codes.append((block.blockNumber(), block.blockNumber()))
            elif shape.headingLevel():
                self._dress_heading(block)
            elif self._in_table(block) is None:
                self._dress_text(block)
            block = block.next()
        for child in document.rootFrame().childFrames():
            if isinstance(child, QTextTable):
                self._dress_table(child)
        for first, last in reversed(codes):  # from below: a frame moves all that follows
            self._box(first, last, now)
        whole.endEditBlock()
        self._heads = self._found_heads()
        self._fit()

    def _dress_text(self, block: QTextBlock) -> None:
        now, cursor = theme.current(), QTextCursor(block)
        shape = QTextBlockFormat(block.blockFormat())
        shape.setLineHeight(138, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        listed = block.textList() is not None
        shape.setTopMargin((1 if listed else 4) * self.zoom)
        shape.setBottomMargin((1 if listed else 4) * self.zoom)
        cursor.setBlockFormat(shape)
        quiet = block.text().startswith("Reference: ") or self._follows_reference(block)
        self._ink(block, now.text3 if quiet else now.text2, SMALL if quiet else BODY)

    def _follows_reference(self, block: QTextBlock) -> bool:
        before = block.previous()
        return before.isValid() and before.blockFormat().headingLevel() == 2 and before.text() == "Reference"

    def _ink(self, block: QTextBlock, colour: str, px: int, *, plain: bool = False) -> None:
        """Colours and sizes of a block's words: commands and code in the colour of text, links in that of links.

        What Markdown has in bold is a command; bold is for titles alone. All is the same where it is `plain`.
        """
        now = theme.current()
        pieces = []
        at = block.begin()
        while not at.atEnd():
            piece = at.fragment()
            pieces.append((piece.position(), piece.length(), piece.charFormat()))
            at += 1  # type: ignore[assignment,operator]
        for start, length, old in pieces:
            fmt = QTextCharFormat()
            strong = old.fontWeight() >= QFont.Weight.Bold and not plain
            fmt.setFont(self._font(min(px, CODE) if old.fontFixedPitch() else px, mono=old.fontFixedPitch()))
            fmt.setForeground(now.q(now.text if strong or old.fontFixedPitch() else colour))
            if old.isAnchor():
                fmt.setAnchor(True)
                fmt.setAnchorHref(old.anchorHref())
                fmt.setForeground(now.q("accent"))
                fmt.setFontUnderline(False)
            cursor = QTextCursor(self.document())
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(fmt)

    def _dress_heading(self, block: QTextBlock) -> None:
        level = block.blockFormat().headingLevel()
        shape = QTextBlockFormat(block.blockFormat())
        shape.setTopMargin(ABOVE.get(level, 12) * self.zoom)
        shape.setBottomMargin((10 if level == 1 else 3) * self.zoom)
        cursor = QTextCursor(block)
        cursor.setBlockFormat(shape)
        cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
        fmt = QTextCharFormat()
        fmt.setFont(self._font(HEADS.get(level, BODY), bold=True))
        fmt.setForeground(theme.current().q("text"))
        cursor.setCharFormat(fmt)

    def _dress_code(self, block: QTextBlock) -> None:
        shape = QTextBlockFormat(block.blockFormat())
        shape.setLineHeight(130, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        shape.setNonBreakableLines(True)
        cursor = QTextCursor(block)
        cursor.setBlockFormat(shape)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        fmt = QTextCharFormat()
        fmt.setFont(self._font(CODE, mono=True))
        fmt.setForeground(theme.current().q("text"))
        cursor.setCharFormat(fmt)

    def _box(self, first: int, last: int, now: theme.Theme) -> None:
        """Lay the lines of a formula on a ground of their own."""
        document = self.document()
        cursor = QTextCursor(document.findBlockByNumber(first))
        end = document.findBlockByNumber(last)
        cursor.setPosition(end.position() + end.length() - 1, QTextCursor.MoveMode.KeepAnchor)
        shape = QTextFrameFormat()
        shape.setBackground(now.q("sunk"))
        shape.setBorder(1)
        shape.setBorderBrush(QBrush(now.q("line")))
        shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        shape.setPadding(7 * self.zoom)
        shape.setTopMargin(4 * self.zoom)
        shape.setBottomMargin(4 * self.zoom)
        made = cursor.insertFrame(shape)
        block = document.findBlock(made.firstPosition())
        while block.isValid() and block.position() <= made.lastPosition():
            self._dress_code(block)
            block = block.next()
        for place in (made.firstPosition() - 1, made.lastPosition() + 1):
            self._squash(document.findBlock(place))

    def _squash(self, block: QTextBlock) -> None:
        """An empty line that Qt keeps beside a frame takes no room."""
        if block.isValid() and not block.text():
            shape = QTextBlockFormat()
            shape.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            QTextCursor(block).setBlockFormat(shape)

    def _in_table(self, block: QTextBlock) -> QTextTable | None:
        return QTextCursor(block).currentTable()

    def _dress_table(self, table: QTextTable) -> None:
        now = theme.current()
        shape = table.format()
        shape.setBorder(0)
        shape.setBorderCollapse(True)
        shape.setCellPadding(4 * self.zoom)
        shape.setCellSpacing(0)
        shape.setTopMargin(6 * self.zoom)
        shape.setBottomMargin(8 * self.zoom)
        shape.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        table.setFormat(shape)
        for row in range(table.rows()):
            for column in range(table.columns()):
                cell = table.cellAt(row, column)
                look = QTextTableCellFormat()
                look.setBottomBorder(1)
                look.setBottomBorderBrush(QBrush(now.q("line2" if not row else "line")))
                look.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                cell.setFormat(look)
                block = cell.firstCursorPosition().block()
                shape_of = QTextBlockFormat(block.blockFormat())
                shape_of.setLineHeight(130, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
                QTextCursor(block).setBlockFormat(shape_of)
                self._ink(block, now.text3 if not row else now.text2, SMALL, plain=not row)

    def _found_heads(self) -> dict[str, int]:
        found: dict[str, int] = {}
        block = self.document().begin()
        while block.isValid():
            if block.blockFormat().headingLevel():
                found["" if not found else guide.anchor_of(block.text())] = block.blockNumber()
            block = block.next()
        return found

    def _fit(self) -> None:
        """Lines as long as the window allows, and no longer than one likes to read."""
        self.setLineWrapColumnOrWidth(int(min(self.viewport().width(), (WIDEST + 56) * self.zoom)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            turn = event.angleDelta().y()
            self.set_zoom(self.zoom + (STEP if turn > 0 else -STEP if turn < 0 else 0))
            event.accept()
        else:
            super().wheelEvent(event)
