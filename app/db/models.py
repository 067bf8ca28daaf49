"""The tables of a store as peewee models, the same in both engines: columns, constraints and indexes.

`sqlite/schema.py` and `postgres/schema.py` create them, each with what only its engine has, and upgrade older ones: a
change here needs a migration there. The models are bound to no database: each query is executed with the one it is
meant for.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from peewee import (
    SQL,
    AutoField,
    BlobField,
    BooleanField,
    Check,
    CompositeKey,
    FloatField,
    ForeignKeyField,
    IntegerField,
    Model,
    Node,
    TextField,
)

from app.core.model import DeliveryState, EndpointDraft
from app.core.record import Headers, choices_of, fields_of, types_of
from app.core.rules import NOTE_MAX

KEYS_PER_BODY = 1 << 32
"""The keys of the parts of long body `number` begin at `-number * KEYS_PER_BODY`, see `body_parts.py`."""

DELIVERY_CODE = {
    DeliveryState.NONE: "n",
    DeliveryState.QUEUED: "q",
    DeliveryState.DELIVERED: "d",
    DeliveryState.NOT_SENT: "u",
    DeliveryState.FAILED: "f",
}
"""One letter each: a row keeps its length when its state changes, so that full pages are not split."""

DELIVERY_STATE = {code: state for state, code in DELIVERY_CODE.items()}

NOBODY = ""
"""The provider of a request that matches no known provider; NULL: not identified yet."""

encode_headers = msgspec.msgpack.Encoder().encode
decode_headers = msgspec.msgpack.Decoder(Headers).decode
"""Headers and trailers as a column holds them."""

PLAN_LIMIT = "plan limit"
"""The message of the triggers that enforce the Free plan's number of endpoints."""


class _OnSqlite(Node):
    """Text that only SQLite gets."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __sql__(self, context: Any) -> Any:
        return context.literal(self._text) if context.state.param == "?" else context


class RowNumberField(AutoField):
    """A row number that is never reused, even after a deletion: PostgreSQL never does that."""

    def __init__(self) -> None:
        super().__init__(constraints=[_OnSqlite("AUTOINCREMENT")])


class _FlagField(BooleanField):
    """Stored as 0 or 1; the database rejects anything else."""

    def __init__(self, column: str, *, default: bool | None = None) -> None:
        constraints = [Check(f"{column} IN (0, 1)")]
        if default is not None:
            constraints.insert(0, SQL(f"DEFAULT {default:d}"))
        super().__init__(constraints=constraints, default=default)


def _declared(column: str) -> list[Any]:
    """What the declaration of an endpoint's field asks of its column."""
    if choices := choices_of(EndpointDraft, column):
        return [Check(f"{column} IN ({', '.join(map(repr, choices))})")]
    low, high = fields_of(EndpointDraft)[column].bounds
    value = f"length({column})" if types_of(EndpointDraft)[column] is str else column
    return [Check(f"{value} BETWEEN {low} AND {high}")]


def _name(model: type[Model]) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", model.__name__.removesuffix("Model")).lower()


class StoreModel(Model):
    """A table of the store, named after its class where no name is given: TunnelUrlModel is tunnel_url."""

    class Meta:
        table_function = _name


class MigrationModel(StoreModel):
    """A migration that is part of this file's schema."""

    name = TextField(primary_key=True)
    applied_at = IntegerField()


class AccountModel(StoreModel):
    """The one account of this data folder."""

    id = IntegerField(primary_key=True, constraints=[Check("id = 1")])
    plan = TextField(constraints=[Check("plan IN ('free', 'pro')")])
    instance_id = TextField(constraints=[Check("length(instance_id) >= 16")])


class EndpointModel(StoreModel):
    """An endpoint; `trashed` is the number of the deletion that hides it with its requests. `removed`: it cannot be
    restored any more, and its requests are being deleted in small steps.

    `position` orders the list, and is NULL until the user reorders it: those without one come last, oldest first.
    """

    id = RowNumberField()
    slug = TextField(constraints=_declared("slug"))
    name = TextField(constraints=_declared("name"))
    description = TextField(constraints=_declared("description"))
    retention_days = IntegerField(constraints=_declared("retention_days"))
    active = _FlagField("active")
    response = TextField(constraints=[Check("json_valid(response)")])
    auth = TextField(constraints=[Check("json_valid(auth)")])
    created_at = IntegerField()
    trashed = IntegerField(null=True)
    removed = _FlagField("removed", default=False)
    storage_limit = IntegerField(null=True, constraints=_declared("storage_limit"))
    when_full = TextField(constraints=[SQL("DEFAULT 'delete_oldest'"), *_declared("when_full")])
    position = IntegerField(null=True)
    tags = TextField(constraints=[SQL("DEFAULT '[]'"), Check("json_valid(tags)")])

    class Meta:
        constraints = (Check("removed = 0 OR trashed IS NOT NULL"),)
        indexes = (
            SQL("CREATE UNIQUE INDEX endpoint_slug ON endpoint (slug) WHERE removed = 0"),
            SQL("CREATE INDEX endpoint_trashed ON endpoint (trashed) WHERE trashed IS NOT NULL"),
        )


