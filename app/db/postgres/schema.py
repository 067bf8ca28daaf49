"""What only PostgreSQL's tables have, and how a database gets them: partitions, functions that the shared SQL calls,
triggers for each statement, and the counts of each endpoint.

All tables are in a schema of their own. Created and upgraded under a lock, so that several nodes may start at once.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import Any

import psycopg
from peewee import Database, Model, SchemaManager
from psycopg import errors

from app.core.clock import now_us
from app.core.errors import StoreAddressError
from app.core.model import PART_SIZE
from app.core.rules import FREE_ENDPOINTS
from app.db.counts import ATTEMPT_OVERHEAD, DELIVERY_OVERHEAD, LOOSE, REQUEST_OVERHEAD, RESPONSES
from app.db.models import (
    KEYS_PER_BODY,
    MODELS,
    PLAN_LIMIT,
    AccountModel,
    BodyModel,
    CaptureModel,
    ClockModel,
    MigrationModel,
    StorageUseModel,
)
from app.db.postgres.database import LOCK_S, OLDEST_SERVER, SCHEMA, PostgresDatabase, shown
from app.db.raw_sql import raw, savepoint

VERSION = "0001_create_tables"
MIGRATIONS = (VERSION,)
"""In the order of application. A released name never changes its meaning."""
MIGRATION_LOCK, WRITE_LOCK, INDEX_LOCK, TEXT_LOCK = (0x686F_6F6B_0000 + number for number in range(1, 5))
"""Advisory locks: of who changes the schema, who writes, who indexes, and who stores texts for searches or deletes
requests whose texts are not stored yet."""

PARTITION = 1 << 24
"""Numbers of requests in a partition of `capture`, and of `capture_body`. To plan a query takes 2 ms with 30 of them,
40 ms with 100 and 250 ms with 300."""

DROP_MS = 100
"""How long readers may be waited for, and others behind them, to drop a partition."""

_PARTITIONED: dict[type[Model], str] = {CaptureModel: "seq", BodyModel: "key"}

_AS_OWNER = f"SECURITY DEFINER SET search_path = {SCHEMA}, pg_temp"
"""Of functions that a role calls or triggers which may not do itself what they do, see `roles.py`."""

_FUNCTIONS = f"""
CREATE FUNCTION json_valid(text) RETURNS boolean IMMUTABLE STRICT LANGUAGE sql AS 'SELECT $1::json IS NOT NULL';
CREATE FUNCTION json_extract(text, text) RETURNS text IMMUTABLE STRICT LANGUAGE sql
    AS $$ SELECT $1::json #>> string_to_array(substr($2, 3), '.') $$;
CREATE FUNCTION json_each(text) RETURNS TABLE (value json) IMMUTABLE STRICT LANGUAGE sql
    AS 'SELECT json_array_elements($1::json)';
CREATE FUNCTION numbers(text) RETURNS bigint[] IMMUTABLE STRICT LANGUAGE sql
    AS 'SELECT ARRAY(SELECT value::bigint FROM json_array_elements_text($1::json) AS value)';
CREATE FUNCTION names(text) RETURNS text[] IMMUTABLE STRICT LANGUAGE sql
    AS $$ SELECT ARRAY(SELECT value FROM json_array_elements_text(replace($1, '\\u0000', '\\ufffd')::json) AS value) $$;

CREATE FUNCTION make_partition(place bigint) RETURNS void LANGUAGE plpgsql {_AS_OWNER} AS $$
DECLARE
    first bigint := place / {PARTITION} * {PARTITION};
