"""What the shop sends when orders are paid."""

from __future__ import annotations

import asyncio

import pytest
from shop.orders import Order, Shop
from shop.webhooks import Webhook, WebhookError, signature

from hookline.testing import Hookline, HooklineEndpoint, Request, Response

SECRET = "whsec_example"


@pytest.fixture
def customer(hookline: Hookline) -> HooklineEndpoint:
    """The customer's URL."""
    return hookline.endpoint("Customer")


@pytest.fixture
def shop(customer: HooklineEndpoint) -> Shop:
    return Shop(Webhook(customer.url, SECRET, pause=0))


def test_a_paid_order_is_announced(shop: Shop, customer: HooklineEndpoint) -> None:
    shop.pay(Order(7, {"book": 1_200, "pen": 300}), 1_500)
    request = customer.wait_for(
        method="POST",
        path="/events",
        header={"X-Shop-Event": "order.paid"},
        json_path={"data.order.number": 7, "data.order.items[0]": "book"},
    )
    assert request.json()["data"]["order"]["total"] == 1_500
    assert request.content_type == "application/json"


def test_what_is_sent_is_signed(shop: Shop, customer: HooklineEndpoint) -> None:
    def is_signed(request: Request) -> bool:
        return request.headers["X-Shop-Signature"] == signature(SECRET, request.body)

    shop.pay(Order(8, {"book": 1_200}), 1_200)
    customer.wait_for(predicate=is_signed)


def test_a_failed_announcement_is_repeated(shop: Shop, customer: HooklineEndpoint) -> None:
    customer.respond_in_turn(Response(500), Response(503), Response(200))
    shop.pay(Order(9, {"book": 1_200}), 1_200)
    requests = customer.wait_for(count=3, json_path={"data.order.number": 9})
    assert [request.response.status for request in requests] == [500, 503, 200]
    assert len({request.body for request in requests}) == 1


def test_a_shop_gives_up_after_three_failures(shop: Shop, customer: HooklineEndpoint) -> None:
    customer.respond(500, json={"error": "broken"})
    with pytest.raises(WebhookError, match=r"order\.paid could not be delivered"):
        shop.pay(Order(10, {"book": 1_200}), 1_200)
    assert len(customer.requests()) == 3


def test_an_unpaid_order_is_not_announced(shop: Shop, customer: HooklineEndpoint) -> None:
    assert not shop.pay(Order(11, {"book": 1_200}), 100)
    customer.assert_none()


def test_orders_are_announced_in_the_background(shop: Shop, customer: HooklineEndpoint) -> None:
    async def sell() -> None:
        paying = asyncio.create_task(asyncio.to_thread(shop.pay, Order(12, {"pen": 300}), 300))
        request = await customer.async_wait_for(json_path={"data.order.number": 12})
        assert request.path == "/events"
        await paying

    asyncio.run(sell())
