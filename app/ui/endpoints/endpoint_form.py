"""An endpoint's fields, the usual ones first and the others below More, as an `EndpointDraft`."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QLineEdit, QSlider, QVBoxLayout, QWidget

from app.core.model import Auth, EndpointDraft
from app.core.record import fields_of
from app.core.rules import OWN_HEADERS, SLUG_MAX, SLUG_MIN
from app.core.sizes import exact_size
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import line
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.form import Form, Section
from app.ui.widgets.headers_field import HeadersField
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, fill, hbox, keep_room, vbox
from app.ui.widgets.text_fields import DurationField, FormatJsonButton, NumberField, TextArea, TextField, raw_text

_RETENTION = fields_of(EndpointDraft)["retention_days"]


class RetentionControl(QWidget):
    """A number field, and a slider that follows it while the number is in range."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.slider = _Slider(self)
        self.slider.setRange(*_RETENTION.bounds)
        self.slider.setAccessibleName("Retention in days, slider")
        self.days = NumberField("Retention", *_RETENTION.bounds, self, unit="days", singular="day")
        self.days.setAccessibleName("Retention in days")
        self.days.setFixedWidth(104)
        self.slider.valueChanged.connect(self._slid)
        self.days.changed.connect(self._typed)
        hbox((self.slider, 1), self.days, inside=self, spacing=metrics.SPACE_4)
        self.setFocusProxy(self.days)

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


class _TagsField(TextField):
    """Words, each once."""

    def value(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.text().replace(",", " ").split()))

    def set_value(self, value: tuple[str, ...]) -> None:
        self.setText(" ".join(value))


class _CredentialField(TextField):
    """Kept as typed: a blank may be part of it."""

    def value(self) -> str:
        return self.text()


class _BodyField(QWidget):
    """The text of a response's body; None for the default one. Place `format`, too, which keeps its room."""

    changed = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self.default = QCheckBox("Default body with the request’s ID", self)
        self.text = TextArea(88, self)
        self.text.setAccessibleName("Response body")
        self.setFocusProxy(self.text)
        self.format = FormatJsonButton(self.text, theme, tasks, parent)
        keep_room(self.format)
        vbox(self.default, self.text, inside=self, spacing=metrics.SPACE_2)
        self.default.toggled.connect(self.text.setHidden)
        self.default.toggled.connect(self.changed)
        self.text.changed.connect(self.changed)
        self.changed.connect(self._fit)
        self._fit()

    @Slot()
    def _fit(self) -> None:
        self.format.setVisible(not self.default.isChecked() and self.format.is_json())

    def value(self) -> str | None:
        return None if self.default.isChecked() else raw_text(self.text)

    def set_value(self, body: str | None) -> None:
        self.default.setChecked(body is None)
        self.text.set_value(body or "")

    def problem(self) -> None:
        """A body has none."""


FORWARDED = "Every captured request is forwarded there as it was received."
OWN_TEXT = "Content-Length and those of the connection are set by Hookline itself."
BODY_TEXT = "Your own text is sent as text/plain, unless the headers name another Content-Type."
FROM_TARGET = (
    "Senders wait for the first target, and get its status, headers and body as they came. If it fails, is paused or"
    " switched off, or takes longer, they get the response set below, and the delivery is retried by the target’s rule."
)