BEGIN
    IF to_regclass('capture_' || first) IS NOT NULL THEN RETURN; END IF;
    -- To attach a table waits for nobody who reads; to create it as a partition would.
    EXECUTE format('CREATE TABLE capture_%1$s (LIKE capture INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', first);
    EXECUTE format('CREATE TABLE capture_body_%1$s (LIKE capture_body INCLUDING CONSTRAINTS)', first);
    EXECUTE format('ALTER TABLE capture_body_%1$s ALTER COLUMN data SET STORAGE EXTERNAL', first);
    EXECUTE format('ALTER TABLE capture ATTACH PARTITION capture_%1$s FOR VALUES FROM (%1$s) TO (%2$s)',
        first, first + {PARTITION});
    EXECUTE format('ALTER TABLE capture_body ATTACH PARTITION capture_body_%1$s FOR VALUES FROM (%1$s) TO (%2$s)',
        first, first + {PARTITION});
END $$;

CREATE FUNCTION complete_body(of_key bigint, of_seq bigint, of_size bigint) RETURNS bigint LANGUAGE plpgsql
    {_AS_OWNER} AS $$
DECLARE
    beginning bytea;
BEGIN
    DELETE FROM loose_body WHERE number = -of_key / {KEYS_PER_BODY} AND dropped = 0;
    IF NOT FOUND THEN RETURN 0; END IF;
    IF of_size > {PART_SIZE} AND (SELECT length(data) FROM capture_body WHERE key = of_key) = {PART_SIZE} THEN
        RETURN of_key;
    END IF;
    -- Memory was short: whoever reads the beginning expects it in the first part.
    WITH parts AS (DELETE FROM capture_body WHERE key >= of_key AND key < of_key + {PART_SIZE} RETURNING key, data)
        SELECT string_agg(data, '' ORDER BY key) INTO beginning FROM parts;
    IF of_size <= {PART_SIZE} THEN
        INSERT INTO capture_body (key, data) VALUES (of_seq, beginning);
        RETURN NULL;
    END IF;
    INSERT INTO capture_body (key, data) VALUES (of_key, substr(beginning, 1, {PART_SIZE}));
    IF length(beginning) > {PART_SIZE} THEN
        INSERT INTO capture_body (key, data) VALUES (of_key + {PART_SIZE}, substr(beginning, {PART_SIZE} + 1));
    END IF;
    RETURN of_key;
END $$;

CREATE FUNCTION queue_deliveries(ids text[], captures bigint[], targets bigint[], urls text[], at bigint)
    RETURNS void LANGUAGE plpgsql {_AS_OWNER} AS $$
BEGIN
    -- A target that is there has its own URL: whoever may only capture could else have its secrets sent elsewhere.
    INSERT INTO delivery (id, capture_seq, endpoint_id, target_id, url, state, queued_at)
        SELECT made.id, seq, capture.endpoint_id, made.target, coalesce(target.url, made.url), 'queued', at
        FROM unnest(ids, captures, targets, urls) WITH ORDINALITY AS made(id, capture, target, url, place)
        JOIN capture ON seq = made.capture LEFT JOIN target ON target.id = made.target
        WHERE target.id IS NULL OR target.endpoint_id = capture.endpoint_id ORDER BY place;
END $$;
REVOKE EXECUTE ON FUNCTION make_partition, complete_body, queue_deliveries FROM PUBLIC;
"""

_TRIGGERS = f"""
CREATE FUNCTION check_plan() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    held bigint;
BEGIN
    IF TG_TABLE_NAME = 'endpoint' THEN
        PERFORM 1 FROM account WHERE plan = 'free' FOR UPDATE;  -- other nodes create endpoints, too
        IF NOT FOUND THEN RETURN NEW; END IF;
    END IF;
    SELECT count(*) INTO held FROM endpoint WHERE removed = 0;
    IF held > {FREE_ENDPOINTS} OR (held = {FREE_ENDPOINTS} AND TG_TABLE_NAME = 'endpoint') THEN
        RAISE EXCEPTION '{PLAN_LIMIT}' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER endpoint_plan_limit BEFORE INSERT ON endpoint FOR EACH ROW EXECUTE FUNCTION check_plan();
CREATE TRIGGER account_plan_limit BEFORE UPDATE OF plan ON account
    FOR EACH ROW WHEN (NEW.plan = 'free') EXECUTE FUNCTION check_plan();

