"""The plan. It changes when the dialog is saved; a reason why it cannot is shown at once."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.core.model import Plan
from app.core.rules import FREE_ENDPOINTS, plan_refusal
from app.core.text import count_of
from app.ui.services import Services
from app.ui.settings.section import SettingsRow, SettingsSection
from app.ui.widgets.fields import ChoiceField

_PLANS = (Plan.FREE, Plan.PRO)


class AccountSection(SettingsSection):
    """Free or Pro; `changed` follows each selection."""

    changed = Signal()

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__("Account", parent)
        self._services = services
        self._refused: str | None = None
        self.choice = ChoiceField([f"Free: up to {FREE_ENDPOINTS} endpoints", "Pro: unlimited endpoints"], self)
        self.rows["plan"] = SettingsRow("Plan", "", self.choice, self)
        self.column.addWidget(self.rows["plan"])
        self.choice.setCurrentIndex(_PLANS.index(services.store.account.plan))
        self.choice.currentIndexChanged.connect(self._plan_selected)
        self.refresh()

    def value(self) -> Plan:
        return _PLANS[self.choice.currentIndex()]

    def has_changes(self) -> bool:
        """Whether the selected plan differs from the current one."""
        return self.value() is not self._services.store.account.plan

    def problems(self) -> dict[str, str | None]:
        """Why the account cannot change to the selected plan."""
        count = len(self._services.store.endpoints.all())
        return {"plan": self._refused or (plan_refusal(self.value(), count) if self.has_changes() else None)}

    def refuse(self, message: str) -> None:
        """Show why saving was refused, until another plan is selected."""
        self._refused = message

    def refresh(self) -> None:
        """Show how many endpoints there are, and whether the selection is unsaved."""
        text = f"{count_of(len(self._services.store.endpoints.all()), 'endpoint')} in use."
        self.rows["plan"].text.setText(f"{text} The plan changes when you save." if self.has_changes() else text)

    @Slot()
    def _plan_selected(self) -> None:
        self._refused = None
        self.refresh()
        self.changed.emit()