class StorageUseModel(StoreModel):
    """The bytes that an endpoint's requests take, or (owner 0) body parts without a request, or (owner -1) what targets
    responded.

    Only deletions and deliveries are counted by triggers: one on each insert made captures 6 to 9 % slower, a statement
    per commit does not.
    """

    owner = IntegerField(primary_key=True)
    bytes = IntegerField()


class CaptureModel(StoreModel):
    """A captured request without its body."""

    seq = RowNumberField()
    id = TextField(constraints=[_OnSqlite("UNIQUE")])  # PostgreSQL has no such key over partitions
    endpoint = ForeignKeyField(EndpointModel, column_name="endpoint_id", index=False)
    received_at = IntegerField()
    method = TextField()
    target = TextField()
    http_version = TextField()
    headers = BlobField()
    content_type = TextField()
    size = IntegerField(constraints=[Check("size >= 0")])
    sha256 = TextField()
    source_address = TextField()
    source_port = IntegerField()
    scheme = TextField()
    complete = _FlagField("complete")
    response_status = IntegerField()
    delivery = TextField(constraints=[Check("delivery IN ('n', 'q', 'd', 'u', 'f')")])
    is_read = _FlagField("is_read")
    provider = TextField(null=True)
    event = TextField(null=True)
    delivery_id = TextField(null=True)
    body_key = IntegerField(null=True)
    """The key of the first part of a long body, see `body_parts.py`."""
    trailers = BlobField(null=True)
    """Both are NULL for nearly all. No insert names these columns, so they cost nothing."""
    gist = TextField()

    class Meta:
        # A partial index costs nothing for a capture that does not enter it: few are unidentified or incomplete, and
        # one is forwarded later.
        indexes = (
            SQL("CREATE INDEX capture_list ON capture (endpoint_id, received_at, id, is_read)"),
            SQL("CREATE INDEX capture_unidentified ON capture (seq) WHERE provider IS NULL"),
            SQL(
                "CREATE INDEX capture_forwarded ON capture (endpoint_id, received_at, delivery, complete)"
                " WHERE delivery IN ('d', 'u', 'f') AND complete = 1"
            ),
            SQL("CREATE INDEX capture_incomplete ON capture (endpoint_id, received_at, complete) WHERE complete = 0"),
        )


class TrashModel(StoreModel):
    """An endpoint's requests from one number to another, which a deletion hides until it is purged or undone.

    Spans, because all of an endpoint's requests are one, which is stored and undone at once, however many they are.
    Those of one endpoint do not overlap, so that a request is looked up in one step, see `queries.trashed_sql`.
    """

    endpoint_id = IntegerField()
    last_seq = IntegerField()
    first_seq = IntegerField()
    deletion = IntegerField()

    class Meta:
        primary_key = CompositeKey("endpoint_id", "last_seq")
        indexes = (SQL("CREATE INDEX trash_deletion ON trash (deletion, endpoint_id, last_seq)"),)


class BesideModel(StoreModel):
    """A table with at most one row for a capture."""

    capture = ForeignKeyField(
        CaptureModel, column_name="capture_seq", primary_key=True, on_delete="CASCADE", index=False
    )


class ResponseTimeModel(BesideModel):
    """Milliseconds until a capture's response was sent. A table of its own, because adding it to the capture's row
    would split full pages."""

    ms = FloatField()

    class Meta:
        table_name = "capture_response"


class StarModel(BesideModel):
    """A capture that has a star. A table of its own, like the notes, because few captures have one: nothing is read or
    written for the others. `author` is the user of a team's store who set it."""

    author = TextField(null=True)

    class Meta:
        table_name = "capture_star"


