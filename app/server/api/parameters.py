"""Query parameters: only known ones, each once; limits and opaque cursors of lists."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Sequence
from typing import Annotated, Protocol, TypeVar, get_args

import msgspec
from aiohttp import web

from app.core.deletion import Mark
from app.core.ids import BEGINNING_MIN, id_beginning
from app.core.search.parse import parse
from app.core.search.query import Query, QueryError
from app.server.api.problems import Problem, parameter_problem, query_problem

K = TypeVar("K")
N = TypeVar("N", bound="Numbered")

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
PAGING = ("limit", "cursor")


class Numbered(Protocol):
    """A record with a number as its id."""

    @property
    def id(self) -> int: ...


class After(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A cursor: the record that ended the page, which was the `place`th."""

    id: int
    place: Annotated[int, msgspec.Meta(ge=1)]


def check_names(request: web.Request, known: Collection[str], repeatable: Collection[str] = ()) -> None:
    """A Problem when the query has a parameter that is neither `known` nor `repeatable`, or a `known` one twice."""
    for name in request.query:
        if name in repeatable:
            continue
        if name not in known:
            takes = f"This call accepts {', '.join((*known, *repeatable))}." if known else "This call accepts none."
            raise parameter_problem(name, f"Unknown query parameter {name!r}. {takes}")
        if len(request.query.getall(name)) > 1:
            raise parameter_problem(name, f"The query parameter {name} may be given only once.")


def limit_of(request: web.Request) -> int:
    """`limit`, 1 to 500, by default 50."""
    text = request.query.get("limit")
    if text is None:
        return LIMIT_DEFAULT
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= LIMIT_MAX):
        raise parameter_problem("limit", f"limit must be a whole number from 1 to {LIMIT_MAX}, not {text!r}.")
    return int(text)


def flag_of(request: web.Request, name: str) -> bool:
    """A parameter that is `true` or `false`, by default false."""
    return flag_or_none(request, name) or False


def flag_or_none(request: web.Request, name: str) -> bool | None:
    """A parameter that is `true` or `false`; None when it is not given."""
    text = request.query.get(name)
    if text is None:
        return None
    if text not in ("true", "false"):
        raise parameter_problem(name, f"{name} must be true or false, not {text!r}.")
    return text == "true"


def number_of(request: web.Request, name: str) -> int | None:
    """A parameter that is the number of a record; None when it is not given."""
    text = request.query.get(name)
    if text is None:
        return None
    if not is_number(text):
        raise parameter_problem(name, f"{name} must be a whole number, not {text!r}.")
    return int(text)


def is_number(text: str) -> bool:
    """Whether `text` can be the number of a record."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def ordered_page(request: web.Request, rows: Sequence[N]) -> tuple[list[tuple[int, N]], str | None]:
    """The page of a list in the user's order, each row with its place from 1, and the cursor of what follows."""
    limit, cursor = limit_of(request), cursor_of(request, After)
    numbered = list(enumerate(rows, 1))
    begin = 0
    if cursor is not None:
        # Continues after that record wherever it was moved to, and after its old place if it was deleted.
        begin = next((place for place, one in numbered if one.id == cursor.id), cursor.place - 1)
    page = numbered[begin : begin + limit]
    following = cursor_text(After(page[-1][1].id, page[-1][0])) if len(numbered) > begin + limit else None
    return page, following


def marks_of(request: web.Request) -> frozenset[Mark]:
    """The marks in `keep`, separated by commas; none when it is not given."""
    text = request.query.get("keep")
    names = text.split(",") if text is not None else []
    known = get_args(Mark)
    if any(name not in known for name in names):
        raise parameter_problem("keep", f"keep must be {' or '.join(known)}, or both with a comma, not {text!r}.")
    return frozenset(mark for mark in known if mark in names)


def beginning_of(request: web.Request, kind: str = "request") -> str | None:
    """The parameter `id`, the beginning of the ids of records of this kind; None when it is not given."""
    text = request.query.get("id")
    if text is None:
        return None
    beginning = id_beginning(text)
    if beginning is None:
        message = f"id must be the start of a {kind}'s ID, {BEGINNING_MIN} or more digits, not {text!r}."
        raise parameter_problem("id", message)
    return beginning


def cursor_of(request: web.Request, key: type[K]) -> K | None:
    """The place where a list continues, from an earlier `next`; None for its beginning."""
    text = request.query.get("cursor")
    if text is None:
        return None
    try:
        raw = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=key)
    except (binascii.Error, UnicodeError, msgspec.DecodeError):
        raise wrong_cursor() from None


def query_of(request: web.Request) -> Query | None:
    """The search in `q`; None when there is none."""
    text = request.query.get("q", "")
    if not text.strip():
        return None
    try:
        return parse(text)
    except QueryError as error:
        raise query_problem("q", error) from None


def cursor_text(key: object) -> str:
    """`key` as an opaque cursor."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode("ascii")


def wrong_cursor() -> Problem:
    """The problem for a cursor that this API did not create."""
    return parameter_problem("cursor", "cursor is invalid; start again without it.")
