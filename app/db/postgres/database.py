"""Connections to a PostgreSQL database: where it is, as a URL or settings as libpq has them, made safe; and what the
errors mean."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Any, cast

import psycopg
from peewee import PeeweeException, PostgresqlDatabase, Psycopg3Adapter
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PGconn, TransactionStatus
from psycopg.types.numeric import IntDumper
from psycopg.types.string import StrDumperUnknown

from app.core.errors import StoreAddressError

_HERE = ("", "localhost", "127.0.0.1", "::1")
_MAYBE_PLAIN = ("allow", "prefer")
_PATIENCE = {"keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
"""Seconds and, the last, milliseconds: how soon a server is given up whose machine or network has gone silent."""


def connection_text(address: str) -> str:
    """The address with what is missing in it: a host that is not this machine gets `sslmode=verify-full`, by the
    authorities of the system unless others are named. Raises StoreAddressError."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.ProgrammingError:  # its text may quote the password
        raise _no_address() from None
    if not {"host", "hostaddr", "service", "dbname"} & given.keys():
        raise StoreAddressError(
            f"{shown(address)} names no database. Write the store as postgresql://USER@HOST/DATABASE, or service=NAME."
        )
    names_host = "service" not in given and {"host", "hostaddr"} & given.keys()
    said = given if names_host else {**_said_elsewhere(given), **given}
    hosts = [host for name in ("host", "hostaddr") for host in str(said.get(name, "")).split(",")]
    if any(host not in _HERE and not host.startswith(("/", "@")) for host in hosts):
        mode = str(said.get("sslmode", "verify-full"))
        if mode in _MAYBE_PLAIN:
            raise StoreAddressError(
                f"sslmode={mode} may send everything in plain text to {said['host']}. Leave it out, which means"
                " verify-full, or ask for plain text by name: sslmode=disable."
            )
        given["sslmode"] = mode
        if mode == "verify-full":
            given["sslrootcert"] = said.get("sslrootcert", os.environ.get("PGSSLROOTCERT", "system"))
    if "," in str(said.get("host", said.get("hostaddr", ""))):
        given.setdefault("target_session_attrs", "read-write")  # a standby takes nothing
    for name, value in _PATIENCE.items():
        given.setdefault(name, value)
    return make_conninfo("", **{name: str(value) for name, value in given.items()})


def _said_elsewhere(given: Mapping[str, Any]) -> dict[str, str]:
    """What the service file and the environment say, but for what libpq would take anyway. It connects to nobody: libpq
    reads both, then refuses the last value."""
    connection = PGconn.connect_start(make_conninfo("", **{**given, "gssencmode": "none"}).encode())
    try:
        return {
            option.keyword.decode(): option.val.decode()
            for option in connection.info
            if option.val is not None and option.val != option.compiled
        }
    finally:
        connection.finish()


def with_password(address: str, password: str) -> str:
    """The address with a password that the user typed; as it is without one. Raises StoreAddressError."""
    try:
        return make_conninfo(address, password=password) if password else address
    except psycopg.ProgrammingError:
        raise _no_address() from None


