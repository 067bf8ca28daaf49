"""The targets to which deliveries fail or wait, or never came: for the running program, and for `hookline doctor`
without it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from app.core.clock import DAY_US, now_us
from app.core.doctor import Finding, ok, warning
from app.core.target import PausedBy
from app.core.target_text import TargetTrouble
from app.core.text import count_of
from app.data_folder.database_files import FILE_NAME, size_of
from app.db.sqlite.connection import snapshot

FORWARDING = "Forwarding"
_READ = 1_000
"""Deliveries of an endpoint, to find what became of those to one target: more could take seconds."""
_RETRIED = """(SELECT error FROM delivery
    WHERE target_id = target.id AND state = 'queued' AND replay_id IS NULL ORDER BY seq LIMIT 1)"""
_FAILED = f"""(SELECT error FROM
    (SELECT target_id, error FROM delivery
        WHERE endpoint_id = target.endpoint_id AND state = 'failed' AND replay_id IS NULL
        ORDER BY seq DESC LIMIT {_READ})
    WHERE target_id = target.id LIMIT 1)"""
LAST_ERRORS = f"""
    SELECT target.id, coalesce({_RETRIED}, iif(failures > 0 OR paused = 'failures', {_FAILED}, NULL)) AS last_error
    FROM target WHERE last_error IS NOT NULL"""
"""Why the first delivery that waits for a target is retried, or else why the last one failed."""
_UNSENT = f"""FROM
    (SELECT target_id, error, queued_at FROM delivery
        WHERE endpoint_id = target.endpoint_id AND state = 'not_sent' AND replay_id IS NULL
        ORDER BY seq DESC LIMIT {_READ})
    WHERE target_id = target.id AND queued_at > :now - {DAY_US}"""
_TROUBLES = f"""
    SELECT endpoint.slug, target.id, target.url, paused, json_extract(settings, '$.pause_after'), failures,
        (SELECT count(*) FROM delivery
            WHERE target_id = target.id AND state = 'queued' AND replay_id IS NULL) AS waiting,
        iif(deleted_at > :now - {DAY_US}, deleted, 0) AS lately,
        coalesce({_RETRIED}, {_FAILED}), (SELECT count(*) {_UNSENT}) AS unsent, (SELECT error {_UNSENT} LIMIT 1)
    FROM target JOIN endpoint ON endpoint.id = target.endpoint_id
    WHERE lately > 0
        OR (target.active AND (failures > 0 OR unsent > 0 OR paused = 'failures' OR (paused = 'user' AND waiting > 0)))
    ORDER BY endpoint.id, target.position"""


def target_troubles(connection: sqlite3.Connection) -> list[TargetTrouble]:
    """Those of each endpoint in order. Replays do not count."""
    troubles = []
    rows = connection.execute(_TROUBLES, {"now": now_us()})
    for slug, number, url, paused, pause_after, failures, waiting, deleted, error, unsent, reason in rows:
        troubles.append(
            TargetTrouble(
                endpoint=slug,
                id=number,
                url=url,
                paused=None if paused is None else PausedBy(paused),
                pause_after=pause_after,
                failures=failures,
                waiting=waiting,
                deleted=deleted,
                error=error,
                unsent=unsent,
                unsent_reason=reason,
            )
        )
    return troubles


def check_forwarding(folder: Path) -> Finding:
    """A warning if a target is paused, or the last delivery to one failed."""
    path = folder / FILE_NAME
    if not size_of(path):
        return ok(FORWARDING, "no targets yet")
    try:
        with snapshot(path) as connection:
            troubles = target_troubles(connection)
            (count,) = connection.execute("SELECT count(*) FROM target").fetchone()
    except sqlite3.DatabaseError as error:
        return warning(FORWARDING, f"The targets cannot be read: {error}.", "See the check of the database.")
    if not troubles:
        return ok(FORWARDING, f"{count_of(count, 'target')}, none is paused or failing" if count else "no targets yet")
    advice = " ".join(dict.fromkeys(trouble.advice + "." for trouble in troubles))
    return warning(FORWARDING, " ".join(trouble.text for trouble in troubles), advice)
