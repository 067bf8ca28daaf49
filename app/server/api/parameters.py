"""Query parameters: only known ones, each once; limits and opaque cursors of lists."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from typing import TypeVar, get_args

import msgspec
from aiohttp import web

from app.core.deletion import Mark
from app.core.ids import BEGINNING_MIN, id_beginning
from app.core.search.parse import parse
from app.core.search.query import Query, QueryError
from app.server.api.problems import Problem, parameter_problem, query_problem

K = TypeVar("K")

LIMIT_DEFAULT, LIMIT_MAX = 50, 500
PAGING = ("limit", "cursor")


def check_names(request: web.Request, known: Collection[str]) -> None:
    """A Problem when the query has a parameter that is not `known`, or one twice."""
    for name in request.query:
        if name not in known:
            takes = f"This call accepts {', '.join(known)}." if known else "This call accepts none."
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
    text = request.query.get(name, "false")
    if text not in ("true", "false"):
        raise parameter_problem(name, f"{name} must be true or false, not {text!r}.")
    return text == "true"


def marks_of(request: web.Request) -> frozenset[Mark]:
    """The marks in `keep`, separated by commas; none when it is not given."""
    text = request.query.get("keep")
    names = text.split(",") if text is not None else []
    known = get_args(Mark)
    if any(name not in known for name in names):
        raise parameter_problem("keep", f"keep must be {' or '.join(known)}, or both with a comma, not {text!r}.")
    return frozenset(mark for mark in known if mark in names)


def beginning_of(request: web.Request) -> str | None:
    """The parameter `id`, the beginning of ids; None when it is not given."""
    text = request.query.get("id")
    if text is None:
        return None
    beginning = id_beginning(text)
    if beginning is None:
        message = f"id must be the start of a request's ID, {BEGINNING_MIN} or more digits, not {text!r}."
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
