"""Orders, and what happens when they are paid."""

from __future__ import annotations

from dataclasses import dataclass, field

from shop.webhooks import Webhook


@dataclass
class Order:
    """An order of some items, by their prices in cents."""

    number: int
    items: dict[str, int] = field(default_factory=dict)
    paid: bool = False

    @property
    def total(self) -> int:
        return sum(self.items.values())


class Shop:
    """Announces each paid order to `webhook`."""

    def __init__(self, webhook: Webhook) -> None:
        self._webhook = webhook

    def pay(self, order: Order, cents: int) -> bool:
        """Whether that was enough."""
        order.paid = cents >= order.total
        if order.paid:
            data = {"order": {"number": order.number, "total": order.total, "items": list(order.items)}}
            self._webhook.send("order.paid", data)
        return order.paid
