"""The sections of a target's form. Their fields are named as in `TargetDraft`; `retry.` precedes those of its rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import Qt, Signal, SignalInstance, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from app.core.fields import fields_of
from app.core.target import RetryRule, TargetDraft
from app.core.text import exact_duration
from app.ui.endpoints.more_sections import Section, mono_edit, parse_lines, to_lines
from app.ui.endpoints.targets.target_text import RESULTS, retry_text, sample_url, single_statuses
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.duration_field import DurationField
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.labels import label
from app.ui.widgets.number_field import NumberField

Problems = dict[str, str | None]
Host = Literal["target", "sender"]
_TARGET, _RETRY = fields_of(TargetDraft), fields_of(RetryRule)


class TargetSection(Section):
    """`values` are the fields of the draft, `problems` errors by field that a draft cannot represent."""

    def load(self, draft: TargetDraft) -> None:
        raise NotImplementedError

    def values(self) -> dict[str, Any]:
        raise NotImplementedError

    def problems(self) -> Problems:
        return {}

    def watch(self, control: QWidget, signal: SignalInstance, path: str) -> None:
        """Emit `changed` with `path` after this signal of `control`."""
        control.setProperty("path", path)
        signal.connect(self._edited)

    @Slot()
    def _edited(self) -> None:
        control = self.sender()
        if control is not None:
            self.changed.emit(str(control.property("path")))


class UrlSection(TargetSection):
    """Where requests are sent, with a preview for a sample request."""

    def __init__(self, slug: str, parent: QWidget | None = None) -> None:
        super().__init__("Target", parent)
        self._slug = slug
        self.url = QLineEdit(self)
        self.url.setFont(mono_font())
        self.url.setPlaceholderText("http://localhost:3000/webhooks")
        self.append_path = QCheckBox("Append the path below the slug", self)
        self.keep_query = QCheckBox("Keep the query", self)
        self.preview = label("", "small", self, wrap=True)
        self.preview.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.preview.setAccessibleName("Sample of a forwarded URL")
        self.fields = {"url": LabeledField("URL", self.url, self)}
        self.column.addWidget(self.fields["url"])
        checks = QHBoxLayout()
        checks.setSpacing(metrics.SPACE_5)
        checks.addWidget(self.append_path)
        checks.addWidget(self.keep_query)
        checks.addStretch(1)
        self.column.addLayout(checks)
        self.column.addWidget(self.preview)
        self.watch(self.url, self.url.textEdited, "url")
        self.watch(self.append_path, self.append_path.clicked, "append_path")
        self.watch(self.keep_query, self.keep_query.clicked, "keep_query")

    def load(self, draft: TargetDraft) -> None:
        self.url.setText(draft.url)
        self.append_path.setChecked(draft.append_path)
        self.keep_query.setChecked(draft.keep_query)

    def values(self) -> dict[str, Any]:
        return {
            "url": self.url.text().strip(),
            "append_path": self.append_path.isChecked(),
            "keep_query": self.keep_query.isChecked(),
        }

    def problems(self) -> Problems:
        return {"url": None if self.url.text().strip() else "URL is required: it starts with http:// or https://."}

    def show_preview(self, draft: TargetDraft, *, valid: bool) -> None:
        """Say where a sample request would be sent, unless the URL is not `valid`."""
        self.preview.setFont(mono_font() if valid else ui_font(SMALL))
        if not valid:
            self.preview.setText("Enter a URL to see where a request is sent.")
            return
        # Zero-width spaces let a long URL wrap.
        sent = sample_url(draft, self._slug).replace("/", "/\u200b").replace("&", "&\u200b")
        self.preview.setText(f"…/{self._slug}/orders?id=7  →  {sent}")


class HeadersSection(TargetSection):
    """Changes to the captured headers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Headers", parent)
        self.set_headers = mono_edit(self, 64, "X-Environment: staging")
        self.add_headers = mono_edit(self, 64, "Via: 1.1 hookline")
        self.remove_headers = mono_edit(self, 64, "Authorization")
        self.attempt_header = QLineEdit(self)
        self.attempt_header.setFont(mono_font())
        self.attempt_header.setPlaceholderText("X-Hookline-Attempt")
        self.host = ChoiceField(("The target’s", "As the sender sent it"), self)
        lines = "One per line, “Name: value”."
        self.fields = {
            "set_headers": LabeledField(
                "Set", self.set_headers, self, help_text=f"{lines} Replaces all of the same name."
            ),
            "add_headers": LabeledField("Add", self.add_headers, self, help_text=f"{lines} Sent in addition."),
            "remove_headers": LabeledField("Remove", self.remove_headers, self, help_text="One name per line."),
            "attempt_header": LabeledField(
                "Attempt number", self.attempt_header, self, optional=True, help_text="Sent in this header, from 1."
            ),
            "host": LabeledField("Host", self.host, self, help_text="Some targets choose the site by its name."),
        }
        self.set_headers.setAccessibleName("Headers to set")
        self.add_headers.setAccessibleName("Headers to add")
        self.remove_headers.setAccessibleName("Headers to remove")
        self.side_by_side(self.fields["set_headers"], self.fields["add_headers"])
        self.side_by_side(self.fields["remove_headers"], self.fields["host"])
        self.column.addWidget(self.fields["attempt_header"])
        self.watch(self.attempt_header, self.attempt_header.textEdited, "attempt_header")
        for path, edit in self._edits().items():
            self.watch(edit, edit.textChanged, path)
        self.watch(self.host, self.host.currentIndexChanged, "host")

    def load(self, draft: TargetDraft) -> None:
        self.set_headers.setPlainText(to_lines(draft.set_headers))
        self.add_headers.setPlainText(to_lines(draft.add_headers))
        self.remove_headers.setPlainText("\n".join(draft.remove_headers))
        self.attempt_header.setText(draft.attempt_header or "")
        self.host.setCurrentIndex(int(draft.host == "sender"))

    def values(self) -> dict[str, Any]:
        host: Host = "sender" if self.host.currentIndex() else "target"
        removed = (line.strip() for line in self.remove_headers.toPlainText().split("\n"))
        return {
            "set_headers": parse_lines(self.set_headers.toPlainText())[0],
            "add_headers": parse_lines(self.add_headers.toPlainText())[0],
            "remove_headers": tuple(name for name in removed if name),
            "attempt_header": self.attempt_header.text().strip() or None,
            "host": host,
        }

    def problems(self) -> Problems:
        return {
            "set_headers": parse_lines(self.set_headers.toPlainText(), "Set headers")[1],
            "add_headers": parse_lines(self.add_headers.toPlainText(), "Add headers")[1],
        }

    def _edits(self) -> dict[str, QPlainTextEdit]:
        return {
            "set_headers": self.set_headers,
            "add_headers": self.add_headers,
            "remove_headers": self.remove_headers,
        }


