"""The form's sections below More: storage limit, response, forwarding, security and slug."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from app.core.fields import fields_of
from app.core.model import Auth, EndpointDraft, Forward, ResponseSettings, WhenFull
from app.core.record import Headers
from app.core.rules import SLUG_MAX, SLUG_MIN
from app.core.sizes import exact_size
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.labels import label
from app.ui.widgets.number_field import NumberField
from app.ui.widgets.storage_limit import SizeField


def parse_lines(text: str, field: str = "Response headers") -> tuple[Headers, str | None]:
    """The headers, and an error about the first malformed line; empty lines are skipped."""
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            return tuple(headers), f"{field}: line {number} must read “Name: value”."
        headers.append((name.strip(), value.strip()))
    return tuple(headers), None


def to_lines(headers: Headers) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers)


_RESPONSE, _FORWARD = fields_of(ResponseSettings), fields_of(Forward)
_STORAGE_LIMIT = fields_of(EndpointDraft)["storage_limit"]
_KINDS: tuple[Literal["none", "basic", "bearer", "header"], ...] = ("none", "basic", "bearer", "header")
_KIND_TEXTS = (
    "None (anyone with the URL can send)",
    "Basic: user name and password",
    "Bearer token",
    "A header with a secret value",
)


class Section(QWidget):
    """A titled group; `changed` carries the path of the field that changed, `fields` holds them by path."""

    changed = Signal(str)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, LabeledField] = {}
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(metrics.SPACE_3)
        self.column.addWidget(label(title.upper(), "section", self))

    def side_by_side(self, *fields: QWidget) -> None:
        """Add fields on one line, of equal width."""
        row = QHBoxLayout()
        row.setSpacing(metrics.SPACE_4)
        for field in fields:
            row.addWidget(field, 1, Qt.AlignmentFlag.AlignTop)
        self.column.addLayout(row)


def mono_edit(parent: QWidget, height: int, placeholder: str = "") -> QPlainTextEdit:
    """A small text area in the mono font; Tab moves the focus on."""
    edit = QPlainTextEdit(parent)
    edit.setFont(mono_font())
    edit.setTabChangesFocus(True)
    edit.setPlaceholderText(placeholder)
    edit.setFixedHeight(height)
    return edit


FROM_TARGET = (
    "Senders wait for the first target, and get its status, headers and body as they came. If it fails, is paused or"
    " switched off, or takes longer, they get the response set below, and the delivery is retried by the target’s rule."
)


class ResponseSection(Section):
    """The response to senders."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Response", parent)
        self.status = NumberField("Response status", *_RESPONSE["status"].bounds, self)
        self.delay = NumberField("Response delay", *_RESPONSE["delay_ms"].bounds, self, unit="ms", step=100)
        self.headers = mono_edit(self, 64, "X-Served-By: hookline")
        self.default_body = QCheckBox("Default body with the request’s ID", self)
        self.body = mono_edit(self, 88)
        self.from_target = QCheckBox("Respond with the target’s response", self)
        self.wait = NumberField("Wait", *_RESPONSE["wait_ms"].bounds, self, unit="ms", step=500)
        self._wait_text = label(FROM_TARGET, "faint", self, wrap=True)
        body_area = QWidget(self)
        area = QVBoxLayout(body_area)
        area.setContentsMargins(0, 0, 0, 0)
        area.setSpacing(metrics.SPACE_2)
        area.addWidget(self.default_body)
        area.addWidget(self.body)
        self.fields = {
            "response.wait_ms": LabeledField("Wait at most", self.wait, self, help_text=f"{self.wait.range_text()}."),
            "response.status": LabeledField("Status", self.status, self, help_text=f"{self.status.range_text()}."),
            "response.delay_ms": LabeledField("Delay", self.delay, self, help_text=f"{self.delay.range_text()}."),
            "response.headers": LabeledField("Headers", self.headers, self, help_text="One per line, “Name: value”."),
            "response.body": LabeledField("Body", body_area, self),
        }
        self.column.addWidget(self.from_target)
        self.column.addWidget(self._wait_text)
        self.side_by_side(self.fields["response.wait_ms"], QWidget(self))
        self.from_target.setAccessibleDescription(FROM_TARGET)
        self.side_by_side(self.fields["response.status"], self.fields["response.delay_ms"])
        self.column.addWidget(self.fields["response.headers"])
        self.column.addWidget(self.fields["response.body"])
        self.body.setAccessibleName("Response body")
        self.load(ResponseSettings())
        self.status.changed.connect(self._status_changed)
        self.delay.changed.connect(self._delay_changed)
        self.headers.textChanged.connect(self._headers_changed)
        self.body.textChanged.connect(self._body_changed)
        self.default_body.toggled.connect(self._body_changed)
        self.from_target.toggled.connect(self._source_changed)
        self.wait.changed.connect(self._wait_changed)

    def load(self, response: ResponseSettings) -> None:
        self.status.set_value(response.status)
        self.delay.set_value(response.delay_ms)
        self.from_target.setChecked(response.from_target)
        self.wait.set_value(response.wait_ms)
        self._show_wait()
        self.headers.setPlainText(to_lines(response.headers))
        self.default_body.setChecked(response.body is None)
        self.body.setPlainText(response.body or "")
        self.body.setVisible(response.body is not None)

    def value(self) -> ResponseSettings:
        """The values of the fields; malformed header lines are left out (`problems` reports them)."""
        return ResponseSettings(
            status=self.status.value(),
            headers=parse_lines(self.headers.toPlainText())[0],
            body=None if self.default_body.isChecked() else self.body.toPlainText(),
            delay_ms=self.delay.value(),
            from_target=self.from_target.isChecked(),
            wait_ms=self.wait.value(),
        )

    def problems(self) -> dict[str, str | None]:
        """Errors by field that `ResponseSettings` cannot represent."""
        return {
            "response.wait_ms": self.wait.problem(),
            "response.status": self.status.problem(),
            "response.delay_ms": self.delay.problem(),
            "response.headers": parse_lines(self.headers.toPlainText())[1],
        }

    def _show_wait(self) -> None:
        on = self.from_target.isChecked()
        self._wait_text.setVisible(on)
        self.fields["response.wait_ms"].setVisible(on)

    @Slot()
    def _source_changed(self) -> None:
        self._show_wait()
        self.changed.emit("response.from_target")

    @Slot()
    def _wait_changed(self) -> None:
        self.changed.emit("response.wait_ms")

    @Slot()
    def _status_changed(self) -> None:
        self.changed.emit("response.status")

    @Slot()
    def _delay_changed(self) -> None:
        self.changed.emit("response.delay_ms")

    @Slot()
    def _headers_changed(self) -> None:
        self.changed.emit("response.headers")

    @Slot()
    def _body_changed(self) -> None:
        self.body.setVisible(not self.default_body.isChecked())
        self.changed.emit("response.body")


