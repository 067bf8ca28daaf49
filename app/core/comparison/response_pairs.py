"""The responses of two targets to the same requests."""

from __future__ import annotations

from app.core.model import PageKey, Summary
from app.core.record import Headers, Record


class ComparedResponse(Record, frozen=True):
    """A response, its body as sent; or without one, `status` is None and `failure` says why.

    `complete`: the body is all there. `ms` is how long the attempt took.
    """

    status: int | None
    headers: Headers = ()
    body: bytes = b""
    complete: bool = True
    failure: str | None = None
    ms: float | None = None


class ResponsePair(Record, frozen=True):
    """What two targets responded to a request: the last attempt of the latest ended delivery to each."""

    request: Summary
    first_delivery: str
    second_delivery: str
    first: ComparedResponse
    second: ComparedResponse


class ResponsePairs(Record, frozen=True):
    """Pairs, newest request first. `examined` counts the requests looked at; the list continues after the key `next`,
    None at its end."""

    pairs: tuple[ResponsePair, ...]
    examined: int
    next: PageKey | None