def shown(address: str) -> str:
    """The address without anything secret, as messages and the window name it."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        return "What is given as the store"
    if "service" in given:
        return f"service={given['service']}"
    user = f"{given['user']}@" if "user" in given else ""
    hosts = str(given.get("host", given.get("hostaddr", ""))).split(",")
    ports = str(given.get("port", "")).split(",")
    pairs = [f"{host}:{ports[min(place, len(ports) - 1)]}".rstrip(":") for place, host in enumerate(hosts)]
    return f"postgresql://{user}{','.join(pairs)}/{given.get('dbname', '')}"


def _no_address() -> StoreAddressError:
    return StoreAddressError(
        "What is given as the store is not an address. Write it as postgresql://USER@HOST/DATABASE, or as service=NAME;"
        " a % within it is written %25."
    )


_ADVICE = (
    ("password authentication failed", "Check the user and the password: ~/.pgpass, PGPASSWORD or a service file."),
    ("no password supplied", "Put the password into ~/.pgpass, PGPASSWORD or a service file."),
    (
        "does not match host name",
        "Name the host as its certificate does, or have another one made.",
    ),
    ("certificate verify failed", "Name the authority of its certificate: sslrootcert=FILE."),
    ("root certificate", "Name the authority of its certificate: sslrootcert=FILE."),
    ("does not support SSL", "Ask its administrator for TLS, or ask for plain text by name: sslmode=disable."),
    ("no pg_hba.conf entry", "Its administrator has to let this user in from this machine (pg_hba.conf)."),
    ("does not exist", "Create it, or name another."),
    ("resolve host", "Check the host's name."),
    ("read-only", "Name the primary server, or all servers with commas between them."),
    ("definition of service", "Check the service file: ~/.pg_service.conf or PGSERVICEFILE."),
)


def refusal(address: str, error: BaseException) -> StoreAddressError:
    """The error for a store that cannot be reached, in a sentence that says what to do."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = next((one for one in lines if "failed: " in one.removeprefix("connection failed: ")), lines[0])
    said = line.removeprefix("connection failed: ").split("failed: ")[-1].removeprefix("FATAL:").strip()
    advice = next((text for part, text in _ADVICE if part in str(error)), "Check that the server runs there.")
    return StoreAddressError(f"The store at {shown(address)} cannot be used: {said.rstrip('.')}. {advice}")


SCHEMA = "hookline"
OLDEST_SERVER = 150000
STATEMENT_S, LOCK_S, IDLE_S = 30, 10, 10
"""The longest that a statement may take, that it may wait for a lock, and that a transaction may rest: one of a node
that hangs would stop all others."""
CONNECT_S = 5


class _Adapter(Psycopg3Adapter):
    """As peewee's own, which needs psycopg when peewee is loaded."""

    txn_idle, txn_inerror, txn_unknown = TransactionStatus.IDLE, TransactionStatus.INERROR, TransactionStatus.UNKNOWN

    def __init__(self) -> None:
        super(Psycopg3Adapter, self).__init__()

    def check_driver(self) -> None:
        """It is there."""

    def get_binary_type(self) -> Any:
        return psycopg.Binary


class _CleanText(StrDumperUnknown):
    def dump(self, obj: str) -> bytes:
        return clean(obj)


def clean(text: str) -> bytes:
    """The text as PostgreSQL can hold it: what a body says may have NUL, or half of a surrogate pair."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-8", "replace")
    return data.replace(b"\0", b"\xef\xbf\xbd") if b"\0" in data else data


class PostgresDatabase(PostgresqlDatabase):
    """The types of the models' columns are those of SQLite. Numbers have 64 bits, and text sorts by its bytes: as in
    SQLite, whatever the server's locale is."""

    psycopg2_adapter = psycopg3_adapter = _Adapter
    field_types = {
        "AUTO": "BIGINT GENERATED BY DEFAULT AS IDENTITY",
        "BLOB": "BYTEA",
        "BOOL": "SMALLINT",
        "FLOAT": "DOUBLE PRECISION",
        "INT": "BIGINT",
        "TEXT": 'TEXT COLLATE "C"',
    }

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        """One that each thread may connect to. With `read_only`, a transaction sees one snapshot."""
        super().__init__(SCHEMA, autoconnect=False)
        self.text, self._read_only = connection_text(address), read_only
        self._connections: list[psycopg.Connection[Any]] = []
        self._is_closing = False

    def cut(self, *, closing: bool = False) -> None:
        """End the connections of all threads: those that wait for the server get an OperationalError, whether it
        responds or not. With `closing`, no thread can connect any more."""
        self._is_closing |= closing
        for connection in tuple(self._connections):
            with (
                contextlib.suppress(OSError, psycopg.Error),
                socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as its,
            ):
                its.shutdown(socket.SHUT_RDWR)

    def connection(self) -> psycopg.Connection[Any]:
        """The calling thread's own. InterfaceError if it has none: peewee would open one, without what its owner sets
        up on each new connection."""
        if self.is_closed():
            raise psycopg.InterfaceError("There is no connection.")
        own: psycopg.Connection[Any] = cast(Any, super()).connection()
        return own

    def _connect(self) -> psycopg.Connection[Any]:
        if self._is_closing:
            raise psycopg.OperationalError("Hookline is closing.")
        connection = psycopg.connect(self.text, autocommit=True, connect_timeout=CONNECT_S, application_name="hookline")
        connection.adapters.register_dumper(bool, IntDumper)
        connection.adapters.register_dumper(str, _CleanText)
        self._connections.append(connection)
        try:
            if self._is_closing:
                self.cut()
            connection.execute(_SETTINGS + (_READ_ONLY if self._read_only else _WRITES))
        except BaseException:
            self._close(connection)
            raise
        return connection

    def _close(self, conn: psycopg.Connection[Any]) -> None:
        self._connections.remove(conn)
        conn.close()