class ForwardingSection(Section):
    """The timeout of the first target; `targets` opens the dialog of all of an endpoint that exists."""

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, with_targets: bool = False) -> None:
        super().__init__("Forwarding", parent)
        self.timeout = NumberField("Forward timeout", *_FORWARD["timeout_ms"].bounds, self, unit="ms", step=500)
        text = f"The longest a delivery may take, {self.timeout.range_text()}. Only used with a forward URL."
        self.fields = {"forward.timeout_ms": LabeledField("Timeout", self.timeout, self, help_text=text)}
        self.column.addWidget(self.fields["forward.timeout_ms"])
        self.targets = Button("Targets…", theme, self, icon="targets")
        self.targets_text = label("", "faint", self, wrap=True)
        row = QHBoxLayout()
        row.setSpacing(metrics.SPACE_3)
        row.addWidget(self.targets)
        row.addWidget(self.targets_text, 1)
        self.column.addLayout(row)
        self.targets.setVisible(with_targets)
        self.targets_text.setVisible(with_targets)
        self.load(Forward())
        self.timeout.changed.connect(self._changed)

    def load(self, forward: Forward) -> None:
        self.timeout.set_value(forward.timeout_ms)

    def show_targets(self, count: int, reason: str | None) -> None:
        """Say how many there are; the button is disabled for this reason."""
        what = f"{count} targets" if count > 1 else "More targets"
        self.targets_text.setText(reason or f"{what}, headers, retries and TLS settings.")
        self.targets.set_refusal(reason)

    def value(self) -> Forward:
        return Forward(timeout_ms=self.timeout.value())

    @Slot()
    def _changed(self) -> None:
        self.changed.emit("forward.timeout_ms")


