"""Who sent a request: every service of the catalogue is recognised by its own requests and claims no other's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.providers import (
    VALUE_MAX,
    Catalogue,
    CatalogueError,
    Provider,
    ProviderMatch,
    RequestKind,
    _Rule,
    monogram_of,
    read_folder,
    read_provider,
)
from app.core.record import Headers
from tests.core.providers.examples import CATALOGUE, EXAMPLES, Example

JSON = "application/json"
STRIPE = (("Stripe-Signature", "t=1"),)


@pytest.mark.parametrize("example", EXAMPLES, ids=Example.label)
def test_each_example_is_recognised(example: Example) -> None:
    body = example.body.encode()
    assert CATALOGUE.identify(example.pairs(), example.type, body) == example.sender()
    shouted: Headers = tuple((name.upper(), value) for name, value in reversed(example.pairs()))
    assert CATALOGUE.identify(shouted, example.type, body) == example.sender()


def test_each_service_has_an_example() -> None:
    assert {example.provider for example in EXAMPLES} == set(CATALOGUE.names)
    assert len(CATALOGUE.names) >= 62


@pytest.mark.parametrize("example", EXAMPLES, ids=Example.label)
def test_the_services_without_this_one_claim_nothing(example: Example, folder: Path) -> None:
    """Formats that many use may: a service that follows one is then recognised as that."""
    own = {example.provider, *({"meta"} if example.provider == "whatsapp" else ())}  # whose product it is
    others = [one for one in read_folder(folder) if one.id not in own and not one.general]
    assert Catalogue(others).identify(example.pairs(), example.type, example.body.encode()) is None


@pytest.fixture
def folder() -> Path:
    return Path(__file__).parents[3] / "resources" / "providers"


@pytest.mark.parametrize(
    ("headers", "content_type", "body"),
    [
        ((("User-Agent", "curl/8"),), JSON, b'{"event":"order.paid","type":"x","id":"1","data":{}}'),
        ((("X-Hub-Signature-256", "sha256=00"),), JSON, b'{"action":"x"}'),
        ((("X-Hook-Signature", "00"),), JSON, b'{"events":[]}'),
        ((("webhook-id", "1"),), JSON, b"{}"),
        ((), JSON, b'{"id":"1","type":"a","source":"b"}'),
        ((), "text/plain", b'{"specversion":"1.0","id":"1","type":"a","source":"b"}'),
        ((), "application/x-www-form-urlencoded", b"payment_status=Completed&verify_sign=x"),
        ((("User-Agent", "Mozilla/5.0 facebookplatform/1.0"),), "", b""),
        ((("X-Signature-SHA256", "00"), ("X-Delivery-Id", "1")), JSON, b'{"event_type":"x","data":{}}'),
        ((("X-Hook0-Signature", "t=1"), ("X-Event-Type", "invoice.paid")), JSON, b'{"eventType":"invoice.paid"}'),
        ((("X-Webhook-Signature", "eyJ"),), JSON, b'{"state":"ready","site_id":"1","url":"https://x"}'),
        ((("Authorization", "s"),), JSON, b'[{"log_id":"1","data":{"type":"s"}}]'),
        ((), JSON, b'{"log_id":"1"}\n{"log_id":"2"}'),
        ((), JSON, b'{"update_id":1,"something":{}}'),
        ((), JSON, b'{"event_type":"PING","webhook_id":"1","timestamp":"t"}'),
        ((), JSON, b'{"receiver":"r","status":"firing","alerts":[]}'),
        ((), JSON, b'{"type":"INSERT","table":"t","record":{}}'),
        (
            (),
            JSON,
            b'{"event":"invitee.created","created_by":"https://example.com/users/1","created_at":1,"payload":{}}',
        ),
        ((), JSON, b'{"webhook":{"id":"1"},"base":{"id":"2"},"timestamp":"t"}'),
        ((), "application/x-www-form-urlencoded", b"id=tr_d0b0E3EA3v&amount=1"),
        ((), "application/x-www-form-urlencoded", b"id=order_d0b0E3EA3v"),
        ((), "text/plain", b"id=tr_d0b0E3EA3v"),
        ((), "application/x-www-form-urlencoded", b"type=subscribe&fired_at=x"),
    ],
)
def test_what_only_resembles_a_service_is_nobodys(headers: Headers, content_type: str, body: bytes) -> None:
    assert CATALOGUE.identify(headers, content_type, body) is None


def test_a_service_comes_before_a_format_that_it_uses() -> None:
    headers = (("webhook-id", "1"), ("webhook-timestamp", "1"), ("webhook-signature", "v1,x"), *STRIPE)
    sender = CATALOGUE.identify(headers, JSON, b'{"type":"a","id":"b"}')
    assert sender == ProviderMatch(provider="stripe", event="a", delivery_id="b")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"type":1.5,"id":true}', b'{"type":{},"id":null}', b"\xff\xfe", b"[" * 100_000, b'{"type":""}'],
)
def test_a_malformed_body_leaves_event_and_id_open(body: bytes) -> None:
    assert CATALOGUE.identify(STRIPE, JSON, body) == ProviderMatch(provider="stripe")


def test_what_senders_say_is_bounded_and_storable() -> None:
    body = json.dumps({"type": "x" * 10_000, "id": "i"}).encode()
    assert CATALOGUE.identify(STRIPE, JSON, body) == ProviderMatch(
        provider="stripe", event="x" * VALUE_MAX, delivery_id="i"
    )
    half = (("X-GitHub-Event", "a\ud800"), ("X-GitHub-Delivery", " "))
    assert CATALOGUE.identify(half, "", b"") == ProviderMatch(provider="github", event="a?")


def test_what_nobody_known_sent_is_held_against_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many services there are: names of headers, values of those all have, and keys lead to the rules."""

    def fail(*_: object) -> bool:
        raise AssertionError("a rule was asked")

    monkeypatch.setattr(_Rule, "matches", fail)
    monkeypatch.setattr(_Rule, "matches_body", fail)
    headers = (("Host", "h"), ("User-Agent", "Mozilla/5.0"), ("Accept", "*/*"), ("X-Event", "a"))
    assert CATALOGUE.identify(headers, JSON, b'{"id":"1","type":"a","event":"b","data":{},"created":1}') is None
    assert CATALOGUE.identify((("user-agent", "curl/8"),), "text/plain", b"x") is None


