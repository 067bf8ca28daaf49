"""Identifies the provider of a request, its event type and delivery ID by the rules of `resources/providers/`.

Headers are checked first; the body is read only if they do not decide.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, KeysView, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from urllib.parse import parse_qsl, quote_plus

import msgspec

from app.core.record import Headers, Record
from hookline.decoding import convert

HEADER, BODY, FORM, BESIDE = "header", "body", "form", "beside"
_COLOUR = re.compile(r"#[0-9a-f]{6}")
MONOGRAM_MAX = 2
KEYS_MIN = 2
"""The minimum number of body keys that identify a request without a specific header."""


class CatalogueError(ValueError):
    """An invalid file of the catalogue; the text names the file and the key."""


class _ValueSource(Record, frozen=True):
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


def _parse_source(text: str) -> _ValueSource:
    """Parses `header:X-Event`, `body:data.type` and the like; ValueError for anything else."""
    kind, colon, path = text.partition(":")
    if not colon or not path or kind not in (HEADER, BODY, FORM, BESIDE):
        raise ValueError(f"{text!r} is none of header:NAME, body:PATH, form:FIELD and beside:KEY")
    return _ValueSource(kind=kind, path=(path.lower(),) if kind == HEADER else tuple(path.split(".")))


def _error_in(request: RequestKind) -> str | None:
    for key in ("event", "delivery_id"):
        for text in getattr(request, key):
            try:
                _parse_source(text)
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


JSON = "json"

_Level = dict[str, msgspec.Raw] | list[msgspec.Raw]
_level = msgspec.json.Decoder(_Level)
_scalar = msgspec.json.Decoder(str | int | float | bool | None)
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)
_FIRST: KeysView[str] = {"0": None}.keys()
FIELDS_MAX = 200
"""No provider sends forms with more fields."""


@lru_cache(maxsize=256)
def kind_of(content_type: str) -> str | None:
    """`JSON` or `FORM`, by the content type."""
    text = content_type[:100].lower()
    if "json" in text:
        return JSON
    return FORM if text.startswith("application/x-www-form-urlencoded") else None


@lru_cache(maxsize=256)
def _encoded(names: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(quote_plus(name).encode() for name in names)


class _Contents:
    """The beginning of a body. Malformed, truncated or other data counts as empty."""

    __slots__ = ("_data", "_fields", "_kind", "_top")

    def __init__(self, kind: str | None, data: bytes) -> None:
        self._kind, self._data = kind, data
        self._top: _Level | None = None
        self._fields: dict[str, str] | None = None

    def top(self) -> KeysView[str]:
        """The keys of a JSON body, or of its first line for NDJSON; for a list, only the first index."""
        if self._top is None:
            self._top = _open(self._data) if self._kind == JSON else {}
            if not self._top and self._kind == JSON and b"\n" in self._data:
                self._top = _open(self._data[: self._data.index(b"\n")])
        return self._top.keys() if isinstance(self._top, dict) else _FIRST

    def has(self, path: tuple[str, ...]) -> bool:
        """Whether a JSON body has this path."""
        return self._at(path) is not None

    def text(self, path: tuple[str, ...]) -> str | None:
        """The text or number at a path of a JSON body."""
        return _text(self._at(path))

    def has_fields(self, names: tuple[str, ...]) -> bool:
        # Searched as bytes first: parsing a form is the slowest part.
        if self._kind != FORM:
            return False
        for name in _encoded(names):
            if name not in self._data:
                return False
        fields = self._form()
        return all(name in fields for name in names)

    def form_text(self, longest: int) -> str:
        """A complete form as sent; empty if it is too long."""
        return self._data.decode("latin-1") if self._kind == FORM and len(self._data) <= longest else ""

    def field(self, path: tuple[str, ...]) -> str | None:
        """A field of the form, or the value at the rest of the path in the JSON of the field."""
        text = self._form().get(path[0]) if self._kind == FORM else None
        if text is None or len(path) == 1:
            return text
        return _Contents(JSON, text.encode("utf-8", "replace")).text(path[1:])

    def _at(self, path: tuple[str, ...]) -> msgspec.Raw | None:
        self.top()
        level: _Level = self._top or {}
        found: msgspec.Raw | None = None
        for depth, key in enumerate(path):
            if depth:
                level = _open(found)
            found = _step(level, key)
            if found is None:
                return None
        return found

    def _form(self) -> dict[str, str]:
        if self._fields is None:
            try:
                pairs = parse_qsl(self._data.decode("latin-1"), max_num_fields=FIELDS_MAX)
            except ValueError:
                pairs = []
            self._fields = dict(reversed(pairs))
        return self._fields


def _open(data: bytes | msgspec.Raw | None) -> _Level:
    """An object or a list with undecoded values."""
    if data is None:
        return {}
    try:
        level: _Level = _level.decode(data)
    except _MALFORMED:
        return {}
    return level


def _step(level: _Level, key: str) -> msgspec.Raw | None:
    if isinstance(level, dict):
        return level.get(key)
    return level[int(key)] if key.isdecimal() and int(key) < len(level) else None


def _text(data: msgspec.Raw | None) -> str | None:
    if data is None:
        return None
    try:
        value = _scalar.decode(data)
    except _MALFORMED:
        return None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


HEAD = 256 * 1024
"""Bytes of a body that are examined; a JSON body cut off there counts as empty."""
VALUE_MAX = 200
"""Characters kept of an event type and a delivery ID."""
_MATCHED_MAX = 500
SPELLINGS_MAX, SPELLING_MAX = 4096, 64
"""Number and length of header spellings that are cached."""


class ProviderMatch(Record, frozen=True):
    """The provider's id in the catalogue, with the event type and delivery ID of the request."""

    provider: str
    event: str | None = None
    delivery_id: str | None = None


