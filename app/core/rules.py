"""Validation rules: pure functions that return a message naming the field, its limit and the given value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from unicodedata import category
from urllib.parse import urlsplit

from app.core.forward_target import full_url
from app.core.model import Auth, EndpointDraft, Forward, Plan, ResponseSettings
from app.core.own_urls import CAPTURE_PATH, own_base_of
from app.core.record import Headers, Record
from app.core.sizes import GIB, MIB, exact_size
from app.core.target import RETRY_ON, TargetDraft, is_retry_on

NAME_MAX = 100
DESCRIPTION_MAX = 2_000
NOTE_MAX = 2_000
SLUG_MIN, SLUG_MAX = 3, 64
FORWARD_URL_MAX = 2_000
RETENTION_MIN, RETENTION_MAX, RETENTION_DEFAULT = 1, 90, 7
STORAGE_LIMIT_MIN, STORAGE_LIMIT_MAX = MIB, 1024 * 1024 * GIB
"""Bytes, for one endpoint."""
STATUS_MIN, STATUS_MAX = 200, 599
DELAY_MAX_MS = 30_000
WAIT_MIN_MS, WAIT_MAX_MS = 100, 30_000
TIMEOUT_MIN_MS, TIMEOUT_MAX_MS = 100, 600_000
PARALLEL_MAX = 64
PAUSE_AFTER_MAX = 10_000
RATE_LIMIT_MIN, RATE_LIMIT_MAX = 0.01, 1_000
"""Requests a second."""
RETRIES_MAX = 50
RETRY_DELAY_MAX_MS, RETRY_TOTAL_MAX_MS = 24 * 3_600_000, 7 * 24 * 3_600_000
RESPONSE_BODY_MAX = 1_048_576
HEADER_MAX = 8_192
FREE_ENDPOINTS = 10

SLUG_PATTERN = "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$"
_SLUG = re.compile(SLUG_PATTERN)
_IPV6_NETLOC = re.compile(r"\[([^\]%]+)\](?::[0-9]*)?")
HEADER_NAME_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
_TOKEN = re.compile(HEADER_NAME_PATTERN)
OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "upgrade"})
DELIVERY_HEADERS = frozenset({"content-length", "transfer-encoding", "connection", "x-hookline-forwarded-by"})
_JOINERS = "\u200c\u200d"
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class FieldError(Record, frozen=True):
    """A broken rule. `field` is the record's field name, dotted for nested records (`response.status`)."""

    field: str
    message: str


def name_error(name: str) -> str | None:
    """A name is 1 to 100 characters after trimming, on one line."""
    length = len(name.strip())
    if all(char.isspace() or char in _JOINERS for char in name):
        return f"Name is required: 1 to {NAME_MAX} characters."
    if length > NAME_MAX:
        return f"Name can have at most {NAME_MAX} characters, not {length}."
    if not all(map(_is_allowed_in_name, name.strip())):
        return "Name must be one line without control characters."
    return None


def _is_allowed_in_name(char: str) -> bool:
    """Visible characters, blanks, and the joiners needed by emoji and several scripts."""
    return char.isprintable() or char in _JOINERS or category(char) == "Zs"


def description_error(description: str) -> str | None:
    """A description is at most 2,000 characters."""
    if len(description) > DESCRIPTION_MAX:
        return f"Description can have at most {DESCRIPTION_MAX:,} characters, not {len(description):,}."
    return None


def trimmed_note(note: str) -> str | None:
    """The note as stored; None if it is empty, which removes the note."""
    return note.strip() or None


def note_error(note: str) -> str | None:
    """A request's note is at most 2,000 characters after trimming, without lone surrogates."""
    length = len(note.strip())
    if length > NOTE_MAX:
        return f"Note can have at most {NOTE_MAX:,} characters, not {length:,}."
    broken = next((char for char in note if char == "\0" or "\ud800" <= char <= "\udfff"), None)
    if broken is not None:
        return f"Note cannot contain the character {broken!a}: it cannot be stored."
    return None


def retention_error(days: int) -> str | None:
    """Retention is 1 to 90 whole days."""
    if not RETENTION_MIN <= days <= RETENTION_MAX:
        return f"Retention must be {RETENTION_MIN} to {RETENTION_MAX} days, not {days}."
    return None


