"""Endpoints that another node of a team's store has created, changed or deleted a moment ago."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.core.model import PART_SIZE, Auth, Endpoint, ResponseSettings
from tests.server.capture.support import Rig


def changed(rig: Rig, **fields: object) -> Endpoint:
    """The endpoint as another node has made it, which this one does not know."""
    known = rig.directory.put()
    rig.directory.put("orders")
    new = replace(known, version=2, **fields)
    rig.directory.endpoints["orders"] = replace(known, version=1)
    rig.directory.elsewhere["orders"] = new
    rig.sink.old_versions = {1}
    return new


async def test_a_new_endpoint_captures_at_once(rig: Rig) -> None:
    made = rig.directory.put("fresh")
    del rig.directory.endpoints["fresh"]
    rig.directory.elsewhere["fresh"] = made
    assert (await rig.post(path="/catch/fresh")).status == 200
    assert not rig.refusals()


async def test_one_that_was_switched_on_captures_at_once(rig: Rig) -> None:
    on = rig.directory.put("orders")
    rig.directory.put("orders", active=False)
    rig.directory.elsewhere["orders"] = on
    assert (await rig.post()).status == 200


@pytest.mark.parametrize("size", [10, PART_SIZE + 10])
async def test_what_it_responds_with_now_is_what_the_sender_gets(rig: Rig, size: int) -> None:
    changed(rig, response=ResponseSettings(status=207))
    body = b"x" * size
    assert (await rig.post(body)).status == 207
    assert [capture.response_status for capture in rig.sink.captures] == [207]
    assert rig.sink.last_body == body
    assert not rig.sink.dropped


@pytest.mark.parametrize("size", [10, PART_SIZE + 10])
@pytest.mark.parametrize(("how", "status"), [("off", 503), ("secret", 401), ("deleted", 404)])
async def test_one_that_may_not_capture_any_more_stores_nothing(rig: Rig, how: str, status: int, size: int) -> None:
    changed(
        rig,
        active=how != "off",
        auth=Auth(kind="bearer", secret="s3cret") if how == "secret" else Auth(),
    )
    if how == "deleted":
        rig.directory.elsewhere["orders"] = None
    assert (await rig.post(b"x" * size)).status == status
    assert not rig.sink.captures
    assert not rig.sink.parts
