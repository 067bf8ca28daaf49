"""Calls of the local API, whatever sends them: what each asks, and typed results or an `ApiError`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from hookline.decoding import decode_json
from hookline.errors import ApiError, FieldProblem, NotFoundError, ProblemError
from hookline.headers import Headers

T = TypeVar("T")

Params = Mapping[str, str | Sequence[str]]
"""Query parameters; a list gives one several times."""

CONNECT_TIMEOUT_S = 5.0
TIMEOUT_S = 60.0
"""How long a response, or the next part of it, may take; None in its place: for ever."""
PAGE = 500
"""The largest page of a list."""
PATH = "/api/v1"
KIND = "urn:hookline:problem:"


class Response(msgspec.Struct, frozen=True):
    """A response that was read; the names of its headers are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    content: bytes


class Call(NamedTuple, Generic[T]):
    """One call of the API, not yet made. `decode` makes its result of a successful response, which was read."""

    method: str
    path: str
    decode: Callable[[Response], T]
    params: Params | None = None
    content: Mapping[str, Any] | None = None
    timeout_s: float | None = TIMEOUT_S


Steps = Generator[Call[Any], Any, T]
"""Calls made one after the other: each `yield` gets a call's result, or its ApiError. Returns the result of all."""


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list; `next` is the cursor of what follows. `unexamined` counts requests that a search leaves out
    although they may match."""

    items: tuple[T, ...]
    next: str | None = None
    unexamined: int = 0


def decode_as(kind: type[T]) -> Callable[[Response], T]:
    """Decodes a response's JSON as `kind`; ApiError for what is not such JSON."""

    return lambda response: decoded(response.content, kind)


def decoded(text: bytes, kind: type[T]) -> T:
    """JSON as `kind`; ApiError for what is not such JSON."""
    try:
        return decode_json(text, kind, _decoded)
    except msgspec.DecodeError as error:
        message = f"Hookline's response is not understood: {error}. Its version may not fit this library's."
        raise ApiError(message) from error


def items_of(kind: type[T]) -> Callable[[Response], tuple[T, ...]]:
    """Decodes a list that comes whole."""
    decode = decode_as(Page[kind])  # type: ignore[valid-type]
    return lambda response: decode(response).items


def nothing(_: Response) -> None:
    """Decodes a response without a body."""


class Pages(msgspec.Struct, Generic[T], frozen=True):
    """A list, not yet read, from `cursor` on: its first `count` items, or all (None)."""

    path: str
    kind: type[T]
    params: Params
    count: int | None = None
    cursor: str | None = None

    def first(self) -> Call[Page[T]]:
        """The call for the first page."""
        limit = PAGE if self.count is None else min(self.count, PAGE)
        cursor = {"cursor": self.cursor} if self.cursor else {}
        decode = decode_as(Page[self.kind])  # type: ignore[name-defined]
        return Call("GET", self.path, decode, {**self.params, "limit": str(limit), **cursor})

    def after(self, page: Page[T]) -> Pages[T] | None:
        """What follows the first page; None at the end."""
        left = None if self.count is None else self.count - len(page.items)
        ended = page.next is None or left == 0
        return None if ended else msgspec.structs.replace(self, count=left, cursor=page.next)


def query_of(**params: str | None) -> dict[str, str]:
    """The query parameters that are given."""
    return {name: value for name, value in params.items() if value}


def flags_of(**flags: bool) -> dict[str, str]:
    """The query parameters that are true."""
    return {name: "true" for name, wanted in flags.items() if wanted}


def path_of(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)


def problem_of(response: Response) -> ProblemError:
    """The error for a problem document (RFC 9457); the messages of its fields are more specific than its summary."""
    status = response.status
    try:
        problem = decode_json(response.content, _Problem)
    except msgspec.DecodeError:
        text = f"{response.url} responded with {status}, but not as Hookline does."
        return ProblemError(status, "", f"{text} Check which program runs there.")
    messages = " ".join(error.message for error in problem.errors)
    kind = NotFoundError if status == 404 else ProblemError
    return kind(
        status,
        problem.type.removeprefix(KIND),
        messages or problem.detail or problem.title,
        fields=problem.errors,
        span=problem.span,
        suggestion=problem.suggestion,
    )


class _Problem(msgspec.Struct, frozen=True):
    title: str
    type: str = ""
    detail: str = ""
    errors: tuple[FieldProblem, ...] = ()
    span: tuple[int, int] | None = None
    suggestion: str | None = None


def body_of(content: Mapping[str, Any] | None) -> bytes | None:
    """A call's content as JSON."""
    return None if content is None else msgspec.json.encode(content, enc_hook=_encoded)


def headers_of(token: str, headers: Mapping[str, str] | None, body: bytes | None) -> dict[str, str]:
    """All headers of a call."""
    kind = {} if body is None else {"Content-Type": "application/json"}
    return {"Authorization": f"Bearer {token}", **(headers or {}), **kind}


def _decoded(kind: type[Any], value: Any) -> Any:
    if kind is Headers:
        return Headers(value)
    raise NotImplementedError(kind)


def _encoded(value: Any) -> Any:
    if isinstance(value, Headers):
        return value.pairs
    raise NotImplementedError(type(value))
