"""Where a team's store is: a URL or settings as libpq has them, made safe, and why it cannot be used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PGconn

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
