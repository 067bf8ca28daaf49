"""A team's store with its roles, and a user of the server for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from app.core.team import Role
from app.db.postgres.roles import init
from tests.postgres import PostgresServer

USERS = {Role.CAPTURE: "edge", Role.READER: "rita", Role.MEMBER: "mona"}
OUTSIDER = "otto"
"""Has no role in the store."""


@contextmanager
def team_store(server: PostgresServer) -> Iterator[str]:
    """The address of a new one, for an administrator."""
    name = server.create()
    address = server.url(name)
    with roles_dropped(server, name):
        with psycopg.connect(address, autocommit=True) as connection:
            for user in (*USERS.values(), OUTSIDER):
                connection.execute(f"CREATE ROLE {user} LOGIN")
            for role, group in init(address).items():
                connection.execute(f"GRANT {group} TO {USERS[role]}")
        yield address


@contextmanager
def roles_dropped(server: PostgresServer, database: str) -> Iterator[None]:
    """Drop the database at the end, and then what would outlive it."""
    try:
        yield
    finally:
        server.drop(database)
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            for role in (*(f"{database}_{role}" for role in Role), *USERS.values(), OUTSIDER):
                connection.execute(f"DROP ROLE IF EXISTS {role}")


def as_user(address: str, user: str) -> str:
    return address.replace("user=postgres", f"user={user}")
