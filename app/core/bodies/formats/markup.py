"""Markup (XML, HTML) indented tag by tag: nothing is expanded, fetched or run, only white space changes.

XML may be well-formed or not, and its entities stay as written. In HTML end tags are optional, scripts and styles stay
unchanged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from app.core.bodies.formatter import Content, Formatted, Kind, Write, position_at
from app.core.bodies.media_types import is_xml
from app.core.text import word_set

_SPACE = " \t\r\n\f"
_SPACES = re.compile(f"[{_SPACE}]+")
_INK = re.compile(f"[^{_SPACE}]")

_ENTITY = re.compile(r"(&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z_:][\w:.-]{0,63});)")

_Last = Literal["open", "text", "block"]
"""Written last: a start tag, text (or an inline element), or what the next item is not on the line of: a block, or text
that ended with a line break."""


class _Open(NamedTuple):
    name: str
    row: int
    verbatim: bool


class _Flow:
    """Writes tags and text to `lines`, and keeps track of open elements."""

    def __init__(self, lines: Formatted) -> None:
        self.lines = lines
        self._stack: list[_Open] = []
        self._counts: Counter[str] = Counter()
        self._verbatim = 0
        self._last: _Last = "block"
        self._row = 0

    @property
    def depth(self) -> int:
        return len(self._stack)

    @property
    def top(self) -> str | None:
        """The innermost open element."""
        return self._stack[-1].name if self._stack else None

    def is_open(self, name: str) -> bool:
        """At any depth."""
        return self._counts[name] > 0

    def begin(self, *, inline: bool) -> None:
        """Before a start tag, comment or similar; an `inline` one can stay on the line of the text."""
        if not inline or self._last == "block":
            self._new_line()

    def opened(self, name: str, *, verbatim: bool) -> None:
        """After a start tag; within a `verbatim` element line breaks are kept, and none are added."""
        self._stack.append(_Open(name, self._row, verbatim))
        self._counts[name] += 1
        self._verbatim += verbatim
        self._last = "open"

    def ended(self, *, inline: bool) -> None:
        """After a comment, an empty element or an end tag."""
        self._last = "text" if inline else "block"

    def begin_end(self, name: str) -> int:
        """Before the end tag of an open element. Returns how many elements within it had none."""
        unclosed = 0
        while self.top != name:
            self.drop()
            unclosed += 1
        element = self._stack[-1]
        verbatim = self._verbatim > 0
        self.drop()
        if not verbatim and (self._row != element.row or self._last == "block"):
            self._new_line()
        return unclosed

    def drop(self) -> None:
        """End the innermost element, which has no end tag."""
        element = self._stack.pop()
        self._counts[element.name] -= 1
        self._verbatim -= element.verbatim

    def text(self, piece: str, *, fills: bool = False) -> Iterator[None]:
        """Text that `fills` its element is shown even if it is only white space. Text with line breaks is indented line
        by line; there can be millions of lines without text."""
        if self._verbatim:
            yield from self.verbatim("text", piece)
            return
        several = "\n" in piece
        if not several and not piece.strip(_SPACE):
            if self._last == "text" or (fills and self._last == "open"):
                self.lines.add("text", piece)
            return
        breaks, at = self._last == "block" or (several and self._last == "open"), 0
        while ink := _INK.search(piece, at):
            breaks = breaks or (several and piece.rfind("\n", at, ink.start()) >= 0)
            begin = ink.start() if breaks else at
            at = piece.find("\n", ink.start()) if several else -1
            if breaks:
                self._new_line()
            self._put("text", piece[begin:at].rstrip(_SPACE) if at >= 0 else piece[begin:])
            self._last, breaks = "text", False
            if at < 0:
                return
            yield
        if breaks or piece.find("\n", at) >= 0:
            self._last = "block"

    def verbatim(self, kind: Kind, piece: str, *, entities: bool = True) -> Iterator[None]:
        """Text whose line breaks are kept."""
        put, at = self._put if entities else self.lines.add, 0
        while (end := piece.find("\n", at)) >= 0:
            put(kind, piece[at:end].removesuffix("\r"))
            self.new_row()
            at = end + 1
            yield
        put(kind, piece[at:])
        self._last = "text"

    def new_row(self, depth: int = 0) -> None:
        """Always begins a new line."""
        self.lines.end_line(depth)
        self._row += 1

    def _put(self, kind: Kind, text: str) -> None:
        for number, part in enumerate(_ENTITY.split(text) if kind == "text" and "&" in text else (text,)):
            self.lines.add("literal" if number % 2 else kind, part)

    def _new_line(self) -> None:
        if not self._verbatim and not (self._row == 0 and self.lines.empty):
            self.new_row(self.depth)


# All but the ASCII characters that begin no name: a range up to the last character takes milliseconds to compile.
_NAME_START = r"[^\x00-9;-@\[-^`{-\x7f]"
_NAME = re.compile(rf"{_NAME_START}[^{_SPACE}/><]*")
_IN_TAG = re.compile(rf"([{_SPACE}]*)(/?>|[^{_SPACE}=>\"'/<]+|[^{_SPACE}])")
_AFTER_EQUALS = re.compile(rf"([{_SPACE}]*)(/?>|=|\"[^\"]*\"?|'[^']*'?|[^{_SPACE}>]+)")
"""White space, and the end of a tag or the next piece of an attribute."""
_BARE_AMPERSAND = re.compile(rf"&(?!#[0-9]+;|#x[0-9a-fA-F]+;|{_NAME_START}[\w:.-]*;)")
_SPANS: tuple[tuple[str, str, Kind, str], ...] = (
    ("<!--", "-->", "punctuation", "a comment"),
    ("<![CDATA[", "]]>", "text", "a CDATA section"),
    ("<!", ">", "literal", "a declaration"),
    ("<?", "?>", "literal", "an instruction"),
)
"""Beginning and end, kind and name of what is shown as it is; an instruction of HTML ends without the question mark."""
_OUTSIDE = re.compile(r"[\[>]")
_SUBSET = re.compile(r"[\"'\]>]|<!--")


@dataclass(frozen=True)
class _Dialect:
    """The differences between XML, which is `strict`, and HTML, whose names are in lower case."""

    strict: bool
    void: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    verbatim: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    closes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The open elements that a start tag ends implicitly."""


