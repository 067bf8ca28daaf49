"""Query parameters, each declared once for validation and documentation; pages and opaque cursors of lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, get_args, get_type_hints
from uuid import UUID

from aiohttp import web
from msgspec.structs import astuple

from app.core.clock import LATEST_US, parse_rfc3339
from app.core.ids import BEGINNING_MIN, first_id, id_beginning, uuid7_us
from app.core.model import Mark, PageKey
from app.core.record import Record
from app.core.search.parse import parse
from app.core.search.query import Query, QueryError
from app.server.api.problems import parameter_problem, query_problem

T = TypeVar("T")
K = TypeVar("K")
N = TypeVar("N", bound="Numbered")

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
NUMBER_MAX = 10**18 - 1
"""The largest number of a record that is looked up; the store's integers have 64 bits."""


@dataclass(frozen=True)
class Parameter(Generic[T]):
    """A query parameter. `parse` returns None for a text that is not what `rule` says, in words; `schema` says it as
    JSON Schema. A `repeatable` one may be given several times; its schema is that of one value."""

    name: str
    description: str
    schema: Mapping[str, Any]
    rule: str
    parse: Callable[[str], T | None]
    repeatable: bool = False

    def of(self, request: web.Request) -> T | None:
        """Its value; None when it is not given. A Problem when it is invalid."""
        text = request.query.get(self.name)
        if text is None:
            return None
        value = self.parse(text)
        if value is None:
            raise parameter_problem(self.name, f"{self.name} must be {self.rule}, not {text!r}.")
        return value


class Numbered(Protocol):
    """A record with a number as its id."""

    @property
    def id(self) -> int: ...


class After(Record, frozen=True):
    """A cursor: the record that ended the page, which was the `place`th."""

    id: int
    place: int


def text(name: str, description: str, *, repeatable: bool = False, **schema: Any) -> Parameter[str]:
    """A parameter whose handler checks it."""
    return Parameter(name, description, {"type": "string", **schema}, "text", str, repeatable)


def flag(name: str, description: str) -> Parameter[bool]:
    return Parameter(name, description, {"type": "boolean"}, "true or false", {"true": True, "false": False}.get)


def choice(name: str, description: str, values: Sequence[str]) -> Parameter[str]:
    rule = ", ".join(values)
    return Parameter(name, description, {"enum": list(values)}, rule, lambda given: given if given in values else None)


def several(name: str, description: str, values: Sequence[str], rule: str) -> Parameter[tuple[Any, ...]]:
    """Some of these, with commas between them; given in their order."""

    def parsed(given: str) -> tuple[str, ...] | None:
        names = given.split(",")
        return tuple(one for one in values if one in names) if all(one in values for one in names) else None

    some = f"(?:{'|'.join(values)})"
    return Parameter(name, description, {"type": "string", "pattern": f"^{some}(?:,{some})*$"}, rule, parsed)


def whole_number(
    name: str, description: str, least: int, most: int, *, default: int | None = None, rule: str = ""
) -> Parameter[int]:
    """`default` is for the documentation: the caller of `of` applies it."""

    def parsed(given: str) -> int | None:
        return int(given) if is_number(given) and least <= int(given) <= most else None

    schema = {"type": "integer", "minimum": least, "maximum": most}
    if default is not None:
        schema["default"] = default
    return Parameter(name, description, schema, rule or f"a whole number from {least} to {most}", parsed)


def number(name: str, description: str) -> Parameter[int]:
    """The number of a record."""
    return whole_number(name, description, 0, NUMBER_MAX, rule="a whole number")


BEGINNING_PATTERN = f"-*(?:[0-9A-Fa-f]-*){{{BEGINNING_MIN},32}}"


def beginning(kind: str) -> Parameter[str]:
    """The parameter `id`: the beginning of the ids of records of this kind."""
    return Parameter(
        "id",
        f"Only those whose IDs begin with this: {BEGINNING_MIN} or more digits of a {kind}'s ID.",
        {"type": "string", "pattern": f"^{BEGINNING_PATTERN}$"},
        f"the start of a {kind}'s ID, {BEGINNING_MIN} or more digits",
        id_beginning,
    )


def place(name: str, description: str) -> Parameter[PageKey]:
    """A place in lists of requests: a request's ID, or the time before which all older ones were received."""

    def parsed(given: str) -> PageKey | None:
        try:
            capture_id = str(UUID(given))
            return PageKey(received_at=min(uuid7_us(capture_id), LATEST_US), id=capture_id)
        except ValueError:
            pass
        try:
            at = min(max(parse_rfc3339(given), 0), LATEST_US)
        except (ValueError, OverflowError):
            return None
        return PageKey(received_at=at, id=first_id(at))

    schema = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "uuid"}]}
    return Parameter(name, description, schema, "a time such as 2026-11-20T09:00:00Z or a request's ID", parsed)


