"""A notification service as a process of its own: `fake_service.py ADDRESS CAPABILITIES`, until SIGTERM. With
`wrong` for these it tells its capabilities as a list of variants, with `silent` it never says that it showed something.

Beside the service's calls it has two for tests: `Told` gives all that was shown as JSON, and `Act` makes the user click
(`click 1`), sweep away (`dismiss 1`) or wait (`expire 1`).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from PySide6.QtCore import ClassInfo, QCoreApplication, QObject, Signal, Slot
from PySide6.QtDBus import QDBusConnection

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


@ClassInfo({"D-Bus Interface": NAME})
class Notifying(QObject):
    ActionInvoked = Signal("uint", str)
    NotificationClosed = Signal("uint", "uint")
    ActivationToken = Signal("uint", str)

    def __init__(self, capabilities: list[str]) -> None:
        super().__init__()
        self._capabilities = capabilities
        self._told: list[dict[str, Any]] = []

    @Slot(str, "uint", str, str, str, "QStringList", "QVariantMap", int, result="uint")
    def Notify(  # noqa: PLR0917 - the specification's own
        self,
        app: str,
        replaces: int,
        icon: str,
        title: str,
        text: str,
        actions: list[str],
        hints: dict[str, Any],
        timeout: int,
    ) -> int:
        if "silent" in self._capabilities:
            time.sleep(60)
        number = replaces or len(self._told) + 1
        told = {"app": app, "replaces": replaces, "title": title, "text": text, "actions": actions, "hints": hints}
        self._told.append({"number": number, "timeout": timeout, **told})
        return number

    @Slot(result=str)
    def Told(self) -> str:
        return json.dumps(self._told)

    @Slot(str)
    def Act(self, what: str) -> None:
        verb, number = what.split()
        if verb == "click":
            self.ActivationToken.emit(int(number), f"token-{number}")
            self.ActionInvoked.emit(int(number), "default")
        self.NotificationClosed.emit(int(number), {"expire": 1, "dismiss": 2, "click": 3}[verb])


@ClassInfo({"D-Bus Interface": NAME})
class Service(Notifying):
    @Slot(result="QStringList")
    def GetCapabilities(self) -> list[str]:
        return self._capabilities


@ClassInfo({"D-Bus Interface": NAME})
class WrongService(Notifying):
    @Slot(result="QVariantList")
    def GetCapabilities(self) -> list[str]:
        return self._capabilities


def main() -> int:
    """Serve."""
    app = QCoreApplication([])
    service = (WrongService if sys.argv[2] == "wrong" else Service)(sys.argv[2].split(","))
    bus = QDBusConnection.connectToBus(sys.argv[1], "fake")
    exports = QDBusConnection.RegisterOption.ExportAllSlots | QDBusConnection.RegisterOption.ExportAllSignals
    if not (bus.registerObject(PATH, service, exports) and bus.registerService(NAME)):
        return 1
    print("ready", flush=True)
    return app.exec()


if __name__ == "__main__":
    sys.exit(main())