def storage_limit_error(limit: int) -> str | None:
    """An endpoint's storage limit is 1 MiB to 1024 TiB."""
    if STORAGE_LIMIT_MIN <= limit <= STORAGE_LIMIT_MAX:
        return None
    return f"Storage limit must be {size_bounds(STORAGE_LIMIT_MIN, STORAGE_LIMIT_MAX)}, not {given_size(limit)}."


def size_bounds(low: int, high: int) -> str:
    """`1 MiB to 1024 TiB`."""
    return f"{exact_size(low)} to {exact_size(high)}"


def given_size(size: int) -> str:
    return exact_size(size) if size > 0 else str(size)


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


def response_errors(response: ResponseSettings) -> Iterator[FieldError]:
    """A response has a status of 200 to 599, valid headers, at most 1 MiB of body and 0 to 30 s of delay; it waits 0.1
    to 30 s for a target's."""
    if not STATUS_MIN <= response.status <= STATUS_MAX:
        text = f"Response status must be {STATUS_MIN} to {STATUS_MAX}, not {response.status}."
        yield FieldError(field="response.status", message=text)
    if not 0 <= response.delay_ms <= DELAY_MAX_MS:
        text = f"Response delay must be 0 to {DELAY_MAX_MS:,} ms, not {response.delay_ms:,}."
        yield FieldError(field="response.delay_ms", message=text)
    if response.body is not None and len(response.body.encode("utf-8", "surrogatepass")) > RESPONSE_BODY_MAX:
        text = f"Response body can have at most {RESPONSE_BODY_MAX:,} bytes."
        yield FieldError(field="response.body", message=text)
    message = headers_error(response.headers)
    if message:
        yield FieldError(field="response.headers", message=message)
    message = _range_error("Wait for the target's response", response.wait_ms, WAIT_MIN_MS, WAIT_MAX_MS, " ms")
    if message:
        yield FieldError(field="response.wait_ms", message=message)


def headers_error(headers: Headers, label: str = "Response headers", own: frozenset[str] = OWN_HEADERS) -> str | None:
    """Headers that the user sets: names are tokens, values one line of Latin-1 without control characters but tabs, at
    most 8 KiB each; those in `own` are set by Hookline."""
    for name, value in headers:
        if not _TOKEN.fullmatch(name):
            return f"{label}: {name!r} is not a header name."
        if name.lower() in own:
            return f"{label}: {name} is set by Hookline itself."
        if len(name) + len(value) > HEADER_MAX:
            given = len(name) + len(value)
            return f"{label}: {name[:40]} can have at most {HEADER_MAX:,} bytes, not {given:,}."
        if _CONTROL.search(value) or max(map(ord, value), default=0) > 255:
            return f"{label}: the value of {name} must be one line of Latin-1 without control characters."
    return None


def forward_errors(forward: Forward) -> Iterator[FieldError]:
    """The time limit of a delivery is 0.1 to 120 s."""
    if not TIMEOUT_MIN_MS <= forward.timeout_ms <= TIMEOUT_MAX_MS:
        text = f"Forward timeout must be {TIMEOUT_MIN_MS:,} to {TIMEOUT_MAX_MS:,} ms, not {forward.timeout_ms:,}."
        yield FieldError(field="forward.timeout_ms", message=text)


def target_errors(draft: TargetDraft, own_bases: Sequence[str] = ()) -> list[FieldError]:
    """All rules that a target breaks, in the order of the form's fields."""
    retry, removed = draft.retry, tuple((name, "") for name in draft.remove_headers)
    checks: list[tuple[str, str | None]] = [
        ("url", forward_url_error(full_url(draft.url), own_bases, "Target URL")),
        ("set_headers", headers_error(draft.set_headers, "Set headers", DELIVERY_HEADERS)),
        ("add_headers", headers_error(draft.add_headers, "Add headers", DELIVERY_HEADERS)),
        ("remove_headers", headers_error(removed, "Remove headers", DELIVERY_HEADERS | {"host"})),
        ("timeout_ms", _range_error("Timeout", draft.timeout_ms, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS, " ms")),
        (
            "parallel",
            None if draft.parallel is None else _range_error("Parallel deliveries", draft.parallel, 1, PARALLEL_MAX),
        ),
        (
            "attempt_header",
            headers_error(((draft.attempt_header, ""),), "Attempt header", DELIVERY_HEADERS | {"host"})
            if draft.attempt_header is not None
            else None,
        ),
        (
            "rate_limit",
            None if draft.rate_limit is None else _rate_limit_error(draft.rate_limit),
        ),
        ("pause_after", _range_error("Pause after", draft.pause_after, 0, PAUSE_AFTER_MAX)),
        ("retry.retries", _range_error("Retries", retry.retries, 0, RETRIES_MAX)),
        ("retry.on", _retry_on_error(retry.on)),
        ("retry.first_delay_ms", _range_error("First delay", retry.first_delay_ms, 0, RETRY_DELAY_MAX_MS, " ms")),
        ("retry.longest_delay_ms", _range_error("Longest delay", retry.longest_delay_ms, 0, RETRY_DELAY_MAX_MS, " ms")),
        ("retry.total_ms", _range_error("Total time", retry.total_ms, 0, RETRY_TOTAL_MAX_MS, " ms")),
        (
            "client_key",
            "Client key needs a client certificate." if draft.client_key and not draft.client_certificate else None,
        ),
    ]
    return [FieldError(field=field, message=message) for field, message in checks if message]