Identify = Callable[[Headers, str, bytes], ProviderMatch | None]
"""Takes headers, content type and the beginning of the body; None for an unknown provider."""


def no_provider(headers: Headers, content_type: str, body: bytes) -> ProviderMatch | None:
    """An `Identify` without providers."""
    return None


class _Rule:
    """A compiled kind of request: names in lower case, patterns compiled, paths split."""

    def __init__(self, provider: Provider, kind: RequestKind) -> None:
        self.provider = provider.id
        named = [name.lower() for name in kind.headers]
        self.texts = [(name.lower(), text) for name, text in kind.header_values.items()]
        self.patterns = [(name, _pattern(text)) for name, text in self.texts]
        self.anchor = next(iter([*named, *(name for name, _ in self.patterns)]), None)
        self.by_value = not named and all(text[:1] not in "*?[" for _, text in self.texts)
        self.headers = [name for name in named if name != self.anchor]
        self.without = [name.lower() for name in kind.without]
        self.body = _paths(kind.body)
        self.body_any = _paths(kind.body_any)
        self.without_body = _paths(kind.without_body)
        self.values = [(tuple(path.split(".")), _pattern(text)) for path, text in kind.body_values.items()]
        self.key = next(iter([*self.body, *(path for path, _ in self.values)]), ("",))[0]
        self.form = kind.form
        self.form_text = _pattern(kind.form_text) if kind.form_text else None
        in_body = kind.body, kind.body_any, kind.without_body, kind.body_values, kind.form, kind.form_text
        self.header_only = not any(in_body)
        self.event = [_parse_source(text) for text in kind.event]
        self.delivery_id = [_parse_source(text) for text in kind.delivery_id]

    def matches(self, headers: Mapping[str, str], contents: _Contents) -> bool:
        """Whether all conditions hold, apart from the anchor, which was found already."""
        for name in self.headers:
            if name not in headers:
                return False
        for name in self.without:
            if name in headers:
                return False
        for name, pattern in self.patterns:
            if pattern.fullmatch(headers.get(name, "")[:_MATCHED_MAX]) is None:
                return False
        return self.header_only or self.matches_body(contents)

    def matches_body(self, contents: _Contents) -> bool:
        """Whether the conditions on the body hold."""
        for path in self.body:
            if not contents.has(path):
                return False
        for path in self.without_body:
            if contents.has(path):
                return False
        if self.body_any and not any(map(contents.has, self.body_any)):
            return False
        for path, pattern in self.values:
            if pattern.fullmatch((contents.text(path) or "")[:_MATCHED_MAX]) is None:
                return False
        if self.form_text is not None and self.form_text.fullmatch(contents.form_text(_MATCHED_MAX)) is None:
            return False
        return not self.form or contents.has_fields(self.form)

    def to_match(self, headers: Mapping[str, str], contents: _Contents) -> ProviderMatch:
        """The match for a request that meets the conditions."""
        event = _first(self.event, headers, contents)
        return ProviderMatch(
            provider=self.provider, event=event, delivery_id=_first(self.delivery_id, headers, contents)
        )


_Ranked = list[tuple[int, _Rule]]


class _ByValue:
    """The rules for a header that nearly all requests have, selected by its value."""

    __slots__ = ("_first", "_pattern", "_rules")

    def __init__(self, name: str, rules: _Ranked) -> None:
        texts = [text for _, rule in rules for header, text in rule.texts if header == name]
        self._rules = rules
        self._first = {letter for text in texts for letter in (text[0].lower(), text[0].upper())}
        self._pattern = re.compile("|".join(map(fnmatch.translate, texts)), re.IGNORECASE)

    def rules(self, value: str) -> _Ranked | None:
        """None if no pattern matches. The first letter decides in most cases."""
        if value[:1] not in self._first or self._pattern.fullmatch(value[:_MATCHED_MAX]) is None:
            return None
        return self._rules