def test_the_first_of_a_header_sent_twice_counts() -> None:
    headers = (("X-GitHub-Event", "push"), ("x-github-event", "fork"), ("X-GitHub-Delivery", "1"))
    assert CATALOGUE.identify(headers, "", b"") == ProviderMatch(provider="github", event="push", delivery_id="1")


names = st.sampled_from([name for example in EXAMPLES for name in example.headers]) | st.text(max_size=20)
bodies = st.binary(max_size=300) | st.sampled_from([example.body.encode() for example in EXAMPLES])


@given(
    st.lists(st.tuples(names, st.text(max_size=30)), max_size=12),
    st.sampled_from([JSON, "application/x-www-form-urlencoded", "text/plain", ""]) | st.text(max_size=40),
    st.builds(lambda body, cut, junk: body[:cut] + junk, bodies, st.integers(0, 300), st.binary(max_size=10)),
)
def test_nothing_that_is_sent_raises(headers: list[tuple[str, str]], content_type: str, body: bytes) -> None:
    sender = CATALOGUE.identify(tuple(headers), content_type, body)
    if sender is not None:
        assert sender.provider in CATALOGUE.names
        for text in (sender.event, sender.delivery_id):
            assert text is None or 0 < len(text.encode().decode()) <= VALUE_MAX


def test_an_update_is_named_by_the_key_beside_its_number_wherever_that_stands() -> None:
    for body in (b'{"update_id":7,"poll":{}}', b'{"poll":{},"update_id":7}'):
        assert CATALOGUE.identify((), JSON, body) == ProviderMatch(provider="telegram", event="poll", delivery_id="7")
    headers = (("X-Telegram-Bot-Api-Secret-Token", "s"),)
    assert CATALOGUE.identify(headers, JSON, b'{"update_id":7}') == ProviderMatch(provider="telegram", delivery_id="7")


def test_no_number_of_spellings_fills_the_memory() -> None:
    catalogue = Catalogue(
        [Provider(id="x", name="X", documentation="", colour="#112233", requests=(RequestKind(headers=("X-A",)),))]
    )
    for number in range(10_000):
        catalogue.identify(((f"X-{number}", ""),), "", b"")
    assert sys.getsizeof(catalogue._by_spelling) < 1_000_000
    assert catalogue.identify((("x-a", ""),), "", b"") == ProviderMatch(provider="x")


VALID = 'name = "X"\ndocumentation = "https://example.com"\ncolour = "#112233"\n[[requests]]\nheaders = ["X-A"]\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = ", "x.toml: Invalid value"),
        ('name = "X"', "x.toml: Object missing required field `documentation`"),
        (VALID + "color = 1", "color"),
        (VALID.replace("#112233", "navy"), "x.toml: colour: 'navy' is not like #1a2b3c"),
        (VALID.replace("[[", 'monogram = "ABC"\n[['), "monogram: 'ABC' has more than 2 letters"),
        (VALID + "event = 1", "$.requests[0].event"),
        (VALID + 'event = ["type"]', "requests[0].event: 'type' is none of"),
        (VALID + 'delivery_id = ["cookie:a"]', "requests[0].delivery_id: 'cookie:a'"),
        (VALID.replace('headers = ["X-A"]', 'body = ["type"]'), "requests[0].headers: without any, at least 2"),
        (VALID + 'form = ["a"]\nbody = ["b"]', "requests[0].form"),
        (VALID + 'form_text = "a=?"\nbody_any = ["b"]', "requests[0].form"),
        ('name = "X"\ndocumentation = ""\ncolour = "#112233"\nrequests = []', "requests: at least one is required"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(text: str, told: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        read_provider("x.toml", text)
    assert str(caught.value).startswith("x.toml: ")
    assert told in str(caught.value)


def test_a_folder_without_a_catalogue_is_told(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="contains no provider files"):
        read_folder(tmp_path)


def test_the_shipped_files_name_their_documentation() -> None:
    for service in read_folder(Path(__file__).parents[3] / "resources" / "providers"):
        assert service.documentation.startswith("https://"), service.id
        assert service.name.strip() == service.name
        assert service.id == service.id.lower()


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_each_service_has_a_mark_that_can_be_read_and_told_from_the_others(folder: Path) -> None:
    services = read_folder(folder)
    for service in services:
        assert 1.05 / (luminance(service.colour) + 0.05) >= 4.5, f"{service.id}: white letters on {service.colour}"
        assert 1 <= len(service.mark.monogram) <= 2
    monograms = [service.mark.monogram for service in services]
    assert len(set(monograms)) == len(monograms)
    assert set(CATALOGUE.marks) == set(CATALOGUE.names)


@pytest.mark.parametrize(
    ("name", "monogram"),
    [("Stripe", "St"), ("GitHub", "GH"), ("Azure DevOps", "AD"), ("X", "X"), ("Auth0", "Au"), ("One Two Three", "OT")],
)
def test_a_monogram_is_made_of_the_name(name: str, monogram: str) -> None:
    assert monogram_of(name) == monogram
