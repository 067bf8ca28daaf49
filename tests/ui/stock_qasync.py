"""Whether the tests run on stock qasync (`HOOKLINE_EVENT_LOOP=qasync`), and the tests that it is known to fail."""

from __future__ import annotations

import os

import pytest

from app.ui.loop import CHOICE_VARIABLE, STOCK

STOCK_QASYNC = os.environ.get(CHOICE_VARIABLE) == STOCK
DEPRECATED = "ignore:'asyncio.iscoroutinefunction':DeprecationWarning:qasync"
"""qasync 0.28 asks asyncio for what is deprecated since Python 3.14."""


def not_on_stock_qasync(fault: str) -> pytest.MarkDecorator:
    """Skip the test there, because of this fault of qasync 0.28."""
    return pytest.mark.skipif(STOCK_QASYNC, reason=f"qasync {fault}")