class Catalogue:
    """All providers. `names` and `marks` have the display name and mark of a provider by its id."""

    def __init__(self, providers: Sequence[Provider]) -> None:
        self.names: Mapping[str, str] = {provider.id: provider.name for provider in providers}
        self.marks: Mapping[str, ProviderMark] = {provider.id: provider.mark for provider in providers}
        pairs = [(provider, kind) for provider in providers for kind in provider.requests]
        pairs.sort(key=lambda pair: _conditions(pair[1]), reverse=True)  # stable: the first by id among equals
        pairs.sort(key=lambda pair: pair[0].general)
        rules = [_Rule(provider, kind) for provider, kind in pairs]
        by_header: dict[str, _Ranked] = {}
        self._by_key: dict[str, _Ranked] = {}
        self._by_form = [rule for rule in rules if rule.anchor is None and (rule.form or rule.form_text)]
        for rank, rule in enumerate(rules):
            if rule.anchor is not None:
                by_header.setdefault(rule.anchor, []).append((rank, rule))
            elif not rule.form and not rule.form_text:
                self._by_key.setdefault(rule.key, []).append((rank, rule))
        self._by_header: dict[str, _Ranked | _ByValue] = {
            name: _ByValue(name, ranked) if all(rule.by_value for _, rule in ranked) else ranked
            for name, ranked in by_header.items()
        }
        self._by_spelling: dict[str, _Ranked | _ByValue | None] = {}

    def identify(self, headers: Headers, content_type: str, body: bytes) -> ProviderMatch | None:
        """The provider; of several matches, the one with the most conditions. Never raises."""
        by_spelling = self._by_spelling
        found: _Ranked | None = None
        for name, value in headers:
            rules = by_spelling[name] if name in by_spelling else self._look_up(name)
            if rules is not None:
                ranked = rules if type(rules) is list else rules.rules(value)  # type: ignore[union-attr]
                if ranked is not None:
                    found = ranked if found is None or found is ranked else found + ranked
        kind = kind_of(content_type)
        if found is None and kind is None:
            return None
        contents = _Contents(kind, body[:HEAD])
        if found is not None:
            values = _by_lower_case(headers)
            for _, rule in found if len(found) == 1 else sorted(found, key=itemgetter(0)):
                if rule.matches(values, contents):
                    return rule.to_match(values, contents)
        return None if kind is None or not body else self._by_contents(headers, kind, contents)

    def _by_contents(self, headers: Headers, kind: str, contents: _Contents) -> ProviderMatch | None:
        for rule in self._candidates(kind, contents):
            if rule.matches_body(contents):
                return rule.to_match(_by_lower_case(headers), contents)
        return None

    def _look_up(self, name: str) -> _Ranked | _ByValue | None:
        """The rules for a header in any case; cached, because spellings repeat."""
        rules = self._by_header.get(name.lower())
        if len(self._by_spelling) < SPELLINGS_MAX and len(name) < SPELLING_MAX:
            self._by_spelling[name] = rules
        return rules

    def _candidates(self, kind: str, contents: _Contents) -> Sequence[_Rule]:
        """The rules without a header whose first key exists."""
        if kind == FORM:
            return self._by_form
        keys = self._by_key.keys() & contents.top()
        if not keys:
            return ()
        return [rule for _, rule in sorted((pair for key in keys for pair in self._by_key[key]), key=itemgetter(0))]


def load_catalogue(folder: Path) -> Catalogue:
    """Reads a folder of TOML files; CatalogueError names the file and the key with the error."""
    return Catalogue(read_folder(folder))


def _by_lower_case(headers: Headers) -> dict[str, str]:
    """For a header sent twice, the first counts."""
    return {name.lower(): value for name, value in reversed(headers)}


def _conditions(kind: RequestKind) -> tuple[int, int]:
    """Conditions on headers, then on the body: headers are more specific to a provider than keys."""
    in_body = len(kind.body) + bool(kind.body_any) + len(kind.body_values) + len(kind.form) + bool(kind.form_text)
    return len(kind.headers) + len(kind.header_values), in_body


def _paths(texts: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(text.split(".")) for text in texts]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(text), re.IGNORECASE)


def _first(sources: Sequence[_ValueSource], headers: Mapping[str, str], contents: _Contents) -> str | None:
    for each in sources:
        text: str | None
        if each.kind == HEADER:
            text = headers.get(each.path[0])
        elif each.kind == BESIDE:
            text = next((key for key in contents.top() if key != each.path[0]), None)
        else:
            text = contents.text(each.path) if each.kind == BODY else contents.field(each.path)
        # No text column accepts lone surrogates.
        if text and (value := text[:VALUE_MAX].strip().encode("utf-8", "replace").decode()):
            return value
    return None