CREATE FUNCTION endpoint_stays_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a removed endpoint stays removed' USING ERRCODE = 'check_violation'; END $$;
CREATE TRIGGER endpoint_stays_removed BEFORE UPDATE OF removed ON endpoint
    FOR EACH ROW WHEN (OLD.removed = 1 AND NEW.removed = 0) EXECUTE FUNCTION endpoint_stays_removed();

CREATE FUNCTION endpoint_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO storage_use (owner, bytes) VALUES (NEW.id, 0);
    ELSIF TG_OP = 'DELETE' THEN
        DELETE FROM storage_use WHERE owner = OLD.id;
        RETURN OLD;
    END IF;
    NEW.version := nextval('endpoint_version');
    IF TG_OP = 'UPDATE' AND NEW.trashed IS DISTINCT FROM OLD.trashed THEN
        NEW.trashed_by := CASE WHEN NEW.trashed IS NOT NULL THEN this_node() END;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER endpoint_changed BEFORE INSERT OR UPDATE OR DELETE ON endpoint
    FOR EACH ROW EXECUTE FUNCTION endpoint_changed();

CREATE FUNCTION target_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE endpoint SET version = 0 WHERE id = coalesce(NEW.endpoint_id, OLD.endpoint_id);
    RETURN NULL;
END $$;
CREATE TRIGGER target_changed AFTER INSERT OR DELETE OR UPDATE OF url, active, settings, position, paused ON target
    FOR EACH ROW EXECUTE FUNCTION target_changed();

CREATE FUNCTION requests_stored() RETURNS trigger LANGUAGE plpgsql {_AS_OWNER} AS $$
BEGIN
    UPDATE storage_use SET bytes = storage_use.bytes + added.bytes, total = storage_use.total + added.total,
        unread = storage_use.unread + added.unread
    FROM (SELECT endpoint_id, count(*) AS total, count(*) - sum(is_read) AS unread,
            sum({REQUEST_OVERHEAD} + size + length(headers) + length(target) + coalesce(length(trailers), 0)) AS bytes
        FROM added GROUP BY endpoint_id) AS added
    WHERE owner = added.endpoint_id;
    RETURN NULL;
END $$;
CREATE TRIGGER requests_stored AFTER INSERT ON capture
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION requests_stored();

CREATE FUNCTION requests_marked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_use SET unread = storage_use.unread + changed.unread
    FROM (SELECT before.endpoint_id, sum(before.is_read - now.is_read) AS unread
        FROM before JOIN now USING (seq) WHERE before.is_read <> now.is_read GROUP BY before.endpoint_id) AS changed
    WHERE owner = changed.endpoint_id;
    RETURN NULL;
END $$;
CREATE TRIGGER requests_marked AFTER UPDATE ON capture
    REFERENCING OLD TABLE AS before NEW TABLE AS now FOR EACH STATEMENT EXECUTE FUNCTION requests_marked();

CREATE FUNCTION requests_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place bigint;
BEGIN
    DELETE FROM capture_body USING gone WHERE key = gone.seq AND gone.body_key IS NULL;
    IF EXISTS (SELECT 1 FROM gone WHERE seq > (SELECT coalesce(max(upto), 0) FROM search_group)) THEN
        PERFORM pg_advisory_xact_lock({TEXT_LOCK});  -- the texts that are being made are stored first
    END IF;
    FOR place IN SELECT DISTINCT first FROM gone, LATERAL
            (SELECT first, upto FROM search_group WHERE first <= seq ORDER BY first DESC LIMIT 1) AS texts
            WHERE upto >= seq LOOP
        EXECUTE format('DELETE FROM search_text_%s USING gone WHERE capture_seq = gone.seq', place);
    END LOOP;
    INSERT INTO loose_body (number, dropped)
        SELECT -body_key / {KEYS_PER_BODY}, 1 FROM gone WHERE body_key IS NOT NULL;
    UPDATE storage_use SET bytes = storage_use.bytes - gone.bytes,
        total = storage_use.total - gone.total, unread = storage_use.unread - gone.unread
    FROM (SELECT gone.endpoint_id, count(*) FILTER (WHERE trash.deletion IS NULL) AS total,
            count(*) FILTER (WHERE trash.deletion IS NULL AND is_read = 0) AS unread,
            sum({REQUEST_OVERHEAD} + size + length(headers) + length(target) + coalesce(length(trailers), 0)) AS bytes
        FROM gone LEFT JOIN trash
            ON trash.endpoint_id = gone.endpoint_id AND gone.seq BETWEEN trash.first_seq AND trash.last_seq
        GROUP BY gone.endpoint_id) AS gone
    WHERE owner = gone.endpoint_id;
    RETURN NULL;
