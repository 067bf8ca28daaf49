"""The programs that run on the store: the one that is asked is among them."""

from __future__ import annotations

from typing import Any

from app import __version__
from app.core.clock import now_us


async def test_this_program_is_the_one_node(store: Any) -> None:
    (node,) = await store.nodes.all()
    assert (node.version, node.current) == (__version__, True)
    assert node.started_at <= node.seen_at
    assert abs(node.seen_at - now_us()) < 60_000_000
