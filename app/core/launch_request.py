"""What a start of the program asks of the window, and how a second start puts it to the first: one line of JSON."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from app.core.links import LINK_MAX, BrokenLink, Link, LinkError, looks_like_link, parse_link, text_of

LINE_MAX = 2_048
"""Bytes, the line's end included."""
_VERSION_MAX = 40
_NONSENSE = (msgspec.DecodeError, UnicodeDecodeError)
"""Bytes that are no JSON, and texts in JSON that are not UTF-8."""


class LaunchAction(StrEnum):
    """What can be asked apart from opening a link."""

    SHOW = "show"
    """Come to the front."""
    NEW_ENDPOINT = "new endpoint"
    STAY = "stay"
    """Run, but stay as you are."""


class LaunchRequest(msgspec.Struct, frozen=True):
    """What a start of this version of the program wants."""

    version: str
    wish: LaunchAction | Link | BrokenLink = LaunchAction.SHOW


class LaunchReply(msgspec.Struct, frozen=True):
    """The answer of the running program, which has this version."""

    version: str


class _Line(msgspec.Struct):
    """As it stands on the wire; another version may add fields. A link follows `open `."""

    version: str
    wish: str = LaunchAction.SHOW.value


def encode(message: LaunchRequest | LaunchReply) -> bytes:
    """The line, its end included."""
    if isinstance(message, LaunchReply):
        return msgspec.json.encode(message) + b"\n"
    wish = message.wish.value if isinstance(message.wish, LaunchAction) else f"open {text_of(message.wish)}"
    return msgspec.json.encode(_Line(version=message.version, wish=wish)) + b"\n"


def link_or_broken(text: str) -> Link | BrokenLink:
    """What the link names, or the link itself where it names nothing, cut to what can be shown."""
    try:
        return parse_link(text)
    except LinkError:
        return BrokenLink(text=text[: LINK_MAX // 2])


def decode_asked(line: bytes) -> LaunchRequest | None:
    """What was asked, None when the line is nonsense. What only a later version can wish shows the window."""
    try:
        told = msgspec.json.decode(line, type=_Line)
        verb, _, link = told.wish.partition(" ")
        if not _is_version(told.version):
            return None
        if verb == "open":
            if not looks_like_link(link):
                return None
            return LaunchRequest(told.version, link_or_broken(link))
        return LaunchRequest(
            told.version, next((wish for wish in LaunchAction if wish == told.wish), LaunchAction.SHOW)
        )
    except _NONSENSE:
        return None


def decode_heard(line: bytes) -> LaunchReply | None:
    """The answer, None when the line is nonsense."""
    try:
        told = msgspec.json.decode(line, type=LaunchReply)
    except _NONSENSE:
        return None
    return told if _is_version(told.version) else None


def _is_version(text: str) -> bool:
    return 0 < len(text) <= _VERSION_MAX and text.isprintable()
