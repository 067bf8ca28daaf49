"""The plan; a change takes effect at once or says why not."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.core.errors import PlanLimitError
from app.core.model import Plan
from app.core.rules import FREE_ENDPOINTS, plan_refusal
from app.core.wording import count_of
from app.ui.ports import Doors
from app.ui.settings.section import SettingsRow, SettingsSection
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.fields import ChoiceField

_PLANS = (Plan.FREE, Plan.PRO)


class AccountSection(SettingsSection):
    """Free or Pro."""

    def __init__(self, doors: Doors, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("Account", parent)
        self._doors, self._tasks = doors, tasks
        self.choice = ChoiceField([f"Free: up to {FREE_ENDPOINTS} endpoints", "Pro: unlimited endpoints"], self)
        self.row = SettingsRow("Plan", "", self.choice, self)
        self.column.addWidget(self.row)
        self._show()
        self.choice.activated.connect(self._chosen)

    def _show(self) -> None:
        held = len(self._doors.endpoints.all())
        self.choice.setCurrentIndex(_PLANS.index(self._doors.account.plan))
        self.row.text.setText(f"{count_of(held, 'endpoint')} in use.")

    @Slot(int)
    def _chosen(self, place: int) -> None:
        plan = _PLANS[place]
        if plan is self._doors.account.plan:
            self.row.set_error(None)
            return
        refusal = plan_refusal(plan, len(self._doors.endpoints.all()))
        self.row.set_error(refusal)
        if refusal:
            self._show()
        else:
            self._tasks.start(self._change(plan), "change the plan")

    async def _change(self, plan: Plan) -> None:
        try:
            await self._doors.account.set_plan(plan)
        except PlanLimitError as error:
            if not isValid(self):
                raise
            self.row.set_error(str(error))
        finally:
            if isValid(self):
                self._show()
