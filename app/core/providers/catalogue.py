"""Applies the catalogue of providers. Headers are checked first; the body is read only if they do not decide."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.core.providers.contents import FORM, Contents, kind_of
from app.core.providers.provider import (
    BESIDE,
    BODY,
    HEADER,
    Provider,
    ProviderMark,
    RequestKind,
    ValueSource,
    parse_source,
    read_folder,
)
from app.core.record import Headers, Record

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

    __slots__ = (
        "anchor",
        "body",
        "body_any",
        "by_value",
        "delivery_id",
        "event",
        "form",
        "form_text",
        "header_only",
        "headers",
        "key",
        "patterns",
        "provider",
        "texts",
        "values",
        "without",
        "without_body",
    )

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
        self.event = [parse_source(text) for text in kind.event]
        self.delivery_id = [parse_source(text) for text in kind.delivery_id]

    def matches(self, headers: Mapping[str, str], contents: Contents) -> bool:
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

    def matches_body(self, contents: Contents) -> bool:
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

    def to_match(self, headers: Mapping[str, str], contents: Contents) -> ProviderMatch:
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
        contents = Contents(kind, body[:HEAD])
        if found is not None:
            values = _by_lower_case(headers)
            for _, rule in found if len(found) == 1 else sorted(found, key=_rank):
                if rule.matches(values, contents):
                    return rule.to_match(values, contents)
        return None if kind is None or not body else self._by_contents(headers, kind, contents)

    def _by_contents(self, headers: Headers, kind: str, contents: Contents) -> ProviderMatch | None:
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

    def _candidates(self, kind: str, contents: Contents) -> Sequence[_Rule]:
        """The rules without a header whose first key exists."""
        if kind == FORM:
            return self._by_form
        keys = self._by_key.keys() & contents.top()
        if not keys:
            return ()
        return [rule for _, rule in sorted((pair for key in keys for pair in self._by_key[key]), key=_rank)]


def load(folder: Path) -> Catalogue:
    """Reads a folder of TOML files; CatalogueError names the file and the key with the error."""
    return Catalogue(read_folder(folder))


def _by_lower_case(headers: Headers) -> dict[str, str]:
    """For a header sent twice, the first counts."""
    return {name.lower(): value for name, value in reversed(headers)}


def _rank(pair: tuple[int, _Rule]) -> int:
    return pair[0]


def _conditions(kind: RequestKind) -> tuple[int, int]:
    """Conditions on headers, then on the body: headers are more specific to a provider than keys."""
    in_body = len(kind.body) + bool(kind.body_any) + len(kind.body_values) + len(kind.form) + bool(kind.form_text)
    return len(kind.headers) + len(kind.header_values), in_body


def _paths(texts: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(text.split(".")) for text in texts]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(text), re.IGNORECASE)


def _first(sources: Sequence[ValueSource], headers: Mapping[str, str], contents: Contents) -> str | None:
    for each in sources:
        text: str | None
        if each.kind == HEADER:
            text = headers.get(each.path[0])
        elif each.kind == BESIDE:
            text = next((key for key in contents.top() if key != each.path[0]), None)
        else:
            text = contents.text(each.path) if each.kind == BODY else contents.field(each.path)
        if text and (value := _storable(text)):
            return value
    return None


def _storable(text: str) -> str:
    """Cut to length, without lone surrogates, which no text column accepts."""
    return text[:VALUE_MAX].strip().encode("utf-8", "replace").decode()
