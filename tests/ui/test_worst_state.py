"""The worst state wins, in every place where a state is seen at a glance."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from app.core.delivery import Delivery
from app.core.errors import StorageLimitError
from app.core.model import DeliveryState, Endpoint
from app.core.sizes import MIB
from app.core.tunnel import Probe, TunnelState
from app.core.worst_state import State
from app.ui.inspector.attempt_list import row_words
from app.ui.shell.main_window import MainWindow
from app.ui.state_look import LOOKS
from app.ui.theme.tokens import DARK, LIGHT, Tokens, contrast
from app.ui.tunnel.words import mark_of
from app.ui.widgets.badge import pill_colours
from tests import factories
from tests.deliveries import URL, deliver, fail, not_sent, two_targets
from tests.ui.desk import Desk, shown_over
from tests.ui.desktop.recording import TrayDesk, with_tray
from tests.ui.waiting import until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


async def delivered(desk: Desk, endpoint: Endpoint) -> None:
    (one,) = await new_request(desk, endpoint)
    await deliver(desk.store, one)


async def new_request(desk: Desk, endpoint: Endpoint) -> list[Delivery]:
    current = desk.store.endpoints.by_id(endpoint.id)
    assert current is not None
    capture = await desk.capture(current, delivery=DeliveryState.QUEUED)
    return await desk.store.deliveries.of_capture(capture.id)


async def waiting(desk: Desk, endpoint: Endpoint) -> None:
    await delivered(desk, endpoint)
    await new_request(desk, endpoint)


async def unsent(desk: Desk, endpoint: Endpoint) -> None:
    await delivered(desk, endpoint)
    await not_sent(desk.store, (await new_request(desk, endpoint))[0])


async def failed(desk: Desk, endpoint: Endpoint) -> None:
    await delivered(desk, endpoint)
    await fail(desk.store, (await new_request(desk, endpoint))[0])


async def paused(desk: Desk, endpoint: Endpoint) -> None:
    await failed(desk, endpoint)
    await desk.store.targets.pause(endpoint.targets[0].id)
    await new_request(desk, endpoint)


TABLE: dict[Callable[[Desk, Endpoint], Awaitable[None]], tuple[State, str]] = {
    delivered: (State.OK, "forwarded"),
    waiting: (State.WAITING, "waiting to be forwarded"),
    unsent: (State.NOT_SENT, "not sent"),
    failed: (State.FAILED, "forwarding failed"),
    paused: (State.PAUSED, "waiting for a paused target"),
}
"""What happens, the state that is shown then, and its words in the list."""


@asynccontextmanager
async def forwarding(folder: Path) -> AsyncIterator[tuple[TrayDesk, Endpoint]]:
    async with with_tray(folder) as shown:
        endpoint = await shown.desk.endpoint(name="Orders", forward_url=URL)
        shown.window.show_endpoint(endpoint.id)
        await until(lambda: shown.window.dashboard.rows.row(endpoint.id) is not None)
        yield shown, endpoint


def on_dashboard(window: MainWindow, endpoint: Endpoint) -> str:
    window.dashboard.rows.refresh()
    row = window.dashboard.rows.row(endpoint.id)
    assert row is not None
    return row.accessibleDescription().partition(".")[0]


def in_sidebar(window: MainWindow, endpoint: Endpoint) -> str:
    words = window.sidebar.row(endpoint.id).accessibleDescription()
    return words.partition(".")[0] if "." in words else ""


@pytest.mark.parametrize("happens", TABLE, ids=lambda one: one.__name__)
async def test_each_place_shows_the_same_state(
    tmp_path: Path, happens: Callable[[Desk, Endpoint], Awaitable[None]]
) -> None:
    state, words = TABLE[happens]
    look, wrong = LOOKS[state], state not in (State.OK, State.WAITING)
    async with forwarding(tmp_path) as (shown, endpoint):
        window, requests = shown.window, shown.window.requests
        await happens(shown.desk, endpoint)
        await until(lambda: on_dashboard(window, endpoint) == look.words)
        await until(lambda: in_sidebar(window, endpoint) == ("" if state is State.OK else look.words))
        model = requests.feed.model
        await until(lambda: model.rowCount() > 0 and str(model.index(0).data()).endswith(f", {words}"))
        newest = model.summary(0)
        assert requests.list.request_delegate.state_of(newest) is state
        requests.open_request(newest.id)
        header = requests.detail.header
        await until(lambda: requests.detail.capture_id == newest.id and header.state.text() == look.words)
        assert header.state.isVisible()
        assert header.state.property("tone") == look.tone
        attempts = requests.detail.view.deliveries.list.attempts
        await until(lambda: attempts.rowCount() > 0 and row_words(attempts.records()[0]).startswith(look.words))
        await until(lambda: (f"Orders: {look.words.lower()}" in (shown.tray.tooltip or "")) == wrong)
        assert not requests.list.grab().isNull()
        assert not window.sidebar.grab().isNull()


@pytest.mark.parametrize(
    ("happens", "words"),
    [(new_request, "Waiting"), (waiting, "Waiting"), (failed, "Failed"), (delivered, "")],
    ids=lambda one: getattr(one, "__name__", ""),
)
async def test_what_waits_or_failed_is_shown_after_a_start_and_an_undo_too(
    desk: Desk, happens: Callable[[Desk, Endpoint], Awaitable[object]], words: str
) -> None:
    endpoint = await desk.endpoint(forward_url=URL)
    await happens(desk, endpoint)
    if happens is failed:
        await new_request(desk, endpoint)
    async with shown_over(desk) as window:
        await until(lambda: sum(window.qt_events.session_stats.activity(endpoint.id)))
        await until(lambda: in_sidebar(window, endpoint) == words)
        window.qt_events.session_stats.forget(endpoint.id)
        await window.qt_events.load_history(desk.store, [endpoint.id])
        await until(lambda: in_sidebar(window, endpoint) == words)


async def test_no_tick_stands_beside_a_paused_target(tmp_path: Path) -> None:
    async with forwarding(tmp_path) as (shown, endpoint):
        await delivered(shown.desk, endpoint)
        await until(lambda: on_dashboard(shown.window, endpoint) == "Delivered")
        await shown.desk.store.targets.pause(endpoint.targets[0].id)
        await until(lambda: on_dashboard(shown.window, endpoint) == "Paused")
        await until(lambda: in_sidebar(shown.window, endpoint) == "Paused")
        await shown.desk.store.targets.resume(endpoint.targets[0].id)
        await until(lambda: in_sidebar(shown.window, endpoint) == "")


async def test_an_endpoint_that_is_off_keeps_no_mark_of_what_failed(tmp_path: Path) -> None:
    async with forwarding(tmp_path) as (shown, endpoint):
        await failed(shown.desk, endpoint)
        window = shown.window
        await until(lambda: "Orders: failed" in (shown.tray.tooltip or ""))
        window.endpoint_actions.set_active(endpoint, False)
        await until(lambda: on_dashboard(window, endpoint) == "Switched off")
        await until(lambda: in_sidebar(window, endpoint) == "")
        await until(lambda: "Orders" not in (shown.tray.tooltip or ""))
        window.endpoint_actions.set_active(endpoint, True)
        await until(lambda: in_sidebar(window, endpoint) == "Failed")


async def test_the_target_that_fails_wins_over_the_one_that_answers(tmp_path: Path) -> None:
    async with with_tray(tmp_path) as shown:
        endpoint = await two_targets(shown.desk.store, name="Orders")
        one, two = await new_request(shown.desk, endpoint)
        await fail(shown.desk.store, one)
        await deliver(shown.desk.store, two)
        await until(lambda: in_sidebar(shown.window, endpoint) == "Failed")
        assert on_dashboard(shown.window, endpoint) == "Failed"


@pytest.mark.slow
async def test_the_response_to_the_sender_is_no_success_of_the_delivery(tmp_path: Path) -> None:
    async with forwarding(tmp_path) as (shown, endpoint):
        header = shown.window.requests.detail.header
        for status, tone in ((200, "neutral"), (302, "neutral"), (404, "warning"), (503, "danger")):
            capture = await shown.desk.capture(endpoint, delivery=DeliveryState.QUEUED, response_status=status)
            (delivery,) = await shown.desk.store.deliveries.of_capture(capture.id)
            shown.window.requests.open_request(capture.id)
            await until(lambda: header.state.text() == "Waiting")
            await fail(shown.desk.store, delivery)
            await until(lambda: header.state.text() == "Failed")
            assert header.state.accessibleName() == "Forwarding failed"
            assert header.response.text().startswith(str(status))
            assert header.response.property("tone") == tone, status
            assert header.response.accessibleName().startswith(f"The sender got a {status} response")


async def test_without_a_target_only_the_response_is_shown(tmp_path: Path) -> None:
    async with with_tray(tmp_path, endpoints=1) as shown:
        (endpoint,) = shown.desk.store.endpoints.all()
        capture = await shown.desk.capture(endpoint)
        shown.window.show_endpoint(endpoint.id)
        shown.window.requests.open_request(capture.id)
        header = shown.window.requests.detail.header
        await until(header.response.isVisible)
        assert not header.state.isVisible()
        assert on_dashboard(shown.window, endpoint) == "1 request"


async def test_a_tunnel_whose_probe_failed_is_not_green(tmp_path: Path) -> None:
    async with with_tray(tmp_path, endpoints=1) as shown:
        (endpoint,) = shown.desk.store.endpoints.all()
        tunnels, window = shown.desk.tunnels, shown.window
        up = tunnels.come_up()
        assert mark_of(up) == ("check-circle", "success")
        still_up = tunnels.change(probe=Probe(at=1, ms=None, problem="Nothing came back."))
        assert still_up.state is TunnelState.UP
        assert mark_of(still_up) == ("warning", "warning")
        tunnels.probed(Probe(at=1, ms=None, problem="Nothing came back."))
        await until(lambda: in_sidebar(window, endpoint) == "Not reached")
        assert on_dashboard(window, endpoint) == "Not reached"
        assert "tunnel: unreachable" in (shown.tray.tooltip or "")
        assert window.sidebar.tunnel.emphasised()


@pytest.mark.slow
async def test_full_and_paused_are_worse_than_waiting(tmp_path: Path) -> None:
    async with forwarding(tmp_path) as (shown, endpoint):
        changed = factories.draft(
            name="Orders", slug=endpoint.slug, forward_url=URL, storage_limit=MIB, when_full="stop_capturing"
        )
        await shown.desk.store.endpoints.update(endpoint.id, changed)
        await new_request(shown.desk, endpoint)
        with suppress(StorageLimitError):
            for _ in range(15):
                body = bytes(100_000)
                await shown.desk.store.captures.add(factories.capture(body, endpoint_id=endpoint.id), body)
        await until(lambda: on_dashboard(shown.window, endpoint) == "Storage full")
        await shown.desk.store.targets.pause(endpoint.targets[0].id)
        await until(lambda: on_dashboard(shown.window, endpoint) == "Paused")


def test_every_state_can_be_told_apart_without_colour() -> None:
    assert set(LOOKS) == set(State) - {State.NONE}
    assert len({look.words for look in LOOKS.values()}) == len({look.icon for look in LOOKS.values()}) == len(LOOKS)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda one: one.name)
def test_every_state_has_enough_contrast(tokens: Tokens) -> None:
    for look in LOOKS.values():
        background, text = pill_colours(tokens, look.tone)
        assert contrast(text, background) >= 4.5
        for ground in (tokens.surface, tokens.sidebar, tokens.selection, tokens.hover):
            assert contrast(getattr(tokens, look.colour), ground) >= 4.5
