"""The form for a replay of many requests. It says in words what will happen before it starts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.errors import HooklineError, InvalidFieldsError
from app.core.replay import (
    MatchingRequests,
    OneUrl,
    OwnTargets,
    ReplaySpec,
    replay_errors,
)
from app.core.rules import FieldError
from app.core.search.query import QueryError
from app.core.text import count_of
from app.ui.replay.replay_form import URL, ReplayForm
from app.ui.replay.replay_text import NO_URL, plan_text, shown_endpoint, which_text
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card, line
from app.ui.widgets.dialog import SubmitDialog
from app.ui.widgets.fit_screen import fit
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import label, show_or_hide
from app.ui.widgets.layout import Stretch, fill, vbox

WIDTH = 680
COUNT_AFTER_MS = 150
"""Typing a time counts once."""


class ReplayManyDialog(SubmitDialog):
    """`started` carries the replay. The form is about the requests that the list shows (`listed`), of which some may be
    selected (`ids`), and begins with what `like` asks for, if any."""

    started = Signal(object)

    def __init__(
        self,
        listed: MatchingRequests,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        parent: QWidget | None,
        *,
        ids: tuple[str, ...] = (),
        like: ReplaySpec | None = None,
    ) -> None:
        super().__init__("Replay requests", theme, tasks, parent)
        self._endpoint_id, self._services, self._like = listed.endpoint_id, services, like
        self._counting = Latest(self, tasks, "replay: count requests")
        self._count: int | None = None
        self._count_problem = self._failure = ""
        self.form = ReplayForm(listed, services, self._targets(), theme, self, ids=ids)
        if like is not None:
            self.form.fill(like)
        self.plan = label("", "", self, wrap=True)
        self.problem = label("", "error", self, wrap=True)
        self.cancel = self.make_close_button("Cancel")
        self.start = self.make_submit_button("Replay", "send")
        self._delay = QTimer(self, singleShot=True, interval=COUNT_AFTER_MS)
        self._lay_out()
        self._delay.timeout.connect(self._recount)
        self.form.changed.connect(self._edited)
        self.finished.connect(self._counting.stop)
        self._recount()
        order_tabs(self)
        self.resize(self.sizeHint())
        if self.form.destination.current() == URL:
            self.form["destination.url"].setFocus()

    def sizeHint(self) -> QSize:
        """As high as the form, within the screen."""
        return self.sized_for(WIDTH)

    def has_changes(self) -> bool:
        """Nothing is lost that took long to enter."""
        return False

    def reveal_errors(self) -> bool:
        return self.refresh(show_all=True)

    def event(self, event: QEvent) -> bool:
        """Fields or sentences may have appeared."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.isVisible():
            self._grow()
        return done

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter starts nothing from a field."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)

    def _targets(self) -> list[str]:
        """The targets, switched on, of the endpoints that may be concerned."""
        endpoints = list(self._services.store.endpoints.all())
        if self._endpoint_id is not None:
            endpoints = [one for one in endpoints if one.id == self._endpoint_id]
        targets = (target for endpoint in endpoints for target in endpoint.targets if target.active)
        only = self._like.destination if self._like is not None else None
        number = only.target_id if isinstance(only, OwnTargets) else None
        return [target.url for target in targets if number in (None, target.id)]

    def _lay_out(self) -> None:
        self.body.addWidget(self.form)
        card = Card(self, padding=metrics.SPACE_3)
        card.body.addWidget(self.plan)
        inset = vbox(card, margins=(metrics.SPACE_5, metrics.SPACE_3, metrics.SPACE_5, metrics.SPACE_3))
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertWidget(column.count() - 1, line(self))
        column.insertLayout(column.count() - 1, inset)
        fill(self.footer, (self.problem, 1), Stretch(0), self.cancel, self.start)
        self.problem.hide()

    @Slot(str)
    def _edited(self, path: str) -> None:
        self._failure = ""
        self.form.refused.clear()  # what was refused may not be shown any more
        if path.startswith("source"):
            self._count = None
            self._delay.start()
        self.refresh()

    @Slot()
    def _recount(self) -> None:
        self._counting.run(partial(self._read_count, self.form.spec()))

    async def _read_count(self, spec: ReplaySpec) -> None:
        problem, count = "", None
        try:
            count = await self._services.replays.count(spec.source)
        except QueryError as error:
            problem = str(error)
        self._count, self._count_problem = count, problem
        self.refresh()

    def _errors(self, spec: ReplaySpec) -> list[FieldError]:
        own = []
        if spec.destination == OneUrl(url=""):
            own.append(FieldError(field="destination.url", message=NO_URL))
        if isinstance(spec.destination, OwnTargets) and not self._targets():
            text = "There is no target that is switched on. Choose another URL."
            own.append(FieldError(field="destination", message=text))
        return self.form.errors_with([*own, *replay_errors(spec, self._services.own_bases())])

    def refresh(self, *, show_all: bool = False) -> bool:
        """Whether there are errors."""
        spec = self.form.spec()
        errors = self._errors(spec)
        empty = None if show_all or self.form["destination.url"].text() else "destination.url"
        self.form.show_errors(error for error in errors if error.field != empty)
        self.plan.setText(self._plan(spec))
        other = [error.message for error in errors if error.field not in self.form.fields]
        show_or_hide(self.problem, self._count_problem or self._failure or " ".join(other))
        nothing = "There are no such requests." if self._count == 0 else None
        first = errors[0].message if errors else None
        reason = "Starting…" if self.busy else self._count_problem or first or nothing
        self.start.set_refusal(reason)
        self.start.setText("Replay" if not self._count else f"Replay {count_of(self._count, 'request')}")
        if show_all and errors:
            self._reveal(errors[0].field)
        return bool(errors)

    def _grow(self) -> None:
        """Make room for what appeared, within the screen."""
        wanted = self.sizeHint()
        if wanted.height() > self.height():
            self.resize(self.width(), wanted.height())
            fit(self)

    def _reveal(self, path: str) -> None:
        self.form.reveal(path)
        if path not in self.form.fields and self.form.destination.current() != URL:
            self.form.destination.setFocus()

    def _plan(self, spec: ReplaySpec) -> str:
        which = which_text(spec.source, shown_endpoint(spec.source, self._services.store.endpoints))
        text = plan_text(spec, which, self._count, self._targets_text())
        counting = self._count is None and not self._count_problem and text != NO_URL
        return f"{text} Counting requests…" if counting else text

    def _targets_text(self) -> str:
        targets = self._targets()
        if len(targets) == 1:
            return targets[0]
        if self._endpoint_id is None:
            return "the targets of their endpoints"
        return f"each of their {len(targets)} targets"

    def edited(self) -> ReplaySpec:
        return self.form.spec()

    async def store(self) -> Callable[[], object] | None:
        replay = await self._tasks.complete(self._services.replays.start(self.submitted), self)
        return partial(self.started.emit, replay)

    def show_failure(self, error: HooklineError) -> None:
        self._failure = self.form.refuse(error.errors) if isinstance(error, InvalidFieldsError) else str(error)
        self.refresh(show_all=True)
