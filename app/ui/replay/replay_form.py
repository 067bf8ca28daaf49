"""The form for a replay of many requests: which ones, where to, how fast, and with which faults."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from PySide6.QtCore import QDateTime, Qt, Signal, Slot
from PySide6.QtWidgets import QDateTimeEdit, QLineEdit, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.replay import (
    GAP_MAX_MS,
    RATE_MAX,
    SCALE_MAX,
    BackToBack,
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    OwnTargets,
    Pace,
    ReplayDestination,
    ReplaySource,
    ReplaySpec,
)
from app.core.rules import FieldError
from app.ui.services import Services
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import ChoiceField, Segmented
from app.ui.widgets.form import Form, Section
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, hbox, vbox
from app.ui.widgets.text_fields import DecimalField, NumberField, TextField

SELECTED, MATCHING, ALL, RANGE = "selected", "matching", "all", "range"
TARGETS, URL, ENDPOINT = "targets", "url", "endpoint"
BACK_TO_BACK, RATE, GAPS = "back_to_back", "rate", "gaps"
SEEDS = 10**9
FAULTS = {
    "duplicate": "Sent twice",
    "swap": "Trades places with the next one",
    "drop": "Not sent",
    "delay": "Sent late, while others go ahead",
    "cut_off": "The connection closes within the body",
}
"""What each means."""
FAULTS_HELP = "Tests how your code handles duplicate, late and lost requests."
_DAY_US = 24 * 3_600_000_000
_TARGETS_SHOWN = 3


class _TimeField(QDateTimeEdit):
    """A local time; `value` is in microseconds."""

    changed = Signal()

    def __init__(self, at_us: int, parent: QWidget) -> None:
        super().__init__(QDateTime.fromMSecsSinceEpoch(at_us // 1_000), parent)
        self.setDisplayFormat("yyyy-MM-dd HH:mm:ss")
        self.setFixedHeight(metrics.CONTROL)
        self.findChildren(QLineEdit)[0].setTextMargins(metrics.SPACE_2, 0, 0, 0)
        self.dateTimeChanged.connect(self.changed)

    def value(self) -> int:
        return self.dateTime().toMSecsSinceEpoch() * 1_000

    def problem(self) -> None:
        """A time has none."""


class _SeedField(QWidget):
    """A number that can be drawn."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.number = NumberField("Seed", 0, SEEDS, self, grouped=False)
        self.number.setAccessibleName("Seed")
        self.draw = Button("New seed", theme, self, run=self._draw)
        hbox((self.number, 1), self.draw, inside=self, spacing=metrics.SPACE_2)
        self.setFocusProxy(self.number)
        self._draw()
        self.number.changed.connect(self.changed)

    def value(self) -> int:
        return self.number.value()

    def set_value(self, value: int) -> None:
        self.number.set_value(value)

    def problem(self) -> str | None:
        return self.number.problem()

    @Slot()
    def _draw(self) -> None:
        self.set_value(random.randrange(SEEDS))


