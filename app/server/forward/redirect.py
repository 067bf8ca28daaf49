"""Where a redirect leads, and what is sent there, as browsers do it (RFC 9110 15.4, Fetch 4.4)."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urljoin

from msgspec.structs import replace

from app.core.delivery import FailureKind
from app.core.forward_target import sendable
from app.core.record import Headers
from app.core.redaction.names import is_secret
from app.server.forward.attempt_failure import AttemptError
from app.server.forward.request import OutgoingRequest, parse_url

REDIRECTS_MAX = 10
_REDIRECTS = (301, 302, 303, 307, 308)
_OF_BODY = frozenset(
    {
        "content-length",
        "transfer-encoding",
        "content-type",
        "content-encoding",
        "content-language",
        "content-location",
    }
)
_SIGNATURE = re.compile("signature|hmac", re.IGNORECASE)
_TEXT_MAX = 200


def location_of(status: int, headers: Headers) -> str | None:
    """The redirect's Location; None if the response is no redirect."""
    if status not in _REDIRECTS:
        return None
    return next((value for name, value in headers if name.lower() == "location" and value), None)


def next_request(request: OutgoingRequest, status: int, location: str, own: Collection[str] = ()) -> OutgoingRequest:
    """The request to send to `location`, Latin-1 as received. AttemptError if that is no http or https URL.

    Another origin gets no keys and signatures, and none of the headers `own`, in lower case, that the target adds.
    """
    try:
        url = parse_url(urljoin(request.url.text, sendable(location, "latin-1")))
    except ValueError as error:
        text = f"The target responded with {status}, and its redirect to {location[:_TEXT_MAX]} cannot be followed"
        raise AttemptError(FailureKind.STATUS, f"{text}: {error}.") from error
    dropped: frozenset[str] = frozenset()
    method, body = request.method, request.body
    if (status == 303 and method not in ("GET", "HEAD")) or (status in (301, 302) and method == "POST"):
        method, body, dropped = "GET", b"", _OF_BODY
    headers = [pair for pair in request.headers if pair[0].lower() not in dropped]
    if url.origin != request.url.origin:
        headers = [
            (name, url.authority if name.lower() == "host" else value)
            for name, value in headers
            if name.lower() == "host" or not (name.lower() in own or is_secret(name) or _SIGNATURE.search(name))
        ]
    return replace(request, method=method, url=url, headers=tuple(headers), body=body)


def followed_text(urls: list[str]) -> str:
    """The URLs that led to a failure, for the end of its sentence."""
    if len(urls) < 2:
        return ""
    shown = urls if len(urls) <= 4 else [*urls[:2], "…", urls[-1]]
    return f" Followed redirects: {' → '.join(url[:_TEXT_MAX] for url in shown)}"