class EndpointForm(Form):
    """`with_slug`: of a new endpoint. Of one that exists, `targets` opens the dialog of all its targets."""

    def __init__(self, theme: Theme, tasks: Tasks, parent: QWidget, *, with_slug: bool) -> None:
        super().__init__(EndpointDraft, parent)
        column = vbox(
            inside=self,
            spacing=metrics.SPACE_4,
            margins=(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_4),
        )
        self._add_usual(column)
        slug = ", slug" if with_slug else ""
        self.more_button = Button(
            f"More: storage, response, forwarding, security{slug}", theme, self, kind="link", icon="expand"
        )
        self.more_button.align_left()
        self.more_button.setCheckable(True)
        self.more_button.accessible_role = QAccessible.Role.Button
        self.more_button.toggled.connect(self.show_more)
        column.addWidget(self.more_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._more = QWidget(self)
        more = vbox(inside=self._more, spacing=metrics.SPACE_4)
        self.url_section = self._url() if with_slug else None
        for section in (
            self._storage(),
            self._response(theme, tasks),
            self._forwarding(theme, with_targets=not with_slug),
            self._security(),
            self.url_section,
        ):
            if section is not None:
                fill(more, line(self._more), section)
        fill(column, self._more, Stretch())
        self.load(EndpointDraft(name=""))
        self._fit_limit()
        self._fit_wait()
        self._fit_credentials()
        self.show_more(False)
        order_tabs(self)

    def draft(self, active: bool = True) -> EndpointDraft:
        """The values of the fields, trimmed; empty optional fields are left out."""
        draft = self.filled(EndpointDraft(name="", active=active))
        auth = draft.auth
        name = auth.name if auth.kind in ("basic", "header") else ""
        return replace(draft, auth=Auth(kind=auth.kind, name=name, secret=auth.secret if auth.kind != "none" else ""))

    def show_targets(self, count: int, reason: str | None) -> None:
        """Say how many targets the endpoint has, and why they cannot be edited now (None: they can)."""
        text = FORWARDED
        if count and not self["forward_url"].value():
            text = f"Saving removes this target{'; the others stay' if count > 1 else ' and its settings'}."
        elif count > 1:
            text = f"The first of {count} targets; the others are under More. Each gets every captured request."
        self.fields["forward_url"].set_help(text)
        what = f"{count} targets" if count > 1 else "More targets"
        self._targets_text.setText(reason or f"{what}, headers, retries and TLS settings.")
        self.targets.set_refusal(reason)

    @Slot(bool)
    def show_more(self, expanded: bool) -> None:
        """Expand or collapse the other settings."""
        self.more_button.setChecked(expanded)
        self.more_button.set_icon_name("collapse" if expanded else "expand")
        self._more.setVisible(expanded)

    def reveal(self, path: str) -> None:
        """Scroll to a field and focus it."""
        if path in self.fields and self._more.isAncestorOf(self.fields[path]):
            self.show_more(True)
        super().reveal(path)

    def _add_usual(self, column: QVBoxLayout) -> None:
        about = TextArea(60, self, placeholder="What sends to this endpoint, and why", mono=False)
        tags = _TagsField(self, placeholder="shop staging")
        retention = "{bounds}. Requests older than this are deleted."
        for field in (
            self.add("name", placeholder="Stripe test"),
            self.add("description", about, optional=True),
            self.add("tags", tags, optional=True, help_text="Separated by spaces. Search for them: tag:shop."),
            self.add("retention_days", RetentionControl(self), help_text=retention),
            self.add(
                "forward_url",
                placeholder="http://localhost:3000/webhooks",
                mono=True,
                optional=True,
                help_text=FORWARDED,
            ),
        ):
            column.addWidget(field)

    def _storage(self) -> Section:
        section = Section("Storage", self)
        least = exact_size(self.declared("storage_limit").bounds[0])
        section.side_by_side(
            self.add("storage_limit", optional=True, help_text=f"{least} or more, such as 500 MiB."),
            self.add("when_full", help_text="Starred requests are deleted too."),
        )
        self["storage_limit"].changed.connect(self._fit_limit)
        return section

    def _response(self, theme: Theme, tasks: Tasks) -> Section:
        section = Section("Response", self)
        from_target = self.check("response.from_target", "Respond with the target’s response")
        from_target.setAccessibleDescription(FROM_TARGET)
        self._wait_text = label(FROM_TARGET, "faint", self, wrap=True)
        wait = DurationField("Wait", *self.declared("response.wait_ms").bounds, self)
        headers = HeadersField("Response headers", OWN_HEADERS, theme, self, fits_rows=True)
        body = _BodyField(theme, tasks, self)
        section.add(from_target, self._wait_text)
        section.side_by_side(
            self.add("response.wait_ms", wait, title="Wait at most", help_text="{bounds}."), QWidget(self)
        )
        section.side_by_side(
            self.add("response.status", title="Status", help_text="{bounds}."),
            self.add("response.delay_ms", title="Delay", help_text="{bounds}."),
        )
        section.add(
            self.add("response.headers", headers, title="Headers", help_text=OWN_TEXT),
            self.add("response.body", body, title="Body", help_text=BODY_TEXT),
        )
        self.fields["response.headers"].header.addWidget(headers.views)
        self.fields["response.body"].header.addWidget(body.format)
        body.format.failed.connect(self.fields["response.body"].set_error)
        from_target.changed.connect(self._fit_wait)
        return section

    def _forwarding(self, theme: Theme, *, with_targets: bool) -> Section:
        section = Section("Forwarding", self)
        text = "The longest a delivery may take, {bounds}. Only used with a forward URL."
        section.add(self.add("forward.timeout_ms", title="Timeout", help_text=text))
        self.targets = Button("Targets…", theme, self, icon="targets")
        self._targets_text = label("", "faint", self, wrap=True)
        row = hbox(self.targets, (self._targets_text, 1), spacing=metrics.SPACE_3)
        section.column.addLayout(row)
        self.targets.setVisible(with_targets)
        self._targets_text.setVisible(with_targets)
        return section

    def _security(self) -> Section:
        """The credentials senders must provide."""
        section = Section("Security", self)
        secret = _CredentialField(self)
        secret.setEchoMode(QLineEdit.EchoMode.PasswordEchoOnEdit)
        text = "Senders with wrong credentials get 401 and are listed under Refused."
        section.add(self.add("auth.kind", help_text=text))
        section.side_by_side(
            self.add("auth.name", _CredentialField(self), title="User name"),
            self.add("auth.secret", secret, title="Password"),
        )
        self["auth.kind"].changed.connect(self._fit_credentials)
        return section

    def _url(self) -> Section:
        """The last part of the URL, which can be set only at creation."""
        section = Section("URL", self)
        text = f"{SLUG_MIN} to {SLUG_MAX} characters: a-z, 0-9 and hyphens."
        text += " It is part of the URL and cannot be changed later."
        section.add(self.add("slug", placeholder="generated, hard to guess", mono=True, help_text=text))
        return section

    @Slot()
    def _fit_limit(self) -> None:
        self["when_full"].setEnabled(bool(self["storage_limit"].text().strip()))

    @Slot()
    def _fit_wait(self) -> None:
        on = self["response.from_target"].isChecked()
        self._wait_text.setVisible(on)
        self.fields["response.wait_ms"].setVisible(on)

    @Slot()
    def _fit_credentials(self) -> None:
        kind = self["auth.kind"].value()
        self.fields["auth.name"].setVisible(kind in ("basic", "header"))
        self.fields["auth.secret"].setVisible(kind != "none")
        self.fields["auth.name"].set_title("Header name" if kind == "header" else "User name")
        titles = {"bearer": "Token", "header": "Value"}
        self.fields["auth.secret"].set_title(titles.get(kind, "Password"))