def _writer(dialect: _Dialect) -> Write:
    """Never fails: markup that is not well-formed is shown as it is, and a note has the first such place."""
    return lambda content, out: _Markup(content, dialect, out).write()


class _Markup:
    """One pass over the text; `_at` is the next character."""

    def __init__(self, content: Content, dialect: _Dialect, out: Formatted) -> None:
        self._text, self._is_cut = content.text, content.is_cut
        self._dialect, self._out = dialect, out
        self._flow = _Flow(out)
        self._at = 0
        self._has_root = self._ends_within = False
        self._first_error, self._error_count = "", 0

    def write(self) -> Iterator[None]:
        while self._at < len(self._text):
            if self._text.startswith("<", self._at):
                yield from self._markup()
            else:
                yield from self._content()
        if not self._ends_within:
            if self._flow.top is not None:
                self._report(f"the text ends before </{self._flow.top[:40]}>", self._at)
            elif not self._has_root:
                self._report("there are no elements", self._at)
        if not self._out.empty:
            self._out.end_line()
        yield

    def _report(self, why: str, at: int) -> None:
        """Note that XML is not well-formed at the character `at`."""
        if self._dialect.strict:
            self._note(why, at)

    def _note(self, why: str, at: int) -> None:
        """Note an error at the character `at`, unless the text is only cut there."""
        if self._is_cut(at):
            return
        self._error_count += 1
        if self._error_count == 1:
            line, column = self._out.position = position_at(self._text, at)
            self._first_error = f"Not well-formed at line {line:,}, column {column:,}: {why}"
        more = f" (and {self._error_count - 1:,} more such places)" if self._error_count > 1 else ""
        self._out.notes[:] = [f"{self._first_error}{more}."]

    def _report_end(self, within: str) -> None:
        self._ends_within = True
        self._note(f"the text ends within {within}", len(self._text))

    def _content(self) -> Iterator[None]:
        """Text up to the next <."""
        end = self._text.find("<", self._at)
        end = len(self._text) if end < 0 else end
        piece = self._text[self._at : end]
        if self._dialect.strict:
            bare = _BARE_AMPERSAND.search(piece)
            if bare:
                self._report("an & that does not begin an entity", self._at + bare.start())
            if not self._flow.depth and piece.strip(_SPACE + "\ufeff"):
                self._report("text outside the root element", self._at)
        self._at = end
        yield from self._flow.text(piece, fills=self._text.startswith("</", end))

    def _markup(self) -> Iterator[None]:
        """A tag, comment, declaration or instruction."""
        text, at = self._text, self._at
        if name := _NAME.match(text, at + 2 if text.startswith("</", at) else at + 1):
            yield from self._tag(name.group())
        elif self._dialect.strict and text[at : at + 9].upper() == "<!DOCTYPE":
            yield from self._doctype()
        elif span := next((span for span in _SPANS if text.startswith(span[0], at)), None):
            yield from self._span(*span)
        else:
            self._report("a < that does not begin a tag", at)
            self._at += 1
            yield from self._flow.text("<")

    def _tag(self, written: str) -> Iterator[None]:
        dialect, flow, begin = self._dialect, self._flow, self._at
        name = written if dialect.strict else written.lower()
        closing = self._text.startswith("</", begin)
        self._begin_tag(name, written, closing)
        end = self._attributes()
        self._out.add("punctuation", end)
        if closing or end.endswith("/>") or name in dialect.void:
            flow.ended(inline=name in dialect.inline)
        else:
            flow.opened(name, verbatim=name in dialect.verbatim)
            if name in dialect.raw:
                yield from self._raw(name)
        yield

    def _begin_tag(self, name: str, written: str, closing: bool) -> None:
        dialect, flow = self._dialect, self._flow
        kind: Kind = "key"
        if closing and flow.is_open(name):
            if flow.begin_end(name):
                self._report(f"</{name[:40]}> does not close the innermost element", self._at)
        elif closing:
            flow.begin(inline=True)
            self._report(f"</{name[:40]}> closes nothing", self._at)
            kind = "control" if dialect.strict else "key"
        else:
            while flow.top in dialect.closes.get(name, ()):
                flow.drop()
            if not flow.depth and self._has_root:
                self._report("a second root element", self._at)
            self._has_root = True
            flow.begin(inline=name in dialect.inline)
        opening = "</" if closing else "<"
        self._out.add("punctuation", opening)
        self._out.add(kind, written)
        self._at += len(opening + written)

    def _attributes(self) -> str:
        """Write what is between the name of a tag and its end; returns the end, with the space before it."""
        text = self._text
        space = equals = bare = False
        """`equals`: a value follows; `bare`: the attribute before has none."""
        while match := (_AFTER_EQUALS if equals else _IN_TAG).match(text, self._at):
            spaces, piece = match.groups()
            at, self._at = self._at + len(spaces), match.end()
            space = space or bool(spaces)
            if self._dialect.strict and piece[0] == "<":
                self._report("a < within a tag", at)
                piece, self._at = "", at
            if piece in ("", ">", "/>"):
                if bare:
                    self._report("an attribute without a value", at)
                return f" {piece}" if space and piece == "/>" else piece
            if piece == "=":
                self._out.add("punctuation", "=")
                equals, bare, space = True, False, False
            elif equals and piece[0] in "\"'":
                self._out.add("string", piece)
                if piece[0] not in piece[1:]:
                    self._report_end("an attribute's value")
                    return ""
                equals = False
            else:
                if equals or bare:
                    self._report("a value without quotes" if equals else "an attribute without a value", at)
                if space:
                    self._out.add("text", " ")
                self._out.add("string" if equals else "number", piece)
                bare, equals, space = not equals, False, False
        self._at = len(text)
        self._report_end("a tag")
        return ""

    def _raw(self, name: str) -> Iterator[None]:
        """The content of a script or similar, where only its own end tag is a tag."""
        close = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE).search(self._text, self._at)
        end = close.start() if close else len(self._text)
        piece, self._at = self._text[self._at : end], end
        yield from self._flow.verbatim("text", piece)
        if not close:
            self._report_end(f"<{name}>")

    def _span(self, opening: str, until: str, kind: Kind, name: str) -> Iterator[None]:
        """A comment, CDATA section, instruction or declaration."""
        inline = kind == "text"
        mark: Kind = "punctuation" if inline else kind
        until = until if self._dialect.strict else until.removeprefix("?")
        self._flow.begin(inline=inline)
        self._out.add(mark, opening)
        begin = self._at + len(opening)
        end = self._text.find(until, begin)
        self._at = end + len(until) if end >= 0 else len(self._text)
        yield from self._flow.verbatim(kind, self._text[begin : end if end >= 0 else self._at], entities=False)
        if end >= 0:
            self._out.add(mark, until)
            self._flow.ended(inline=inline)
        else:
            self._report_end(name)

    def _doctype(self) -> Iterator[None]:
        """A document type. Its declarations get lines of their own; they are shown, never interpreted."""
        text, flow = self._text, self._flow
        flow.begin(inline=False)
        begin, at, subset = self._at, self._at + 2, False
        while (found := (_SUBSET if subset else _OUTSIDE).search(text, at)) is not None:
            mark, at = found.group(), found.end()
            if mark in ("'", '"', "<!--"):
                closing = "-->" if mark == "<!--" else mark
                end = text.find(closing, at)
                at = end + len(closing) if end >= 0 else len(text)
                continue
            yield from flow.verbatim("literal", text[begin:at])
            begin = at
            if mark == ">" and not subset:
                flow.ended(inline=False)
                self._at = at
                return
            subset = mark == "[" or (subset and mark == ">")
            if subset:
                spaces = _SPACES.match(text, at)
                begin = at = spaces.end() if spaces else at
                if at < len(text):
                    flow.new_row(1)
        self._at = len(text)
        yield from flow.verbatim("literal", text[begin:])
        self._report_end("a declaration")


