"""What callers of the local API send, as records that validate it. What it sends is in `hookline.records`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from app.core.errors import InvalidFieldsError
from app.core.model import EndpointDraft, Plan
from app.core.record import Headers, Record
from app.core.replay.spec import Faults
from app.core.rules import FieldError, position_error
from app.core.target import TargetDraft

EndpointIn = EndpointDraft
"""The body of `POST /endpoints` is the draft itself."""


BATCH_MAX = 100


class EndpointBatchIn(Record, frozen=True):
    """The body of `PATCH /endpoints`: endpoints to create, and the slugs of those to delete."""

    create: tuple[EndpointDraft, ...] = ()
    delete: tuple[str, ...] = ()


NESTED = "Absent fields stay."


def patch_of(record: type[Record], about: str, **others: Any) -> Any:
    """A struct with the fields of `record` and `others` (by type), all optional; records within become patches too.
    `about` is its docstring."""
    types = {**get_type_hints(record), **others}
    fields = [(name, _patch_type(kind) | UnsetType, UNSET) for name, kind in types.items()]
    return msgspec.defstruct(
        patch_name(record),
        fields,
        bases=(Record,),
        namespace={"__doc__": about},
        frozen=True,
        omit_defaults=True,
    )


def patch_name(record: type[Record]) -> str:
    """`EndpointPatch` for `EndpointDraft`."""
    return f"{record.__name__.removesuffix('Draft')}Patch"


def _patch_type(kind: Any) -> Any:
    return patch_of(kind, NESTED) if isinstance(kind, type) and issubclass(kind, Record) else kind


EndpointPatch = patch_of(
    EndpointDraft,
    "The body of `PATCH /endpoints/{slug}`: absent fields stay; null clears `forward_url` and `storage_limit`."
    " `position` is the place in the list of endpoints, from 1.",
    slug=str,
    position=int,
)


TargetIn = TargetDraft
"""The body of `POST /endpoints/{slug}/targets` is the draft itself."""

TargetPatch = patch_of(
    TargetDraft,
    "The body of `PATCH /endpoints/{slug}/targets/{id}`: absent fields stay; null clears `client_certificate` and"
    " `client_key`. `position` is the place among the endpoint's targets, from 1.",
    position=int,
)


def without_position(patch: Any, count: int) -> tuple[Any, int | None]:
    """A patch without its position, and that (None: not given); InvalidFieldsError unless it is one of `count`."""
    if patch.position is UNSET:
        return patch, None
    if wrong := position_error(patch.position, count):
        raise InvalidFieldsError([FieldError(field="position", message=wrong)])
    return msgspec.structs.replace(patch, position=UNSET), patch.position


class RequestPatch(Record, frozen=True, omit_defaults=True):
    """The body of `PATCH /requests/{id}`: absent fields stay; `"note": null` removes the note."""

    read: bool | UnsetType = UNSET
    starred: bool | UnsetType = UNSET
    note: str | UnsetType | None = UNSET


class RetryIn(Record, frozen=True):
    """The body of `POST /deliveries/retry`: failed deliveries of this endpoint (a slug) or target (an id), otherwise
    all."""

    endpoint: str | None = None
    target: int | None = None


class AccountPatch(Record, frozen=True):
    """The body of `PATCH /account`."""

    plan: Plan


class BackupIn(Record, frozen=True):
    """The body of `POST /backup`. `path` is absolute, on the machine that Hookline runs on. An existing file is
    replaced only with `overwrite`."""

    path: str
    overwrite: bool = False


class TunnelStartIn(Record, frozen=True):
    """The body of `POST /tunnel/start`: the id of a program, as `GET /tunnel/programs` has it."""

    program: str


class TunnelUpdatedIn(Record, frozen=True):
    """The body of `POST /tunnel/updated`: the slug of an endpoint."""

    endpoint: str


Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339, with an offset."""
Gaps = Literal["none", "original"]


class ReplayRequestIn(Record, frozen=True):
    """The body of `POST /requests/{id}/replay`. Absent fields: as captured, to the endpoint's targets.

    The captured sub-path and query are added to `url`, as to a target's. `headers` replace all captured ones. The body
    is `body`, or the bytes in `body_base64`. A request that is not complete is only sent with `incomplete`, or with a
    body.
    """

    url: str | None = None
    to_endpoint: str | None = None
    method: str | None = None
    headers: Headers | None = None
    body: str | None = None
    body_base64: bytes | None = None
    incomplete: bool = False


class ReplayEndpointIn(Record, frozen=True):
    """The body of `POST /endpoints/{slug}/replay`: its requests that match `q`, from `after` until before `before`,
    oldest first; to its targets, to `url` or to `to_endpoint`.

    With `gaps` `original`, `scale` multiplies the gaps between requests (0.5: twice as fast). `rate` is requests per
    second. `faults` are probabilities; the same `seed` makes the same faults. Requests that are not complete are left
    out, unless `incomplete` is true.
    """

    q: str = ""
    after: Time | None = None
    before: Time | None = None
    url: str | None = None
    to_endpoint: str | None = None
    gaps: Gaps = "none"
    scale: float | None = None
    longest_gap_ms: int | None = None
    rate: float | None = None
    concurrency: int = 1
    times: int = 1
    faults: Faults = Faults()
    seed: int = 0
    incomplete: bool = False


class EditIn(Record, frozen=True):
    """What is sent in place of what was captured. `url` is requested as given, without the captured sub-path."""

    url: str | None = None
    method: str | None = None
    headers: Headers | None = None
    body: str | None = None
    body_base64: bytes | None = None


class ReplayIn(ReplayEndpointIn, frozen=True):
    """The body of `POST /replays`: the requests in `ids`, otherwise those of `endpoint` (a slug), otherwise all.

    Only one request can be edited.
    """

    ids: tuple[str, ...] | None = None
    endpoint: str | None = None
    edit: EditIn | None = None