class SecuritySection(Section):
    """The credentials senders must provide."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Security", parent)
        self.kind = ChoiceField(_KIND_TEXTS, self)
        self.name = QLineEdit(self)
        self.secret = QLineEdit(self)
        self.secret.setEchoMode(QLineEdit.EchoMode.PasswordEchoOnEdit)
        text = "Senders with wrong credentials get 401 and are listed under Refused."
        self.fields = {
            "auth.kind": LabeledField("Credentials", self.kind, self, help_text=text),
            "auth.name": LabeledField("User name", self.name, self),
            "auth.secret": LabeledField("Password", self.secret, self),
        }
        self.column.addWidget(self.fields["auth.kind"])
        self.side_by_side(self.fields["auth.name"], self.fields["auth.secret"])
        self.load(Auth())
        self.kind.currentIndexChanged.connect(self._kind_changed)
        self.name.textEdited.connect(self._name_changed)
        self.secret.textEdited.connect(self._secret_changed)

    def load(self, auth: Auth) -> None:
        self.kind.setCurrentIndex(_KINDS.index(auth.kind))
        self.name.setText(auth.name)
        self.secret.setText(auth.secret)
        self._fit()

    def value(self) -> Auth:
        """The values of the fields; those that the kind does not use are empty."""
        kind = _KINDS[self.kind.currentIndex()]
        name = self.name.text() if kind in ("basic", "header") else ""
        return Auth(kind=kind, name=name, secret=self.secret.text() if kind != "none" else "")

    def _fit(self) -> None:
        kind = _KINDS[self.kind.currentIndex()]
        self.fields["auth.name"].setVisible(kind in ("basic", "header"))
        self.fields["auth.secret"].setVisible(kind != "none")
        self.fields["auth.name"].set_title("Header name" if kind == "header" else "User name")
        titles = {"bearer": "Token", "header": "Value"}
        self.fields["auth.secret"].set_title(titles.get(kind, "Password"))

    @Slot()
    def _kind_changed(self) -> None:
        self._fit()
        self.changed.emit("auth.kind")

    @Slot()
    def _name_changed(self) -> None:
        self.changed.emit("auth.name")

    @Slot()
    def _secret_changed(self) -> None:
        self.changed.emit("auth.secret")


class SlugSection(Section):
    """The last part of the URL, which can be set only at creation."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("URL", parent)
        self.slug = QLineEdit(self)
        self.slug.setFont(mono_font())
        self.slug.setPlaceholderText("generated, hard to guess")
        text = f"{SLUG_MIN} to {SLUG_MAX} characters: a-z, 0-9 and hyphens."
        text += " It is part of the URL and cannot be changed later."
        self.fields = {"slug": LabeledField("Slug", self.slug, self, help_text=text)}
        self.column.addWidget(self.fields["slug"])
        self.slug.textEdited.connect(self._changed)

    def value(self) -> str | None:
        """The slug; None to generate one."""
        return self.slug.text().strip() or None

    @Slot()
    def _changed(self) -> None:
        self.changed.emit("slug")


_WHEN_FULL: tuple[WhenFull, ...] = ("delete_oldest", "stop_capturing")
_TEXTS = ("Delete its oldest requests", "Stop capturing: senders get 503")


class StorageLimitField(Section):
    """A size, and a choice that is enabled once a size is set."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Storage", parent)
        self.limit = SizeField("Storage limit", self)
        self.when_full = ChoiceField(_TEXTS, self)
        self.fields = {
            "storage_limit": LabeledField(
                "Storage limit",
                self.limit,
                self,
                optional=True,
                help_text=f"{exact_size(_STORAGE_LIMIT.bounds[0])} or more, such as 500 MB.",
            ),
            "when_full": LabeledField("When full", self.when_full, self, help_text="Starred requests are deleted too."),
        }
        self.side_by_side(*self.fields.values())
        self._fit()
        self.limit.textChanged.connect(self._limit_changed)
        self.when_full.currentIndexChanged.connect(self._when_full_changed)

    def load(self, draft: EndpointDraft) -> None:
        self.limit.set_value(draft.storage_limit)
        self.when_full.setCurrentIndex(_WHEN_FULL.index(draft.when_full))

    def when_full_value(self) -> WhenFull:
        """The selected policy."""
        return _WHEN_FULL[self.when_full.currentIndex()]

    def _fit(self) -> None:
        self.when_full.setEnabled(bool(self.limit.text().strip()))

    @Slot()
    def _limit_changed(self) -> None:
        self._fit()
        self.changed.emit("storage_limit")

    @Slot()
    def _when_full_changed(self) -> None:
        self.changed.emit("when_full")
