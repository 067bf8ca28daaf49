"""The form for a replay of many requests. It says in words what will happen before it starts."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QPushButton, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.errors import HooklineError, InvalidFieldsError
from app.core.replay.spec import MatchingRequests, OneUrl, OwnTargets, ReplaySpec, replay_errors
from app.core.search.query import QueryError
from app.core.text import count_of
from app.ui.replay.destination_field import URL, DestinationField
from app.ui.replay.replay_scope import ALL, MATCHING, RANGE, SELECTED, ReplayScope, count_requests
from app.ui.replay.replay_sections import FaultsSection, PaceSection, TimesField, section
from app.ui.replay.replay_text import NO_URL, plan_text
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card, line
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fit_screen import fit
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label
from app.ui.widgets.segmented import Segmented

WIDTH = 680
COUNT_AFTER_MS = 150
"""Typing a time counts once."""
_DAY_US = 24 * 3_600_000_000


class ReplayManyDialog(Dialog):
    """`started` carries the replay."""

    started = Signal(object)

    def __init__(
        self, scope: ReplayScope, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None
    ) -> None:
        super().__init__("Replay requests", theme, parent)
        self._scope, self._services, self._tasks = scope, services, tasks
        self._counting = Latest(self, tasks, "replay: count requests")
        self._count: int | None = None
        self._count_problem = ""
        self._refused: dict[str, str] = {}
        self._busy = False
        self.requests = self._requests_field()
        end = scope.received_before or now_us() + 1_000_000
        self.times = TimesField(scope.received_after or end - _DAY_US, end, self)
        self.incomplete = QCheckBox("Also send incomplete requests", self)
        self.incomplete.setToolTip("Those whose sender disconnected before the end of the body")
        self.destination = DestinationField(services.store.endpoints.all(), "Their targets", self._targets(), self)
        self.pace = PaceSection(self)
        self.faults = FaultsSection(theme, self)
        self.fields = {**self.times.fields, **self.destination.fields, **self.pace.fields, **self.faults.fields}
        self.plan = label("", "", self, wrap=True)
        self.problem = label("", "error", self, wrap=True)
        self.cancel = Button("Cancel", theme, self)
        self.start = Button("Replay", theme, self, kind="primary", icon="send")
        self._delay = QTimer(self)
        self._delay.setSingleShot(True)
        self._delay.setInterval(COUNT_AFTER_MS)
        self._lay_out()
        self._connect()
        self._show_times()
        self._recount()
        order_tabs(self)
        self.resize(self.sizeHint())
        if self.destination.kind.current() == URL:
            self.destination.url.setFocus()

    def sizeHint(self) -> QSize:
        """As high as the form, within the screen."""
        return self.sized_for(WIDTH)

    def spec(self) -> ReplaySpec:
        """As the form says now."""
        kind = self.requests.current() or ALL
        return ReplaySpec(
            source=self._scope.source(kind, self.times.value()),
            destination=self.destination.value(),
            pace=self.pace.value(),
            concurrency=self.pace.concurrency.value(),
            times=self.pace.times.value(),
            faults=self.faults.value(),
            seed=self.faults.seed.value(),
            incomplete=self.incomplete.isChecked(),
        )

    @Slot()
    def submit(self) -> None:
        """Start it; with bad input show what is wrong."""
        if self._busy:
            return
        self._refresh(show_all=True)
        if self.start.isEnabled():
            self._busy = True
            self.start.set_refusal("Starting…")
            self._tasks.start(self._start(self.spec()), "start replay")

    def event(self, event: QEvent) -> bool:
        """Fields or sentences may have appeared."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.isVisible():
            self._grow()
        return done

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button that has the focus, and starts nothing from a field."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif isinstance(focused := self.focusWidget(), QPushButton):
            focused.click()

    def done(self, result: int) -> None:
        """The count is no longer needed."""
        self._counting.stop()
        super().done(result)

    def _requests_field(self) -> Segmented:
        scope = self._scope
        endpoint = self._services.store.endpoints.by_id(scope.endpoint_id) if scope.endpoint_id is not None else None
        name = escape(endpoint.name) if endpoint is not None else ""
        everything = f"All of “{name[:24]}{'…' if len(name) > 24 else ''}”" if endpoint else "All requests"
        selected = f"Selected ({len(scope.ids):,})"
        kinds = ((SELECTED, selected), (MATCHING, "Shown in the list"), (ALL, everything), (RANGE, "Time range"))
        field = Segmented(kinds, self)
        field.setAccessibleName("Requests")
        field.set_option_visible(SELECTED, bool(scope.ids))
        field.set_option_visible(MATCHING, scope.narrowed)
        field.explain(MATCHING, "All requests that the list shows with its filter and time range")
        field.set_current(SELECTED if len(scope.ids) > 1 else MATCHING if scope.narrowed else ALL)
        return field

    def _targets(self) -> list[str]:
        """The targets, switched on, of the endpoints that may be concerned."""
        endpoints = list(self._services.store.endpoints.all())
        if self._scope.endpoint_id is not None:
            endpoints = [one for one in endpoints if one.id == self._scope.endpoint_id]
        return [target.url for endpoint in endpoints for target in endpoint.targets if target.active]

    def _lay_out(self) -> None:
        self.body.addWidget(section("Requests", self))
        self.body.addWidget(self.requests, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self.times)
        self.body.addWidget(self.incomplete)
        self.body.addWidget(section("Destination", self))
        self.body.addWidget(self.destination)
        self.body.addWidget(self.pace)
        self.body.addWidget(self.faults)
        self.body.addStretch(1)
        card = Card(self, padding=metrics.SPACE_3)
        card.body.addWidget(self.plan)
        inset = QVBoxLayout()
        inset.setContentsMargins(metrics.SPACE_5, metrics.SPACE_3, metrics.SPACE_5, metrics.SPACE_3)
        inset.addWidget(card)
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertWidget(column.count() - 1, line(self))
        column.insertLayout(column.count() - 1, inset)
        self.footer.addWidget(self.problem, 1)
        self.footer.addStretch(0)
        self.footer.addWidget(self.cancel)
        self.footer.addWidget(self.start)
        self.problem.hide()

    def _connect(self) -> None:
        self.requests.activated.connect(self._source_changed)
        self.times.changed.connect(self._source_changed)
        self._delay.timeout.connect(self._recount)
        for part in (self.destination, self.pace, self.faults):
            part.changed.connect(self._edited)
        self.cancel.clicked.connect(self.reject)
        self.start.clicked.connect(self.submit)
        QShortcut(QKeySequence("Ctrl+Return"), self, self.submit)

    @Slot()
    def _source_changed(self) -> None:
        self._show_times()
        self._count = None
        self._delay.start()
        self._edited()

    @Slot()
    def _edited(self) -> None:
        self._refused.clear()
        self._refresh()

    def _show_times(self) -> None:
        self.times.setVisible(self.requests.current() == RANGE)

    @Slot()
    def _recount(self) -> None:
        self._counting.run(partial(self._read_count, self.spec()))

    async def _read_count(self, spec: ReplaySpec) -> None:
        services, problem, count = self._services, "", None
        try:
            count = await count_requests(
                spec.source,
                services.store.captures,
                services.store.activity,
                services.store.endpoints,
            )
        except QueryError as error:
            problem = str(error)
        self._count, self._count_problem = count, problem
        self._refresh()

    def _errors(self, spec: ReplaySpec) -> dict[str, str]:
        """By field; one of a field that has no number comes first."""
        typed = {**self.pace.problems(), **self.faults.problems()}
        errors = {path: message for path, message in typed.items() if message}
        for error in replay_errors(spec, self._services.own_bases()):
            errors.setdefault(error.field, error.message)
        if spec.destination == OneUrl(url=""):
            errors["destination.url"] = NO_URL
        if isinstance(spec.destination, OwnTargets) and not self._targets():
            errors["destination"] = "There is no target that is switched on. Choose another URL."
        return errors | self._refused

    def _refresh(self, *, show_all: bool = False) -> None:
        spec = self.spec()
        errors = self._errors(spec)
        for path, field in self.fields.items():
            empty = path == "destination.url" and not self.destination.url.text() and not show_all
            field.set_error(errors.get(path) if field.isVisibleTo(self) and not empty else None)
        self.plan.setText(self._plan(spec))
        other = [text for path, text in errors.items() if path not in self.fields]
        self.problem.setText(self._count_problem or " ".join(other))
        self.problem.setVisible(bool(self.problem.text()))
        nothing = "There are no such requests." if self._count == 0 else None
        first = next((text for path, text in errors.items() if path), None)
        reason = "Starting…" if self._busy else self._count_problem or first or nothing
        self.start.set_refusal(reason)
        self.start.setText("Replay" if not self._count else f"Replay {count_of(self._count, 'request')}")
        if show_all and errors:
            self._reveal(next(iter(errors)))

    def _grow(self) -> None:
        """Make room for what appeared, within the screen."""
        wanted = self.sizeHint()
        if wanted.height() > self.height():
            self.resize(self.width(), wanted.height())
            fit(self)

    def _reveal(self, path: str) -> None:
        if path in self.fields:
            self.content_area.ensureWidgetVisible(self.fields[path])
            self.fields[path].control.setFocus()
        elif self.destination.kind.current() != URL:
            self.destination.kind.setFocus()

    def _plan(self, spec: ReplaySpec) -> str:
        text = plan_text(spec, self._which(spec), self._count, self._targets_text())
        counting = self._count is None and not self._count_problem and text != NO_URL
        return f"{text} Counting requests…" if counting else text

    def _which(self, spec: ReplaySpec) -> str:
        source = spec.source
        if not isinstance(source, MatchingRequests):
            return "selected in the list"
        endpoint = self._services.store.endpoints.by_id(source.endpoint_id) if source.endpoint_id is not None else None
        where = f"of “{escape(endpoint.name)}”" if endpoint is not None else "of all endpoints"
        query = f" that match “{source.query.strip()}”" if source.query.strip() else ""
        times = " in the time range" if source.received_after is not None or source.received_before is not None else ""
        return where + query + times

    def _targets_text(self) -> str:
        targets = self._targets()
        if self._scope.endpoint_id is None:
            return "the targets of their endpoints"
        return targets[0] if len(targets) == 1 else f"each of their {len(targets)} targets"

    async def _start(self, spec: ReplaySpec) -> None:
        try:
            replay = await self._tasks.complete(self._services.replays.start(spec), self)
        except HooklineError as error:
            self._busy = False
            if isinstance(error, InvalidFieldsError):
                self._refused = {broken.field: broken.message for broken in error.errors}
            else:
                self._refused = {"": str(error)}
            self._refresh(show_all=True)
            return
        self.started.emit(replay)
        self.accept()
