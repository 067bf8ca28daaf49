"""The form of one target, as a `TargetDraft`, with its state above it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from app.core.rules import FieldError
from app.core.target import Target, TargetDraft
from app.core.target_text import paused_text
from app.core.text import count_of
from app.ui.endpoints.targets.target_edits import TargetEdit
from app.ui.endpoints.targets.target_sections import (
    DeliverySection,
    HeadersSection,
    RetrySection,
    TargetSection,
    TlsSection,
    UrlSection,
)
from app.ui.endpoints.targets.target_text import state_words
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import line
from app.ui.widgets.fields import LabeledField
from app.ui.widgets.labels import label
from app.ui.widgets.switch import Switch


class TargetState(QWidget):
    """The switch, and whether the target is paused. Pausing takes effect at once: `pause_requested` says which way."""

    switched = Signal()
    pause_requested = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._draft = TargetDraft(url="")
        self._stored: Target | None = None
        self._waiting: int | None = None
        self.switch = Switch("Forward to this target", theme, self)
        self.text = label("", "strong", self)
        self.effect = label("", "faint", self, wrap=True)
        self.pause = Button("Pause", theme, self, kind="ghost", icon="pause")
        self.notice = QFrame(self)
        self.notice.setProperty("part", "notice")
        self._icon = QLabel(self.notice)
        self.notice_text = label("", "", self.notice, wrap=True)
        self.resume = Button("Resume", theme, self.notice, icon="play")
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.text)
        words.addWidget(self.effect)
        row = QHBoxLayout()
        row.setSpacing(metrics.SPACE_3)
        row.addWidget(self.switch)
        row.addLayout(words, 1)
        row.addWidget(self.pause)
        inside = QHBoxLayout(self.notice)
        inside.setContentsMargins(metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2)
        inside.setSpacing(metrics.SPACE_2)
        inside.addWidget(self._icon)
        inside.addWidget(self.notice_text, 1)
        inside.addWidget(self.resume)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.SPACE_3)
        column.addLayout(row)
        column.addWidget(self.notice)
        self.switch.clicked.connect(self.switched)
        self.pause.clicked.connect(self._pause)
        self.resume.clicked.connect(self._resume)
        theme.changed.connect(self._refresh)

    def show_state(self, draft: TargetDraft, stored: Target | None, waiting: int | None) -> None:
        """`waiting` counts its queued deliveries; None until that is known."""
        self._draft, self._stored, self._waiting = draft, stored, waiting
        if self.switch.isChecked() != draft.active:
            self.switch.set_now(draft.active)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        draft, stored, waiting = self._draft, self._stored, self._waiting
        self.text.setText("On" if draft.active else "Off")
        paused = stored is not None and stored.paused is not None
        does = "queued for it" if paused else "forwarded to it"
        effect = f"New requests are {does}." if draft.active else "New requests are not forwarded to it."
        if waiting and not paused:
            effect += f" {count_of(waiting, 'request')} {'is' if waiting == 1 else 'are'} queued."
        self.effect.setText(effect)
        self.pause.setVisible(stored is not None and not paused)
        self.notice.setVisible(paused)
        if stored is not None and paused:
            words = state_words(TargetDraft(url=""), stored.paused)
            self._icon.setPixmap(self._theme.pixmap(words.icon, words.colour, 18, self.devicePixelRatioF()))
            self.notice_text.setText(paused_text([stored], waiting))
            self.notice.setProperty("tone", "danger" if words.colour == "danger" else "warning")
            self.notice.style().unpolish(self.notice)
            self.notice.style().polish(self.notice)

    @Slot()
    def _pause(self) -> None:
        self.pause_requested.emit(True)

    @Slot()
    def _resume(self) -> None:
        self.pause_requested.emit(False)


class TargetForm(QWidget):
    """`changed` carries a field's path (`url`, `retry.retries`); `fields` holds every field by its path."""

    changed = Signal(str)

    def __init__(self, slug: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("transparent", True)
        self.touched: set[str] = set()
        """The paths of the fields whose errors are shown."""
        self._revealed: QWidget | None = None
        self._active = True
        self.state = TargetState(theme, self)
        self.url, self.headers = UrlSection(slug, self), HeadersSection(self)
        self.delivery, self.retry = DeliverySection(self), RetrySection(self)
        self.tls = TlsSection(theme, self)
        self.sections: tuple[TargetSection, ...] = (self.url, self.delivery, self.retry, self.headers, self.tls)
        self.fields: dict[str, LabeledField] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_5)
        column.setSpacing(metrics.SPACE_4)
        column.addWidget(self.state)
        for section in self.sections:
            column.addWidget(line(self))
            column.addWidget(section)
            self.fields.update(section.fields)
            section.changed.connect(self._edited)
        column.addStretch(1)
        self.state.switched.connect(self._switched)

    def load(self, draft: TargetDraft) -> None:
        """Show `draft`; no error is shown until its field is edited."""
        blocked = self.blockSignals(True)
        self._active = draft.active
        for section in self.sections:
            section.load(draft)
        self.blockSignals(blocked)
        self.touched.clear()

    def draft(self) -> TargetDraft:
        """The values of the fields."""
        values = {key: value for section in self.sections for key, value in section.values().items()}
        return TargetDraft(active=self._active, **values)

    def problems(self) -> list[FieldError]:
        """Errors that a draft cannot represent."""
        found = {path: problem for section in self.sections for path, problem in section.problems().items()}
        return [FieldError(field=path, message=problem) for path, problem in found.items() if problem]

    def show_errors(self, errors: list[FieldError]) -> None:
        """Show those of edited fields, and what the valid values mean in words."""
        messages = {error.field: error.message for error in reversed(errors)}
        for path, field in self.fields.items():
            field.set_error(messages.get(path) if path in self.touched else None)
        self.url.show_preview(self.draft(), valid="url" not in messages)
        self.retry.show_rule()

    def reveal(self, path: str) -> None:
        """Scroll to a field and focus it."""
        field = self.fields.get(path)
        if field is not None:
            field.control.setFocus()
            self._revealed = field
            QTimer.singleShot(0, self._scroll_to_revealed)

    @Slot(str)
    def _edited(self, path: str) -> None:
        self.touched.add(path)
        self.changed.emit(path)

    @Slot()
    def _switched(self) -> None:
        self._active = self.state.switch.isChecked()
        self.changed.emit("active")

    @Slot()
    def _scroll_to_revealed(self) -> None:
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None and self._revealed is not None:
            area.ensureWidgetVisible(self._revealed)


