"""Checks of a team's store for `hookline doctor`; nothing there is changed. Each function takes its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
from peewee import Database, PeeweeException

from app.core.doctor import Finding, ok, problem, warning
from app.core.errors import StoreAddressError
from app.core.team import Role, may_only_capture
from app.core.text import count_of, size_text
from app.db.deliveries.targets import NO_TARGETS, forwarding_finding
from app.db.endpoints import FINISH_COPY, unfinished_copy
from app.db.postgres.database import PostgresDatabase, cause_of, refusal, shown
from app.db.postgres.nodes import living
from app.db.postgres.roles import enter, role_of
from app.db.postgres.schema import check_server, check_version, is_empty
from app.db.postgres.search import MISSING, operators_of
from app.db.raw_sql import execute, raw

_UNREAD = warning("not known: the database cannot be read.", "See the check of the database.")


def check_database(address: str) -> Finding:
    """Whether the server can be reached and takes writes, and this version can use the tables; StoreAddressError if it
    cannot."""
    try:
        with _connected(address) as database:
            name, version = check_server(raw(database), address)
            (size, is_standby), *_ = execute(
                database, "SELECT pg_database_size(current_database()), pg_is_in_recovery()"
            )
            described = f"{name}, PostgreSQL {version}"
            if is_standby:
                advice = "Name the primary server, or all servers with commas between them."
                return problem(f"{described}, is a standby: it takes no writes.", advice)
            if is_empty(raw(database)):
                return ok(f"{described}; the tables are created at the first start")
            role = role_of(raw(database), address)
            check_version(raw(database), name)
            if (copied := unfinished_copy(database)) is not None:
                return problem(f"{described}, is an unfinished copy of {copied.name}.", FINISH_COPY)
            nodes = living(database)
    except (psycopg.Error, PeeweeException) as error:
        return problem(str(refusal(address, cause_of(error))))
    return ok(f"{described}, {size_text(size)}, {count_of(nodes, 'node')} running; your role is {role}")


def check_use(address: str) -> None:
    """StoreAddressError when a window could not work on the store. What it needs is created, as by opening it."""
    try:
        with closing(PostgresDatabase(address)) as database:
            database.connect()
            if enter(database, address) is Role.CAPTURE:
                raise StoreAddressError(may_only_capture(shown(address)))
    except (psycopg.Error, PeeweeException) as error:
        raise refusal(address, cause_of(error)) from error


def check_index(address: str) -> Finding:
    """Whether searches are as fast as they can be."""
    try:
        with _connected(address) as database:
            if not is_empty(raw(database)) and operators_of(database) is None:
                return warning(*MISSING.split(". ", 1))
    except (psycopg.Error, PeeweeException):
        return _UNREAD
    return ok("in use")


def check_forwarding(address: str) -> Finding:
    try:
        with _connected(address) as database:
            return NO_TARGETS if is_empty(raw(database)) else forwarding_finding(database)
    except (psycopg.Error, PeeweeException):
        return _UNREAD


@contextmanager
def _connected(address: str) -> Iterator[Database]:
    with closing(PostgresDatabase(address, read_only=True)) as database:
        database.connect()
        yield database