class ReplayForm(Form):
    """`listed` are the requests that the list shows, `ids` those that are selected in it, `targets` the URLs that the
    requests' own targets have."""

    def __init__(
        self,
        listed: MatchingRequests,
        services: Services,
        targets: Sequence[str],
        theme: Theme,
        parent: QWidget,
        *,
        ids: tuple[str, ...] = (),
    ) -> None:
        super().__init__(ReplaySpec, parent)
        self._listed, self._ids = listed, ids
        self._target_id: int | None = None
        """The only one of their own targets; None: all."""
        self._endpoints = services.store.endpoints.all()
        vbox(
            self._requests(),
            self._destination(targets),
            self._pace(),
            self._faults(theme),
            Stretch(),
            inside=self,
            spacing=metrics.SPACE_4,
        )
        self.touched.update(self.fields)
        self.changed.connect(self._show_fields)
        self._show_fields()

    def spec(self) -> ReplaySpec:
        """As the form says now, with the last valid numbers; `problems` names the others."""
        shares = {name: (self[f"faults.{name}"].value() or 0) / 100 for name in FAULTS}
        return ReplaySpec(
            source=self._source_value(),
            destination=self._destination_value(),
            pace=self._pace_value(),
            concurrency=self["concurrency"].value(),
            times=self["times"].value(),
            faults=Faults(**shares, delay_max_ms=self["faults.delay_max_ms"].value()),
            seed=self["seed"].value(),
            incomplete=self["incomplete"].value(),
        )

    def problems(self) -> list[FieldError]:
        """Of the fields that are shown."""
        return [one for one in super().problems() if self.fields[one.field].isVisibleTo(self)]

    def show_errors(self, errors: Iterable[FieldError]) -> None:
        super().show_errors(
            one for one in errors if one.field in self.fields and self.fields[one.field].isVisibleTo(self)
        )

    def fill(self, spec: ReplaySpec) -> None:
        """Show what a replay was asked to do, whose requests the form must have been made for."""
        if self._ids:
            self.requests.set_current(SELECTED)
        elif self._listed.narrowed:
            self.requests.set_title(MATCHING, "The same")
            self.requests.explain(MATCHING, "The same requests as before, as far as they are still stored")
        self._fill_destination(spec.destination)
        self._fill_pace(spec.pace)
        for name in FAULTS:
            self[f"faults.{name}"].set_value(getattr(spec.faults, name) * 100)
        self["faults.delay_max_ms"].set_value(spec.faults.delay_max_ms)
        for path in ("concurrency", "times", "seed", "incomplete"):
            self[path].set_value(getattr(spec, path))
        self._show_fields()

    def _fill_destination(self, destination: ReplayDestination) -> None:
        if isinstance(destination, OneUrl):
            self.destination.set_current(URL)
            self["destination.url"].set_value(destination.url)
        elif isinstance(destination, OwnTargets):
            self._target_id = destination.target_id
        elif any(one.slug == destination.slug for one in self._endpoints):
            self.destination.set_current(ENDPOINT)
            self["destination.slug"].set_value(destination.slug)

    def _fill_pace(self, pace: Pace) -> None:
        if isinstance(pace, FixedRate):
            self.pace.set_current(RATE)
            self["pace.per_second"].set_value(pace.per_second)
        elif isinstance(pace, OriginalGaps) and pace.scale:  # without gaps they go back to back
            self.pace.set_current(GAPS)
            self["pace.scale"].set_value(round(1 / pace.scale, 6))
            longest = pace.longest_gap_ms
            self["pace.longest_gap_ms"].set_value(None if longest is None else longest / 1_000)

    def select_url(self) -> None:
        """Choose another URL, to type one."""
        self.destination.set_current(URL)
        self._show_fields()
        self["destination.url"].setFocus()

    def _kind(self, path: str, title: str, choices: Sequence[tuple[str, str]]) -> Segmented:
        field = Segmented(choices, self)
        field.setAccessibleName(title)
        field.setProperty("path", path)
        field.activated.connect(self._edited)
        return field

    def _section(self, title: str, first: QWidget) -> Section:
        section = Section(title, self)
        section.column.addWidget(first, 0, Qt.AlignmentFlag.AlignLeft)
        return section

    def _requests(self) -> Section:
        listed, ids = self._listed, self._ids
        name = next((escape(one.name) for one in self._endpoints if one.id == listed.endpoint_id), "")
        everything = f"All of “{name[:24]}{'…' if len(name) > 24 else ''}”" if name else "All requests"
        selected = f"Selected ({len(ids):,})"
        kinds = ((SELECTED, selected), (MATCHING, "Shown in the list"), (ALL, everything), (RANGE, "Time range"))
        self.requests = self._kind("source", "Requests", kinds)
        self.requests.set_option_visible(SELECTED, bool(ids))
        self.requests.set_option_visible(MATCHING, listed.narrowed)
        self.requests.explain(MATCHING, "All requests that the list shows with its filter and time range")
        self.requests.set_current(SELECTED if len(ids) > 1 else MATCHING if listed.narrowed else ALL)
        end = listed.received_before or now_us() + 1_000_000
        start = listed.received_after or end - _DAY_US
        section = self._section("Requests", self.requests)
        section.side_by_side(
            self.add("source.received_after", _TimeField(start, self), title="From"),
            self.add("source.received_before", _TimeField(end, self), title="Until"),
        )
        incomplete = self.check("incomplete", "Also send incomplete requests")
        incomplete.setToolTip("Those whose sender disconnected before the end of the body")
        section.add(incomplete)
        return section

    def _destination(self, targets: Sequence[str]) -> Section:
        own = "Their targets"
        kinds = ((TARGETS, own), (URL, "Another URL"), (ENDPOINT, "Another endpoint"))
        self.destination = self._kind("destination", "Destination", kinds)
        self.destination.set_enabled(TARGETS, bool(targets))
        self.destination.set_enabled(ENDPOINT, bool(self._endpoints))
        self.destination.set_current(TARGETS if targets else URL)
        if not targets:
            self.destination.explain(TARGETS, f"{own}: there is no target that is switched on.")
        self._own = label(_shortened(targets), "muted", self, wrap=True)
        self._own.setFont(mono_font())
        url = TextField(self, placeholder="http://localhost:3000/webhooks", mono=True)
        text = "The path below the slug and the query of each request are added."
        endpoint = ChoiceField({one.slug: escape(one.name) for one in self._endpoints}, self)
        section = self._section("Destination", self.destination)
        section.add(
            self._own,
            self.add("destination.url", url, title="URL", help_text=text),
            self.add("destination.slug", endpoint, title="Endpoint"),
        )
        return section

    def _pace(self) -> Section:
        """How fast, how many at once, and how often."""
        kinds = ((BACK_TO_BACK, "Back to back"), (RATE, "At a rate"), (GAPS, "Original gaps"))
        self.pace = self._kind("pace", "Pace", kinds)
        self.pace.set_current(BACK_TO_BACK)
        rate = DecimalField("Rate", RATE_MAX, self, unit="per second", zero=False)
        speed = DecimalField("Speed", SCALE_MAX, self, unit="times as fast", zero=False)
        longest = DecimalField("Longest gap", GAP_MAX_MS / 1_000, self, unit="s", placeholder="no limit")
        concurrency = NumberField("At once", *self.declared("concurrency").bounds, self)
        times = NumberField("Times each", *self.declared("times").bounds, self)
        rate.set_value(10)
        speed.set_value(1)
        section = self._section("Pace", self.pace)
        section.side_by_side(
            self.add("pace.per_second", rate, title="Rate"),
            self.add("pace.scale", speed, title="Speed"),
            self.add("pace.longest_gap_ms", longest, title="Longest gap"),
            self.add("concurrency", concurrency, title="At once", help_text=f"{concurrency.range_text()}."),
            self.add("times", times, title="Times each", help_text="More than 1 for a small load test."),
        )
        return section

    def _faults(self, theme: Theme) -> Section:
        """In percent, and the seed that repeats them."""
        section = Section("Faults", self)
        section.add(label(FAULTS_HELP, "faint", self, wrap=True))
        for name, meaning in FAULTS.items():
            share = DecimalField(self.declared(f"faults.{name}").title, 100, self, unit="%")
            share.set_value(0)
            share.setToolTip(meaning)
            self.add(f"faults.{name}", share)
            share.setAccessibleDescription(meaning)
        section.side_by_side(*(self.fields[f"faults.{name}"] for name in FAULTS))
        section.side_by_side(
            self.add("faults.delay_max_ms"),
            self.add("seed", _SeedField(theme, self), help_text="The same seed makes the same faults."),
        )
        self["faults.delay_max_ms"].set_value(Faults().delay_max_ms)
        return section

    def _source_value(self) -> ReplaySource:
        kind = self.requests.current()
        if kind == SELECTED:
            return ChosenRequests(ids=self._ids)
        if kind == MATCHING:
            return self._listed
        whole = MatchingRequests(endpoint_id=self._listed.endpoint_id)
        if kind != RANGE:
            return whole
        start, end = self["source.received_after"].value(), self["source.received_before"].value()
        return replace(whole, received_after=start, received_before=end)

    def _destination_value(self) -> ReplayDestination:
        kind = self.destination.current()
        if kind == URL:
            return OneUrl(url=self["destination.url"].value())
        if kind == ENDPOINT:
            return OtherEndpoint(slug=self["destination.slug"].value())
        return OwnTargets(target_id=self._target_id)

    def _pace_value(self) -> Pace:
        kind = self.pace.current()
        if kind == RATE:
            return FixedRate(per_second=self["pace.per_second"].value() or 1)
        if kind == GAPS:
            longest = self["pace.longest_gap_ms"].value()
            gap_ms = None if longest is None else round(longest * 1_000)
            return OriginalGaps(scale=1 / (self["pace.scale"].value() or 1), longest_gap_ms=gap_ms)
        return BackToBack()

    @Slot()
    def _show_fields(self) -> None:
        in_range, destination, pace = self.requests.current() == RANGE, self.destination.current(), self.pace.current()
        faults = any(self[f"faults.{name}"].value() for name in FAULTS)
        shown = {
            "source.received_after": in_range,
            "source.received_before": in_range,
            "destination.url": destination == URL,
            "destination.slug": destination == ENDPOINT,
            "pace.per_second": pace == RATE,
            "pace.scale": pace == GAPS,
            "pace.longest_gap_ms": pace == GAPS,
            "faults.delay_max_ms": faults,
            "seed": faults,
        }
        for path, on in shown.items():
            self.fields[path].setVisible(on)
        self._own.setVisible(destination == TARGETS)
        self.fields["faults.delay_max_ms"].setEnabled(bool(self["faults.delay"].value()))


def _shortened(urls: Sequence[str]) -> str:
    some = urls if len(urls) <= _TARGETS_SHOWN else urls[: _TARGETS_SHOWN - 1]
    more = [f"and {len(urls) - _TARGETS_SHOWN + 1:,} more"] if len(urls) > _TARGETS_SHOWN else []
    return "\n".join([*some, *more])
