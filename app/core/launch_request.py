"""What a start of the program asks the window to do. A second start sends it to the first as one line of JSON."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from app.core.links import LINK_MAX, BrokenLink, Link, LinkError, looks_like_link, parse_link, text_of
from hookline.decoding import decode_json

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
        return BrokenLink(text=text[: LINK_MAX // 2])


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
