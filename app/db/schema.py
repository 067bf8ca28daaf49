"""The tables as peewee models, bound to no database: each query is executed with the database it is meant for.

What the file holds is decided by `migrations.py`; these classes name its columns.
"""

from __future__ import annotations

from peewee import BlobField, BooleanField, FloatField, ForeignKeyField, IntegerField, Model, TextField

from app.core.model import MirrorState

PARTS_PER_BODY = 4096
"""A body part's key is `seq * PARTS_PER_BODY + part`: one b-tree, no index beside it. No body has that many parts."""
PIECES_FROM = PARTS_PER_BODY // 2
"""The keys from `seq * PARTS_PER_BODY + PIECES_FROM` on are of pieces of the part that is being received: a body of a
gibibyte has half as many parts. A stored request has none."""

MIRROR_CODE = {
    MirrorState.NONE: "n",
    MirrorState.QUEUED: "q",
    MirrorState.DELIVERED: "d",
    MirrorState.FAILED: "f",
}
"""One letter each: a row that changes its state keeps its length, so that full pages are not split by it."""

NOBODY = ""
"""The provider of a request that was looked at and is of nobody known; NULL: it was not looked at yet."""

MIRROR_STATE = {code: state for state, code in MIRROR_CODE.items()}


class MigrationModel(Model):
    """A migration that was applied to this file."""

    name = TextField(primary_key=True)
    applied_at = IntegerField()

    class Meta:
        table_name = "migration"


class AccountModel(Model):
    """The one account of this data folder."""

    id = IntegerField(primary_key=True)
    plan = TextField()
    instance_id = TextField()

    class Meta:
        table_name = "account"


class EndpointModel(Model):
    """An endpoint; `removed` hides it while its requests are deleted in small steps.

    `position` orders the list, and is NULL until the user reorders it: those without one come last, oldest first.
    """

    id = IntegerField(primary_key=True)
    slug = TextField()
    name = TextField()
    description = TextField()
    retention_days = IntegerField()
    storage_limit = IntegerField(null=True)
    when_full = TextField()
    forward_url = TextField(null=True)
    active = BooleanField()
    reply = TextField()
    forward = TextField()
    auth = TextField()
    created_at = IntegerField()
    removed = BooleanField(default=False)
    position = IntegerField(null=True)

    class Meta:
        table_name = "endpoint"


class StorageUseModel(Model):
    """The bytes that an endpoint's requests take, or (owner 0) body parts without a request."""

    owner = IntegerField(primary_key=True)
    bytes = IntegerField()

    class Meta:
        table_name = "storage_use"


class CaptureModel(Model):
    """A captured request without its body."""

    seq = IntegerField(primary_key=True)
    id = TextField()
    endpoint_id = IntegerField()
    received_at = IntegerField()
    method = TextField()
    target = TextField()
    http_version = TextField()
    headers = BlobField()
    content_type = TextField()
    size = IntegerField()
    sha256 = TextField()
    source_address = TextField()
    source_port = IntegerField()
    scheme = TextField()
    complete = BooleanField()
    reply_status = IntegerField()
    mirror = TextField()
    is_read = BooleanField()
    provider = TextField(null=True)
    event = TextField(null=True)
    delivery_id = TextField(null=True)
    trailers = BlobField(null=True)
    gist = TextField(null=True)

    class Meta:
        table_name = "capture"


class ResponseTimeModel(Model):
    """When a capture's answer had left. Apart, because adding it to the capture's row would split full pages."""

    capture_seq = IntegerField(primary_key=True)
    ms = FloatField()

    class Meta:
        table_name = "capture_reply"


class StarModel(Model):
    """A capture that has a star."""

    capture_seq = IntegerField(primary_key=True)

    class Meta:
        table_name = "capture_star"


class NoteModel(Model):
    """What the user wrote about a capture."""

    capture_seq = IntegerField(primary_key=True)
    text = TextField()

    class Meta:
        table_name = "capture_note"


class BodyModel(Model):
    """One part of a body, see `PARTS_PER_BODY`."""

    key = IntegerField(primary_key=True)
    data = BlobField()

    class Meta:
        table_name = "capture_body"


class BodyPieceModel(Model):
    """Body parts that have no capture: still arriving, or `dropped` and to be deleted in small steps."""

    seq = IntegerField(primary_key=True)
    dropped = BooleanField()

    class Meta:
        table_name = "loose_body"


class DeliveryModel(Model):
    """One mirroring of a capture. The answer's body comes last, so that lists never read it."""

    seq = IntegerField(primary_key=True)
    id = TextField()
    capture = ForeignKeyField(CaptureModel, column_name="capture_seq", backref="deliveries")
    endpoint_id = IntegerField()
    url = TextField()
    state = TextField()
    queued_at = IntegerField()
    started_at = IntegerField(null=True)
    ms = FloatField(null=True)
    status = IntegerField(null=True)
    response_headers = BlobField(null=True)
    response_size = IntegerField()
    response_truncated = BooleanField()
    error = TextField(null=True)
    response_body = BlobField(null=True)

    class Meta:
        table_name = "delivery"


class ClockModel(Model):
    """When the store last saw the time, see `migrations.remember_clock`."""

    id = IntegerField(primary_key=True)
    seen_at = IntegerField()
    seen_seq = IntegerField()
    problem = TextField(null=True)
    clock_at = IntegerField()
    ran_us = IntegerField()

    class Meta:
        table_name = "clock"


class MisdatedModel(Model):
    """Requests whose time of arrival is wrong: retention counts their days from `counted_from`."""

    id = IntegerField(primary_key=True)
    first_seq = IntegerField()
    last_seq = IntegerField(null=True)
    counted_from = IntegerField(null=True)

    class Meta:
        table_name = "misdated"


MODELS: tuple[type[Model], ...] = (
    MigrationModel,
    AccountModel,
    EndpointModel,
    StorageUseModel,
    CaptureModel,
    ResponseTimeModel,
    StarModel,
    NoteModel,
    BodyModel,
    BodyPieceModel,
    DeliveryModel,
    ClockModel,
    MisdatedModel,
)
