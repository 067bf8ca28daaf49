"""The errors of `hookline.client`: `ApiError` and its kinds."""

from __future__ import annotations

import msgspec


class FieldProblem(msgspec.Struct, frozen=True):
    """What is wrong with one field (a dotted path, such as `response.status`) or query parameter."""

    field: str
    message: str


class ApiError(Exception):
    """A call did not succeed; `str()` says what is wrong and what to do."""


class UnreachableError(ApiError):
    """No Hookline is running, or it does not respond."""


class NoResponseError(UnreachableError):
    """It does not respond in time."""


class WaitTimeoutError(ApiError, TimeoutError):
    """No matching request was stored in time."""


class ProblemError(ApiError):
    """Hookline responded with an error (RFC 9457).

    `kind` is stable, such as `not-found` or `invalid-fields`; empty if the response is not Hookline's. `fields` name
    what is wrong; `span` is the wrong part of a search (first character, one after the last), `suggestion` what could
    stand there.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        fields: tuple[FieldProblem, ...] = (),
        span: tuple[int, int] | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.fields = status, kind, fields
        self.span, self.suggestion = span, suggestion


class NotFoundError(ProblemError):
    """The endpoint, request, delivery or replay does not exist (any more)."""
