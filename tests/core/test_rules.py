"""The rules of SPEC section 2 and DESIGN section 2, with their messages."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core import rules
from app.core.ids import new_slug
from app.core.model import Auth, EndpointDraft, Forward, Plan, ResponseSettings
from app.core.record import Field, Record, choice_words, choices_of, fields_of
from app.core.settings import Settings
from app.core.target import TargetDraft
from tests.factories import draft

OWN = ("http://127.0.0.1:8787/catch/", "https://hooks.example.org/team/catch/", "http://127.0.0.1:8788/")


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "x" * 100,
        "  padded  ",
        "Grüße 👋",
        "👩\u200d👩\u200d👧",
        "क\u094d\u200dष",
        "テスト\u3000環境",
        "10\u00a0km",
    ],
)
def test_a_name_of_1_to_100_characters_is_taken(name: str) -> None:
    assert rules.name_error(name) is None


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "required"),
        ("   ", "required"),
        ("\u200d \u200c", "required"),
        ("\f\x1d\r \t", "required"),
        ("\u200d\u3000\u200d", "required"),
        ("x" * 101, "101"),
        *((f"a{ch}b", "one line") for ch in "\n\0\x1b\x7f\x9b\u2028\u202e\u2066\ud800"),
    ],
)
def test_other_names_are_refused_in_words(name: str, part: str) -> None:
    assert part in (rules.name_error(name) or "")


def test_a_text_has_its_least_length_too() -> None:
    code = Field(title="Code", low=2, high=9)
    assert code.error("") == "Code is required: 2 to 9 characters."
    assert code.error("x") == "Code must have 2 to 9 characters."
    assert code.error("xx") is None


@pytest.mark.parametrize("record", [Settings, EndpointDraft, Auth, TargetDraft])
def test_each_choice_has_words(record: type[Record]) -> None:
    for name in fields_of(record):
        assert tuple(choice_words(record, name)) == choices_of(record, name)


def test_description_ends_at_2000_characters() -> None:
    assert rules.endpoint_errors(draft(description="d" * 2000)) == []
    assert "2,001" in rules.endpoint_errors(draft(description="d" * 2001))[0].message


def test_a_note_ends_at_2000_characters_without_what_surrounds_it() -> None:
    assert rules.note_error(" " + "n" * 2000 + "\n") is None
    error = rules.note_error("n" * 2001) or ""
    assert all(part in error for part in ("Note", "2,000", "2,001"))


@pytest.mark.parametrize("char", ["\ud800", "\0"])
def test_texts_hold_only_what_can_be_stored(char: str) -> None:
    text = f"a{char}b"
    assert repr(char) in (rules.note_error(text) or "")
    assert repr(char) in rules.endpoint_errors(draft(description=text))[0].message


def test_a_response_body_has_no_half_characters() -> None:
    assert rules.endpoint_errors(draft(response=ResponseSettings(body="a\0b"))) == []
    assert "'\\ud800'" in rules.endpoint_errors(draft(response=ResponseSettings(body="a\ud800b")))[0].message


def test_a_note_is_kept_trimmed_and_an_empty_one_is_none() -> None:
    assert rules.trimmed_note("\t two\nlines ") == "two\nlines"
    assert rules.trimmed_note(" \n ") is None


@given(st.integers())
def test_retention_is_1_to_90_days(days: int) -> None:
    errors = rules.endpoint_errors(draft(retention_days=days))
    assert (errors == []) == (1 <= days <= 90)
    for error in errors:
        assert "1 to 90 days" in error.message
        assert f"{days:,}" in error.message


@given(st.text(string.ascii_lowercase + string.digits + "-", min_size=3, max_size=64))
def test_a_slug_may_hold_hyphens_but_not_at_its_ends(slug: str) -> None:
    assert (rules.slug_error(slug) is None) == (not slug.startswith("-") and not slug.endswith("-"))


@pytest.mark.parametrize("slug", ["ab", "a" * 65, "Upper", "with space", "ünicode", "a/b", "abc\n", "-abc", "abc-"])
def test_other_slugs_are_refused(slug: str) -> None:
    assert rules.slug_error(slug)


def test_made_slugs_keep_the_rule_and_differ() -> None:
    slugs = {new_slug() for _ in range(1000)}
    assert len(slugs) == 1000
    assert not any(rules.slug_error(slug) for slug in slugs)


@pytest.mark.parametrize(
    "url", ["http://localhost:3000", "https://example.org/a/b?x=1", "http://[::1]:80/", "http://127.0.0.1:8787/other"]
)
def test_absolute_http_urls_are_forward_urls(url: str) -> None:
    assert rules.forward_url_error(url, OWN) is None


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("", "http://"),
        ("ftp://example.org", "http://"),
        ("example.org/x", "http://"),
        ("/relative", "http://"),
        ("http://", "have a host"),
        ("http://user:secret@example.org", "user name"),
        ("http://@example.org", "user name"),
        ("http://example.org:99999", "valid URL"),
        ("http://example.org:0/", "port"),
        ("http://exa mple.org", "spaces"),
        ("http://example.org/\n", "spaces"),
        ("http://[::1", "valid URL"),
        ("http://x[::1]y/", "valid URL"),
        ("http://a.[::1]/", "valid URL"),
        ("http://[::1%25eth0]/", "valid URL"),
        ("http://[1.2.3.4]/", "valid URL"),
        ("http://[:]/", "valid URL"),
        ("http://[12345::]:80/", "valid URL"),
        ("http://example.org/" + "x" * 2_000, "2,019"),
    ],
)
def test_other_forward_urls_are_refused_in_words(url: str, part: str) -> None:
    assert part in (rules.forward_url_error(url, OWN) or "")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8787/catch/abc",
        "http://localhost:8787/catch/abc/sub?x=1",
        "http://LOCALHOST.:8787/catch/abc",
        "http://127.9.9.9:8787/catch/abc",
        "http://[::1]:8787/catch/abc",
        "https://hooks.example.org/team/catch/abc",
        "https://hooks.example.org:443/team/catch/abc",
    ],
)
def test_hooklines_own_capture_urls_are_refused_under_every_name(url: str) -> None:
    assert "loop forever" in (rules.forward_url_error(url, OWN) or "")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "LocalHost.",
        "hookline.localhost",
        "127.1",
        "127.255.0.9",
        "0x7f000001",
        "0x7F.1",
        "2130706433",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "%31%32%37.0.0.1",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
    ],
)
@pytest.mark.parametrize("path", ["", "/", "/api/v1/endpoints", "/anything?x=1"])
def test_hooklines_own_api_is_refused_under_every_spelling(host: str, path: str) -> None:
    for scheme in ("http", "https"):
        assert "own API" in (rules.forward_url_error(f"{scheme}://{host}:8788{path}", OWN) or "")
    assert "own API" not in (rules.forward_url_error(f"http://{host}:8789{path}", OWN) or "")
    assert "loop forever" in (rules.forward_url_error(f"http://{host}:8787/catch/abc", OWN) or "")


@pytest.mark.slow
@given(st.text())
def test_no_text_breaks_the_forward_url_rule(url: str) -> None:
    error = rules.forward_url_error(url, OWN)
    assert error is None or error.startswith("Forward URL")


@pytest.mark.parametrize(
    ("response", "field"),
    [
        (ResponseSettings(status=199), "response.status"),
        (ResponseSettings(status=600), "response.status"),
        (ResponseSettings(delay_ms=-1), "response.delay_ms"),
        (ResponseSettings(delay_ms=30_001), "response.delay_ms"),
        (ResponseSettings(body="x" * 1_048_577), "response.body"),
        (ResponseSettings(headers=(("bad name", "x"),)), "response.headers"),
        (ResponseSettings(headers=(("X-A", "line\r\nInjected: 1"),)), "response.headers"),
        (ResponseSettings(headers=(("X-A", "→"),)), "response.headers"),
        (ResponseSettings(headers=(("Content-Length", "3"),)), "response.headers"),
        *(
            (ResponseSettings(headers=(("X-A", f"a{char}b"),)), "response.headers")
            for char in "\0\x01\x08\x0b\x1b\x1f\x7f"
        ),
        (ResponseSettings(headers=(("X-A", "x" * 8_190),)), "response.headers"),
        (ResponseSettings(headers=(("X" * 8_193, ""),)), "response.headers"),
    ],
)
def test_a_response_that_could_not_be_sent_is_refused(response: ResponseSettings, field: str) -> None:
    assert [error.field for error in rules.endpoint_errors(draft(response=response))] == [field]


@pytest.mark.parametrize(
    ("auth", "field"),
    [
        (Auth(kind="bearer"), "auth.secret"),
        (Auth(kind="basic", name="a:b", secret="s"), "auth.name"),
        (Auth(kind="basic", secret="s"), "auth.name"),
        (Auth(kind="header", name="not a token", secret="s"), "auth.name"),
    ],
)
def test_credentials_must_be_complete(auth: Auth, field: str) -> None:
    assert [error.field for error in rules.endpoint_errors(draft(auth=auth))] == [field]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("", "v", "'v' has no name."),
        ("n" * 41 + " ", "", f"'{'n' * 40}…' is not a header name."),
        ("A", "a\nb", "the value of A has a line break."),
        ("A", "a\x07b", "the value of A has a control character."),
        ("A", "5 €", "the value of A has '€', which is not Latin-1."),
    ],
)
def test_what_is_wrong_with_a_header_is_said_exactly(name: str, value: str, why: str) -> None:
    assert rules.headers_error((("Good", ""), (name, value)), "Headers") == f"Headers: {why}"


def test_reply_headers_may_hold_tabs_and_8_kib() -> None:
    assert not rules.endpoint_errors(
        draft(response=ResponseSettings(headers=(("X-A", "a\tb\xff"), ("X-B", "x" * 8_189))))
    )


def test_a_response_body_ends_at_1_mib_of_bytes() -> None:
    longest = "é" * (rules.RESPONSE_BODY_MAX // 2)
    assert not rules.endpoint_errors(draft(response=ResponseSettings(body=longest)))
    (error,) = rules.endpoint_errors(draft(response=ResponseSettings(body=longest + "a")))
    assert (error.field, error.message) == ("response.body", "Response body can have at most 1,048,576 bytes.")


def test_the_forward_timeout_is_bounded() -> None:
    assert not rules.endpoint_errors(draft(forward=Forward(timeout_ms=100)))
    assert rules.endpoint_errors(draft(forward=Forward(timeout_ms=99)))[0].field == "forward.timeout_ms"


def test_all_broken_rules_are_told_at_once_in_the_forms_order() -> None:
    broken = draft(name="", description="d" * 2001, retention_days=0, forward_url="x", slug="-")
    fields = [error.field for error in rules.endpoint_errors(broken)]
    assert fields == ["name", "description", "retention_days", "forward_url", "slug"]


def test_free_holds_ten_and_pro_any_number() -> None:
    assert rules.create_refusal(Plan.FREE, 9) is None
    assert "10" in (rules.create_refusal(Plan.FREE, 10) or "")
    assert rules.create_refusal(Plan.PRO, 10_000) is None


def test_going_back_to_free_needs_at_most_ten() -> None:
    assert rules.plan_refusal(Plan.FREE, 10) is None
    assert "Delete 3" in (rules.plan_refusal(Plan.FREE, 13) or "")
    assert rules.plan_refusal(Plan.PRO, 13) is None
