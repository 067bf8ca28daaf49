"""The capture port says at once who sent a request and what came where that takes no time; long bodies wait."""

from __future__ import annotations

import pytest

from app.core.model import PART_SIZE
from tests.core.providers.examples import CATALOGUE
from tests.server.capture.support import Rig

STRIPE = "Stripe-Signature: t=1\r\nContent-Type: application/json\r\n"
GITHUB = "X-GitHub-Event: push\r\nX-GitHub-Delivery: d-1\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("headers", "body", "known", "identified"),
    [
        (STRIPE, b'{"id":"evt_1","type":"invoice.paid"}', ("stripe", "invoice.paid", "evt_1"), True),
        (STRIPE, b'{"id":"evt_1","type":"invoice.paid","data":"' + b"x" * 9_000 + b'"}', (None, None, None), False),
        (GITHUB, b"{}" + b" " * 9_000, ("github", "push", "d-1"), True),
        ("Content-Type: application/json\r\n", b"{}" + b" " * 9_000, (None, None, None), False),
        ("Content-Type: image/png\r\n", b"x" * 9_000, (None, None, None), True),
        ("", b"", (None, None, None), True),
    ],
)
async def test_who_sent_it_is_recorded(
    rig: Rig, headers: str, body: bytes, known: tuple[str | None, ...], identified: bool
) -> None:
    await rig.server.stop()
    await rig.start(identify=CATALOGUE.identify)
    assert (await rig.post(body, headers=headers)).status == 200
    record = rig.sink.last
    assert ((record.provider, record.event, record.delivery_id), record.identified) == (known, identified)


PARTS = b"--x\r\n\r\n" + b"y" * 9_000 + b"\r\n--x\r\n\r\n\r\n--x--"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + bytes((0, 0, 2, 128, 0, 0, 1, 144)) + b"\0" * 9_000


@pytest.mark.parametrize(
    ("headers", "body", "gist", "identified"),
    [
        ("Content-Type: application/json\r\n", b'{"id":7,"total":1}', "JSON · id, total", True),
        ("Content-Type: application/json\r\n", b'{"id":7,"x":"' + b"x" * 9_000 + b'"}', "JSON · id, x, …", False),
        ("Content-Type: multipart/mixed; boundary=x\r\n", PARTS, "multipart · text/plain, …", False),
        ("Content-Type: image/png\r\n", PNG, "PNG 640×400", True),
        ("Content-Type: image/png\r\n", PNG + bytes(PART_SIZE), "Image · 1.0 MiB", False),
        (GITHUB, b"{}" + b" " * 2 * PART_SIZE, "JSON · 2.0 MiB", True),
        ("", b"", "no body", True),
    ],
)
async def test_what_came_is_recorded(rig: Rig, headers: str, body: bytes, gist: str, identified: bool) -> None:
    await rig.server.stop()
    await rig.start(identify=CATALOGUE.identify)
    assert (await rig.post(body, headers=headers)).status == 200
    assert (rig.sink.last.gist, rig.sink.last.identified) == (gist, identified)


async def test_what_came_of_a_body_that_breaks_off_is_no_invalid_body(rig: Rig) -> None:
    sender = await rig.connect()
    head = b"POST /catch/orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n"
    await sender.send(head + b'{"id":7,"total":')
    sender.half_close()
    await sender.response()
    assert (rig.sink.last.gist, rig.sink.last.complete) == ("JSON · id, total, …", False)
