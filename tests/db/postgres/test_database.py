"""Where a team's store is, and why it cannot be used: what is said, and that nothing was changed."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from app.core.errors import StoreAddressError
from app.core.settings import Settings, check
from app.db.postgres.database import SCHEMA, connection_text, shown
from app.db.postgres.store import Store
from tests.postgres import PostgresServer


async def refusal(address: str) -> str:
    with pytest.raises(StoreAddressError) as raised:
        await Store.open(address, lambda _: None)
    return str(raised.value)


@pytest.mark.parametrize(
    ("address", "mode"),
    [
        ("postgresql://ann@db.example.com/team", "verify-full"),
        ("postgresql://ann@db1.example.com,db2.example.com:5433/team", "verify-full"),
        ("host=db.example.com dbname=team", "verify-full"),
        ("postgresql://db.example.com/team?sslmode=require", "require"),
        ("postgresql://db.example.com/team?sslmode=disable", "disable"),
        ("postgresql:///team", None),
        ("postgresql://localhost/team", None),
        ("postgresql://127.0.0.1:5433/team", None),
        ("postgresql:///team?host=/var/run/postgresql", None),
    ],
)
def test_another_machine_is_asked_for_its_certificate_unless_told_by_name(address: str, mode: str | None) -> None:
    assert conninfo_to_dict(connection_text(address)).get("sslmode") == mode


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("host=db.example.com", {"sslmode": "verify-full", "sslrootcert": "system"}),
        ("host=db.example.com\nsslrootcert=/ca.pem", {"sslmode": "verify-full", "sslrootcert": "/ca.pem"}),
        ("host=db.example.com\nsslmode=disable", {"sslmode": "disable"}),
        ("host=a,b\nsslmode=require", {"sslmode": "require", "target_session_attrs": "read-write"}),
        ("host=localhost", {}),
        ("host=/var/run/postgresql", {}),
    ],
)
def test_a_service_file_is_held_to_the_same(
    service: str, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "services"
    file.write_text(f"[team]\ndbname=team\npassword=s3cret\n{service}\n", "utf-8")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    text = connection_text("service=team")
    found = conninfo_to_dict(text)
    assert {
        name: found[name] for name in ("sslmode", "sslrootcert", "target_session_attrs") if name in found
    } == expected
    assert "s3cret" not in text


def test_plain_text_is_never_a_fallback() -> None:
    with pytest.raises(StoreAddressError, match=r"sslmode=prefer may send everything in plain text.*sslmode=disable"):
        connection_text("postgresql://db.example.com/team?sslmode=prefer")


def test_of_several_servers_it_takes_the_one_that_writes() -> None:
    several = conninfo_to_dict(connection_text("postgresql://a.example.com,b.example.com/team"))
    assert several["target_session_attrs"] == "read-write"
    assert "target_session_attrs" not in conninfo_to_dict(connection_text("postgresql://a.example.com/team"))


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("postgresql://ann:s3cret@db.example.com:5433/team", "postgresql://ann@db.example.com:5433/team"),
        ("postgresql://a,b/team?password=s3cret", "postgresql://a,b/team"),
        ("postgresql://a:1,b:2/team", "postgresql://a:1,b:2/team"),
        ("service=team password=s3cret", "service=team"),
        ("postgresql://ann:s3%zzcret@/", "What is given as the store"),
    ],
)
def test_a_password_is_never_shown(address: str, name: str) -> None:
    assert shown(address) == name


@pytest.mark.parametrize(
    "address", ["postgresql://ann:s3cret@db/team", "postgresql://db/team?password=s3cret", "service=x password=s3cret"]
)
def test_the_setting_takes_no_password(address: str) -> None:
    (error,) = check(Settings(store=address))
    assert "~/.pgpass" in error.message
    assert "s3cret" not in error.message


@pytest.mark.parametrize("address", ["postgresql://ann@db.example.com/team", "postgres://db/team", "service=team"])
def test_the_setting_takes_addresses(address: str) -> None:
    assert not check(Settings(store=address))
    (error,) = check(Settings(store="mysql://db/team"))
    assert "postgresql://USER@HOST/DATABASE" in error.message


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("hello world", "is not an address"),
        ("connect_timeout=3", "names no database"),
        ("postgresql://127.0.0.1:1/team", "refused. Check that the server runs there."),
        ("postgresql://ann:s3cret@127.0.0.1:1/team", "refused. Check that the server runs there."),
        ("service=no_such_service", "Check the service file"),
    ],
)
async def test_what_cannot_be_reached_is_named(address: str, said: str) -> None:
    text = await refusal(address)
    assert said in text
    assert "s3cret" not in text


def tables(server: PostgresServer, name: str) -> list[str]:
    with psycopg.connect(server.url(name)) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SCHEMA,))
        return [table for (table,) in rows]


async def test_bad_databases_are_left_as_they_are(postgres_server: PostgresServer) -> None:
    name = postgres_server.create()
    url = postgres_server.url(name)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE ROLE stranger LOGIN")
            text = await refusal(url.replace("user=postgres", "user=stranger"))
            assert "may not create Hookline's tables" in text
            assert "GRANT CREATE ON DATABASE" in text
            assert tables(postgres_server, name) == []
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
            connection.execute(f"CREATE TABLE {SCHEMA}.orders (number integer)")
            assert "tables of another program" in await refusal(url)
            assert tables(postgres_server, name) == ["orders"]
            connection.execute("DROP ROLE stranger")
    finally:
        postgres_server.drop(name)
    assert "does not exist. Create it, or name another." in await refusal(postgres_server.url("no_such_database"))