class NoteModel(BesideModel):
    """The user's note on a capture; `author` as of a star."""

    text = TextField(constraints=[Check(f"length(text) BETWEEN 1 AND {NOTE_MAX}")])
    author = TextField(null=True)

    class Meta:
        table_name = "capture_note"


class BodyModel(StoreModel):
    """A body, or a part of a long one, see `body_parts.py`."""

    key = IntegerField(primary_key=True)
    data = BlobField()

    class Meta:
        table_name = "capture_body"


class LooseBodyModel(StoreModel):
    """A long body without a capture: its parts are still arriving, or `dropped` and to be deleted in small steps."""

    number = RowNumberField()
    dropped = _FlagField("dropped")


class TargetModel(StoreModel):
    """A target of an endpoint. `settings` is the rest of its `TargetDraft` as JSON, `failures` how many deliveries
    failed in a row."""

    id = RowNumberField()
    endpoint = ForeignKeyField(EndpointModel, column_name="endpoint_id", on_delete="CASCADE", index=False)
    position = IntegerField()
    url = TextField()
    active = _FlagField("active")
    settings = TextField(constraints=[Check("json_valid(settings)")])
    paused = TextField(null=True, constraints=[Check("paused IN ('user', 'failures')")])
    failures = IntegerField(constraints=[SQL("DEFAULT 0")])
    deleted = IntegerField(constraints=[SQL("DEFAULT 0")])
    deleted_at = IntegerField(null=True)
    """How many deliveries to it were deleted before they were sent, and when the last was, see `unsent.py`."""

    class Meta:
        indexes = (SQL("CREATE INDEX target_endpoint ON target (endpoint_id, position)"),)


class DeliveryModel(StoreModel):
    """A delivery of a capture, see `core.delivery.Delivery`. `sending_at` is when its current attempt began."""

    seq = RowNumberField()
    id = TextField(constraints=[SQL("UNIQUE")])
    capture = ForeignKeyField(
        CaptureModel, column_name="capture_seq", on_delete="CASCADE", index=False, backref="deliveries"
    )
    endpoint_id = IntegerField()
    target_id = IntegerField(null=True)
    replay_id = TextField(null=True)
    url = TextField()
    state = TextField(constraints=[Check("state IN ('queued', 'delivered', 'not_sent', 'failed')")])
    queued_at = IntegerField()
    due_at = IntegerField(constraints=[SQL("DEFAULT 0")])
    attempts = IntegerField(constraints=[SQL("DEFAULT 0")])
    round_attempts = IntegerField(constraints=[SQL("DEFAULT 0")])
    round_ms = FloatField(null=True)
    sending_at = IntegerField(null=True)
    started_at = IntegerField(null=True)
    ms = FloatField(null=True)
    status = IntegerField(null=True)
    error = TextField(null=True)
    next_step = TextField(null=True)
    responded = BooleanField(constraints=[SQL("DEFAULT 0")])
    interrupted = BooleanField(constraints=[SQL("DEFAULT 0")])

    class Meta:
        indexes = (
            SQL("CREATE INDEX delivery_capture ON delivery (capture_seq, seq)"),
            SQL(
                "CREATE INDEX delivery_queued ON delivery (target_id, seq, due_at, started_at, replay_id)"
                " WHERE state = 'queued'"
            ),
            SQL("CREATE INDEX delivery_failed ON delivery (endpoint_id, seq) WHERE state = 'failed'"),
            SQL("CREATE INDEX delivery_not_sent ON delivery (endpoint_id, seq) WHERE state = 'not_sent'"),
            SQL("CREATE INDEX delivery_sending ON delivery (seq) WHERE sending_at IS NOT NULL"),
            SQL("CREATE INDEX delivery_replay ON delivery (replay_id, seq) WHERE replay_id IS NOT NULL"),
        )


class DeletedDeliveryModel(StoreModel):
    """A delivery that was deleted with its request before it was sent, see `unsent.py`. Its number is the one it had;
    `capture_id` is no longer stored."""

    seq = IntegerField(primary_key=True)
    id = TextField(constraints=[SQL("UNIQUE")])
    capture_id = TextField()
    endpoint = ForeignKeyField(EndpointModel, column_name="endpoint_id", on_delete="CASCADE", index=False)
    target_id = IntegerField()
    url = TextField()
    queued_at = IntegerField()
    attempts = IntegerField()
    started_at = IntegerField(null=True)
    error = TextField()
    method = TextField()
    target = TextField()
    event = TextField(null=True)
    gist = TextField()


