"""Notifications of captured requests: which endpoints, when, what they say, and what a click opens."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QMenu

from app.core.clock import now_us
from app.core.events import TargetChanged
from app.core.model import Endpoint
from app.core.target import PausedBy, TargetDraft
from app.ui.desktop.notifications import (
    PATH_MAX,
    NotificationBatch,
    NotificationSettings,
    NotificationTiming,
    NotifyMenu,
    NotifyWhen,
    notice_for,
)
from app.ui.desktop.tray import NAME_MAX, TUNNEL_KEY, Notice
from tests import factories
from tests.ui.desktop.recording import RecordingTray, TrayDesk, with_tray
from tests.ui.waiting import activate, settle, until

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # without a display none can
HOSTILE = "/catch/x/<b>&amp;</b>\u202e\x1b[31m"


def first(shown: TrayDesk, when: NotifyWhen) -> Endpoint:
    """The one endpoint, which notifies now, while the window is away."""
    shown.window.hide()
    endpoint = shown.desk.store.endpoints.all()[0]
    shown.window.desktop.choices.set(endpoint.slug, when)
    return endpoint


async def gathered(shown: TrayDesk, endpoint: Endpoint, count: int) -> NotificationBatch:
    """Capture so many, and let the time pass in which they gather, however long that took."""
    shown.window.desktop.notices.timing = NotificationTiming(gather_ms=60_000, quiet_ms=60_000, longest_ms=200_000)
    await asyncio.gather(*(shown.desk.capture(endpoint) for _ in range(count)))
    (batch,) = shown.window.desktop.notices._batches.values()
    await pause_over(batch, count)
    return batch


async def pause_over(batch: NotificationBatch, count: int) -> None:
    """End the pause before the next notification, once so many requests are counted."""
    await until(lambda: batch.count == count)
    timer_of(batch).start(0)


def timer_of(batch: NotificationBatch) -> QTimer:
    timer = batch.findChild(QTimer)
    assert timer is not None
    return timer


async def in_front(shown: TrayDesk) -> None:
    await activate(shown.window)


async def nothing_told(shown: TrayDesk) -> None:
    """Whoever waited would have been told by now: another endpoint's request, captured later, is."""
    marker = await shown.desk.endpoint(name="Marker")
    shown.window.desktop.choices.set(marker.slug, NotifyWhen.ON)
    await shown.desk.capture(marker)
    await until(lambda: shown.tray.told)
    assert [title for title, _ in shown.tray.told] == ["Marker"]


