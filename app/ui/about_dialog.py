"""The About dialog: what Hookline is, where its data is stored, what it is built on, and diagnostics to copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import PySide6
from PySide6.QtCore import QEvent, QLocale, QSize, Qt, Slot, qVersion
from PySide6.QtGui import QAction, QFontInfo, QGuiApplication, QKeySequence, QScreen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPlainTextEdit, QWidget

from app.core.errors import HooklineError
from app.core.events import Subscriptions
from app.core.files import Component
from app.core.text import Fact
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font, ui_font
from app.ui.theme.icons import mark
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import line
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fields import CopyField, FolderField, SearchField
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, label, style
from app.ui.widgets.layout import Stretch, fill, hbox, vbox
from app.ui.widgets.rows import Column, Rows, RowsList

if TYPE_CHECKING:
    from app.system.about import About

LICENCES_SIZE, LIST_WIDTH = QSize(920, 640), 248


class LicencesDialog(Dialog):
    """The list is filled once the licences are read."""

    def __init__(self, about: About, theme: Theme, tasks: Tasks, parent: QWidget | None) -> None:
        super().__init__("Licences", theme, parent)
        self._about = about
        self._components: Sequence[Component] = ()
        self.rows = Rows[Component]([Column("", _name)], self)
        self.list = RowsList("Included software", self.rows, metrics.ROW_DENSE + 2, theme, self, rounded=True)
        self.search = SearchField("Search names and licences", self)
        self.search.target = self.list
        self.no_matches = label("No matches.", "faint", self)
        self.no_matches.hide()
        self.name = ElidedLabel("Reading…", "heading", self)
        self.licence = ElidedLabel("", "small", self)
        self.text = QPlainTextEdit(self, readOnly=True)
        self.text.setFont(mono_font())
        self.text.setAccessibleName("Licence text")
        self.text.setProperty("frameless", True)
        self.close_button = self.make_close_button("Close")
        self.close_button.setAutoDefault(False)  # Enter after a search must not close the dialog.
        self._lay_out()
        self._connect()
        self.search.setFocus()
        self.resize(self.sizeHint())
        tasks.start(self._fill(), "read the licences", self)

    def sizeHint(self) -> QSize:
        return bounded(self, LICENCES_SIZE)

    def is_idle(self) -> bool:
        """Always: it only shows information."""
        return True

    async def _fill(self) -> None:
        self.show_components(await self._about.licences())

    def show_components(self, components: Sequence[Component]) -> None:
        """List the components and select the first one."""
        self._components = components
        self._filter(self.search.text())

    def _connect(self) -> None:
        self.search.textChanged.connect(self._filter)
        self.list.selectionModel().currentChanged.connect(self._show)
        find = QAction("Search", self)
        find.setShortcut(QKeySequence(QKeySequence.StandardKey.Find))
        find.triggered.connect(self.search.setFocus)
        self.addAction(find)

    @Slot(str)
    def _filter(self, matching: str) -> None:
        """List those whose name or licence matches; one of them is selected, the same if it is still there."""
        words = matching.strip().lower()
        found = [one for one in self._components if words in f"{_name(one)} {one.licence}".lower()]
        shown = self.list.current_record()
        self.rows.show_records(found, id)
        if found and shown not in found:
            self.list.select_row(0)
        self.no_matches.setVisible(bool(self._components) and not found)

    @Slot()
    def _show(self) -> None:
        component = self.list.current_record()
        self.name.setText(_name(component) if component else "")
        self.licence.setText(component.licence if component else "")
        self.text.setPlainText(component.text or "The text of this licence is not included." if component else "")

    def _lay_out(self) -> None:
        left = vbox(
            self.search,
            self.no_matches,
            (self.list, 1),
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_3, 0),
        )
        self.search.setFixedWidth(LIST_WIDTH)
        self.list.setFixedWidth(LIST_WIDTH)
        header = vbox(self.name, self.licence, spacing=2, margins=(metrics.SPACE_2, 0, 0, 0))
        right = vbox(
            header,
            (self.text, 1),
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_3, metrics.SPACE_4, metrics.SPACE_3, 0),
        )
        self.fill_columns(left, right)
        fill(self.footer, Stretch(), self.close_button)
        order_tabs(self)


def _name(component: Component) -> str:
    return f"{component.name} {component.version}".strip()


def versions() -> list[Fact]:
    """The versions of Qt and PySide6."""
    return [("Qt", qVersion()), ("PySide6", PySide6.__version__)]


def window_facts() -> list[Fact]:
    """The screens, the platform plugin and whatever else can make a window look odd. Call it on the GUI thread."""
    screens = "; ".join(map(_screen, QGuiApplication.screens()))
    return [
        *versions(),
        ("Platform plugin", QGuiApplication.platformName()),
        ("Screens", screens or "none"),
        ("Font", QFontInfo(ui_font()).family()),
        ("Language", QLocale.system().name()),
    ]


def _screen(screen: QScreen) -> str:
    size = screen.size()
    return f"{size.width()}x{size.height()} at scale {screen.devicePixelRatio():g}"


SENTENCE = (
    "Catches webhooks on your desktop: every request kept exactly as it was sent, shown live, forwarded to your code."
)
RIGHTS = "© 2026 The Hookline authors · MIT licence"
WIDTH, MARK = 560, 52


class AboutDialog(Dialog):
    """`LicencesDialog` opens above it."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None) -> None:
        super().__init__("About Hookline", theme, parent)
        self._services, self._tasks = services, tasks
        self._collecting = False
        self.title.hide()  # The name beside the mark already says it.
        self.folder = FolderField(services.data_folder, theme, self)
        self.base_url = CopyField("", theme, self, what="URL")
        self._show_base_url()
        self.installation = ElidedLabel(services.about.installation, "", self, Qt.TextElideMode.ElideMiddle)
        python, *others = services.about.versions()
        parts = " · ".join(f"{name} {version}" for name, version in (python, *versions(), *others))
        self.built_on = label(parts, "", self, selectable=True)
        self.licences_button = Button("Licences", theme, self, run=self.show_licences)
        self.copy_button = Button("Copy diagnostics", theme, self, icon="copy", run=self.copy_diagnostics)
        self.status = label("", "success", self, wrap=True)
        self.close_button = self.make_close_button("Close")
        self._lay_out()
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.follow_urls(self._show_base_url)
        self.finished.connect(self._subscriptions.end)
        self.close_button.setDefault(True)
        self.close_button.setFocus()
        self.setFixedWidth(WIDTH)

    def sizeHint(self) -> QSize:
        """As high as the wrapped lines need; the layout's own hint assumes a width at which a long path fits."""
        return self.sized_for(WIDTH)

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.resize(self.sizeHint())
        return done

    def is_idle(self) -> bool:
        """Always: it only shows information."""
        return True

    @Slot()
    def copy_diagnostics(self) -> None:
        """Copy the diagnostics to the clipboard."""
        # If disabled meanwhile, the button would lose the keyboard focus.
        if not self._collecting:
            self._collecting = True
            self._show_status("")
            self._tasks.start(self._copy_diagnostics(), "copy diagnostics")

    @Slot()
    def show_licences(self) -> None:
        """Open the list of included software."""
        LicencesDialog(self._services.about, self.theme, self._tasks, self).open()

    def _show_base_url(self) -> None:
        self.base_url.set_text(self._services.about.base_url, self._services.url_mark)

    async def _copy_diagnostics(self) -> None:
        status, kind = "Copied the diagnostics. They contain no secrets.", "success"
        try:
            await self._tasks.complete(self._copy(), self)
        except HooklineError as error:
            status, kind = str(error), "error"
        finally:
            self._collecting = False
        self._show_status(status, kind)

    async def _copy(self) -> None:
        QGuiApplication.clipboard().setText(await self._services.about.diagnostics(window_facts()))

    def _show_status(self, text: str, kind: str = "success") -> None:
        style(self.status, "kind", kind)
        self.status.setText(text)
        self.copy_button.setAccessibleDescription(text)

    def _lay_out(self) -> None:
        self.body.setSpacing(metrics.SPACE_5)
        fill(self.body, self._header(), line(self), self._rows())
        self.body.setContentsMargins(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_5)
        fill(self.footer, self.licences_button, self.copy_button, (self.status, 1), self.close_button)
        order_tabs(self)

    def _header(self) -> QHBoxLayout:
        badge = QLabel(self)
        badge.setPixmap(mark(MARK))
        self.version = label(f"Version {self._services.version}", "muted", self, selectable=True)
        name = hbox(
            (label("Hookline", "display", self), 0, Qt.AlignmentFlag.AlignBaseline),
            (self.version, 1, Qt.AlignmentFlag.AlignBaseline),
            spacing=metrics.SPACE_2,
        )
        words = vbox(name, label(SENTENCE, "", self, wrap=True), label(RIGHTS, "small", self), spacing=6)
        return hbox((badge, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=metrics.SPACE_4)

    def _rows(self) -> QGridLayout:
        self.base_url.setAccessibleName("Capture URLs start with")
        grid = QGridLayout()
        grid.setHorizontalSpacing(metrics.SPACE_4)
        grid.setVerticalSpacing(metrics.SPACE_3)
        grid.setColumnStretch(1, 1)
        for row, (name, widget) in enumerate(
            (
                ("Data folder", self.folder),
                ("Capture URLs", self.base_url),
                ("Installation", self.installation),
                ("Built on", self.built_on),
            )
        ):
            title = label(name, "muted", self)
            title.setMinimumHeight(metrics.CONTROL if row < 2 else 0)
            grid.addWidget(title, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(widget, row, 1)
        return grid
