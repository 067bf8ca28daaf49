"""The form of one target, as a `TargetDraft`, with its state above it."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from app.core.rules import FieldError
from app.core.target import Target, TargetDraft
from app.core.target_text import paused_text
from app.core.text import count_of, exact_duration
from app.ui.endpoints.targets.target_edits import TargetEdit
from app.ui.endpoints.targets.target_fields import FileField, Parallel, RateField, RetryOn
from app.ui.endpoints.targets.target_text import retry_text, sample_url, state_words
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import line
from app.ui.widgets.fields import ChoiceField, LabeledField
from app.ui.widgets.form import Form, Section
from app.ui.widgets.labels import label
from app.ui.widgets.switch import Switch
from app.ui.widgets.text_fields import DurationField, HeaderLines, NameLines


class TargetState(QWidget):
    """The switch, and whether the target is paused. Pausing takes effect at once: `pause_requested` says which way."""

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
        self.pause.clicked.connect(self._pause)
        self.resume.clicked.connect(self._resume)
        theme.changed.connect(self._refresh)

    def show_state(self, draft: TargetDraft, stored: Target | None, waiting: int | None) -> None:
        """`waiting` counts its queued deliveries; None until that is known."""
        self._draft, self._stored, self._waiting = draft, stored, waiting
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


class TargetForm(Form):
    """A target's fields, with its state above them and, in words, what they do."""

    def __init__(self, slug: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(TargetDraft, parent)
        self._slug = slug
        self.setProperty("transparent", True)
        self.state = TargetState(theme, self)
        self.bind("active", self.state.switch)
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_5)
        column.setSpacing(metrics.SPACE_4)
        column.addWidget(self.state)
        for section in (self._url(), self._delivery(), self._retries(), self._headers(), self._tls(theme)):
            column.addWidget(line(self))
            column.addWidget(section)
        column.addStretch(1)

    def draft(self) -> TargetDraft:
        """The values of the fields."""
        return self.filled(TargetDraft(url=""))

    def problems(self) -> list[FieldError]:
        """An empty URL is one too: the rule would say what is wrong with a URL."""
        missing = "URL is required: it starts with http:// or https://."
        own = [] if self["url"].value() else [FieldError(field="url", message=missing)]
        return [*own, *super().problems()]

    def show_errors(self, errors: Iterable[FieldError]) -> None:
        """Show those of edited fields, and what the valid values mean in words."""
        errors = list(errors)
        super().show_errors(errors)
        draft = self.draft()
        self._show_preview(draft, valid=all(error.field != "url" for error in errors))
        wrong = any(error.field.startswith("retry.") for error in self.problems())
        text = "Correct the numbers below to see what is retried." if wrong else retry_text(draft.retry)
        self.rule.setText(text)
        for path in ("retry.first_delay_ms", "retry.longest_delay_ms", "retry.total_ms", "retry.on"):
            self[path].setEnabled(draft.retry.retries > 0)

    def _show_preview(self, draft: TargetDraft, *, valid: bool) -> None:
        """Say where a sample request would be sent, unless the URL is not `valid`."""
        self.preview.setFont(mono_font() if valid else ui_font(SMALL))
        if not valid:
            self.preview.setText("Enter a URL to see where a request is sent.")
            return
        # Zero-width spaces let a long URL wrap.
        sent = sample_url(draft, self._slug).replace("/", "/\u200b").replace("&", "&\u200b")
        self.preview.setText(f"…/{self._slug}/orders?id=7  →  {sent}")

    def _url(self) -> Section:
        section = Section("Target", self)
        section.add(self.add("url", title="URL", placeholder="http://localhost:3000/webhooks", mono=True))
        checks = QHBoxLayout()
        checks.setSpacing(metrics.SPACE_5)
        checks.addWidget(self.check("append_path", "Append the path below the slug"))
        checks.addWidget(self.check("keep_query", "Keep the query"))
        checks.addStretch(1)
        section.column.addLayout(checks)
        self.preview = label("", "small", self, wrap=True)
        self.preview.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.preview.setAccessibleName("Sample of a forwarded URL")
        section.add(self.preview)
        return section

    def _delivery(self) -> Section:
        """How long one attempt may take, how many run at once, and when the target is paused."""
        section = Section("Delivery", self)
        timeout = DurationField("Time limit", *self.declared("timeout_ms").bounds, self)
        longest = exact_duration(self.declared("timeout_ms").bounds[1])
        parallel = Parallel(*self.declared("parallel").bounds, self)
        self.bind("parallel", parallel)
        self.fields["parallel"] = LabeledField("Parallel", parallel.number, self, help_text="At once, in any order.")
        section.side_by_side(
            self.add("timeout_ms", timeout, title="Time limit", help_text=f"Per attempt, up to {longest}."),
            self.fields["parallel"],
        )
        section.side_by_side(
            self.add(
                "pause_after",
                help_text="Failed deliveries in a row. 0 never pauses.",
                unit="failures",
                singular="failure",
            ),
            self.add(
                "rate_limit",
                RateField(self, placeholder="None"),
                optional=True,
                help_text="Requests a second, at most.",
            ),
        )
        for box, text in (
            (parallel.in_order, "One after the other: a delivery that waits for its retry holds up the next."),
            (
                self.check("auto_resume"),
                "After a pause by failures, the first delivery is tried again from time to time.",
            ),
            (self.check("follow_redirects"), "Otherwise a redirect is stored as the target’s response."),
        ):
            box.setAccessibleDescription(text)
            explained = QVBoxLayout()
            explained.setSpacing(metrics.SPACE_1)
            explained.addWidget(box)
            explained.addWidget(label(text, "faint", self, wrap=True))
            section.column.addLayout(explained)
        return section

    def _retries(self) -> Section:
        section = Section("Retries", self)
        self.rule = label("", "muted", self, wrap=True)
        self.rule.setAccessibleName("Retry rule in words")
        section.add(self.rule)
        delays = ("retry.first_delay_ms", "retry.longest_delay_ms", "retry.total_ms")
        declared = {path: self.declared(path) for path in delays}
        section.side_by_side(
            self.add("retry.retries"),
            *(self.add(path, DurationField(one.title, *one.bounds, self)) for path, one in declared.items()),
        )
        text = "A Retry-After header in the response is obeyed."
        section.add(self.add("retry.on", RetryOn(self), help_text=text))
        return section

    def _headers(self) -> Section:
        """Changes to the captured headers."""
        section = Section("Headers", self)
        lines = "One per line, “Name: value”."
        replacing = HeaderLines("Set headers", self, placeholder="X-Environment: staging")
        adding = HeaderLines("Add headers", self, placeholder="Via: 1.1 hookline")
        removing = NameLines(64, self, placeholder="Authorization")
        replacing.setAccessibleName("Headers to set")
        adding.setAccessibleName("Headers to add")
        removing.setAccessibleName("Headers to remove")
        section.side_by_side(
            self.add("set_headers", replacing, title="Set", help_text=f"{lines} Replaces all of the same name."),
            self.add("add_headers", adding, title="Add", help_text=f"{lines} Sent in addition."),
        )
        host = ChoiceField({"target": "The target’s", "sender": "As the sender sent it"}, self)
        section.side_by_side(
            self.add("remove_headers", removing, title="Remove", help_text="One name per line."),
            self.add("host", host, help_text="Some targets choose the site by its name."),
        )
        section.add(
            self.add(
                "attempt_header",
                title="Attempt number",
                placeholder="X-Hookline-Attempt",
                mono=True,
                optional=True,
                help_text="Sent in this header, from 1.",
            )
        )
        return section

    def _tls(self, theme: Theme) -> Section:
        """How an https target is checked, and who Hookline is to it."""
        section = Section("TLS", self)
        certificates = "PEM certificates (*.pem *.crt *.cer)"
        own = FileField("client certificate", certificates, theme, self)
        key = FileField("client key", "PEM keys (*.pem *.key)", theme, self)
        authorities = FileField("CA certificate", certificates, theme, self)
        section.add(self.check("verify_tls", "Check the target’s certificate"))
        section.side_by_side(
            self.add("client_certificate", own, optional=True, help_text="A PEM file."),
            self.add("client_key", key, optional=True, help_text="A PEM file, unless the key is in that one."),
        )
        section.add(self.add("ca_certificate", authorities, optional=True, help_text="A PEM file, trusted too."))
        return section


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
            form["url"].setFocus()
            form["url"].selectAll()
