"""What edits the fields of a target that no usual control can: its retry results, its order, its rate and its files."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFileDialog, QGridLayout, QHBoxLayout, QWidget

from app.ui.endpoints.targets.target_text import RESULTS
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import CheckField
from app.ui.widgets.number_field import NumberField
from app.ui.widgets.text_fields import TextField


class FileField(QWidget):
    """A path that can be typed or chosen."""

    changed = Signal()

    def __init__(self, name: str, kind: str, theme: Theme, parent: QWidget) -> None:
        """`kind` names the files, and their extensions, in the system's dialog."""
        super().__init__(parent)
        self._name, self._filters = name, kind
        self.path = TextField(self, placeholder="None", optional=True, mono=True)
        self.path.setAccessibleName(name.capitalize())
        self.browse = Button("Choose…", theme, self)
        self.browse.setAccessibleName(f"Choose {name}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.SPACE_2)
        row.addWidget(self.path, 1)
        row.addWidget(self.browse)
        self.setFocusProxy(self.path)
        self.path.changed.connect(self.changed)
        self.browse.clicked.connect(self.choose)

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
        dialog = QFileDialog(self.window(), f"Choose {self._name}", str(start.parent if start.is_file() else start))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self._filters, "All files (*)"])
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
