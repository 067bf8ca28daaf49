"""The requests of `examples.toml`, and the catalogue that is shipped."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from app.core.providers import ProviderMatch, load_catalogue
from app.core.record import Headers

HERE = Path(__file__).parent
CATALOGUE = load_catalogue(HERE.parents[2] / "resources" / "providers")


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request and what it is to be recognised as."""

    provider: str
    event: str | None = None
    delivery_id: str | None = None
    headers: dict[str, str] = {}
    type: str = "application/json"
    body: str = ""

    def sender(self) -> ProviderMatch:
        return ProviderMatch(provider=self.provider, event=self.event, delivery_id=self.delivery_id)

    def pairs(self) -> Headers:
        return (("Host", "127.0.0.1:8787"), *self.headers.items(), ("Content-Type", self.type))

    def label(self) -> str:
        return f"{self.provider} {self.event}"


EXAMPLES = msgspec.convert(tomllib.loads((HERE / "examples.toml").read_text("utf-8"))["example"], list[Example])
