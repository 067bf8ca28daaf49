"""Validation rules: pure functions that return a message naming the field, its limit and the given value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from unicodedata import category
from urllib.parse import urlsplit

from app.core.model import Auth, Endpoint, EndpointDraft, Plan
from app.core.own_urls import CAPTURE_PATH, own_base_of
from app.core.record import Headers, Record, fields_of, unstorable_error
from app.core.target import RETRY_ON, TargetDraft, full_url, is_retry_on

NAME_MAX = fields_of(EndpointDraft)["name"].bounds[1]
NOTE_MAX = 2_000
SLUG_MIN, SLUG_MAX = fields_of(EndpointDraft)["slug"].bounds
FORWARD_URL_MAX = 2_000
RESPONSE_BODY_MAX = 1_048_576
HEADER_MAX = 8_192
FREE_ENDPOINTS = 10
TOO_FEW = "The endpoint has fewer than two targets."

SLUG_PATTERN = "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$"
_SLUG = re.compile(SLUG_PATTERN)
_IPV6_NETLOC = re.compile(r"\[([^\]%]+)\](?::[0-9]*)?")
HEADER_NAME_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
_TOKEN = re.compile(HEADER_NAME_PATTERN)
OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "upgrade"})
DELIVERY_HEADERS = frozenset({"content-length", "transfer-encoding", "connection", "x-hookline-forwarded-by"})
_JOINERS = "\u200c\u200d"
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SHOWN_MAX = 40
"""Characters of a header that a message repeats."""


class FieldError(Record, frozen=True):
    """A broken rule. `field` is the record's field name, dotted for nested records (`response.status`)."""

    field: str
    message: str


def field_errors(record: Record, others: Mapping[str, str | None], within: str = "") -> Iterator[FieldError]:
    """The declared bounds that `record` breaks, and `others`, what rules of their own say of fields by their paths,
    in the order of the fields."""
    declared = fields_of(type(record))
    for name in record.__struct_fields__:
        path, value = f"{within}{name}", getattr(record, name)
        if isinstance(value, Record):
            yield from field_errors(value, others, f"{path}.")
            continue
        message = declared[name].error(value) if name in declared else None
        if path in others:
            message = others[path]  # a rule of its own includes the bounds
        if message:
            yield FieldError(field=path, message=message)


def name_error(name: str) -> str | None:
    """A name is 1 to 100 characters after trimming, on one line."""
    trimmed = "" if all(char.isspace() or char in _JOINERS for char in name) else name.strip()
    # The joiners are needed by emoji and several scripts.
    if not all(char.isprintable() or char in _JOINERS or category(char) == "Zs" for char in trimmed):
        return "Name must be one line without control characters."
    return fields_of(EndpointDraft)["name"].error(trimmed)


def trimmed_note(note: str) -> str | None:
    """The note as stored; None if it is empty, which removes the note."""
    return note.strip() or None


def note_error(note: str) -> str | None:
    """A request's note is at most 2,000 characters after trimming, without lone surrogates."""
    length = len(note.strip())
    if length > NOTE_MAX:
        return f"Note can have at most {NOTE_MAX:,} characters, not {length:,}."
    return unstorable_error("Note", note)


def position_error(position: int, count: int) -> str | None:
    """A position in the list of `count` endpoints is 1 to `count`."""
    if 1 <= position <= count:
        return None
    return f"Position must be a whole number from 1 to {count}, not {position}."


def slug_error(slug: str) -> str | None:
    """A slug is 3 to 64 characters of a-z, 0-9 and hyphen, with no hyphen at either end."""
    if not SLUG_MIN <= len(slug) <= SLUG_MAX:
        return f"Slug must have {SLUG_MIN} to {SLUG_MAX} characters, not {len(slug)}."
    if not _SLUG.fullmatch(slug):
        return (
            f"Slug can contain only a-z, 0-9 and hyphens, and cannot start or end with a hyphen: {slug!r} is invalid."
        )
    return None


def forward_url_error(url: str, own_bases: Sequence[str] = (), label: str = "Forward URL") -> str | None:
    """A forward URL is absolute http or https, without user info, and not one of Hookline's own URLs.

    `own_bases` are the beginnings of those: `http://127.0.0.1:8787/catch/`, or `http://127.0.0.1:8788/` for the API.
    """
    if len(url) > FORWARD_URL_MAX:
        return f"{label} can have at most {FORWARD_URL_MAX:,} characters, not {len(url):,}."
    if url != url.strip() or not url.isprintable() or " " in url:
        return f"{label} cannot contain spaces or control characters."
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"{label} is not a valid URL: {error}."
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"{label} must start with http:// or https:// and have a host, not {url!r}."
    if parts.username is not None or parts.password is not None:
        return f"{label} cannot contain a user name or password."
    # How strictly urlsplit checks brackets depends on the Python release.
    if "[" in parts.netloc and not _has_ipv6_address(parts.netloc):
        return f"{label} is not a valid URL: {parts.netloc!r} is not an IPv6 address."
    if port == 0:
        return f"{label} must have a port between 1 and 65535, not 0."
    own = own_base_of(url, own_bases)
    if own is None:
        return None
    if own.endswith(CAPTURE_PATH):
        return f"{label} is one of Hookline's own capture URLs: requests would loop forever."
    return f"{label} is Hookline's own API. Enter the address of the program you are developing."


def _has_ipv6_address(netloc: str) -> bool:
    from ipaddress import IPv6Address  # start-up time: few commands check a URL

    found = _IPV6_NETLOC.fullmatch(netloc)
    try:
        return found is not None and bool(IPv6Address(found[1]))
    except ValueError:
        return False


