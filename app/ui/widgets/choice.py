"""A dialog with several options for start-up problems, when there may be no window yet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtWidgets import QWidget

from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, Kind
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.labels import label
from app.ui.widgets.question import result_of


@dataclass(frozen=True)
class DialogOption:
    """One option: the button's label and kind."""

    text: str
    kind: Kind = "secondary"


class ChoiceDialog(Dialog):
    """Says what is wrong and offers options; the last one has the focus, and Esc selects none."""

    def __init__(
        self, title: str, text: str, options: tuple[DialogOption, ...], theme: Theme, parent: QWidget | None
    ) -> None:
        super().__init__(title, theme, parent)
        self.title.setWordWrap(True)
        self.text = label(text, "muted", self, wrap=True)
        self.body.addWidget(self.text)
        self.footer.addStretch(1)
        self.buttons: list[Button] = []
        for number, option in enumerate(options, 1):
            button = Button(option.text, theme, self, kind=option.kind)
            button.clicked.connect(partial(self.done, number))
            self.footer.addWidget(button)
            self.buttons.append(button)
        self.buttons[-1].setDefault(True)
        self.buttons[-1].setFocus()
        self.setFixedWidth(480)


async def choose(
    title: str, text: str, options: tuple[DialogOption, ...], theme: Theme, parent: QWidget | None = None
) -> DialogOption | None:
    """The option the user chose; None when the dialog was closed without a choice."""
    number = await result_of(ChoiceDialog(title, text, options, theme, parent))
    return options[number - 1] if number else None