END $$;
CREATE TRIGGER requests_deleted AFTER DELETE ON capture
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION requests_deleted();

CREATE FUNCTION requests_hidden() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_use SET total = storage_use.total - spans.sign * spans.total,
        unread = storage_use.unread - spans.sign * spans.unread
    FROM (SELECT span.endpoint_id, span.sign, count(*) AS total, count(*) - sum(is_read) AS unread
        FROM (SELECT *, CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END AS sign FROM spans) AS span
        JOIN capture ON capture.endpoint_id = span.endpoint_id AND seq BETWEEN first_seq AND last_seq
        GROUP BY 1, 2) AS spans
    WHERE owner = spans.endpoint_id;
    RETURN NULL;
END $$;
CREATE TRIGGER requests_hidden AFTER INSERT ON trash
    REFERENCING NEW TABLE AS spans FOR EACH STATEMENT EXECUTE FUNCTION requests_hidden();
CREATE TRIGGER requests_shown AFTER DELETE ON trash
    REFERENCING OLD TABLE AS spans FOR EACH STATEMENT EXECUTE FUNCTION requests_hidden();

CREATE FUNCTION body_dropped() RETURNS trigger LANGUAGE plpgsql {_AS_OWNER} AS $$
BEGIN
    UPDATE storage_use SET bytes = storage_use.bytes
        + (SELECT coalesce(sum(length(data)), 0) FROM added JOIN capture_body
            ON key BETWEEN -number * {KEYS_PER_BODY} AND (1 - number) * {KEYS_PER_BODY} - 1
            WHERE dropped = 1)
    WHERE owner = {LOOSE} AND EXISTS (SELECT 1 FROM added WHERE dropped = 1);
    RETURN NULL;
END $$;
CREATE TRIGGER body_dropped AFTER INSERT ON loose_body
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION body_dropped();

-- A node that hung, and whose targets another one has taken over, must not write what it sent since; even if that one
-- has left by now, not over what it stored of later attempts.
CREATE FUNCTION delivery_of_owner() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    owned_by bigint := (SELECT node FROM owner WHERE job = 'target ' || OLD.target_id);
BEGIN
    IF owned_by <> this_node() OR NEW.attempts < OLD.attempts THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER delivery_of_owner BEFORE UPDATE OF sending_at, attempts ON delivery FOR EACH ROW
    WHEN (OLD.replay_id IS NULL) EXECUTE FUNCTION delivery_of_owner();

CREATE FUNCTION deliveries_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_use SET bytes = storage_use.bytes - {DELIVERY_OVERHEAD} * gone.total
    FROM (SELECT endpoint_id, count(*) AS total FROM gone GROUP BY endpoint_id) AS gone
    WHERE owner = gone.endpoint_id;
    RETURN NULL;
END $$;
CREATE TRIGGER deliveries_deleted AFTER DELETE ON delivery
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION deliveries_deleted();