class AttemptModel(StoreModel):
    """An attempt of a delivery, see `core.delivery.Attempt`. The response's body comes last, so that lists never read
    it."""

    seq = AutoField()
    delivery = ForeignKeyField(
        DeliveryModel, column_name="delivery_seq", on_delete="CASCADE", index=False, backref="tries"
    )
    endpoint_id = IntegerField()
    number = IntegerField()
    trigger = TextField()
    started_at = IntegerField()
    ms = FloatField()
    method = TextField()
    url = TextField()
    headers = BlobField()
    size = IntegerField()
    reused = BooleanField()
    lookup_ms = FloatField(null=True)
    connect_ms = FloatField(null=True)
    tls_ms = FloatField(null=True)
    first_byte_ms = FloatField(null=True)
    http_version = TextField()
    status = IntegerField(null=True)
    response_headers = BlobField()
    response_size = IntegerField()
    response_truncated = BooleanField()
    response_removed = BooleanField(constraints=[SQL("DEFAULT 0")])
    """Its headers and body made room for newer ones: of this attempt and all before it, see `remove_oldest`."""
    failure = TextField(null=True)
    error = TextField(null=True)
    response_body = BlobField()

    class Meta:
        indexes = (
            SQL("CREATE UNIQUE INDEX attempt_delivery ON attempt (delivery_seq, number)"),
            # New attempts do not enter it, so it costs them nothing.
            SQL("CREATE INDEX attempt_removed ON attempt (seq) WHERE response_removed = 1"),
        )


class ReplayModel(StoreModel):
    """A replay, see `core.replay.Replay`; what can change is in `progress`, as JSON."""

    id = TextField(primary_key=True)
    created_at = IntegerField()
    spec = TextField(constraints=[Check("json_valid(spec)")])
    progress = TextField(constraints=[Check("json_valid(progress)")])


class TunnelUrlModel(StoreModel):
    """A public URL that the tunnel had, see `core.tunnel.TunnelUrl`."""

    id = AutoField()
    url = TextField()
    program = TextField()
    since = IntegerField()
    until = IntegerField(null=True)


class TunnelCopyModel(StoreModel):
    """When the user last copied an endpoint's capture URL under a public URL (`base`) of the tunnel."""

    endpoint = ForeignKeyField(EndpointModel, column_name="endpoint_id", on_delete="CASCADE", index=False)
    base = TextField()
    copied_at = IntegerField()

    class Meta:
        primary_key = CompositeKey("endpoint", "base")


class ClockModel(StoreModel):
    """When the store last saw the time.

    `problem` says why the clock is not trusted; `clock_at` is what it last showed since, `ran_us` for how long Hookline
    ran on it.
    """

    id = IntegerField(primary_key=True, constraints=[Check("id = 1")])
    seen_at = IntegerField()
    seen_seq = IntegerField()
    problem = TextField(null=True, constraints=[Check("problem IN ('ahead', 'behind', 'future')")])
    clock_at = IntegerField()
    ran_us = IntegerField()


class MisdatedModel(StoreModel):
    """Requests whose time of arrival is wrong: retention counts their days from `counted_from`.

    `last_seq` is NULL while the doubtful clock is in use, `counted_from` while it is not known which clock is right.
    """

    id = IntegerField(primary_key=True)
    first_seq = IntegerField()
    last_seq = IntegerField(null=True)
    counted_from = IntegerField(null=True)


class UnfinishedCopyModel(StoreModel):
    """The store is a copy that is not finished: of the store `source`, which messages call `name`.

    `used` changes when a Hookline has used that store, `reached` is the number of the last request that was copied.
    """

    source = TextField(primary_key=True)
    name = TextField()
    used = TextField()
    reached = IntegerField()


MODELS: tuple[type[StoreModel], ...] = (
    MigrationModel,
    AccountModel,
    EndpointModel,
    StorageUseModel,
    CaptureModel,
    TrashModel,
    ResponseTimeModel,
    StarModel,
    NoteModel,
    BodyModel,
    LooseBodyModel,
    TargetModel,
    DeliveryModel,
    DeletedDeliveryModel,
    AttemptModel,
    ReplayModel,
    TunnelUrlModel,
    TunnelCopyModel,
    ClockModel,
    MisdatedModel,
    UnfinishedCopyModel,
)
"""In the order of creation: a table comes after those it refers to."""

ALWAYS_FILLED = (MigrationModel, AccountModel, StorageUseModel, ClockModel)
"""Those with rows also in a store that nobody has used."""
