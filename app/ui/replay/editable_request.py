"""A request as the editor needs it: its body as text where that stays byte for byte as it was, and where it can go."""

from __future__ import annotations

from typing import NamedTuple

from app.core.bodies import decompressor
from app.core.bodies.charset import declared_codec
from app.core.model import Capture
from app.core.replay.spec import OtherEndpoint, OwnTargets, ReplayDestination
from app.core.target import forwarded_url
from app.ui.inspector.body.body_source import BodySource, of_capture, read_plain
from app.ui.services import Services
from app.ui.tasks import in_thread

EDITABLE_MAX = 1024 * 1024
"""Bytes."""
_UNSAFE = ("\0", "\u2028", "\u2029", "\ufdd0", "\ufdd1")
"""Characters that Qt's text editors drop or replace."""


class EditableText(NamedTuple):
    """`text` has line feeds only; `encode` puts `newline` back."""

    text: str
    charset: str
    newline: str

    def encode(self, text: str) -> bytes:
        """Raises UnicodeEncodeError."""
        return text.replace("\n", self.newline).encode(self.charset)


def editable_text(body: bytes, content_type: str) -> EditableText | str:
    """The text, or why it cannot be edited as text."""
    if len(body) > EDITABLE_MAX:
        return "This body is too large to edit as text."
    for charset in dict.fromkeys(("utf-8", declared_codec(content_type) or "utf-8")):
        try:
            text = body.decode(charset)
        except UnicodeDecodeError:
            continue
        if text.encode(charset) == body and not any(character in text for character in _UNSAFE):
            return _with_line_feeds(text, charset)
    return "This body is not text."


def _with_line_feeds(text: str, charset: str) -> EditableText | str:
    if "\r" not in text:
        return EditableText(text, charset, "\n")
    plain = text.replace("\r\n", "\n")
    if "\r" in plain or plain.replace("\n", "\r\n") != text:
        return "This body mixes kinds of line breaks, which an editor would change."
    return EditableText(plain, charset, "\r\n")


class EditableRequest(NamedTuple):
    """`body` is its text, or why it cannot be edited as one; the content `coding` is removed once it is edited."""

    capture: Capture
    source: BodySource
    body: EditableText | str
    coding: str


class EditorDestination(NamedTuple):
    """`url` is where the request would go, empty to type one; it cannot be edited if `fixed`. `destination` is None for
    the URL that is typed.
    """

    text: str
    destination: ReplayDestination | None
    url: str
    fixed: bool


async def load_request(capture_id: str, services: Services) -> EditableRequest | None:
    """None if it is no longer stored. Raises StorageUnavailableError."""
    capture = await services.store.captures.get(capture_id)
    if capture is None:
        return None
    source = of_capture(capture, services.store.captures)
    codings = decompressor.codings(capture.headers)
    if decompressor.unsupported_reason(codings):
        return EditableRequest(capture, source, "This body is compressed in a way that Hookline does not know.", "")
    if damage := await source.damage():
        return EditableRequest(capture, source, damage, "")
    plain = await read_plain(source, EDITABLE_MAX)
    text = await in_thread(editable_text, plain, capture.content_type)
    return EditableRequest(capture, source, text, ", ".join(codings))


def destinations(capture: Capture, services: Services) -> list[EditorDestination]:
    """The targets of its endpoint that are switched on, if any, come first; of several all, then each alone."""
    endpoint = services.store.endpoints.by_id(capture.endpoint_id)
    targets = [target for target in (endpoint.targets if endpoint else ()) if target.active]
    urls = [target.request_url(capture.target) for target in targets]
    found: list[EditorDestination] = []
    if len(urls) == 1:
        found.append(EditorDestination("Its target", OwnTargets(), urls[0], fixed=False))
    elif urls:
        found.append(EditorDestination(f"Its {len(urls)} targets", OwnTargets(), ", ".join(urls), fixed=True))
        for target, url in zip(targets, urls, strict=True):
            name = f"Only {target.url.partition('://')[2]}"
            found.append(EditorDestination(name, OwnTargets(target_id=target.id), url, fixed=False))
    found.append(EditorDestination("Another URL", None, urls[0] if urls else "", fixed=False))
    for other in services.store.endpoints.all():
        if endpoint is None or other.id != endpoint.id:
            url = forwarded_url(services.capture_url(other), capture.target)
            found.append(EditorDestination(f"Endpoint “{other.name}”", OtherEndpoint(slug=other.slug), url, fixed=True))
    return found
