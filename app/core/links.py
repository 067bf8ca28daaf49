"""`hookline:` links, which name a request or an endpoint of the data folder they are opened in; and what a start of the
program asks the window to do, such as to open one. A second start sends that to the first as one line of JSON."""

from __future__ import annotations

import re
from enum import StrEnum
from urllib.parse import unquote

import msgspec

from app.core.errors import HooklineError
from app.core.record import Record
from app.core.rules import slug_error
from hookline.decoding import decode_json

SCHEME = "hookline:"
_LINK_MAX = 500
"""Maximum characters. The longest valid link has 83; each can be sent as three (`%2D`), with slashes added."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_QUOTED_MAX = 60


class LinkError(HooklineError):
    """The text is not a Hookline link."""


class RequestLink(Record, frozen=True):
    """A link to a captured request."""

    id: str


class EndpointLink(Record, frozen=True):
    """A link to an endpoint."""

    slug: str


class BrokenLink(Record, frozen=True):
    """A link that cannot be parsed: `parse_link` says why."""

    text: str


Link = RequestLink | EndpointLink


def link_to_request(capture_id: str) -> str:
    """Opens this request on this computer."""
    return f"{SCHEME}//request/{capture_id}"


def link_to_endpoint(slug: str) -> str:
    """Opens this endpoint on this computer."""
    return f"{SCHEME}//endpoint/{slug}"


def text_of(link: Link | BrokenLink) -> str:
    """The inverse of `parse_link`."""
    if isinstance(link, BrokenLink):
        return link.text
    return link_to_request(link.id) if isinstance(link, RequestLink) else link_to_endpoint(link.slug)


def looks_like_link(text: str) -> bool:
    """Whether `text` begins like a link; it can still be invalid."""
    return text.lstrip()[: len(SCHEME)].lower() == SCHEME


def parse_link(text: str) -> Link:
    """Raises LinkError, which says what is wrong with the link.

    Systems and browsers pass links on with slashes added or removed, in another letter case or percent-encoded.
    """
    if len(text) > _LINK_MAX:
        raise LinkError(f"The link is too long: it can have at most {_LINK_MAX} characters, not {len(text):,}.")
    if not looks_like_link(text):
        raise LinkError(f"This is not a Hookline link: it must start with {SCHEME}//, not {_quoted(text)}.")
    kind, _, name = unquote(text.strip()[len(SCHEME) :]).strip("/").partition("/")
    match kind.lower():
        case "request":
            if not _ID.fullmatch(name.lower()):
                raise LinkError(f"The link has no valid request ID: {_quoted(name)} is not one.")
            return RequestLink(id=name.lower())
        case "endpoint":
            if error := slug_error(name):
                raise LinkError(f"The link has no valid slug. {error}")
            return EndpointLink(slug=name)
    raise LinkError(
        f"A Hookline link names a request ({link_to_request('ID')}) or an endpoint ({link_to_endpoint('SLUG')}),"
        f" not {_quoted(text)}."
    )


def _quoted(text: str) -> str:
    return ascii(text if len(text) <= _QUOTED_MAX else text[:_QUOTED_MAX] + "...")


LINE_MAX = 2_048
"""Bytes, including the line end."""
_VERSION_MAX = 40
_INVALID = (msgspec.DecodeError, UnicodeDecodeError)
"""Not JSON, or strings in it that are not UTF-8."""


class LaunchAction(StrEnum):
    """What to do without a link to open."""

    SHOW = "show"
    """Bring the window to the front."""
    NEW_ENDPOINT = "new endpoint"
    STAY = "stay"
    """Leave the window as it is."""


class LaunchRequest(msgspec.Struct, frozen=True):
    """`version` is that of the program just started."""

    version: str
    action: LaunchAction | Link | BrokenLink = LaunchAction.SHOW


class LaunchResponse(msgspec.Struct, frozen=True):
    """The response from the running program, which has this version."""

    version: str


class _Line(msgspec.Struct):
    """The wire format, which other versions also read and can add fields to. A link follows `open `."""

    version: str
    action: str = msgspec.field(name="wish", default=LaunchAction.SHOW.value)


def encode(message: LaunchRequest | LaunchResponse) -> bytes:
    """Includes the line end."""
    if isinstance(message, LaunchResponse):
        return msgspec.json.encode(message) + b"\n"
    action = message.action
    text = action.value if isinstance(action, LaunchAction) else f"open {text_of(action)}"
    return msgspec.json.encode(_Line(version=message.version, action=text)) + b"\n"


def parse_or_broken_link(text: str) -> Link | BrokenLink:
    """A link that cannot be parsed is kept, cut to a length that can be shown."""
    try:
        return parse_link(text)
    except LinkError:
        return BrokenLink(text=text[: _LINK_MAX // 2])


def decode_request(line: bytes) -> LaunchRequest | None:
    """None for an invalid line. An action unknown to this version shows the window."""
    try:
        message = decode_json(line, _Line)
        verb, _, link = message.action.partition(" ")
        if not _is_version(message.version):
            return None
        if verb == "open":
            if not looks_like_link(link):
                return None
            return LaunchRequest(message.version, parse_or_broken_link(link))
        known = next((action for action in LaunchAction if action == message.action), LaunchAction.SHOW)
        return LaunchRequest(message.version, known)
    except _INVALID:
        return None


def decode_response(line: bytes) -> LaunchResponse | None:
    """None for an invalid line."""
    try:
        message = decode_json(line, LaunchResponse)
    except _INVALID:
        return None
    return message if _is_version(message.version) else None


def _is_version(text: str) -> bool:
    return 0 < len(text) <= _VERSION_MAX and text.isprintable()