class DeliverySection(TargetSection):
    """How long one attempt may take, how many run at once, and when the target is paused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Delivery", parent)
        self.timeout = DurationField("Time limit", *_TARGET["timeout_ms"].bounds, self)
        self.parallel = NumberField("Parallel", *_TARGET["parallel"].bounds, self)
        self.pause_after = NumberField("Pause after", *_TARGET["pause_after"].bounds, self, unit="failures")
        self.rate_limit = QLineEdit(self)
        self.rate_limit.setPlaceholderText("None")
        self.auto_resume = QCheckBox("Resume by itself", self)
        self.in_order = QCheckBox("Keep the order", self)
        self.redirects = QCheckBox("Follow redirects", self)
        most = _TARGET["timeout_ms"].bounds[1]
        timeout = f"Per attempt, up to {exact_duration(most)}."
        self.fields = {
            "timeout_ms": LabeledField("Time limit", self.timeout, self, help_text=timeout),
            "parallel": LabeledField("Parallel", self.parallel, self, help_text="At once, in any order."),
            "pause_after": LabeledField(
                "Pause after", self.pause_after, self, help_text="Failed deliveries in a row. 0 never pauses."
            ),
            "rate_limit": LabeledField(
                "Rate limit", self.rate_limit, self, optional=True, help_text="Requests a second, at most."
            ),
        }
        self.side_by_side(self.fields["timeout_ms"], self.fields["parallel"])
        self.side_by_side(self.fields["pause_after"], self.fields["rate_limit"])
        for box, text in (
            (self.in_order, "One after the other: a delivery that waits for its retry holds up the next."),
            (self.auto_resume, "After a pause by failures, the first delivery is tried again from time to time."),
            (self.redirects, "Otherwise a redirect is stored as the target’s response."),
        ):
            box.setAccessibleDescription(text)
            explained = QVBoxLayout()
            explained.setSpacing(metrics.SPACE_1)
            explained.addWidget(box)
            explained.addWidget(label(text, "faint", self, wrap=True))
            self.column.addLayout(explained)
        self.watch(self.timeout, self.timeout.textChanged, "timeout_ms")
        self.watch(self.parallel, self.parallel.changed, "parallel")
        self.in_order.toggled.connect(self.parallel.setDisabled)
        self.watch(self.in_order, self.in_order.clicked, "parallel")
        self.pause_after.changed.connect(self._failures_changed)
        self.watch(self.rate_limit, self.rate_limit.textEdited, "rate_limit")
        self.watch(self.auto_resume, self.auto_resume.clicked, "auto_resume")
        self.watch(self.redirects, self.redirects.clicked, "follow_redirects")

    def load(self, draft: TargetDraft) -> None:
        self.timeout.set_value(draft.timeout_ms)
        self.in_order.setChecked(draft.parallel is None)
        self.parallel.set_value(draft.parallel or 1)
        self.pause_after.set_value(draft.pause_after)
        self.rate_limit.setText("" if draft.rate_limit is None else f"{draft.rate_limit:g}")
        self.auto_resume.setChecked(draft.auto_resume)
        self.redirects.setChecked(draft.follow_redirects)

    def values(self) -> dict[str, Any]:
        return {
            "timeout_ms": self.timeout.value(),
            "parallel": None if self.in_order.isChecked() else self.parallel.value(),
            "pause_after": self.pause_after.value(),
            "rate_limit": self._rate()[0],
            "auto_resume": self.auto_resume.isChecked(),
            "follow_redirects": self.redirects.isChecked(),
        }

    def problems(self) -> Problems:
        return {
            "timeout_ms": self.timeout.problem(),
            "parallel": None if self.in_order.isChecked() else self.parallel.problem(),
            "pause_after": self.pause_after.problem(),
            "rate_limit": self._rate()[1],
        }

    def _rate(self) -> tuple[float | None, str | None]:
        """The rate limit, and what is wrong with its text."""
        text = self.rate_limit.text().strip()
        try:
            return (float(text) if text else None), None
        except ValueError:
            return None, f"Rate limit must be a number of requests a second, not {text!r}."

    @Slot()
    def _failures_changed(self) -> None:
        self.pause_after.set_unit("failure" if self.pause_after.value() == 1 else "failures")
        self.changed.emit("pause_after")


class RetrySection(TargetSection):
    """The retry rule, and what it does in words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Retries", parent)
        self.retries = NumberField("Retries", *_RETRY["retries"].bounds, self)
        self.first_delay = DurationField("First delay", *_RETRY["first_delay_ms"].bounds, self)
        self.longest_delay = DurationField("Longest delay", *_RETRY["longest_delay_ms"].bounds, self)
        self.total = DurationField("Total time", *_RETRY["total_ms"].bounds, self)
        self.on = {key: QCheckBox(words, self) for key, (words, _) in RESULTS.items()}
        self.statuses = QLineEdit(self)
        self.statuses.setPlaceholderText("Other statuses: 429, 503")
        self.statuses.setAccessibleName("Other statuses")
        self.rule = label("", "muted", self, wrap=True)
        self.rule.setAccessibleName("Retry rule in words")
        self.fields = {
            "retry.retries": LabeledField("Retries", self.retries, self),
            "retry.first_delay_ms": LabeledField("First delay", self.first_delay, self),
            "retry.longest_delay_ms": LabeledField("Longest delay", self.longest_delay, self),
            "retry.total_ms": LabeledField("Total time", self.total, self),
        }
        self.column.addWidget(self.rule)
        self.side_by_side(*self.fields.values())
        self._results = QWidget(self)
        grid = QGridLayout(self._results)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(metrics.SPACE_4)
        grid.setVerticalSpacing(metrics.SPACE_2)
        for place, box in enumerate(self.on.values()):
            grid.addWidget(box, place % 4, place // 4)
            self.watch(box, box.clicked, "retry.on")
        grid.addWidget(self.statuses, len(self.on) % 4, len(self.on) // 4)
        self.watch(self.statuses, self.statuses.textEdited, "retry.on")
        self.fields["retry.on"] = LabeledField(
            "Retry on", self._results, self, help_text="A Retry-After header in the response is obeyed."
        )
        self.column.addWidget(self.fields["retry.on"])
        self.watch(self.retries, self.retries.changed, "retry.retries")
        self.watch(self.first_delay, self.first_delay.textChanged, "retry.first_delay_ms")
        self.watch(self.longest_delay, self.longest_delay.textChanged, "retry.longest_delay_ms")
        self.watch(self.total, self.total.textChanged, "retry.total_ms")

    def load(self, draft: TargetDraft) -> None:
        self.retries.set_value(draft.retry.retries)
        self.first_delay.set_value(draft.retry.first_delay_ms)
        self.longest_delay.set_value(draft.retry.longest_delay_ms)
        self.total.set_value(draft.retry.total_ms)
        for key, box in self.on.items():
            box.setChecked(key in draft.retry.on)
        self.statuses.setText(", ".join(single_statuses(draft.retry)))

    def values(self) -> dict[str, Any]:
        chosen = [key for key, box in self.on.items() if box.isChecked()]
        rule = RetryRule(
            retries=self.retries.value(),
            on=tuple(dict.fromkeys([*chosen, *self.statuses.text().replace(",", " ").split()])),
            first_delay_ms=self.first_delay.value(),
            longest_delay_ms=self.longest_delay.value(),
            total_ms=self.total.value(),
        )
        return {"retry": rule}

    def problems(self) -> Problems:
        return {
            "retry.retries": self.retries.problem(),
            "retry.first_delay_ms": self.first_delay.problem(),
            "retry.longest_delay_ms": self.longest_delay.problem(),
            "retry.total_ms": self.total.problem(),
        }

    def show_rule(self) -> None:
        """Say what the rule does; nothing is said about numbers that are wrong."""
        wrong = any(self.problems().values())
        self.rule.setText("Correct the numbers below to see what is retried." if wrong else retry_text(self._rule()))
        used = self.retries.value() > 0
        for widget in (self.first_delay, self.longest_delay, self.total, self._results):
            widget.setEnabled(used)

    def _rule(self) -> RetryRule:
        rule: RetryRule = self.values()["retry"]
        return rule


class FileField(QWidget):
    """A path that can be typed or chosen."""

    changed = Signal()

    def __init__(self, name: str, filters: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._name, self._filters = name, filters
        self.path = QLineEdit(self)
        self.path.setFont(mono_font())
        self.path.setPlaceholderText("None")
        self.path.setAccessibleName(name.capitalize())
        self.browse = Button("Choose…", theme, self)
        self.browse.setAccessibleName(f"Choose {name}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_2)
        row.addWidget(self.path, 1)
        row.addWidget(self.browse)
        self.setFocusProxy(self.path)
        self.path.textChanged.connect(self.changed)
        self.browse.clicked.connect(self.choose)

    def value(self) -> str | None:
        return self.path.text().strip() or None

    def set_value(self, path: str | None) -> None:
        self.path.setText(path or "")

    @Slot()
    def choose(self) -> None:
        """Open the system's file dialog."""
        start = Path(self.value() or Path.home())
        dialog = QFileDialog(self.window(), f"Choose {self._name}", str(start.parent if start.is_file() else start))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self._filters, "All files (*)"])
        dialog.fileSelected.connect(self.path.setText)
        dialog.open()


class TlsSection(TargetSection):
    """How an https target is checked, and who Hookline is to it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("TLS", parent)
        self.verify = QCheckBox("Check the target’s certificate", self)
        self.certificate = FileField("client certificate", "PEM certificates (*.pem *.crt *.cer)", theme, self)
        self.key = FileField("client key", "PEM keys (*.pem *.key)", theme, self)
        self.authorities = FileField("CA certificate", "PEM certificates (*.pem *.crt *.cer)", theme, self)
        self.fields = {
            "client_certificate": LabeledField(
                "Client certificate", self.certificate, self, optional=True, help_text="A PEM file."
            ),
            "client_key": LabeledField(
                "Client key", self.key, self, optional=True, help_text="A PEM file, unless the key is in that one."
            ),
            "ca_certificate": LabeledField(
                "CA certificate", self.authorities, self, optional=True, help_text="A PEM file, trusted too."
            ),
        }
        self.column.addWidget(self.verify)
        self.side_by_side(self.fields["client_certificate"], self.fields["client_key"])
        self.column.addWidget(self.fields["ca_certificate"])
        self.watch(self.verify, self.verify.clicked, "verify_tls")
        self.watch(self.certificate, self.certificate.changed, "client_certificate")
        self.watch(self.key, self.key.changed, "client_key")
        self.watch(self.authorities, self.authorities.changed, "ca_certificate")

    def load(self, draft: TargetDraft) -> None:
        self.verify.setChecked(draft.verify_tls)
        self.certificate.set_value(draft.client_certificate)
        self.key.set_value(draft.client_key)
        self.authorities.set_value(draft.ca_certificate)

    def values(self) -> dict[str, Any]:
        return {
            "verify_tls": self.verify.isChecked(),
            "client_certificate": self.certificate.value(),
            "client_key": self.key.value(),
            "ca_certificate": self.authorities.value(),
        }