def headers_error(headers: Headers, label: str = "Response headers", own: frozenset[str] = OWN_HEADERS) -> str | None:
    """Headers that the user sets: names are tokens, values one line of Latin-1 without control characters but tabs, at
    most 8 KiB each; those in `own` are set by Hookline."""
    found = (_header_error(name, value, own) for name, value in headers)
    return next((f"{label}: {message}" for message in found if message), None)


def _header_error(name: str, value: str, own: frozenset[str]) -> str | None:
    shown = name if len(name) <= _SHOWN_MAX else f"{name[:_SHOWN_MAX]}…"
    if not name and value:
        return f"{value[:_SHOWN_MAX]!r} has no name."
    if not _TOKEN.fullmatch(name):
        return f"{shown!r} is not a header name."
    if name.lower() in own:
        return f"{shown} is set by Hookline itself."
    if (given := len(name) + len(value)) > HEADER_MAX:
        return f"{shown} can have at most {HEADER_MAX:,} bytes, not {given:,}."
    if "\n" in value or "\r" in value:
        return f"the value of {shown} has a line break."
    if _CONTROL.search(value):
        return f"the value of {shown} has a control character."
    if other := next((char for char in value if ord(char) > 255), None):
        return f"the value of {shown} has {other!r}, which is not Latin-1."
    return None


def target_errors(draft: TargetDraft, own_bases: Sequence[str] = ()) -> list[FieldError]:
    """All rules that a target breaks, in the order of its fields."""
    others = {
        "url": forward_url_error(full_url(draft.url), own_bases, "Target URL"),
        "set_headers": headers_error(draft.set_headers, "Set headers", DELIVERY_HEADERS),
        "add_headers": headers_error(draft.add_headers, "Add headers", DELIVERY_HEADERS),
        "remove_headers": _names_error(draft.remove_headers, "Remove headers"),
        "attempt_header": None
        if draft.attempt_header is None
        else _names_error((draft.attempt_header,), "Attempt header"),
        "retry.on": _retry_on_error(draft.retry.on),
        "client_key": "Client key needs a client certificate."
        if draft.client_key and not draft.client_certificate
        else None,
    }
    return list(field_errors(draft, others))


def _names_error(names: Sequence[str], label: str) -> str | None:
    return headers_error(tuple((name, "") for name in names), label, DELIVERY_HEADERS | {"host"})


def _retry_on_error(names: Sequence[str]) -> str | None:
    wrong = next((name for name in names if not is_retry_on(name)), None)
    if wrong is None:
        return None
    return f"Retry on: {wrong!r} is not a result. Use {', '.join(RETRY_ON)}, or a status from 300 to 599."


def auth_errors(auth: Auth) -> dict[str, str]:
    """Credentials need a secret; basic needs a user without colon, header a header's name."""
    errors: dict[str, str] = {}
    if auth.kind == "none":
        return errors
    if not auth.secret or not auth.secret.isprintable():
        errors["auth.secret"] = "Security: the secret is required, on one line."
    if auth.kind == "basic" and (not auth.name or ":" in auth.name):
        errors["auth.name"] = "Security: Basic needs a user name without a colon."
    if auth.kind == "header" and not _TOKEN.fullmatch(auth.name):
        errors["auth.name"] = f"Security: {auth.name!r} is not a header name."
    return errors


def endpoint_errors(draft: EndpointDraft, own_bases: Sequence[str] = ()) -> list[FieldError]:
    """All rules that `draft` breaks, in the order of its fields."""
    url = draft.forward_url
    others = {
        "name": name_error(draft.name),
        "forward_url": None if url is None else forward_url_error(full_url(url), own_bases),
        "slug": None if draft.slug is None else slug_error(draft.slug),
        "response.headers": headers_error(draft.response.headers),
        "response.body": _body_error(draft.response.body),
        **auth_errors(draft.auth),
    }
    return list(field_errors(draft, others))


def _body_error(body: str | None) -> str | None:
    if body is None:
        return None
    if len(body.encode("utf-8", "surrogatepass")) > RESPONSE_BODY_MAX:
        return f"Response body can have at most {RESPONSE_BODY_MAX:,} bytes."
    return unstorable_error("Response body", body.replace("\0", ""))  # it is stored as JSON, which can say NUL


def create_refusal(plan: Plan, endpoint_count: int) -> str | None:
    """Why an account with `endpoint_count` endpoints cannot create another; None if it can."""
    if plan is Plan.FREE and endpoint_count >= FREE_ENDPOINTS:
        return (
            f"The Free plan includes up to {FREE_ENDPOINTS} endpoints and all {endpoint_count} are in use."
            " Delete one, or switch to Pro in Settings."
        )
    return None


def compare_refusal(endpoint: Endpoint) -> str | None:
    """Why the responses of its targets cannot be compared; None if they can."""
    return None if len(endpoint.targets) >= 2 else TOO_FEW


def plan_refusal(plan: Plan, endpoint_count: int) -> str | None:
    """Why an account with `endpoint_count` endpoints cannot change to `plan`; None if it can."""
    if plan is Plan.FREE and endpoint_count > FREE_ENDPOINTS:
        excess = endpoint_count - FREE_ENDPOINTS
        return (
            f"The Free plan includes up to {FREE_ENDPOINTS} endpoints and there are {endpoint_count}."
            f" Delete {excess} first."
        )
    return None
