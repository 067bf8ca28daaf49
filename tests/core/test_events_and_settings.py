"""The bus tells all who asked; settings know their own bounds."""

from __future__ import annotations

import logging

import msgspec
import pytest

from app.core.events import Bus, PlanChanged, StorageTrouble, Subscriptions
from app.core.settings import Settings, check, field_of


def test_handlers_get_their_kind_in_order_until_their_subscription_ends() -> None:
    bus, heard = Bus(), []
    subscription = bus.subscribe(StorageTrouble, lambda event: heard.append(("first", event.reason)))
    bus.subscribe(StorageTrouble, lambda event: heard.append(("second", event.reason)))
    bus.publish(StorageTrouble(reason="disk full"))
    bus.publish(PlanChanged())
    subscription.end()
    subscription.end()
    bus.publish(StorageTrouble(reason=None))
    assert heard == [("first", "disk full"), ("second", "disk full"), ("second", None)]


def test_subscriptions_end_together_and_leave_others_alone() -> None:
    bus, heard = Bus(), []
    subscriptions = Subscriptions(bus)
    subscriptions.add(StorageTrouble, lambda event: heard.append("one"))
    subscriptions.add(PlanChanged, lambda event: heard.append("two"))
    bus.subscribe(PlanChanged, lambda event: heard.append("other"))
    subscriptions.end()
    subscriptions.end()
    bus.publish(StorageTrouble(reason=None))
    bus.publish(PlanChanged())
    assert heard == ["other"]


def test_a_failing_handler_is_logged_and_keeps_nobody_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    bus, heard = Bus(), []

    def broken(event: PlanChanged) -> None:
        raise RuntimeError("broken handler")

    bus.subscribe(PlanChanged, broken)
    bus.subscribe(PlanChanged, heard.append)
    with caplog.at_level(logging.ERROR):
        bus.publish(PlanChanged())
    assert len(heard) == 1
    assert "PlanChanged" in caplog.text


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"port": 0}, "port"),
        ({"port": 65_536}, "port"),
        ({"api_port": -1}, "api_port"),
        ({"body_limit": 1023}, "body_limit"),
        ({"body_limit": 1024**3 + 1}, "body_limit"),
        ({"base_url": "not a url"}, "base_url"),
        ({"base_url": "https://user@example.org"}, "base_url"),
        ({"proxies": "proxy.example.org"}, "proxies"),
        ({"proxies": "10.0.0.0/8,"}, "proxies"),
        ({"host": ""}, "host"),
        ({"host": "300.1.1.1"}, "host"),
        ({"port": 9000, "api_port": 9000}, "api_port"),
    ],
)
def test_values_out_of_bounds_are_named(values: dict[str, object], field: str) -> None:
    errors = check(msgspec.structs.replace(Settings(), **values))
    assert [error.field for error in errors] == [field]


def test_defaults_keep_their_own_rules_and_every_setting_is_explained() -> None:
    assert check(Settings()) == []
    for field in Settings.__struct_fields__:
        assert field_of(field).title
        assert field_of(field).help
