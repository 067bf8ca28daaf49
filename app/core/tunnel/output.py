"""What a tunnel program's output says: its lines, its public URL, that it works, and what went wrong."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from app.core.gist.words import shortened
from app.core.record import Record
from app.core.tunnel.program import FailureRule, LineRule, ProgramSpec, UrlRule, filled, is_complete

LINE_MAX = 4_096
"""Characters; the rest of a longer line is dropped."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
_BREAK = re.compile(r"\r\n|\n|\r")


def plain(text: str) -> str:
    """One line without escape sequences and control characters; tabs become spaces."""
    text = _ESCAPES.sub("", text)
    return "".join(char if char.isprintable() else " " if char.isspace() else "" for char in text).rstrip()


class LineReader:
    """Joins the pieces of one stream. A line may end with LF, CRLF or CR."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._skipping = False

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """The lines that `data` completes; at the end also one without a line break."""
        text = self._text + self._decoder.decode(data, final)
        held = ""
        if text.endswith("\r") and not final:  # an LF may follow
            text, held = text[:-1], "\r"
        *complete, rest = _BREAK.split(text)
        lines = [self._line(line) for line in complete]
        if final and rest:
            lines.append(self._line(rest))
            rest = ""
        if len(rest) > LINE_MAX:
            if not self._skipping:
                lines.append(rest[:LINE_MAX])
            self._skipping, rest = True, ""
        self._text = rest + held
        return [plain(line) for line in lines if line is not None]

    def _line(self, line: str) -> str | None:
        if self._skipping:
            self._skipping = False
            return None
        return line[:LINE_MAX]


URL_MAX = 500
WORDS_MAX = 160
"""Characters of what a program printed that are repeated in a sentence."""


class Failure(Record, frozen=True):
    """What went wrong, in a sentence, and what to do; also why a run of the program ended. `ends` and `retry` as in the
    catalogue."""

    message: str
    ends: bool = False
    retry: bool = False


class Reading(Record, frozen=True):
    """All that the output has said so far. `up`: the program works; `failure` is the last one."""

    url: str | None = None
    up: bool = False
    failure: Failure | None = None


def public_url(text: str, not_hosts: tuple[str, ...] = ()) -> str | None:
    """A base URL such as `https://a-b.example.com`, without a path; None for what is none, or has another host."""
    text = text.strip().rstrip(".,;")
    if "://" not in text:
        text = f"https://{text}"
    try:
        parts = urlsplit(text)
        port, host = parts.port, (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[a-z0-9_.:-]+", host) or parts.username is not None:
        return None
    if len(text) > URL_MAX or any(re.fullmatch(pattern, host) for pattern in not_hosts):
        return None
    netloc = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{netloc}" + (f":{port}" if port is not None else "")


def known_url(spec: ProgramSpec, values: Mapping[str, str]) -> str | None:
    """The public URL if the options tell it."""
    texts = (filled(text, values) for text in spec.run.known_urls if is_complete(text, values))
    return next((url for text in texts if (url := public_url(text, spec.not_hosts))), None)


class OutputReader:
    """Reads the lines of one run of a program. `values` are those of the templates."""

    def __init__(self, spec: ProgramSpec, values: Mapping[str, str]) -> None:
        self._spec, self._values = spec, values
        self._rules = {id(rule): _Rule(rule, values) for rule in (*spec.urls, *spec.up, *spec.failures)}
        self._known = known_url(spec, values)
        usable = [rule for rule in spec.urls if self._rules[id(rule)].usable]
        self._urls = [rule for rule in usable if not rule.fallback] or usable
        self.reading = Reading(url=self._known, up=False)

    def read(self, stream: str, line: str) -> Reading:
        """All that is known after this line."""
        found = _Line(stream, line)
        matches = {key: rule.match(found) for key, rule in self._rules.items()}
        url, up, failure = self.reading.url, self.reading.up, self.reading.failure
        if self._known is None:
            rules = [rule for rule in self._urls if url is None or not rule.fallback]
            url = next((text for rule in rules if (text := self._url(rule, matches[id(rule)]))), url)
        if any(matches[id(rule)] is not None for rule in self._spec.up):
            up, failure = True, None
        elif not self._spec.up:
            up = url is not None and self._known is None
        for rule in self._spec.failures:
            text = matches[id(rule)]
            if text is not None:
                message = filled(rule.message, {**self._values, "found": shortened(text, WORDS_MAX)})
                failure = Failure(message=message, ends=rule.ends, retry=rule.retry)
                break
        self.reading = Reading(url=url, up=up, failure=failure)
        return self.reading

    def _url(self, rule: UrlRule, text: str | None) -> str | None:
        if not text:
            return None
        return public_url(filled(rule.url, {**self._values, "found": text}), self._spec.not_hosts)


class _Line:
    """A line, and the JSON object that it is."""

    def __init__(self, stream: str, text: str) -> None:
        self.stream, self.text = stream, text

    @cached_property
    def fields(self) -> dict[str, Any]:
        try:
            fields = json.loads(self.text) if self.text.startswith("{") else {}
        except (ValueError, RecursionError):
            fields = {}
        return fields if isinstance(fields, dict) else {}


class _Rule:
    """A compiled rule, which remembers whether the line it waits for was printed."""

    def __init__(self, rule: UrlRule | FailureRule | LineRule, values: Mapping[str, str]) -> None:
        self._stream, self._where = rule.stream, rule.where
        self._key = rule.key if isinstance(rule, UrlRule) else ""
        names = re.findall(r"\{([a-z][a-z0-9_]*)\}", rule.pattern)
        # A rule about an option that has no value matches nothing.
        self.usable = all(values.get(name) for name in names)
        self._pattern = re.compile(filled(rule.pattern, values, re.escape)) if rule.pattern else None
        self._after = filled(rule.after, values)

    def match(self, line: _Line) -> str | None:
        """Group 1 of the pattern, or the JSON value; "" where there is none; None for no match."""
        if not self.usable or self._stream not in ("any", line.stream):
            return None
        if self._after:
            if self._after in line.text:
                self._after = ""
            return None
        if self._pattern is not None:
            found = self._pattern.search(line.text)
            return None if found is None else (found[1] or "") if self._pattern.groups else ""
        if any(line.fields.get(name) != value for name, value in self._where.items()):
            return None
        value = line.fields.get(self._key) if self._key else ""
        if isinstance(value, list):
            value = next(iter(value), None)
        return value if isinstance(value, str) else None
