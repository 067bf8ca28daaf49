"""The plan. It changes when the dialog is saved; what keeps it from changing is said at once."""

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
    """Free or Pro; `changed` follows each choice."""

    changed = Signal()

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__("Account", parent)
        self._services = services
        self._refused: str | None = None
        self.choice = ChoiceField([f"Free: up to {FREE_ENDPOINTS} endpoints", "Pro: unlimited endpoints"], self)
        self.rows["plan"] = SettingsRow("Plan", "", self.choice, self)
        self.column.addWidget(self.rows["plan"])
        self.choice.setCurrentIndex(_PLANS.index(services.account.plan))
        self.choice.currentIndexChanged.connect(self._chosen)
        self.refresh()

    def value(self) -> Plan:
        """What is chosen."""
        return _PLANS[self.choice.currentIndex()]

    def has_changes(self) -> bool:
        """Whether another plan is chosen than the one in force."""
        return self.value() is not self._services.account.plan

    def problems(self) -> dict[str, str | None]:
        """Why the account cannot change to the chosen plan."""
        held = len(self._services.endpoints.all())
        return {"plan": self._refused or (plan_refusal(self.value(), held) if self.has_changes() else None)}

    def refuse(self, message: str) -> None:
        """Show what saving refused, until the next choice."""
        self._refused = message

    def refresh(self) -> None:
        """Show how many endpoints there are, and whether the choice is yet to be saved."""
        text = f"{count_of(len(self._services.endpoints.all()), 'endpoint')} in use."
        self.rows["plan"].text.setText(f"{text} The plan changes when you save." if self.has_changes() else text)

    @Slot()
    def _chosen(self) -> None:
        self._refused = None
        self.refresh()
        self.changed.emit()
