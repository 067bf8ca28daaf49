"""Waiting inside a window test, and how long others would have to."""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

from PySide6.QtWidgets import QWidget

from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.notices import Toast
from tests.support import until

W = TypeVar("W", bound=QWidget)


async def settle(rounds: int = 3) -> None:
    """Let Qt deliver what it has posted, and the loop run what that started, a few times over."""
    for _ in range(rounds):
        await asyncio.sleep(0.001)


async def activate(window: QWidget) -> None:
    """Bring `window` to the front; return once it is, since the shortcuts of a window behind do nothing."""
    window.activateWindow()
    await until(window.isActiveWindow)


async def wait_for_widget(kind: type[W], over: QWidget) -> W:
    """The only visible widget of this kind in `over` or in a window of its own over it, once there is one."""
    await until(lambda: any(one.isVisible() for one in over.findChildren(kind)))
    (found,) = (one for one in over.findChildren(kind) if one.isVisible())
    return found


def notice(widget: QWidget) -> str:
    """The text of the short notice shown over `widget`; empty if there is none."""
    shown = [toast for toast in widget.findChildren(Toast) if toast.isVisible()]
    return " ".join(label.text() for toast in shown for label in toast.findChildren(ElidedLabel))


class Heart:
    """The most work, in seconds of this thread, between two turns of the loop: what others do meanwhile is no work."""

    async def __aenter__(self) -> Heart:
        self.longest, self._ended = 0.0, False
        self._task = asyncio.create_task(self._beat(), name="heart")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ended = True
        await self._task

    async def _beat(self) -> None:
        last = time.thread_time()
        while not self._ended:
            await asyncio.sleep(0.005)
            now = time.thread_time()
            self.longest, last = max(self.longest, now - last), now
