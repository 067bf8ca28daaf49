"""A team's store that is copied from or to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

import psycopg
from peewee import PeeweeException, SchemaManager
from psycopg import errors

from app.core.errors import StoreCopyError
from app.core.team import NOT_ALLOWED, Role
from app.core.text import count_of
from app.db.models import ALWAYS_FILLED, MODELS
from app.db.postgres.database import PostgresDatabase, cause_of, refusal, shown, trouble
from app.db.postgres.nodes import living
from app.db.postgres.roles import role_of
from app.db.postgres.schema import MIGRATIONS, PARTITION, WRITE_LOCK, check_server, check_version, is_empty, prepare
from app.db.raw_sql import execute, raw

_PATIENT = "SET statement_timeout TO '10min'; SET idle_in_transaction_session_timeout TO '10min'"
"""A long body is copied by one statement, and nobody else waits."""
_NO_USES = ("DELETE FROM storage_use WHERE owner > 0", "UPDATE storage_use SET bytes = 0, total = 0, unread = 0")


class TeamStore:
    """As `DataFolder`. No node can start meanwhile: it would need the lock of who writes."""

    trouble = staticmethod(trouble)

    def __init__(self, address: str, *, read_only: bool) -> None:
        self.name, self._address, self._read_only = shown(address), address, read_only
        self.database = PostgresDatabase(address, read_only=read_only)

    @contextmanager
    def opened(self) -> Iterator[None]:
        with closing(self.database):
            try:
                self.database.connect()
                connection = raw(self.database)
                check_server(connection, self._address)
                self._require_role(role_of(connection, self._address))
                connection.execute(_PATIENT)
                connection.execute("SELECT pg_advisory_lock(%s)", (WRITE_LOCK,))
            except errors.LockNotAvailable as error:
                raise self._in_use("Hookline") from error
            except (psycopg.Error, PeeweeException) as error:
                raise refusal(self._address, cause_of(error)) from error
            self.is_new = is_empty(connection)
            if not self.is_new:
                check_version(connection, self.name)
                if nodes := living(self.database):
                    raise self._in_use(count_of(nodes, "node"))
            if self._read_only:
                self._require_this_version()
            yield

    def used(self) -> str:
        """Whoever uses it is a node, and each has a number of its own."""
        return "{} {}".format(*execute(self.database, "SELECT last_value, is_called FROM node_number_seq").fetchone())

    def require_room(self, uses: Mapping[int, int]) -> None:
        """Its administrator's."""

    def create(self) -> None:
        prepare(self.database, self._address)

    def make_place(self, seqs: Sequence[int]) -> None:
        for number in {seq // PARTITION for seq in seqs}:
            execute(self.database, "SELECT make_partition(?)", (number * PARTITION,))

    def empty(self) -> None:
        with self.database.atomic():
            for model in MODELS:
                if model not in ALWAYS_FILLED:
                    SchemaManager(model, self.database).truncate_table(cascade=True)
            for text in _NO_USES:
                execute(self.database, text)

    def _in_use(self, by: str) -> StoreCopyError:
        return StoreCopyError(f"{self.name} is in use by {by}. Stop each Hookline on it; nothing was copied.")

    def _require_role(self, role: Role) -> None:
        if role is Role.CAPTURE or (role is Role.READER and not self._read_only):
            raise StoreCopyError(f"{NOT_ALLOWED[role]} Name {self.name} as a member of it; nothing was copied.")

    def _require_this_version(self) -> None:
        if self.is_new:
            raise StoreCopyError(f"There is no Hookline data in {self.name}. Check the address; nothing was copied.")
        if execute(self.database, "SELECT count(*) FROM migration").fetchone() < (len(MIGRATIONS),):
            raise StoreCopyError(
                f"{self.name} was written by an older Hookline. Start this one on it once; nothing was copied."
            )
