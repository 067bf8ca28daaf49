"""The form of one target, as a `TargetDraft`, with its state above it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QStackedWidget, QWidget

from app.core.rules import DELIVERY_HEADERS, FieldError
from app.core.target import Target, TargetDraft
from app.core.target_text import paused_text
from app.core.text import count_of, exact_duration
from app.core.worst_state import State
from app.ui.deliveries.words import RESULTS, retry_text, sample_url
from app.ui.endpoints.target_edits import TargetEdit
from app.ui.state_look import LOOKS
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import NoticeBox, line
from app.ui.widgets.dialog import ALL_FILES, FileDialog
from app.ui.widgets.fields import CheckField, LabeledField, Switch
from app.ui.widgets.fit_screen import FormScroll
from app.ui.widgets.form import Form, Section
from app.ui.widgets.headers_field import HeadersField
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, hbox, vbox
from app.ui.widgets.text_fields import NameLines, NumberField, TextField


class FileField(QWidget):
    """A path that can be typed or chosen."""

    changed = Signal()

    def __init__(self, name: str, kind: str, theme: Theme, parent: QWidget) -> None:
        """`kind` names the files, and their extensions, in the system's dialog."""
        super().__init__(parent)
        self._name, self._kind = name, kind
        self.path = TextField(self, placeholder="None", optional=True, mono=True)
        self.path.setAccessibleName(name[0].upper() + name[1:])
        self.browse = Button("Choose…", theme, self, name=f"Choose {name}", run=self.choose)
        hbox((self.path, 1), self.browse, inside=self, spacing=metrics.SPACE_2)
        self.setFocusProxy(self.path)
        self.path.changed.connect(self.changed)

    def value(self) -> str | None:
        path: str | None = self.path.value()
        return path

    def set_value(self, path: str | None) -> None:
        self.path.set_value(path)

    def problem(self) -> None:
        """What is wrong with a path is seen when the target is saved."""

    @Slot()
    def choose(self) -> None:
        """Open the system's file dialog."""
        start = Path(self.value() or Path.home())
        dialog = FileDialog(self.window(), f"Choose {self._name}", start, (self._kind, ALL_FILES))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.path.setText)
        dialog.open()