LIMIT = whole_number("limit", "How many items at most.", 1, LIMIT_MAX, default=LIMIT_DEFAULT)
_CURSOR_PARTS = {int: "[0-9]{1,18}", str: "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"}


def _cursor_pattern(key: type) -> str:
    return r"\.".join(_CURSOR_PARTS[kind] for kind in _cursor_fields(key).values())


def _cursor_fields(key: type) -> dict[str, type]:
    return get_type_hints(key) if issubclass(key, Record) else {"": key}


def paging(key: type) -> tuple[Parameter[Any], ...]:
    """The parameters of a list whose pages end at such a `key`: a number, an ID, or a record of those."""
    description = "Where to continue: `next` of the page before. Absent or empty: at the beginning."
    return LIMIT, text("cursor", description, pattern=f"^(?:{_cursor_pattern(key)})?$")


SEARCH = text("q", "A search, in the language of the window's filter, such as `method:POST status:5xx since:2h`.")
REDACTED = flag(
    "redacted", "As agents see requests: `q` finds nothing in their secrets, and `event` and `gist` hold none."
)
ENDPOINT = text("endpoint", "Only those of the endpoint with this slug.")


KEEP = several(
    "keep",
    "Requests with such a mark are kept.",
    get_args(Mark),
    f"{' or '.join(get_args(Mark))}, or both with a comma",
)


def check_names(request: web.Request, known: Collection[Parameter[Any]]) -> None:
    """A Problem when the query has a parameter that is not `known`, or one twice that is not repeatable."""
    by_name = {one.name: one for one in known}
    for name in request.query:
        if name not in by_name:
            takes = f"This call accepts {', '.join(by_name)}." if by_name else "This call accepts none."
            raise parameter_problem(name, f"Unknown query parameter {name!r}. {takes}")
        if len(request.query.getall(name)) > 1 and not by_name[name].repeatable:
            raise parameter_problem(name, f"The query parameter {name} may be given only once.")


def limit_of(request: web.Request) -> int:
    """`limit`, 1 to 500, by default 50."""
    return LIMIT.of(request) or LIMIT_DEFAULT


def is_number(text: str) -> bool:
    """Whether `text` can be the number of a record."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def ordered_page(
    request: web.Request, rows: Sequence[N], chosen: Callable[[N], bool] = lambda row: True
) -> tuple[list[tuple[int, N]], str | None]:
    """The page of the `chosen` rows of a list in the user's order, each with its place in it from 1, and the cursor of
    what follows."""
    limit, cursor = limit_of(request), cursor_of(request, After)
    numbered = [(place, one) for place, one in enumerate(rows, 1) if chosen(one)]
    begin = 0
    if cursor is not None:
        # Continues after that record wherever it was moved to, and after its old place if it was deleted.
        deleted = sum(place < cursor.place for place, _ in numbered)
        begin = next((count for count, (_, one) in enumerate(numbered, 1) if one.id == cursor.id), deleted)
    page = numbered[begin : begin + limit]
    following = cursor_text(After(id=page[-1][1].id, place=page[-1][0])) if len(numbered) > begin + limit else None
    return page, following


def newest_page(request: web.Request, rows: Sequence[Any], key: type) -> tuple[Sequence[Any], str | None]:
    """The page of a list by falling ids, numbers or texts as `key` says, and the cursor of what follows."""
    limit, last = limit_of(request), cursor_of(request, key)
    left = [row for row in rows if last is None or row.id < last]
    return left[:limit], cursor_text(left[limit - 1].id) if len(left) > limit else None


def cursor_of(request: web.Request, key: type[K]) -> K | None:
    """The place where a list continues, from an earlier `next`; None for its beginning."""
    text = request.query.get("cursor")
    if not text:
        return None
    if not re.fullmatch(_cursor_pattern(key), text, re.ASCII):
        raise parameter_problem("cursor", "cursor is invalid; start again without it.")
    parts = [kind(part) for kind, part in zip(_cursor_fields(key).values(), text.split("."), strict=True)]
    return key(**dict(zip(_cursor_fields(key), parts, strict=True))) if issubclass(key, Record) else parts[0]


def parsed_query(text: str) -> Query | None:
    """The search given as `q`; None when it is blank. A Problem when it is invalid."""
    if not text.strip():
        return None
    try:
        return parse(text)
    except QueryError as error:
        raise query_problem(error) from None


def cursor_text(key: object) -> str:
    """`key` as an opaque cursor."""
    return ".".join(map(str, astuple(key))) if isinstance(key, Record) else str(key)
