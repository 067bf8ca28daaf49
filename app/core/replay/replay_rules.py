"""Validates a replay before it starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from app.core.delivery import RequestEdit
from app.core.forward_target import full_url
from app.core.hop_by_hop import FRAMING
from app.core.replay.spec import (
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    ReplayDestination,
    ReplaySource,
    ReplaySpec,
)
from app.core.rules import FieldError, forward_url_error, headers_error, slug_error

CONCURRENCY_MAX = 64
TIMES_MAX = 100_000
RATE_MIN, RATE_MAX = 0.001, 10_000
SCALE_MAX = 1_000
GAP_MAX_MS, DELAY_MAX_MS = 24 * 3_600_000, 600_000
SEED_MAX = 2**63 - 1
"""The store's integers are signed and have 64 bits."""
ONE_EDITED = "Only a single request can be edited before it is replayed."
METHOD_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$"
_METHOD = re.compile(METHOD_PATTERN)


def with_full_urls(spec: ReplaySpec) -> ReplaySpec:
    """Its URLs as `full_url` has them."""
    if isinstance(spec.destination, OneUrl):
        spec = replace(spec, destination=OneUrl(url=full_url(spec.destination.url)))
    if spec.edit is not None and spec.edit.url is not None:
        spec = replace(spec, edit=replace(spec.edit, url=full_url(spec.edit.url)))
    return spec


def replay_errors(spec: ReplaySpec, own_bases: Sequence[str] = ()) -> list[FieldError]:
    """All rules that a replay breaks, in the order of the form's fields. `own_bases` as in `forward_url_error`."""
    return list(_errors(spec, own_bases))


def _errors(spec: ReplaySpec, own_bases: Sequence[str]) -> Iterator[FieldError]:
    yield from _source_errors(spec.source)
    yield from _destination_errors(spec.destination, own_bases)
    yield from _pace_errors(spec)
    checks = (
        ("concurrency", "Concurrency", spec.concurrency, 1, CONCURRENCY_MAX),
        ("times", "Times", spec.times, 1, TIMES_MAX),
        ("seed", "Seed", spec.seed, 0, SEED_MAX),
        ("faults.delay_max_ms", "Longest delay in ms", spec.faults.delay_max_ms, 0, DELAY_MAX_MS),
    )
    for field, label, value, least, most in checks:
        yield from _range_error(field, label, value, least, most)
    yield from _fault_errors(spec.faults)
    if spec.edit is not None:
        yield from _edit_errors(spec.edit, spec.source, own_bases)


def _source_errors(source: ReplaySource) -> Iterator[FieldError]:
    if isinstance(source, ChosenRequests) and not source.ids:
        yield FieldError(field="source.ids", message="Select at least one request to replay.")
    if not isinstance(source, MatchingRequests) or source.received_after is None or source.received_before is None:
        return
    if source.received_after >= source.received_before:
        yield FieldError(field="source.received_before", message="The time range must end after it begins.")


def _destination_errors(destination: ReplayDestination, own_bases: Sequence[str]) -> Iterator[FieldError]:
    if isinstance(destination, OneUrl):
        message = forward_url_error(full_url(destination.url), own_bases, "Replay URL")
        yield from _error("destination.url", message)
    if isinstance(destination, OtherEndpoint):
        yield from _error("destination.slug", slug_error(destination.slug))


def _pace_errors(spec: ReplaySpec) -> Iterator[FieldError]:
    pace = spec.pace
    if isinstance(pace, FixedRate) and not RATE_MIN <= pace.per_second <= RATE_MAX:
        text = f"Rate must be {RATE_MIN:g} to {RATE_MAX:,} per second, not {pace.per_second:,g}."
        yield FieldError(field="pace.per_second", message=text)
    if not isinstance(pace, OriginalGaps):
        return
    if not 0 <= pace.scale <= SCALE_MAX:
        text = f"Scale must be 0 to {SCALE_MAX:,}, not {pace.scale:,g}."
        yield FieldError(field="pace.scale", message=text)
    if pace.longest_gap_ms is not None:
        yield from _range_error("pace.longest_gap_ms", "Longest gap in ms", pace.longest_gap_ms, 0, GAP_MAX_MS)


def _fault_errors(faults: Faults) -> Iterator[FieldError]:
    for field, label in (
        ("duplicate", "Duplicate"),
        ("swap", "Swap"),
        ("drop", "Drop"),
        ("delay", "Delay"),
        ("cut_off", "Cut off"),
    ):
        probability: float = getattr(faults, field)
        if not 0 <= probability <= 1:
            text = f"{label} must be a probability from 0 to 1, not {probability:g}."
            yield FieldError(field=f"faults.{field}", message=text)


def _edit_errors(edit: RequestEdit, source: ReplaySource, own_bases: Sequence[str]) -> Iterator[FieldError]:
    if not isinstance(source, ChosenRequests) or len(source.ids) != 1:
        yield FieldError(field="edit", message=ONE_EDITED)
    if edit.method is not None and not _METHOD.fullmatch(edit.method):
        yield FieldError(field="edit.method", message=f"Method: {edit.method[:40]!r} is not an HTTP method.")
    if edit.url is not None:
        yield from _error("edit.url", forward_url_error(full_url(edit.url), own_bases, "URL"))
    if edit.headers is not None:
        yield from _error("edit.headers", headers_error(edit.headers, "Headers", FRAMING))


def _error(field: str, message: str | None) -> Iterator[FieldError]:
    if message:
        yield FieldError(field=field, message=message)


def _range_error(field: str, label: str, value: int, least: int, most: int) -> Iterator[FieldError]:
    if not least <= value <= most:
        yield FieldError(field=field, message=f"{label} must be {least:,} to {most:,}, not {value:,}.")
