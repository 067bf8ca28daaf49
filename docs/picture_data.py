"""The requests of the picture book: varied, invented, and sent through the real capture port as raw bytes."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from app.core.model import EndpointDraft


@dataclass(frozen=True)
class Request:
    """One request; `path` is appended to the capture URL's path."""

    method: str = "POST"
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def wire(self, host: str, capture_path: str) -> bytes:
        """The request as bytes for a connection of its own."""
        lines = [f"{self.method} {capture_path}{self.path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body:
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8") + self.body


JSON = ("Content-Type", "application/json; charset=utf-8")


def endpoints(target_url: str, dead_url: str) -> list[EndpointDraft]:
    """The endpoints of the pictures, one forwarded to a server that answers and one to a port where nothing listens."""
    return [
        EndpointDraft(
            name="Stripe test",
            description="Billing events of the test account",
            forward_url=target_url,
            retention_days=30,
        ),
        EndpointDraft(name="GitHub", description="Pushes and pull requests of acme/shop", retention_days=14),
        EndpointDraft(name="Shopify orders", description="Orders of the demo shop", forward_url=dead_url),
        EndpointDraft(name="Slack events", retention_days=3),
        EndpointDraft(name="Deploy hooks", description="Switched off while the build cluster moves", active=False),
        EndpointDraft(name="Partner uploads", description="Pictures and files partners send us", retention_days=90),
    ]


def stripe(rng: random.Random) -> Request:
    kind = rng.choice(["invoice.paid", "charge.failed", "customer.subscription.updated", "payment_intent.succeeded"])
    event = {
        "id": f"evt_{rng.getrandbits(80):020x}",
        "object": "event",
        "created": 1_795_000_000 + rng.randrange(100_000),
        "type": kind,
        "livemode": False,
        "data": {
            "object": {
                "id": f"in_{rng.getrandbits(64):016x}",
                "amount_due": rng.randrange(500, 90_000),
                "currency": "eur",
                "customer_email": f"customer{rng.randrange(999)}@example.com",
                "order_number": 9_007_199_254_740_993_127,
                "paid": kind != "charge.failed",
                "lines": [{"sku": f"plan-{n}", "quantity": n + 1, "discount": None} for n in range(3)],
            }
        },
    }
    headers = (
        JSON,
        ("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)"),
        ("Stripe-Signature", f"t=1795000000,v1={rng.getrandbits(256):064x}"),
        ("Accept", "*/*; q=0.5, application/xml"),
    )
    return Request(path=f"/billing?attempt={rng.randrange(1, 4)}", headers=headers, body=json.dumps(event).encode())


def github(rng: random.Random) -> Request:
    event = rng.choice(["push", "pull_request", "issues", "star", "release"])
    body = {
        "ref": "refs/heads/main",
        "repository": {"full_name": "acme/shop"},
        "sender": {"login": "ada"},
        "event": event,
    }
    headers = (
        ("Content-Type", "application/json"),
        ("User-Agent", "GitHub-Hookshot/044aadd"),
        ("X-GitHub-Event", event),
        ("X-GitHub-Delivery", f"{rng.getrandbits(32):08x}-0000-4000-8000-{rng.getrandbits(48):012x}"),
        ("X-Hub-Signature-256", f"sha256={rng.getrandbits(256):064x}"),
    )
    return Request(headers=headers, body=json.dumps(body).encode())


def shopify(rng: random.Random) -> Request:
    order = {
        "id": rng.randrange(10**12, 10**13),
        "total_price": "409.94",
        "line_items": [{"title": "Café mug", "quantity": 2}],
    }
    headers = (("X-Shopify-Topic", "orders/create"), JSON, ("X-Shopify-Shop-Domain", "demo.example.com"))
    return Request(path="/orders/create", headers=headers, body=json.dumps(order, ensure_ascii=False).encode())


def slack(rng: random.Random) -> Request:
    form = "token=abc&team_id=T1DC2JH3J&command=%2Fdeploy&text=shop+to+production&user_name=grace"
    return Request(headers=(("Content-Type", "application/x-www-form-urlencoded"),), body=form.encode())


def odd(rng: random.Random) -> list[Request]:
    """One of each other method, with what usually comes with it."""
    return [
        Request("GET", "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=hello%20there&tag=a&tag=b"),
        Request("HEAD"),
        Request("OPTIONS", "", (("Origin", "https://app.example.com"), ("Access-Control-Request-Method", "POST"))),
        Request("DELETE", "/subscriptions/42?soft=true", (("Authorization", "Bearer demo-token"),)),
        Request("PATCH", "/orders/9", (JSON,), b'[{"op":"replace","path":"/status","value":"shipped"}]'),
        Request("PUT", f"/avatars/{rng.randrange(10, 99)}", (("Content-Type", "text/plain"),), b"none yet"),
    ]