CREATE FUNCTION attempts_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    UPDATE storage_use SET bytes = storage_use.bytes + sign * made.bytes
    FROM (SELECT endpoint_id AS of_endpoint, sum({ATTEMPT_OVERHEAD} + length(headers)) AS bytes
            FROM attempts GROUP BY endpoint_id
        UNION ALL SELECT {RESPONSES}, sum(response_size + length(response_headers)) FROM attempts) AS made
    WHERE owner = made.of_endpoint AND made.bytes IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER attempts_stored AFTER INSERT ON attempt
    REFERENCING NEW TABLE AS attempts FOR EACH STATEMENT EXECUTE FUNCTION attempts_changed();
CREATE TRIGGER attempts_deleted AFTER DELETE ON attempt
    REFERENCING OLD TABLE AS attempts FOR EACH STATEMENT EXECUTE FUNCTION attempts_changed();
"""

_MORE = """
CREATE FUNCTION this_node() RETURNS bigint STABLE LANGUAGE sql
    AS $$ SELECT nullif(current_setting('hookline.node', true), '')::bigint $$;
CREATE TABLE node (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version text NOT NULL,
    captures smallint NOT NULL,
    base_url text,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE owner (
    job text COLLATE "C" PRIMARY KEY,
    node bigint NOT NULL REFERENCES node ON DELETE CASCADE
);
CREATE INDEX owner_node ON owner (node);
CREATE TABLE notice (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node bigint DEFAULT this_node(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    events bytea NOT NULL
);
ALTER TABLE trash ADD COLUMN node bigint DEFAULT this_node();
ALTER TABLE tunnel_url ADD COLUMN node bigint DEFAULT this_node();
ALTER TABLE replay ADD COLUMN node bigint DEFAULT this_node();
ALTER TABLE loose_body ADD COLUMN node bigint DEFAULT this_node();
ALTER TABLE endpoint ADD COLUMN trashed_by bigint;
CREATE INDEX capture_id ON capture (id);
CREATE SEQUENCE endpoint_version;
ALTER TABLE endpoint ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE storage_use ADD COLUMN total bigint NOT NULL DEFAULT 0, ADD COLUMN unread bigint NOT NULL DEFAULT 0;
CREATE TABLE capture_body_long PARTITION OF capture_body FOR VALUES FROM (MINVALUE) TO (0);
ALTER TABLE capture_body_long ALTER COLUMN data SET STORAGE EXTERNAL;
SELECT make_partition(0);

CREATE TABLE search_text (capture_seq bigint PRIMARY KEY, always boolean NOT NULL, text text COLLATE "C" NOT NULL,
    keys bigint[] NOT NULL) PARTITION BY RANGE (capture_seq);
CREATE INDEX search_text_always ON search_text (capture_seq) WHERE always;
CREATE INDEX search_text_keys ON search_text USING gin (keys) WITH (gin_pending_list_limit = 256);
CREATE TABLE search_group (first bigint PRIMARY KEY, upto bigint NOT NULL, oldest bigint NOT NULL,
    newest bigint NOT NULL, indexed boolean NOT NULL DEFAULT false, pairs bit varying NOT NULL, paths text[],
    common text[] NOT NULL DEFAULT '{}');
CREATE TABLE search_count (first bigint, key bigint, requests bigint NOT NULL, PRIMARY KEY (first, key));
"""


class _Tables(SchemaManager):
    def _create_table(self, safe: bool = True, **options: Any) -> Any:
        text = super()._create_table(safe, **options)  # type: ignore[misc]
        key = _PARTITIONED.get(self.model)
        return text.literal(f" PARTITION BY RANGE ({key})") if key else text


def prepare(database: PostgresDatabase, address: str) -> None:
    """Create the tables, or upgrade them. StoreAddressError when they cannot be used; then nothing was changed."""
    connection = raw(database)
    name, _ = check_server(connection, address)
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            if is_empty(connection):
                if connection.execute("SELECT to_regnamespace(%s)", (SCHEMA,)).fetchone()[0] is None:
                    # Even if it exists, this needs a right that an administrator who made it may have kept.
                    connection.execute(f"CREATE SCHEMA {SCHEMA}")
                _create(database)
            check_tables(connection, name)
            check_version(connection, name)
            with contextlib.suppress(psycopg.Error), savepoint(connection):  # searches are slower without it
                connection.execute(f"CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA {SCHEMA}")
    except errors.InsufficientPrivilege as error:
        raise StoreAddressError(
            f"The user of {name} may not create Hookline's tables there. Ask the database's owner for"
            " GRANT CREATE ON DATABASE, or to start Hookline once. Nothing was changed."
        ) from error


def check_server(connection: Any, address: str) -> tuple[str, int]:
    """How messages name the store, and the version of its server; StoreAddressError if that is too old."""
    name, version = shown(address), connection.info.server_version
    if version < OLDEST_SERVER:
        raise StoreAddressError(
            f"The server of {name} is PostgreSQL {version // 10_000}; Hookline needs 15 or newer. Nothing was changed."
        )
    return name, version // 10_000


def check_tables(connection: Any, name: str) -> None:
    """StoreAddressError when those in the schema are not Hookline's."""
    if connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.migration",)).fetchone()[0] is None:
        raise StoreAddressError(
            f"{name} has tables of another program in its schema “{SCHEMA}”. Choose another database;"
            " nothing was changed."
        )


def check_version(connection: Any, name: str) -> None:
    """StoreAddressError when a newer Hookline has upgraded the tables."""
    names = [found for (found,) in connection.execute("SELECT name FROM migration ORDER BY name")]
    newer = next((found for found in names if found not in MIGRATIONS), None)
    if newer is not None:
        raise StoreAddressError(
            f"{name} was upgraded by a newer Hookline (it holds {newer}). Install that version or a later one here;"
            " nothing was changed."
        )


def emptied_partitions(database: Database) -> list[int]:
    """The first number of each that no request is stored in any more, and in which none is to come."""
    connection = raw(database)
    (newest,) = connection.execute("SELECT last_value FROM capture_seq_seq").fetchone()
    firsts = [first for (first,) in connection.execute(_PARTITIONS) if first + PARTITION <= newest]
    return [one for one in firsts if connection.execute(f"SELECT 1 FROM capture_{one} LIMIT 1").fetchone() is None]


def drop_partition(database: Database, first: int) -> bool:
    """Within a transaction, which lets others wait for a moment; False if somebody reads the table all that time."""
    connection = raw(database)
    try:
        with savepoint(connection):
            connection.execute(f"SET LOCAL lock_timeout TO '{DROP_MS}ms'")
            for table in ("capture", "capture_body"):
                connection.execute(f"ALTER TABLE {table} DETACH PARTITION {table}_{first}")
                connection.execute(f"DROP TABLE {table}_{first}")
            connection.execute(f"SET LOCAL lock_timeout TO '{LOCK_S}s'")
    except errors.LockNotAvailable:
        return False
    return True


def is_empty(connection: Any) -> bool:
    """Whether nobody has made tables; also where the user may not look at them."""
    return not connection.execute(_TABLES, (SCHEMA,)).fetchone()[0]


_PARTITIONS = """SELECT substr(relname, 9)::bigint FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'capture'::regclass ORDER BY 1"""
_TABLES = """SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %s AND relkind IN ('r', 'p', 'v')"""


def _create(database: PostgresDatabase) -> None:
    connection = raw(database)
    connection.execute(_FUNCTIONS)
    for model in MODELS:
        _Tables(model, database).create_all(safe=False)
    connection.execute(_MORE)
    connection.execute(_TRIGGERS)
    AccountModel.insert(id=1, plan="free", instance_id=secrets.token_hex(16)).execute(database)
    StorageUseModel.insert_many([(LOOSE, 0), (RESPONSES, 0)], [StorageUseModel.owner, StorageUseModel.bytes]).execute(
        database
    )
    ClockModel.insert(id=1, seen_at=0, seen_seq=0, problem=None, clock_at=0, ran_us=0).execute(database)
    MigrationModel.insert(name=VERSION, applied_at=now_us()).execute(database)