class Parallel(QObject):
    """How many deliveries run at once: a number, or None while the box says that they keep their order."""

    changed = Signal()

    def __init__(self, low: int, high: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.number = NumberField("Parallel", low, high, parent)
        self.in_order = CheckField("Keep the order", parent)
        self.in_order.toggled.connect(self.number.setDisabled)
        self.in_order.changed.connect(self.changed)
        self.number.changed.connect(self.changed)

    def value(self) -> int | None:
        return None if self.in_order.isChecked() else self.number.value()

    def set_value(self, count: int | None) -> None:
        self.in_order.setChecked(count is None)
        self.number.set_value(count or 1)

    def problem(self) -> str | None:
        """Why the number cannot be saved; None if it can, or is not used."""
        return None if self.in_order.isChecked() else self.number.problem()


class RateField(TextField):
    """Requests a second; empty for no limit."""

    def value(self) -> float | None:
        return self._read()[0]

    def set_value(self, rate: float | None) -> None:
        self.setText("" if rate is None else f"{rate:g}")

    def problem(self) -> str | None:
        return self._read()[1]

    def _read(self) -> tuple[float | None, str | None]:
        """The limit, and what is wrong with the text."""
        text = self.text().strip()
        try:
            return (float(text) if text else None), None
        except ValueError:
            return None, f"Rate limit must be a number of requests a second, not {text!r}."


class RetryOn(QWidget):
    """The results that are retried: a box for each usual one, and a line for other statuses."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.boxes = {key: QCheckBox(words, self) for key, (words, _) in RESULTS.items()}
        self.statuses = TextField(self, placeholder="Other statuses: 429, 503")
        self.statuses.setAccessibleName("Other statuses")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(metrics.SPACE_4)
        grid.setVerticalSpacing(metrics.SPACE_2)
        for place, box in enumerate(self.boxes.values()):
            grid.addWidget(box, place % 4, place // 4)
            box.toggled.connect(self.changed)
        grid.addWidget(self.statuses, len(self.boxes) % 4, len(self.boxes) // 4)
        self.statuses.changed.connect(self.changed)

    def value(self) -> tuple[str, ...]:
        chosen = [key for key, box in self.boxes.items() if box.isChecked()]
        return tuple(dict.fromkeys([*chosen, *self.statuses.text().replace(",", " ").split()]))

    def set_value(self, results: tuple[str, ...]) -> None:
        for key, box in self.boxes.items():
            box.setChecked(key in results)
        self.statuses.setText(", ".join(name for name in results if name not in RESULTS))

    def problem(self) -> None:
        """What is no result is found by the target's rules."""


class TargetState(QWidget):
    """The switch, and whether the target is paused. Pausing takes effect at once: `pause_requested` says which way."""

    pause_requested = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.switch = Switch("Forward to this target", theme, self)
        self.text = label("", "strong", self)
        self.effect = label("", "faint", self, wrap=True)
        pause, resume = partial(self.pause_requested.emit, True), partial(self.pause_requested.emit, False)
        self.pause = Button("Pause", theme, self, kind="ghost", icon="pause", run=pause)
        look = LOOKS[State.PAUSED]
        self.notice = NoticeBox("warning", theme, self, (look.icon, look.colour))
        self.resume = Button("Resume", theme, self.notice, icon="play", run=resume)
        self.notice.buttons.addWidget(self.resume)
        words = vbox(self.text, self.effect, spacing=0)
        row = hbox(self.switch, (words, 1), self.pause, spacing=metrics.SPACE_3)
        vbox(row, self.notice, inside=self, spacing=metrics.SPACE_3)

    def show_state(self, draft: TargetDraft, stored: Target | None, waiting: int | None) -> None:
        """`waiting` counts its queued deliveries; None until that is known."""
        self.text.setText("On" if draft.active else "Off")
        paused = stored is not None and stored.paused is not None
        does = "queued for it" if paused else "forwarded to it"
        effect = f"New requests are {does}." if draft.active else "New requests are not forwarded to it."
        if waiting and not paused:
            effect += f" {count_of(waiting, 'request')} {'is' if waiting == 1 else 'are'} queued."
        self.effect.setText(effect)
        self.pause.setVisible(stored is not None and not paused)
        self.notice.show_text(paused_text([stored], waiting) if stored is not None and paused else "")


class TargetForm(Form):
    """A target's fields, with its state above them and, in words, what they do."""

    def __init__(self, slug: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(TargetDraft, parent)
        self._slug = slug
        self.state = TargetState(theme, self)
        self.bind("active", self.state.switch)
        column = vbox(
            self.state,
            inside=self,
            spacing=metrics.SPACE_4,
            margins=(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_5),
        )
        for section in (self._url(), self._delivery(), self._retries(), self._headers(theme), self._tls(theme)):
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
        self.preview.setAccessibleDescription(self.preview.text().replace("\u200b", ""))

    def _url(self) -> Section:
        section = Section("Target", self)
        section.add(self.add("url", title="URL", placeholder="http://localhost:3000/webhooks", mono=True))
        checks = hbox(
            self.check("append_path", "Append the path below the slug"),
            self.check("keep_query", "Keep the query"),
            Stretch(),
            spacing=metrics.SPACE_5,
        )
        section.column.addLayout(checks)
        self.preview = label("", "small", self, wrap=True, selectable=True)
        self.preview.setAccessibleName("Sample of a forwarded URL")
        section.add(self.preview)
        return section

    def _delivery(self) -> Section:
        """How long one attempt may take, how many run at once, and when the target is paused."""
        section = Section("Delivery", self)
        longest = exact_duration(self.declared("timeout_ms").bounds[1])
        parallel = Parallel(*self.declared("parallel").bounds, self)
        self.fields["parallel"] = LabeledField("Parallel", parallel.number, self, help_text="At once, in any order.")
        section.side_by_side(
            self.add("timeout_ms", help_text=f"Per attempt, up to {longest}."),
            self.fields["parallel"],
        )
        self.bind("parallel", parallel)
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
            explained = vbox(box, label(text, "faint", self, wrap=True), spacing=metrics.SPACE_1)
            section.column.addLayout(explained)
        return section

    def _retries(self) -> Section:
        section = Section("Retries", self)
        self.rule = label("", "muted", self, wrap=True)
        self.rule.setAccessibleName("Retry rule in words")
        section.add(self.rule)
        paths = ("retry.retries", "retry.first_delay_ms", "retry.longest_delay_ms", "retry.total_ms")
        section.side_by_side(*map(self.add, paths))
        text = "A Retry-After header in the response is obeyed."
        section.add(self.add("retry.on", RetryOn(self), help_text=text))
        return section

    def _headers(self, theme: Theme) -> Section:
        """Changes to the captured headers."""
        section = Section("Headers", self)
        for path, title, help_text in (
            ("set_headers", "Set", "Each replaces all of the same name."),
            ("add_headers", "Add", "Sent in addition."),
        ):
            headers = HeadersField(f"{title} headers", DELIVERY_HEADERS, theme, self, fits_rows=True)
            section.add(field := self.add(path, headers, title=title, help_text=help_text))
            field.header.addWidget(headers.views)
        removing = NameLines(64, self, placeholder="Authorization")
        removing.setAccessibleName("Headers to remove")
        section.side_by_side(
            self.add("remove_headers", removing, title="Remove", help_text="One name per line."),
            self.add("host", help_text="A server with several sites uses this header to pick one."),
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
        self._slug, self._theme = slug, theme
        self._forms: dict[TargetEdit, TargetForm] = {}
        self._areas: dict[TargetEdit, FormScroll] = {}
        """What the forms are in. PySide deletes an area that only Qt knows, with its form."""
        self.item: TargetEdit | None = None
        """The one whose form is shown."""
        self.addWidget(empty)

    def current(self) -> TargetForm | None:
        """The form that is shown."""
        return self._forms[self.item] if self.item is not None else None

    def made(self, item: TargetEdit) -> TargetForm | None:
        """The form of `item` if it was shown before."""
        return self._forms.get(item)

    def of(self, item: TargetEdit) -> TargetForm:
        if item not in self._forms:
            form = self._forms[item] = TargetForm(self._slug, self._theme, self)
            form.load(item.draft)
            form.changed.connect(self.changed)
            form.state.pause_requested.connect(self.pause_requested)
            area = self._areas[item] = FormScroll(form, self)
            self.addWidget(area)
        return self._forms[item]

    def show_item(self, item: TargetEdit | None) -> None:
        """Show the form of `item`, or that there is none."""
        self.item = item
        if item is None:
            self.setCurrentIndex(0)
        else:
            self.of(item)
            self.setCurrentWidget(self._areas[item])

    def type_url(self) -> None:
        """Put the keyboard into the URL of the form that is shown."""
        form = self.current()
        if form is not None:
            form["url"].setFocus()
            form["url"].selectAll()