class TestWhich:
    async def test_a_new_endpoint_notifies_nothing(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            await shown.desk.capture(shown.desk.store.endpoints.all()[0])
            await nothing_told(shown)

    async def test_a_request_is_told_by_what_it_is(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = first(shown, NotifyWhen.IN_BACKGROUND)
            await shown.desk.capture(endpoint, target="/catch/x/orders?x=1", provider="stripe", event="invoice.paid")
            await until(lambda: shown.tray.told)
            assert shown.tray.told == [(endpoint.name, "POST /orders?x=1 · invoice.paid · Stripe")]

    async def test_only_while_not_in_front_or_not_listed_as_chosen(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = shown.desk.store.endpoints.all()[0]
            shown.window.desktop.choices.set(endpoint.slug, NotifyWhen.IN_BACKGROUND)
            await in_front(shown)
            await shown.desk.capture(endpoint)
            shown.window.desktop.choices.set(endpoint.slug, NotifyWhen.ON)
            shown.window.show_endpoint(endpoint.id)
            await shown.desk.capture(endpoint)
            await nothing_told(shown)
            shown.window.show_page("all")
            assert shown.window.desktop.window_focus.shows(endpoint.id)
            shown.window.show_page("dashboard")
            shown.tray.told.clear()
            await shown.desk.capture(endpoint)
            await until(lambda: shown.tray.told)
            assert [title for title, _ in shown.tray.told] == [endpoint.name]

    async def test_nothing_while_paused_nor_of_what_came_meanwhile(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = first(shown, NotifyWhen.ON)
            shown.window.pause.set(True)
            await shown.desk.capture(endpoint)
            await settle()
            shown.window.pause.set(False)
            await nothing_told(shown)

    async def test_nothing_of_a_request_from_before_the_start(self, tmp_path: Path) -> None:
        before = now_us()
        async with with_tray(tmp_path, endpoints=1) as shown:
            await shown.desk.capture(first(shown, NotifyWhen.ON), received_at=before)
            await nothing_told(shown)

    async def test_nothing_of_an_endpoint_that_is_muted_or_deleted_meanwhile(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = first(shown, NotifyWhen.ON)
            notices = shown.window.desktop.notices
            quick, notices.timing = notices.timing, NotificationTiming(gather_ms=60_000)
            await shown.desk.capture(endpoint)
            await until(lambda: notices._batches)
            (batch,) = notices._batches.values()
            first(shown, NotifyWhen.OFF)
            await pause_over(batch, 1)
            await until(lambda: batch.count == 0)
            assert not shown.tray.told
            first(shown, NotifyWhen.ON)
            await shown.desk.capture(endpoint)
            await until(lambda: batch.count == 1)
            await shown.desk.store.endpoints.delete(endpoint.id)
            assert not notices._batches
            notices.timing = quick
            assert shown.window.desktop.choices.of(endpoint.slug) is NotifyWhen.OFF
            await nothing_told(shown)


class TestBursts:
    async def test_a_burst_is_one_notification_and_the_count_goes_on_until_one_looks(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = first(shown, NotifyWhen.IN_BACKGROUND)
            batch = await gathered(shown, endpoint, 37)
            await until(lambda: shown.tray.told)
            assert shown.tray.told == [(endpoint.name, "37 new requests")]
            await shown.desk.capture(endpoint)
            await pause_over(batch, 38)
            await until(lambda: len(shown.tray.told) == 2)
            assert shown.tray.told[1] == (endpoint.name, "38 new requests")
            shown.window.desktop.window_focus.activated.emit()
            await shown.desk.capture(endpoint, target="/catch/x/again")
            await pause_over(batch, 1)
            await until(lambda: len(shown.tray.told) == 3)
            assert shown.tray.told[2] == (endpoint.name, "POST /again")

    async def test_the_count_begins_again_once_one_is_dismissed(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=2) as shown:
            endpoint = first(shown, NotifyWhen.IN_BACKGROUND)
            batch = await gathered(shown, endpoint, 3)
            await until(lambda: shown.tray.told)
            notifier = shown.window.desktop.notifier
            notifier.dismissed.emit(Notice(key=shown.desk.store.endpoints.all()[1].slug, title="", text=""))
            await shown.desk.capture(endpoint)
            await pause_over(batch, 4)
            await until(lambda: len(shown.tray.told) == 2)
            notifier.dismissed.emit(Notice(key=endpoint.slug, title="", text=""))
            notifier.dismissed.emit(Notice(key=TUNNEL_KEY, title="", text=""))
            for _ in range(2):
                await shown.desk.capture(endpoint)
            await pause_over(batch, 2)
            await until(lambda: len(shown.tray.told) == 3)
            assert [text for _, text in shown.tray.told] == [f"{count} new requests" for count in (3, 4, 2)]

    async def test_a_steady_stream_is_told_of_ever_more_seldom(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = first(shown, NotifyWhen.IN_BACKGROUND)
            batch = await gathered(shown, endpoint, 1)
            waits = []
            for number in range(1, 5):
                await until(lambda n=number: len(shown.tray.told) == n)
                waits.append(batch.wait_ms)
                await shown.desk.capture(endpoint)
                if number < 4:
                    await pause_over(batch, number + 1)
            assert waits == [60_000, 120_000, 200_000, 200_000]
            shown.window.desktop.window_focus.activated.emit()
            # Qt's timers may be late by a twentieth.
            assert timer_of(batch).remainingTime() <= 63_000, "who looked need not wait for what comes next"


class TestClicks:
    async def test_one_request_is_opened_in_its_list(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            shown.window.hide()
            capture = await shown.desk.capture(first(shown, NotifyWhen.IN_BACKGROUND))
            await until(lambda: shown.tray.told)
            shown.tray.message_clicked.emit()
            page = shown.window.requests
            await until(lambda: page.detail.capture is not None and page.detail.capture.id == capture.id)
            await until(lambda: [one.id for one in page.list.selected()] == [capture.id])
            assert shown.window.isVisible()

    async def test_several_open_the_endpoint(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = first(shown, NotifyWhen.IN_BACKGROUND)
            await gathered(shown, endpoint, 3)
            await until(lambda: shown.tray.told)
            shown.tray.message_clicked.emit()
            assert shown.window.requests.endpoint_id == endpoint.id
            assert shown.window.pages.currentWidget() is shown.window.requests


def endpoint_named(name: str) -> Endpoint:
    draft = msgspec.structs.asdict(factories.draft(name=name, slug="a-slug"))
    return Endpoint(id=1, created_at=0, **{key: draft[key] for key in Endpoint.__struct_fields__ if key in draft})


class TestPausedTargets:
    async def test_failures_that_pause_a_target_are_told_once_while_in_the_background(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=1) as shown:
            endpoint = shown.desk.store.endpoints.all()[0]
            made = await shown.desk.store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/x"))
            paused = msgspec.structs.replace(made, paused=PausedBy.FAILURES)
            shown.window.hide()
            await settle()
            shown.desk.bus.publish(TargetChanged(target=msgspec.structs.replace(made, paused=PausedBy.USER)))
            shown.desk.bus.publish(TargetChanged(target=paused))
            shown.desk.bus.publish(TargetChanged(target=paused))
            await until(lambda: shown.tray.told)
            await settle()
            text = "Forwarding to http://127.0.0.1:9/x is paused after 10 failed deliveries in a row."
            assert shown.tray.told == [(endpoint.name, text)]
            shown.desk.bus.publish(TargetChanged(target=made))
            shown.desk.bus.publish(TargetChanged(target=paused))
            await until(lambda: len(shown.tray.told) == 2)


class TestWords:
    def test_what_senders_wrote_is_plain_and_short(self) -> None:
        endpoint = endpoint_named("n" * 100)
        summary = factories.capture(target=HOSTILE, event="\x00" * 500, provider="nobody").summary()
        notice = notice_for(endpoint, summary, 1, {})
        assert notice.text.startswith("POST /<b>&amp;</b>\\u202e\\x1b[31m · \\x00")
        assert "\x00" not in notice.text
        assert len(notice.title) == NAME_MAX
        long = factories.capture(target="/catch/x/" + "y" * 60_000).summary()
        assert len(notice_for(endpoint, long, 1, {}).text) <= PATH_MAX + 10

    def test_what_nobody_known_sent_is_told_by_what_came(self) -> None:
        endpoint = endpoint_named("Orders")

        def told(target: str, gist: str) -> str:
            return notice_for(endpoint, factories.capture(target=target, gist=gist).summary(), 1, {}).text

        assert told("/catch/x", "JSON · id, total") == "POST · JSON · id, total"
        assert told("/catch/x/new", "JSON · id, total") == "POST /new · JSON · id, total"
        assert told("/catch/x/new", "/new") == "POST /new"
        assert told("/catch/x", "no body") == "POST · no body"


class TestChoices:
    def test_they_are_kept_by_slug_and_nonsense_counts_as_off(self, tmp_path: Path) -> None:
        choices = NotificationSettings(tmp_path)
        choices.set("a-slug", NotifyWhen.ON)
        choices.set("another", NotifyWhen.IN_BACKGROUND)
        choices.set("another", NotifyWhen.OFF)
        del choices
        file = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
        file.setValue("notify/odd", "perhaps")
        file.sync()
        again = NotificationSettings(tmp_path)
        assert [again.of(slug) for slug in ("a-slug", "another", "odd")] == [
            NotifyWhen.ON,
            NotifyWhen.OFF,
            NotifyWhen.OFF,
        ]

    async def test_the_endpoints_menus_choose_and_say_why_none_is_shown(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, RecordingTray(messages=False), endpoints=1) as shown:
            endpoint = shown.desk.store.endpoints.all()[0]
            choices = shown.window.desktop.choices
            menu = shown.window.endpoint_actions.menu(endpoint)
            notify = menu.findChildren(NotifyMenu)[0]
            assert [action.text() for action in notify.actions() if action.isChecked()] == ["Off"]
            notify.actions()[2].trigger()
            assert choices.of(endpoint.slug) is NotifyWhen.ON
            menu.deleteLater()
            shown.window.show_endpoint(endpoint.id)
            header = shown.window.requests.header.notify
            assert header is not None
            header.aboutToShow.emit()
            assert [action.text() for action in _shown(header) if action.isChecked()] == ["Always"]
            assert "Notifications are not available" in _shown(header)[-1].text()
            assert not _shown(header)[-1].isEnabled()


def _shown(menu: QMenu) -> list[Any]:
    return [action for action in menu.actions() if action.isVisible()]