class TargetForms(QStackedWidget):
    """A form for each target that was selected once, so that what was typed stays, valid or not."""

    changed = Signal(str)
    pause_requested = Signal(bool)

    def __init__(self, slug: str, empty: QWidget, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._slug, self._empty, self._theme = slug, empty, theme
        self._areas: dict[TargetEdit, QScrollArea] = {}
        self._forms: dict[TargetEdit, TargetForm] = {}
        self.addWidget(empty)

    def current(self) -> TargetForm | None:
        """The form that is shown."""
        shown = self.currentWidget()
        return next((form for item, form in self._forms.items() if self._areas[item] is shown), None)

    def made(self, item: TargetEdit) -> TargetForm | None:
        """The form of `item` if it was shown before."""
        return self._forms.get(item)

    def of(self, item: TargetEdit) -> TargetForm:
        if item not in self._forms:
            form = self._forms[item] = TargetForm(self._slug, self._theme, self)
            form.load(item.draft)
            form.changed.connect(self.changed)
            form.state.pause_requested.connect(self.pause_requested)
            area = self._areas[item] = QScrollArea(self)
            area.setWidgetResizable(True)
            area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            area.setFrameShape(QFrame.Shape.NoFrame)
            area.setWidget(form)
            self.addWidget(area)
        return self._forms[item]

    def show_item(self, item: TargetEdit | None) -> None:
        """Show the form of `item`, or that there is none."""
        if item is None:
            self.setCurrentWidget(self._empty)
        else:
            self.of(item)
            self.setCurrentWidget(self._areas[item])

    def type_url(self) -> None:
        """Put the keyboard into the URL of the form that is shown."""
        form = self.current()
        if form is not None:
            form.url.url.setFocus()
            form.url.url.selectAll()