_PARAGRAPH_ENDS = word_set(
    "address article aside blockquote details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav"
    " ol p pre section table ul"
)
_HTML = _Dialect(
    strict=False,
    void=word_set("area base br col embed hr img input link meta param source track wbr"),
    raw=word_set("script style textarea"),
    verbatim=word_set("script style textarea pre"),
    inline=word_set(
        "a abbr acronym b bdi bdo big br button cite code del dfn em font i img input ins kbd label mark q s samp"
        " select small span strike strong sub sup time tt u var wbr"
    ),
    closes={
        **dict.fromkeys(_PARAGRAPH_ENDS, word_set("p")),
        "li": word_set("li"),
        "dt": word_set("dt dd"),
        "dd": word_set("dt dd"),
        "td": word_set("td th"),
        "th": word_set("td th"),
        "tr": word_set("td th tr"),
        "tbody": word_set("td th tr thead tbody"),
        "tfoot": word_set("td th tr tbody"),
        "option": word_set("option"),
    },
)
# A comment ends at the first `-->`: allowing a later one would try n comments in 2^n ways.
_HTML_START = re.compile(
    rb"(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)

html_write = _writer(_HTML)


def _is_html(start: bytes) -> bool:
    """Whether text that begins like this is HTML, regardless of its type."""
    return _HTML_START.match(start) is not None


def html_fit(media_type: str, head: bytes) -> float:
    """Certain if type and text agree; likely if the text begins as HTML does."""
    start = _start(head)
    if media_type == "text/html":
        return 1.0 if b"<" in start else 0.45
    return 0.96 if _is_html(start) else 0.0


_XML = _Dialect(strict=True)
_ELEMENT = re.compile(rb"<[A-Za-z_][\w:.-]*(?:\s[^<>]*)?/?>")

xml_write = _writer(_XML)


def xml_fit(media_type: str, head: bytes) -> float:
    """Certain if type and first character agree; likely if any text begins with a tag."""
    start = _start(head)
    if is_xml(media_type):
        return 1.0 if start.startswith(b"<") else 0.45
    if _is_html(start):
        return 0.0
    if start.startswith(b"<?xml"):
        return 0.95
    closed = b"</" in start or b"/>" in start
    return 0.8 if _ELEMENT.match(start) and closed else 0.0


def _start(head: bytes) -> bytes:
    """The first characters. Removing zeros makes UTF-16 readable here; the charset is detected elsewhere."""
    return head.replace(b"\0", b"").lstrip(b" \t\r\n\xef\xbb\xbf\xff\xfe")
