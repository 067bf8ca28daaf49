"""The question before a single request is deleted."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.clock import now_us
from app.core.deletion import MarkedIds
from app.ui.requests.selection.request_actions import delete_question
from app.ui.requests.selection.selected_requests import selected_requests
from tests.factories import capture

GIST = "form · user[name], user[address][city], user[address][street], tags[]"
NONE = MarkedIds(starred=frozenset(), noted=frozenset())


def asked(**fields: Any) -> str:
    summary = capture(b"{}", **{"target": "/catch/x", "gist": "JSON · a", **fields}).summary()
    return delete_question(selected_requests([summary]), NONE, lambda _: None, now_us()).text


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "POST JSON · a"),
        ({"provider": "stripe", "event": "invoice.paid", "target": "/catch/x/a"}, "POST invoice.paid /a"),
        ({"gist": GIST}, "POST form · user[name], user[address][city]…"),
        ({"gist": GIST, "target": "/catch/x/orders/7"}, "POST form · user[name], user[address][city]… /orders/7"),
        ({"target": "/catch/x/" + 30 * "a/" + "end"}, "POST JSON · a …" + 17 * "a/" + "a/end"),
    ],
)
def test_a_request_is_quoted_and_a_long_name_is_cut(fields: dict[str, str], name: str) -> None:
    start = f"This deletes “{name}”, its body and its delivery results."
    assert asked(**fields).startswith(start)