_SETTINGS = (
    # Who may act as the owner of the tables does, so that what each makes is everybody's, see `roles.py`.
    f"SELECT set_config('role', pg_get_userbyid(nspowner), false) FROM pg_namespace"
    f" WHERE nspname = '{SCHEMA}' AND pg_has_role(nspowner, 'MEMBER');"
    f" SET search_path TO {SCHEMA}, pg_catalog; SET statement_timeout TO '{STATEMENT_S}s'; SET TimeZone TO 'UTC';"
    f" SET lock_timeout TO '{LOCK_S}s'; SET idle_in_transaction_session_timeout TO '{IDLE_S}s';"
    " SET client_encoding TO 'UTF8'; SET jit TO off;"  # it takes longer than these queries
)
_READ_ONLY = "SET default_transaction_read_only TO on; SET default_transaction_isolation TO 'repeatable read';"
_WRITES = "SET enable_bitmapscan TO off;"
"""What is written is found by indexes, in their order, as in SQLite: while a new partition is not analyzed yet, the
server would rather read and sort all of an endpoint's requests in it."""


_GONE = "The database server cannot be reached. Check that it is running and that this machine can reach it."
_REASONS: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.ReadOnlySqlTransaction, "The database server takes no writes: it is a standby, or read-only."),
    (errors.DiskFull, "The disk of the database server is full. Free some space there."),
    (errors.OutOfMemory, "The database server is out of memory."),
    (errors.TooManyConnections, "The database server takes no more connections."),
    (errors.LockNotAvailable, "Another Hookline holds up the database server. Wait, or stop that one."),
    (errors.QueryCanceled, "The database server took too long, or an administrator canceled the work."),
    (errors.IdleInTransactionSessionTimeout, _GONE),
    (errors.AdminShutdown, _GONE),
    (errors.CrashShutdown, _GONE),
    (errors.CannotConnectNow, _GONE),
    (errors.InternalError_, "The database server reported an internal error. See its log."),
    (errors.DataCorrupted, "The database server reported damaged data. See its log."),
    (errors.IoError, "The disk of the database server reported an error."),
)


class UnfitStoreError(Exception):
    """Nothing can be stored, as the text says, though the server reports no error."""


def trouble(error: BaseException) -> str | None:
    """Why nothing can be stored, in sentences; None when `error` is a bug of the program."""
    if isinstance(error, UnfitStoreError):
        return str(error)
    error = cause_of(error)
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return reason
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return _GONE
    return None


def is_refused(error: BaseException) -> bool:
    """Whether the role in the store may not do that. For who has none any more, there are no tables."""
    return isinstance(cause_of(error), errors.InsufficientPrivilege | errors.UndefinedTable)


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone."""
    cause = cause_of(error)
    if not isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return cause.sqlstate is None or cause.sqlstate.startswith(("08", "57P0"))


def cause_of(error: BaseException) -> BaseException:
    """What psycopg raised: peewee wraps it."""
    if isinstance(error, PeeweeException):
        original = getattr(error, "orig", None) or error.__cause__ or error.__context__
        return error if original is None else original
    return error
