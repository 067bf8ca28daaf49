"""An endpoint's fields, the usual ones first and the others below More, as an `EndpointDraft`."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QScrollArea, QSlider, QVBoxLayout, QWidget

from app.core.fields import fields_of
from app.core.model import EndpointDraft
from app.core.rules import FieldError
from app.ui.endpoints.more_sections import (
    ForwardingSection,
    ResponseSection,
    Section,
    SecuritySection,
    SlugSection,
    StorageLimitField,
)
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import line
from app.ui.widgets.fields import LabeledField
from app.ui.widgets.number_field import NumberField

_RETENTION = fields_of(EndpointDraft)["retention_days"]


class RetentionControl(QWidget):
    """A number field, and a slider that follows it while the number is in range."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = _Slider(self)
        self.slider.setRange(*_RETENTION.bounds)
        self.slider.setAccessibleName("Retention in days, slider")
        self.days = NumberField("Retention", *_RETENTION.bounds, self, unit="days")
        self.days.setAccessibleName("Retention in days")
        self.days.setFixedWidth(104)
        self.slider.valueChanged.connect(self._slid)
        self.days.changed.connect(self._typed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_4)
        row.addWidget(self.slider, 1)
        row.addWidget(self.days)
        self.setFocusProxy(self.days)
        self.set_value(EndpointDraft(name="").retention_days)

    def value(self) -> int:
        """Days, as typed."""
        return self.days.value()

    def problem(self) -> str | None:
        """Why the number cannot be saved; None if it can."""
        return self.days.problem()

    def set_value(self, days: int) -> None:
        self.days.set_value(days)

    @Slot(int)
    def _slid(self, days: int) -> None:
        if days != self.days.value():
            self.days.set_value(days)

    @Slot()
    def _typed(self) -> None:
        days = self.days.value()
        self.days.set_unit("day" if days == 1 else "days")
        low, high = _RETENTION.bounds
        nearest = max(low, min(high, days))
        if nearest != days or self.days.problem() is None:
            self.slider.blockSignals(True)  # The slider only follows here.
            self.slider.setValue(nearest)
            self.slider.blockSignals(False)
        self.changed.emit()


class _Slider(QSlider):
    """A horizontal slider; the wheel scrolls the form instead."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setPageStep(7)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the form."""
        event.ignore()


FORWARDED = "Every captured request is forwarded there as it was received."


