"""What the user does to replay requests: at once, edited, or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.errors import HooklineError
from app.core.model import DeliveryState, Summary
from app.core.replay.spec import ChosenRequests, ReplaySpec
from app.core.text import count_of
from app.ui.deliveries.words import counted
from app.ui.replay.replay_scope import ReplayScope
from app.ui.replay.replay_text import INCOMPLETE_LEFT_OUT, attempt_text
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import ask
from app.ui.widgets.toast import Toast, ToastAction

if TYPE_CHECKING:
    from app.ui.replay.response_pane import ReplayResult

NO_TARGET = "This endpoint has no target that is switched on: choose another URL."


class ReplayActions:
    """Dialogs open over `over`, notices go to `toast`. `show_deliveries` shows those of the open request; `scope` is
    what the list shows."""

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, over: QWidget, toast: Toast) -> None:
        self._services, self._theme, self._tasks, self._over, self._toast = services, theme, tasks, over, toast
        self.scope: Callable[[], ReplayScope] = ReplayScope
        self.show_deliveries: Callable[[str], object] | None = None

    async def replay(self, ids: Sequence[str], only: Summary | None) -> None:
        """Send these to their targets again; ask before many."""
        if only is not None:
            await self._replay_one(only)
            return
        if not any(self._targets(endpoint.id) for endpoint in self._services.store.endpoints.all()):
            self.open_many(ids, say=NO_TARGET)
            return
        many = count_of(len(ids), "request")
        text = f"This sends {many} to the targets of their endpoints again, oldest first, one after the other."
        text = f"{text} {INCOMPLETE_LEFT_OUT}"
        if await ask(self._over, self._theme, f"Replay {many}?", text, f"Replay {many}", kind="primary"):
            await self._services.replays.start(ReplaySpec(source=ChosenRequests(ids=tuple(ids))))

    def edit(self, only: Summary, *, say: str = "") -> None:
        """Open the editor; `say` tells why it opened."""
        self._tasks.start(self._edit(only, say), "edit and replay", self._over)

    async def _edit(self, only: Summary, say: str) -> None:
        # Start-up time, here and below: loaded when the user first replays something.
        from app.ui.replay.replay_editor import ReplayEditor
        from app.ui.replay.request_editors import load_request

        request = await load_request(only.id, self._services)
        if request is None:
            self._toast.say("This request is no longer stored.")
            return
        editor = ReplayEditor(request, self._services, self._theme, self._tasks, self._over)
        editor.many_requested.connect(self.open_many)
        editor.open()
        if say:
            editor.explain(say)

    def open_many(self, ids: Sequence[str] = (), *, say: str = "") -> None:
        """Open the form for many; `ids` are selected."""
        from app.ui.replay.replay_many_dialog import ReplayManyDialog  # as above

        scope = self.scope()
        if ids:
            scope = replace(scope, ids=tuple(ids))
        dialog = ReplayManyDialog(scope, self._services, self._theme, self._tasks, self._over)
        dialog.open()
        if say:
            dialog.form.select_url()

    def _targets(self, endpoint_id: int) -> int:
        endpoint = self._services.store.endpoints.by_id(endpoint_id)
        return sum(target.active for target in endpoint.targets) if endpoint is not None else 0

    async def _replay_one(self, only: Summary) -> None:
        if not self._targets(only.endpoint_id):
            self.edit(only, say=NO_TARGET)
            return
        if not only.complete:
            text = "Its sender disconnected before the end of the body. This sends the part that arrived."
            if not await ask(self._over, self._theme, "Replay an incomplete request?", text, "Replay", kind="primary"):
                return
        from app.ui.replay.response_pane import replay_and_wait  # as above

        self._toast.say("Replaying…")
        spec = ReplaySpec(source=ChosenRequests(ids=(only.id,)), incomplete=not only.complete)
        try:
            result = await replay_and_wait(spec, self._services)
        except HooklineError as error:
            self._toast.say(f"Not replayed: {error}")
            return
        shown = self.show_deliveries if result.sends else None
        actions = [ToastAction("Show", partial(shown, only.id))] if shown is not None else []
        self._toast.say(result_text(only, result), *actions)


def result_text(only: Summary, result: ReplayResult) -> str:
    """`Replayed POST to http://127.0.0.1:3000/hook: 200 in 12 ms.`"""
    method = escape(only.method[:20])
    if not result.sends:
        return f"Not replayed: {result.replay.problem or 'nothing was sent.'}"
    if len(result.sends) == 1:
        send = result.sends[0]
        failed = send.delivery.state is not DeliveryState.DELIVERED
        outcome = attempt_text(send.attempt).rstrip(".")
        where = escape(send.attempt.url)
        if failed:
            return f"Replay of {method} to {where} failed: {outcome}."
        return f"Replayed {method} to {where}: {outcome}."
    counts = ", ".join(f"{count} {word}" for count, word in counted(send.delivery.state for send in result.sends))
    return f"Replayed {method} to {len(result.sends)} targets: {counts}."
