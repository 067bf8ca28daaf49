"""The fixture `hookline` for tests with pytest: an instance of Hookline that captures what the tested code sends.

    def test_an_order_is_announced(hookline: Hookline) -> None:
        endpoint = hookline.endpoint()
        shop = Shop(webhook_url=endpoint.url)
        shop.pay(order=7)
        request = endpoint.wait_for(method="POST", path="/orders", json_path={"order.id": 7})
        assert request.headers["x-shop-event"] == "order.paid"

The names are for annotations; the fixture needs no import.
"""

from hookline.records import Request
from hookline.testing.fixture import Hookline, HooklineEndpoint
from hookline.testing.responder import Response

__all__ = ["Hookline", "HooklineEndpoint", "Request", "Response"]
