"""Links: what is written is read again, what systems make of it too, and nonsense is told in words."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.clock import now_us
from app.core.errors import HooklineError
from app.core.ids import new_slug, uuid7
from app.core.links import (
    LINE_MAX,
    BrokenLink,
    EndpointLink,
    LaunchAction,
    LaunchRequest,
    LaunchResponse,
    RequestLink,
    decode_request,
    decode_response,
    encode,
    link_to_endpoint,
    link_to_request,
    parse_link,
    text_of,
)

ID = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b"

links = st.one_of(
    st.from_regex(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", fullmatch=True).map(
        lambda name: RequestLink(id=name)
    ),
    st.from_regex(r"[a-z0-9]{3,64}", fullmatch=True).map(lambda slug: EndpointLink(slug=slug)),
)
LAUNCH_REQUESTS = st.builds(
    LaunchRequest, st.text("0123456789.ab", min_size=1, max_size=40), st.sampled_from(list(LaunchAction)) | links
)


@given(links)
def test_what_is_written_is_read_again(link: RequestLink | EndpointLink) -> None:
    assert parse_link(text_of(link)) == link


def test_how_they_are_written() -> None:
    slug = new_slug()
    assert link_to_request(ID) == f"hookline://request/{ID}"
    assert parse_link(link_to_request(made := uuid7(now_us()))) == RequestLink(id=made)
    assert link_to_endpoint(slug) == f"hookline://endpoint/{slug}"


@pytest.mark.parametrize(
    "text",
    [
        f"hookline://request/{ID}/",
        f"HOOKLINE://REQUEST/{ID.upper()}",
        f"Hookline://Request/{ID}",
        f"hookline:request/{ID}",
        f"hookline:/request/{ID}",
        f"hookline:///request/{ID}",
        f"hookline://request/{ID.replace('-', '%2D')}",
        f"hookline:request%2F{ID}",
        f" hookline://request/{ID}\n",
    ],
)
def test_what_systems_make_of_a_link_means_the_same(text: str) -> None:
    assert parse_link(text) == RequestLink(id=ID)


@pytest.mark.parametrize(
    "text", ["hookline:endpoint/my-hooks", "hookline://ENDPOINT/my-hooks/", "hookline://endpoint/my%2dhooks"]
)
def test_an_endpoint_too(text: str) -> None:
    assert parse_link(text) == EndpointLink(slug="my-hooks")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a Hookline link"),
        ("https://example.com/", "not a Hookline link"),
        ("hookline", "not a Hookline link"),
        ("hookline:", "names a request"),
        ("hookline://", "names a request"),
        ("hookline://settings/all", "not 'hookline://settings/all'"),
        ("hookline://request", "'' is not one"),
        ("hookline://request/12", "'12' is not one"),
        (f"hookline://request/{ID}/body", "is not one"),
        (f"hookline://request/{ID}?x=1", "is not one"),
        ("hookline://request/%00%ff", "is not one"),
        ("hookline://endpoint", "not 0"),
        ("hookline://endpoint/My Hooks", "'My Hooks' is invalid"),
        ("hookline://endpoint/../secrets", "'../secrets' is invalid"),
        ("hookline://endpoint/" + "a" * 65, "not 65"),
        ("hookline://request/" + "a" * 482, "can have at most 500 characters, not 501"),
        ("hookline://request/\udcff", "is not one"),
    ],
)
def test_what_is_wrong_is_told_in_words(text: str, said: str) -> None:
    with pytest.raises(HooklineError) as told:
        parse_link(text)
    assert said in str(told.value)


@given(st.text() | st.text().map("hookline:{}".format) | st.text().map("hookline://request/{}".format))
@example("hookline:%")
def test_any_text_is_a_link_or_told_to_be_none_on_one_line(text: str) -> None:
    try:
        link = parse_link(text)
    except HooklineError as error:
        said = str(error)
    else:
        said = text_of(link)
        assert parse_link(said) == link
    assert said.isprintable()
    assert len(said) < 1_000


@given(LAUNCH_REQUESTS)
def test_a_launch_request_is_decoded_as_it_was_encoded(launch: LaunchRequest) -> None:
    line = encode(launch)
    assert len(line) <= LINE_MAX
    assert line.index(b"\n") == len(line) - 1
    assert decode_request(line) == launch


@given(st.binary() | st.text().map(str.encode) | st.from_type(dict).map(lambda made: repr(made).encode()))
@example(b"raise\n")
@example(b'{"version":"1","wish":7}')
@example(b'{"version":"","wish":"show"}')
@example(b'{"version":"1","wish":"open nothing"}')
@example(b'{"version":"1\\n2"}')
@example(b'{"version":"' + b"9" * 41 + b'"}')
@example(b"[" * 5_000)
@example(b'{"version":"\xff"}')
def test_nonsense_is_no_wish(line: bytes) -> None:
    assert decode_request(line) is None


@pytest.mark.parametrize(
    "line", [b"", b"raise\n", b"[]", b'{"version":1}', b'{"version":""}', b"\xff\n", b'{"version":"\xff"}']
)
def test_nonsense_is_no_answer(line: bytes) -> None:
    assert decode_response(line) is None


def test_the_wish_of_a_later_version_at_least_shows_the_window() -> None:
    assert decode_request(b'{"version":"9.1","wish":"dance","tempo":3}') == LaunchRequest("9.1", LaunchAction.SHOW)
    assert decode_response(encode(LaunchResponse("9.1"))) == LaunchResponse("9.1")


def test_a_broken_link_is_handed_on_so_that_the_window_can_tell() -> None:
    broken = BrokenLink(text="hookline:" + "\N{PILE OF POO}" * 200)
    line = encode(LaunchRequest("1.0", broken))
    assert len(line) <= LINE_MAX
    assert decode_request(line) == LaunchRequest("1.0", broken)