def _retry_on_error(names: Sequence[str]) -> str | None:
    wrong = next((name for name in names if not is_retry_on(name)), None)
    if wrong is None:
        return None
    return f"Retry on: {wrong!r} is not a result. Use {', '.join(RETRY_ON)}, or a status from 300 to 599."


def _rate_limit_error(rate: float) -> str | None:
    if RATE_LIMIT_MIN <= rate <= RATE_LIMIT_MAX:
        return None
    return f"Rate limit must be {RATE_LIMIT_MIN:g} to {RATE_LIMIT_MAX:,} requests a second, not {rate:g}."


def _range_error(label: str, value: int, least: int, most: int, unit: str = "") -> str | None:
    if least <= value <= most:
        return None
    return f"{label} must be {least:,} to {most:,}{unit}, not {value:,}."


def auth_errors(auth: Auth) -> Iterator[FieldError]:
    """Credentials need a secret; basic needs a user without colon, header a header's name."""
    if auth.kind == "none":
        return
    if not auth.secret or not auth.secret.isprintable():
        yield FieldError(field="auth.secret", message="Security: the secret is required, on one line.")
    if auth.kind == "basic" and (not auth.name or ":" in auth.name):
        yield FieldError(field="auth.name", message="Security: Basic needs a user name without a colon.")
    if auth.kind == "header" and not _TOKEN.fullmatch(auth.name):
        yield FieldError(field="auth.name", message=f"Security: {auth.name!r} is not a header name.")


def endpoint_errors(draft: EndpointDraft, own_bases: Sequence[str] = ()) -> list[FieldError]:
    """All rules that `draft` breaks, in the order of the form's fields."""
    checks: list[tuple[str, str | None]] = [
        ("name", name_error(draft.name)),
        ("description", description_error(draft.description)),
        ("retention_days", retention_error(draft.retention_days)),
        ("storage_limit", storage_limit_error(draft.storage_limit) if draft.storage_limit is not None else None),
        (
            "forward_url",
            forward_url_error(full_url(draft.forward_url), own_bases) if draft.forward_url is not None else None,
        ),
        ("slug", slug_error(draft.slug) if draft.slug is not None else None),
    ]
    errors = [FieldError(field=field, message=message) for field, message in checks if message]
    errors.extend(response_errors(draft.response))
    errors.extend(forward_errors(draft.forward))
    errors.extend(auth_errors(draft.auth))
    return errors


def create_refusal(plan: Plan, endpoint_count: int) -> str | None:
    """Why an account with `endpoint_count` endpoints cannot create another; None if it can."""
    if plan is Plan.FREE and endpoint_count >= FREE_ENDPOINTS:
        return (
            f"The Free plan includes up to {FREE_ENDPOINTS} endpoints and all {endpoint_count} are in use."
            " Delete one, or switch to Pro in Settings."
        )
    return None


def plan_refusal(plan: Plan, endpoint_count: int) -> str | None:
    """Why an account with `endpoint_count` endpoints cannot change to `plan`; None if it can."""
    if plan is Plan.FREE and endpoint_count > FREE_ENDPOINTS:
        excess = endpoint_count - FREE_ENDPOINTS
        return (
            f"The Free plan includes up to {FREE_ENDPOINTS} endpoints and there are {endpoint_count}."
            f" Delete {excess} first."
        )
    return None