class EndpointForm(QWidget):
    """`changed` carries a field's path (`name`, `response.status`); `fields` holds every field by its path."""

    changed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, with_slug: bool) -> None:
        super().__init__(parent)
        self._revealed: LabeledField | None = None
        self.name = QLineEdit(self)
        self.name.setPlaceholderText("Stripe test")
        self.description = QPlainTextEdit(self)
        self.description.setPlaceholderText("What sends to this endpoint, and why")
        self.description.setTabChangesFocus(True)
        self.description.setFixedHeight(60)
        self.tags = QLineEdit(self)
        self.tags.setPlaceholderText("shop staging")
        self.retention = RetentionControl(self)
        self.forward_url = QLineEdit(self)
        self.forward_url.setFont(mono_font())
        self.forward_url.setPlaceholderText("http://localhost:3000/webhooks")
        self.fields = {
            "name": LabeledField("Name", self.name, self),
            "description": LabeledField("Description", self.description, self, optional=True),
            "tags": LabeledField(
                "Tags", self.tags, self, optional=True, help_text="Separated by spaces. Search for them: tag:shop."
            ),
            "retention_days": LabeledField(
                "Retention",
                self.retention,
                self,
                help_text=f"{self.retention.days.range_text()}. Requests older than this are deleted.",
            ),
            "forward_url": LabeledField(
                "Forward URL",
                self.forward_url,
                self,
                optional=True,
                help_text=FORWARDED,
            ),
        }
        self.more_button = Button(
            "More: storage, response, forwarding, security", theme, self, kind="link", icon="expand"
        )
        if with_slug:
            self.more_button.setText("More: storage, response, forwarding, security, slug")
        self.more_button.align_left()
        self.more_button.setCheckable(True)
        self.more_button.accessible_role = QAccessible.Role.Button
        self.more_button.toggled.connect(self.show_more)
        # Created after the button: the Tab order is the order of creation.
        self.storage = StorageLimitField(self)
        self.response = ResponseSection(self)
        self.forwarding = ForwardingSection(theme, self, with_targets=not with_slug)
        self.security = SecuritySection(self)
        self.slug = SlugSection(self) if with_slug else None
        self._lay_out()
        self._connect()

    def draft(self, active: bool = True) -> EndpointDraft:
        """The values of the fields, trimmed; empty optional fields are left out."""
        return EndpointDraft(
            name=self.name.text().strip(),
            description=self.description.toPlainText().strip(),
            tags=tuple(dict.fromkeys(self.tags.text().replace(",", " ").split())),
            retention_days=self.retention.value(),
            storage_limit=self.storage.limit.value(),
            when_full=self.storage.when_full_value(),
            forward_url=self.forward_url.text().strip() or None,
            slug=self.slug.value() if self.slug else None,
            active=active,
            response=self.response.value(),
            forward=self.forwarding.value(),
            auth=self.security.value(),
        )

    def load(self, draft: EndpointDraft) -> None:
        """Show `draft` (all but its slug, which cannot be changed)."""
        self.name.setText(draft.name)
        self.description.setPlainText(draft.description)
        self.tags.setText(" ".join(draft.tags))
        self.retention.set_value(draft.retention_days)
        self.load_forward(draft)
        self.storage.load(draft)
        self.response.load(draft.response)
        self.security.load(draft.auth)

    def load_forward(self, draft: EndpointDraft) -> None:
        """Show the first target."""
        self.forward_url.setText(draft.forward_url or "")
        self.forwarding.load(draft.forward)

    def show_targets(self, count: int, reason: str | None) -> None:
        """Say how many targets the endpoint has, and why they cannot be edited now (None: they can)."""
        text = FORWARDED
        if count and not self.forward_url.text().strip():
            text = f"Saving removes this target{'; the others stay' if count > 1 else ' and its settings'}."
        elif count > 1:
            text = f"The first of {count} targets; the others are under More. Each gets every captured request."
        self.fields["forward_url"].set_help(text)
        self.forwarding.show_targets(count, reason)

    def own_errors(self) -> list[FieldError]:
        """Errors that a draft cannot represent: invalid numbers and sizes, values out of range, and malformed header
        lines.
        """
        problems = {
            "retention_days": self.retention.problem(),
            "storage_limit": self.storage.limit.problem(),
            **self.response.problems(),
            "forward.timeout_ms": self.forwarding.timeout.problem(),
        }
        return [FieldError(field=field, message=problem) for field, problem in problems.items() if problem]

    @Slot(bool)
    def show_more(self, expanded: bool) -> None:
        """Expand or collapse the other settings."""
        self.more_button.setChecked(expanded)
        self.more_button.set_icon_name("collapse" if expanded else "expand")
        self._more.setVisible(expanded)

    def reveal(self, path: str) -> None:
        """Scroll to a field and focus it."""
        field = self.fields.get(path)
        if field is not None:
            if self._more.isAncestorOf(field):
                self.show_more(True)
            field.control.setFocus()
            self._revealed = field
            QTimer.singleShot(0, self._scroll_to_revealed)  # After the expanded section has been laid out.

    @Slot()
    def _scroll_to_revealed(self) -> None:
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None and self._revealed is not None:
            area.ensureWidgetVisible(self._revealed)

    def _sections(self) -> list[Section]:
        sections: list[Section] = [self.storage, self.response, self.forwarding, self.security]
        return [*sections, self.slug] if self.slug else sections

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_4)
        column.setSpacing(metrics.SPACE_4)
        for field in self.fields.values():
            column.addWidget(field)
        column.addWidget(self.more_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._more = QWidget(self)
        more = QVBoxLayout(self._more)
        more.setContentsMargins(0, 0, 0, 0)
        more.setSpacing(metrics.SPACE_4)
        for section in self._sections():
            more.addWidget(line(self._more))
            more.addWidget(section)
            self.fields.update(section.fields)
        column.addWidget(self._more)
        column.addStretch(1)
        self.show_more(False)

    def _connect(self) -> None:
        self.name.textEdited.connect(self._name_changed)
        self.description.textChanged.connect(self._description_changed)
        self.tags.textEdited.connect(self._tags_changed)
        self.retention.changed.connect(self._retention_changed)
        self.forward_url.textEdited.connect(self._forward_changed)
        for section in self._sections():
            section.changed.connect(self.changed)

    @Slot()
    def _name_changed(self) -> None:
        self.changed.emit("name")

    @Slot()
    def _description_changed(self) -> None:
        self.changed.emit("description")

    @Slot()
    def _tags_changed(self) -> None:
        self.changed.emit("tags")

    @Slot()
    def _retention_changed(self) -> None:
        self.changed.emit("retention_days")

    @Slot()
    def _forward_changed(self) -> None:
        self.changed.emit("forward_url")
