"""A file of the catalogue: a provider, and how each kind of request it sends is recognised."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from app.core.record import Record
from hookline.decoding import convert

HEADER, BODY, FORM, BESIDE = "header", "body", "form", "beside"
_COLOUR = re.compile(r"#[0-9a-f]{6}")
MONOGRAM_MAX = 2
KEYS_MIN = 2
"""The minimum number of body keys that identify a request without a specific header."""


class CatalogueError(ValueError):
    """An invalid file of the catalogue; the text names the file and the key."""


class ValueSource(Record, frozen=True):
    """The place of a value: a header's name in lower case, or a path of keys into the body or a form.

    For the kind `BESIDE` the value is itself a key: the first one of the body that is not in the path.
    """

    kind: str
    path: tuple[str, ...]


class RequestKind(Record, frozen=True):
    """A kind of request; all conditions must hold. Patterns match whole values, with `*` and `?`.

    `headers` must exist, `without` must not; `header_values` has patterns by header. `body` are paths (keys and list
    indices joined by dots) that must exist in a JSON body, `body_any` paths of which one must exist, `without_body`
    paths that must not, `body_values` patterns by path, `form` fields of a form, `form_text` the pattern of a whole
    form as sent. `event` and `delivery_id` are sources such as `header:X-Event`, `body:data.type`, `form:payload.type`
    or `beside:id`; the first one with a value counts.
    """

    headers: tuple[str, ...] = ()
    header_values: dict[str, str] = {}
    without: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    body_any: tuple[str, ...] = ()
    without_body: tuple[str, ...] = ()
    body_values: dict[str, str] = {}
    form: tuple[str, ...] = ()
    form_text: str = ""
    event: tuple[str, ...] = ()
    delivery_id: tuple[str, ...] = ()


class ProviderMark(Record, frozen=True):
    """The mark of a provider in lists: one or two letters, white on a colour (`#rrggbb`)."""

    monogram: str
    colour: str


class Provider(Record, frozen=True):
    """A provider; `general` ones are formats that many providers use, tried after all others.

    White letters must be legible on its `colour`. `monogram` is needed if another provider has the same by default.
    """

    id: str
    name: str
    documentation: str
    colour: str
    requests: tuple[RequestKind, ...]
    monogram: str = ""
    general: bool = False

    @property
    def mark(self) -> ProviderMark:
        return ProviderMark(monogram=self.monogram or monogram_of(self.name), colour=self.colour)


def monogram_of(name: str) -> str:
    """`AD` for `Azure DevOps`, `GH` for `GitHub`, `St` for `Stripe`."""
    words = name.split()
    letters = [word[0] for word in words] if len(words) > 1 else [letter for letter in name if letter.isupper()]
    return "".join(letters[:MONOGRAM_MAX]) if len(letters) > 1 else name[:MONOGRAM_MAX]


def read_folder(folder: Path) -> list[Provider]:
    """All providers in a folder of TOML files, by id, which is the file name. Raises CatalogueError."""
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise CatalogueError(f"{folder} contains no provider files")
    return [read_provider(file.name, file.read_text("utf-8")) for file in files]


def read_provider(file: str, text: str) -> Provider:
    """Raises CatalogueError for an invalid file."""
    import tomllib  # start-up time: a window needs it once it is painted

    try:
        fields = tomllib.loads(text)
        provider = convert({**fields, "id": file.removesuffix(".toml")}, Provider)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CatalogueError(f"{file}: {error}") from error
    if not _COLOUR.fullmatch(provider.colour):
        raise CatalogueError(f"{file}: colour: {provider.colour!r} is not like #1a2b3c")
    if len(provider.monogram) > MONOGRAM_MAX:
        raise CatalogueError(f"{file}: monogram: {provider.monogram!r} has more than {MONOGRAM_MAX} letters")
    if not provider.requests:
        raise CatalogueError(f"{file}: requests: at least one is required")
    for number, request in enumerate(provider.requests):
        if wrong := _error_in(request):
            raise CatalogueError(f"{file}: requests[{number}].{wrong}")
    return provider


def parse_source(text: str) -> ValueSource:
    """Parses `header:X-Event`, `body:data.type` and the like; ValueError for anything else."""
    kind, colon, path = text.partition(":")
    if not colon or not path or kind not in (HEADER, BODY, FORM, BESIDE):
        raise ValueError(f"{text!r} is none of header:NAME, body:PATH, form:FIELD and beside:KEY")
    return ValueSource(kind=kind, path=(path.lower(),) if kind == HEADER else tuple(path.split(".")))


def _error_in(request: RequestKind) -> str | None:
    for key in ("event", "delivery_id"):
        for text in getattr(request, key):
            try:
                parse_source(text)
            except ValueError as error:
                return f"{key}: {error}"
    keys = len({*request.body, *request.body_values, *request.form}) + bool(request.body_any)
    if not (request.headers or request.header_values or request.form_text) and keys < KEYS_MIN:
        return f"headers: without any, at least {KEYS_MIN} of body, body_values and form are needed"
    if (request.form or request.form_text) and (
        request.body or request.body_any or request.without_body or request.body_values
    ):
        return "form: a body is JSON or a form, never both"
    return None
