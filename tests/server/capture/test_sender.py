"""The capture port says at once who sent a request where that takes no time; long bodies are left for later."""

from __future__ import annotations

import pytest

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
