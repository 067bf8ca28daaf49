"""What only SQLite's tables have, and how an empty file gets them: they are strict, and triggers keep what no statement
may forget."""

from __future__ import annotations

import secrets
from typing import Any

from peewee import SchemaManager, SqliteDatabase

from app.core.rules import FREE_ENDPOINTS
from app.db.models import (
    KEYS_PER_BODY,
    MODELS,
    PLAN_LIMIT,
    AccountModel,
    ClockModel,
    StorageUseModel,
    TrashModel,
)
from app.db.raw_sql import raw

_WITHOUT_ROWID = (TrashModel,)
_ENDPOINTS = "(SELECT count(*) FROM endpoint WHERE removed = 0)"
_TRIGGERS = (
    f"""CREATE TRIGGER account_plan_limit BEFORE UPDATE OF plan ON account
    WHEN NEW.plan = 'free' AND {_ENDPOINTS} > {FREE_ENDPOINTS}
    BEGIN SELECT RAISE(ABORT, '{PLAN_LIMIT}'); END""",
    f"""CREATE TRIGGER endpoint_plan_limit BEFORE INSERT ON endpoint
    WHEN (SELECT plan FROM account) = 'free' AND {_ENDPOINTS} >= {FREE_ENDPOINTS}
    BEGIN SELECT RAISE(ABORT, '{PLAN_LIMIT}'); END""",
    """CREATE TRIGGER endpoint_stays_removed BEFORE UPDATE OF removed ON endpoint
    WHEN OLD.removed = 1 AND NEW.removed = 0
    BEGIN SELECT RAISE(ABORT, 'a removed endpoint stays removed'); END""",
    """CREATE TRIGGER endpoint_use AFTER INSERT ON endpoint
    BEGIN INSERT INTO storage_use VALUES (NEW.id, 0); END""",
    """CREATE TRIGGER endpoint_use_ends AFTER DELETE ON endpoint
    BEGIN DELETE FROM storage_use WHERE owner = OLD.id; END""",
    """CREATE TRIGGER capture_short_body AFTER DELETE ON capture WHEN OLD.body_key IS NULL
    BEGIN DELETE FROM capture_body WHERE key = OLD.seq; END""",
    f"""CREATE TRIGGER capture_long_body AFTER DELETE ON capture WHEN OLD.body_key IS NOT NULL
    BEGIN INSERT INTO loose_body (number, dropped) VALUES (-OLD.body_key / {KEYS_PER_BODY}, 1); END""",
    """CREATE TRIGGER capture_use_ends AFTER DELETE ON capture
    BEGIN UPDATE storage_use SET bytes = bytes
        - (1000 + OLD.size + length(OLD.headers) + length(OLD.target) + coalesce(length(OLD.trailers), 0))
    WHERE owner = OLD.endpoint_id; END""",
    f"""CREATE TRIGGER loose_body_use AFTER INSERT ON loose_body WHEN NEW.dropped
    BEGIN UPDATE storage_use SET bytes = bytes
        + (SELECT coalesce(sum(length(data)), 0) FROM capture_body
            WHERE key BETWEEN -NEW.number * {KEYS_PER_BODY} AND (1 - NEW.number) * {KEYS_PER_BODY} - 1)
    WHERE owner = 0; END""",
    """CREATE TRIGGER delivery_use_ends AFTER DELETE ON delivery
    BEGIN UPDATE storage_use SET bytes = bytes - 400 WHERE owner = OLD.endpoint_id; END""",
    """CREATE TRIGGER attempt_use AFTER INSERT ON attempt
    BEGIN
        UPDATE storage_use SET bytes = bytes + 200 + length(NEW.headers) WHERE owner = NEW.endpoint_id;
        UPDATE storage_use SET bytes = bytes + NEW.response_size + length(NEW.response_headers)
        WHERE owner = -1;
    END""",
    """CREATE TRIGGER attempt_use_ends AFTER DELETE ON attempt
    BEGIN
        UPDATE storage_use SET bytes = bytes - 200 - length(OLD.headers) WHERE owner = OLD.endpoint_id;
        UPDATE storage_use SET bytes = bytes - OLD.response_size - length(OLD.response_headers)
        WHERE owner = -1;
    END""",
)


class _Tables(SchemaManager):
    def _create_table(self, safe: bool = True, **options: Any) -> Any:
        text = super()._create_table(safe, **options).literal(" STRICT")  # type: ignore[misc]
        return text.literal(", WITHOUT ROWID") if self.model in _WITHOUT_ROWID else text


def create_schema(database: SqliteDatabase) -> None:
    """Create the tables of an empty file with their indexes and triggers, and the rows that always exist."""
    for model in MODELS:
        _Tables(model, database).create_all(safe=False)
    for statement in _TRIGGERS:
        raw(database).execute(statement)
    AccountModel.insert(id=1, plan="free", instance_id=secrets.token_hex(16)).execute(database)
    for owner in (0, -1):
        StorageUseModel.insert(owner=owner, bytes=0).execute(database)
    ClockModel.insert(id=1, seen_at=0, seen_seq=0, problem=None, clock_at=0, ran_us=0).execute(database)
