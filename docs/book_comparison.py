"""The chapter of comparing two targets: many differences, none yet, all the same, a failed response, ignored fields;
and two requests.
"""

from __future__ import annotations

import asyncio
import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from app.core.model import Endpoint, EndpointDraft
from app.core.target import TargetDraft
from app.ui.comparison.compared_view import SideBySideDialog
from app.ui.comparison.dialog import ALL, ComparisonDialog
from app.ui.comparison.requests_dialog import RequestsDialog
from app.ui.comparison.runner import IgnoredDialog
from docs import picture_data
from docs.book import SMALL, Book

SIZES = ((1366, 768), (1920, 1080))
MARGIN = 40


class Versions(BaseHTTPRequestHandler):
    """`/old` and `/new` respond to the same events, not always the same."""

    count = [0, 0]

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        new = self.path.startswith("/new")
        number = Versions.count[new]
        Versions.count[new] += 1
        status, answer = self._answer(event, number) if new else (200, self._old(event))
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if not new else "application/json; charset=utf-8")
        self.send_header("X-Request-Id", f"{number:08x}{int(new)}")
        self.send_header("X-Handler-Version", "2.0.0-rc1" if new else "1.14.2")
        self.send_header("Cache-Control", "no-store")
        if new:
            self.send_header("Strict-Transport-Security", "max-age=31536000; includeSubDomains; preload")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        """Say nothing."""

    def _old(self, event: dict[str, Any]) -> dict[str, Any]:
        items = [{"sku": f"A-{number}", "price": 12.5 * number, "taxed": True} for number in range(1, 5)]
        customer = {"id": event.get("id"), "name": "Zoë Müller", "tags": ["b2b", "eu"], "limit": None}
        return {"received": True, "event": event.get("type"), "customer": customer, "items": items, "queue": "billing"}

    def _answer(self, event: dict[str, Any], number: int) -> tuple[int, dict[str, Any]]:
        old = self._old(event)
        if number % 7 == 3:
            return 500, {"error": "KeyError: 'customer'", "trace": ["handlers/billing.py:42", "queue/push.py:7"]}
        if number % 3 == 0:
            old["items"][1]["price"] = 25
            old["items"][3]["taxed"] = False
            old["customer"]["tags"].append("priority")
            old["queue"] = "billing-eu"
            old["warnings"] = [{"code": "rounding", "message": "The price of A-3 was rounded to two digits"}]
        return 200, old


async def draw(book: Book) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Versions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    try:
        empty = await _two_targets(book, "New service", f"{base}/old/events", f"{base}/new/events")
        dialog = await _open(book, empty)
        await book.save("compare-empty", SIZES, before=partial(_fit, book, dialog))
        dialog.reject()
        same = await _two_targets(book, "Same service", f"{base}/old/a", f"{base}/old/b")
        await book.fill(same, [picture_data.stripe(book.rng) for _ in range(8)])
        dialog = await _open(book, same)
        await book.until("all to be the same", lambda: dialog.progress.text() == "8 requests: 0 different · 8 same")
        await book.save("compare-same", SMALL, before=partial(_fit, book, dialog))
        dialog.reject()
        payments = await _two_targets(book, "Payments", f"{base}/old/webhooks/stripe", f"{base}/new/v2/stripe-events")
        await book.fill(payments, [picture_data.stripe(book.rng) for _ in range(40)], minutes=50)
        await _differences(book, payments)
        await _two_requests(book, payments)
    finally:
        server.shutdown()


async def _differences(book: Book, payments: Endpoint) -> None:
    dialog = await _open(book, payments)
    await book.until("the comparison", lambda: dialog.progress.text().startswith("40 requests"))
    await book.until("both responses", lambda: dialog.right.currentWidget() is dialog.responses)
    await book.save("compare-headers-differ", SMALL, before=partial(_fit, book, dialog))
    for name in ("X-Handler-Version", "Content-Type", "Strict-Transport-Security"):
        dialog.ignore_header(name)
    await book.until("ignored headers", lambda: not dialog.runner.running and dialog.model.rowCount() < 40)
    for row, name in ((0, "compare"), (1, "compare-other")):
        dialog.list.select_row(row)
        await asyncio.sleep(0.4)
        await book.save(name, SIZES, before=partial(_fit, book, dialog))
    dialog.filter.set_current(ALL)
    dialog.filter.activated.emit(ALL)
    await asyncio.sleep(0.4)
    await book.save("compare-all", SMALL, before=partial(_fit, book, dialog))
    dialog.ignored.click()
    await book.save("compare-ignored", SMALL)
    for edit in dialog.findChildren(IgnoredDialog):
        edit.done(0)
    dialog.reject()


async def _two_requests(book: Book, payments: Endpoint) -> None:
    """Two of the same event, selected in the list."""
    await book.show(payments)
    model, selection = book.page.feed.model, book.page.list.selection
    events = [model.summary(row).event for row in range(model.rowCount())]
    again = next(row for row, event in enumerate(events) if event in events[:row])
    book.page.list.clearSelection()
    selection.add([events.index(events[again]), again])
    compare = book.page.commands.compare
    await book.until("two to be selected", compare.isEnabled)
    await book.save("compare-selected", SMALL)
    compare.trigger()
    await book.until("the requests", lambda: bool(book.window.findChildren(RequestsDialog)))
    dialog = book.dialog(RequestsDialog)
    await book.until("both bodies", lambda: bool(dialog.view.body.differences()))
    await book.save("compare-requests", SIZES, before=partial(_fit, book, dialog))
    dialog.reject()


async def _two_targets(book: Book, name: str, first: str, second: str) -> Endpoint:
    endpoint = await book.store.endpoints.create(EndpointDraft(name=name, forward_url=first))
    await book.store.targets.create(endpoint.id, TargetDraft(url=second))
    found = book.store.endpoints.by_id(endpoint.id)
    assert found is not None
    return found


async def _open(book: Book, endpoint: Endpoint) -> ComparisonDialog:
    await asyncio.sleep(0.3)
    book.window.endpoint_actions.compare_requested.emit(endpoint)
    dialog = book.dialog(ComparisonDialog)
    await book.until("the end of the comparison", lambda: dialog.runner.ended and not dialog.runner.running)
    return dialog


def _fit(book: Book, dialog: SideBySideDialog) -> None:
    """As large as the window leaves room for."""
    room = book.window.size()
    dialog.resize(room.width() - MARGIN, room.height() - MARGIN)
