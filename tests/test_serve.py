"""The line that `serve --tail` prints for each captured request."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app import serve
from app.application import Application
from app.cli.options import ServeOptions
from app.core.clock import now_us
from app.core.delivery import Delivery
from app.core.events import DeliveryChanged
from app.core.model import DeliveryState
from app.core.target_text import TargetTrouble
from app.db.deliveries.deliveries import Deliveries
from app.serve import format_tail
from tests.factories import capture

ROOT = Path(__file__).parents[1]


def test_a_tail_line_names_what_arrived() -> None:
    summary = capture(b"x" * 2048, target="/catch/orders/new?x=1", method="PUT").summary()
    line = format_tail(summary, "orders")
    assert line[8:] == "  orders  PUT      /new?x=1  2.0 KiB  application/json"
    told = capture(b"x" * 2048, target="/catch/orders", method="PUT", gist="JSON · id").summary()
    assert format_tail(told, "orders")[8:] == "  orders  PUT      JSON · id  /  2.0 KiB  application/json"
    known = capture(target="/catch/orders", provider="stripe", event="invoice.paid", gist="JSON · id").summary()
    assert format_tail(known, "orders")[8:].startswith("  orders  POST     stripe  invoice.paid  /  ")


def test_a_tail_line_tells_of_a_sender_that_broke_off_and_escapes_what_it_wrote() -> None:
    summary = capture(complete=False, content_type="a\x1b[2Jb", target="/catch/orders").summary()
    line = format_tail(summary, "orders")
    assert line.isprintable()
    assert "a\\x1b[2Jb" in line
    assert line.endswith("(incomplete: the sender disconnected)")


async def test_a_request_is_printed_that_comes_as_soon_as_the_url_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stops: list[asyncio.Event] = []
    read = Deliveries.target_troubles

    async def while_a_request_comes(deliveries: Deliveries) -> list[TargetTrouble]:
        url = capsys.readouterr().out.splitlines()[1].partition(": ")[2]
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.post(url)).status_code == 200
        stops[0].set()
        return await read(deliveries)

    monkeypatch.setattr(serve, "set_on_signals", stops.append)
    monkeypatch.setattr(serve, "_tune_garbage_collection", lambda: None)
    monkeypatch.setattr(Deliveries, "target_troubles", while_a_request_comes)
    assert await serve._serve(ServeOptions(tmp_path, port=0, api_port=0, endpoints=("E",), tail=True)) == 0
    assert "POST" in capsys.readouterr().out


async def test_an_attempt_is_printed_although_its_endpoint_was_deleted_meanwhile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application = Application(tmp_path, {"port": 0, "api_port": 0})
    await application.open()
    serve.Tail(application)
    delivery = Delivery(
        id="d",
        capture_id="c",
        endpoint_id=7,
        url="http://localhost:3000/orders",
        state=DeliveryState.DELIVERED,
        queued_at=now_us(),
        attempts=1,
        ms=12.0,
        status=200,
        captured_method="POST",
    )
    application.bus.publish(DeliveryChanged(delivery=delivery, state=delivery.state))
    await application.close()
    assert capsys.readouterr().out == "--> POST http://localhost:3000/orders 200 in 12 ms\n"


HEADLESS = """
from app.start import _loading

with _loading():
    import app.serve
"""
WINDOW = """
import asyncio
from pathlib import Path
from app.cli.options import WindowOptions
from app.start import show_window


async def close(ready):
    await ready.application.serve_api()
    ready.window.close()

begun = []
options = WindowOptions(data_dir=Path(sys.argv[1]), port=0, api_port=0)
show_window(options, lambda ready: begun.append(asyncio.get_running_loop().create_task(close(ready))))
"""
AUTHORITIES = """
import ssl
from aiohttp import connector

contexts = connector._SSL_CONTEXT_VERIFIED, connector._SSL_CONTEXT_UNVERIFIED, ssl.create_default_context()
print([len(context.get_ca_certs()) for context in contexts])
"""


@pytest.mark.slow
@pytest.mark.parametrize("begin", [HEADLESS, WINDOW], ids=["headless", "window"])
def test_a_start_reads_no_authorities_for_a_client_that_it_does_not_use(tmp_path: Path, begin: str) -> None:
    file = ROOT / "tests" / "authority.pem"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{begin}{AUTHORITIES}", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "SSL_CERT_FILE": str(file), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "[0, 0, 1]\n", done.stderr
