"""The roles of a team's store: what each user of its database may do there.

Each is a role of the server that nobody logs in as, named after the database: an administrator grants it to users. The
tables belong to `member`, and whoever has that role acts as it, so that any member's Hookline can make partitions and
upgrade the tables.
"""

from __future__ import annotations

from typing import Any

import psycopg
from peewee import PeeweeException
from psycopg import errors, sql

from app.core.errors import NotAllowedError, StoreAddressError
from app.core.team import NOT_ALLOWED, Role
from app.db.postgres.database import SCHEMA, PostgresDatabase, cause_of, is_refused, refusal, shown
from app.db.postgres.schema import MIGRATION_LOCK, check_server, check_tables, check_version, is_empty, prepare
from app.db.raw_sql import raw

_MARK = "Hookline: a role in the store of the database %s"
"""The comment on a role that was made here."""
_COMMENT = "SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = %s"
_OWNED = """SELECT format(CASE WHEN relkind = 'S' THEN 'ALTER SEQUENCE %%I.%%I' ELSE 'ALTER TABLE %%I.%%I' END,
        nspname, relname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %(schema)s AND relkind IN ('r', 'p', 'S') AND NOT EXISTS (SELECT 1 FROM pg_depend
        WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype IN ('i', 'a') AND relkind = 'S')
    UNION ALL SELECT format('ALTER FUNCTION %%s', pg_proc.oid::regprocedure)
        FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
    WHERE nspname = %(schema)s AND NOT EXISTS (SELECT 1 FROM pg_depend
        WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')
    UNION ALL SELECT format('ALTER SCHEMA %%I', %(schema)s::text)"""
"""What is not an index, a sequence of a column or a part of an extension: these belong to their table's owner."""

_GRANTS = """
GRANT CONNECT ON DATABASE {database} TO {capture}, {reader}, {member};
GRANT USAGE ON SCHEMA {schema} TO {capture}, {reader};
GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader};
GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {reader};
GRANT EXECUTE ON FUNCTION make_partition, complete_body, queue_deliveries TO {capture};
GRANT SELECT ON migration, account, unfinished_copy, endpoint, storage_use, loose_body, node, owner TO {capture};
GRANT SELECT (id, endpoint_id, position, url, active, paused) ON target TO {capture};
GRANT SELECT, UPDATE ON SEQUENCE capture_seq_seq TO {capture};
GRANT INSERT ON capture, capture_body, capture_response, loose_body, notice TO {capture};
GRANT INSERT (version, captures) ON node TO {capture};
GRANT SELECT (seq) ON capture TO {capture};
GRANT SELECT, UPDATE (ms) ON capture_response TO {capture};
GRANT SELECT, INSERT, UPDATE, DELETE ON tunnel_url TO {capture};
GRANT SELECT ON tunnel_copy TO {capture};
GRANT UPDATE (bytes) ON storage_use TO {capture};
GRANT UPDATE (dropped) ON loose_body TO {capture};
GRANT UPDATE (seen_at) ON node TO {capture};
"""
"""A target's settings may hold secrets. Deliveries are queued by a function, for no URL but the target's own."""
_MAY_USE = "SELECT has_schema_privilege(%s, 'USAGE')"
_MAY = """SELECT has_table_privilege('endpoint', 'INSERT'), has_table_privilege('capture', 'SELECT'),
    has_table_privilege('capture', 'INSERT')"""


def init(address: str) -> dict[Role, str]:
    """Make the tables, unless they are there, and the roles, and say what each may do; returns their names. Again does
    no harm. StoreAddressError when it cannot be done; then nothing was changed."""
    database = PostgresDatabase(address)
    try:
        with database.connection_context():
            return _init(database, address)
    except (psycopg.Error, PeeweeException) as error:
        raise refusal(address, cause_of(error)) from error


def _init(database: PostgresDatabase, address: str) -> dict[Role, str]:
    connection = raw(database)
    name, _ = check_server(connection, address)
    (text,) = connection.execute("SELECT current_database()").fetchone()
    roles = {role: f"{text}_{role}" for role in (Role.CAPTURE, Role.READER, Role.MEMBER)}
    try:
        with connection.transaction():
            connection.execute("RESET ROLE")  # a member acts as the owner of the tables
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            for role in roles.values():
                _make_role(connection, role, text)
            prepare(database, address)
            _own(connection, text, roles[Role.MEMBER])
            names = {role.value: sql.Identifier(one) for role, one in roles.items()}
            connection.execute(
                sql.SQL(_GRANTS).format(database=sql.Identifier(text), schema=sql.Identifier(SCHEMA), **names)
            )
    except errors.InsufficientPrivilege as error:
        raise StoreAddressError(
            f"The user of {name} may not make roles. Run this as a superuser, or as the database's owner with"
            " CREATEROLE. Nothing was changed."
        ) from error
    return roles


def enter(database: PostgresDatabase, address: str) -> Role:
    """What the user may do in the store, whose tables are made or upgraded by one who may. StoreAddressError when it
    cannot be used; then nothing was changed."""
    connection = raw(database)
    name, _ = check_server(connection, address)
    role = role_of(connection, address)
    if role is Role.MEMBER:
        prepare(database, address)
    else:
        check_version(connection, name)
    return role


def role_of(connection: Any, address: str) -> Role:
    """What the user may do in the store; all, where there is none yet. StoreAddressError for one who has no role."""
    if is_empty(connection):
        return Role.MEMBER
    if connection.execute(_MAY_USE, (SCHEMA,)).fetchone()[0]:
        check_tables(connection, shown(address))
        can_change, can_read, can_capture = connection.execute(_MAY).fetchone()
        if can_change:
            return Role.MEMBER
        if can_read:
            return Role.READER
        if can_capture:
            return Role.CAPTURE
    raise StoreAddressError(
        f"The user of {shown(address)} has no role in this team's store. Have its administrator grant one, such as"
        f" {connection.info.dbname}_{Role.MEMBER}."
    )


def not_allowed(error: BaseException, role: Role) -> NotAllowedError | None:
    """The error for what the server has refused to the user; None if it has not."""
    if not is_refused(error):
        return None
    cause = cause_of(error)
    if isinstance(cause, errors.UndefinedTable):  # the server does not say which of the two it is
        said = str(cause).splitlines()[0].rstrip(".")
        return NotAllowedError(f"Your role in the team's store was taken away, or a table is missing there: {said}.")
    return NotAllowedError(NOT_ALLOWED[role])


def _make_role(connection: Any, role: str, database: str) -> None:
    mark, found = _MARK % database, connection.execute(_COMMENT, (role,)).fetchone()
    if found is None:
        connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
        connection.execute(sql.SQL("COMMENT ON ROLE {} IS {}").format(sql.Identifier(role), sql.Literal(mark)))
    elif found[0] != mark:
        raise StoreAddressError(
            f"The server has a role {role} that is not Hookline's. Rename it, or use a database of another name."
            " Nothing was changed."
        )


def _own(connection: Any, database: str, member: str) -> None:
    """Give the tables to the role, which has to be allowed to have them."""
    of, role = sql.Identifier(database), sql.Identifier(member)
    connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))
    connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(of, role))
    connection.execute(sql.SQL("GRANT CREATE ON SCHEMA {} TO {}").format(sql.Identifier(SCHEMA), role))
    for (alter,) in connection.execute(_OWNED, {"schema": SCHEMA}).fetchall():
        connection.execute(sql.SQL(alter) + sql.SQL(" OWNER TO {}").format(role))
    connection.execute(sql.SQL("REVOKE CREATE ON DATABASE {} FROM {}").format(of, role))
