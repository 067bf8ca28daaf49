"""Markup (XML, HTML) indented tag by tag as it arrives: nothing is expanded or fetched, only white space changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.core.bodies.formats.markup_layout import SPACE, SPACES, Flow
from app.core.bodies.formatter import Position
from app.core.bodies.lines import Kind, Line

STEPS = 10_000
"""Tags, texts and attributes handled by one call."""
NAME_MAX = 1_000
"""Characters of a name held back until it is complete; the rest of a longer one is shown like an attribute."""
TEXT_MAX = 4_096
"""Characters of text held back, to see whether it fits on the line of its tag."""

STEP_MAX = 16 * 1024
"""Characters written by one step: they can be nothing but line ends."""
_NAME = re.compile(rf"[^{SPACE}/><]+")
_BEGINS_NAME = re.compile(r"[A-Za-z_:\u0080-\U0010ffff]")
_WORD = re.compile(rf"[^{SPACE}=>\"'/<]+")
_VALUE = re.compile(rf"[^{SPACE}>]+")
_UNFINISHED = re.compile(r"(?:\r|&[#\w:.-]{0,64})\Z")
_BARE_AMPERSAND = re.compile(r"&(?!#[0-9]+;|#x[0-9a-fA-F]+;|[A-Za-z_:\u0080-\U0010ffff][\w:.-]*;)")
_LONGEST_OPENING = len("<![CDATA[")
_OUTSIDE = re.compile(r"[\[>]")
_SUBSET = re.compile(r"[\"'\]>]|<!--")


@dataclass(frozen=True)
class Dialect:
    """The differences between XML and HTML. With `folds_case` names are in lower case."""

    strict: bool
    folds_case: bool
    instruction_end: str
    void: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    verbatim: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    closes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The open elements that a start tag ends implicitly."""


class Scanner:
    """The text not read yet, with its line and column. `notes` has the position of the first error and the number of
    others."""

    def __init__(self) -> None:
        self._text, self._at = "", 0
        self._final = False
        self._waits = True
        self._line, self._column = 1, 1
        self._first_error = ""
        self.position: Position | None = None
        self._error_count = 0
        self.resumed = False
        """Whether reading began in the middle of the text: line numbers are unknown then."""

    @property
    def notes(self) -> list[str]:
        if not self._error_count:
            return []
        more = f" (and {self._error_count - 1:,} more such places)" if self._error_count > 1 else ""
        return [f"{self._first_error}{more}."]

    def feed(self, text: str, final: bool) -> None:
        self._text = self._text[self._at :] + text
        self._at = 0
        self._final = self._final or final
        self._waits = False

    def _advance(self, read: str) -> None:
        self._at += len(read)
        breaks = read.count("\n")
        if breaks:
            self._line += breaks
            self._column = len(read) - read.rfind("\n")
        else:
            self._column += len(read)

    def _report(self, why: str, before: str = "") -> None:
        """Record an error after `before` in the text not read yet."""
        self._error_count += 1
        if self._error_count == 1:
            line = self._line + before.count("\n")
            column = len(before) - before.rfind("\n") if "\n" in before else self._column + len(before)
            self.position = None if self.resumed else (line, column)
            position = "" if self.resumed else f" at line {line:,}, column {column:,}"
            self._first_error = f"Not well-formed{position}: {why}"

    def _safe_end(self, keep: int) -> int:
        """Where the text can be cut without splitting an end mark of `keep` characters."""
        stop = len(self._text) if self._final else max(self._at, len(self._text) - keep)
        waits = not self._final and stop > self._at and self._text[stop - 1] == "\r"
        return stop - 1 if waits else stop

    def _step_end(self, stop: int) -> int:
        """`stop`, or an earlier end of this step; never between CR and LF."""
        if stop - self._at <= STEP_MAX:
            return stop
        near = self._at + STEP_MAX
        return near - 1 if self._text[near - 1] == "\r" else near


class MarkupFormatter(Scanner):
    """Never fails: markup that is not well-formed is shown as it is, and `notes` has the first such place."""

    error: str | None = None

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        self._dialect = dialect
        self._flow = Flow()
        self._step: Callable[[], bool] = self._content
        self._unclosed = ""
        self._until, self._inline = "", False
        self._kind: Kind = "text"
        self._subset = self._skips = False
        self._ended = False
        self._in_text = self._has_root = False
        self._name, self._closing = "", False
        self._space = self._equals = self._bare = False

    @property
    def can_resume(self) -> bool:
        """Whether the names of the open elements are enough to continue in the middle of a text."""
        return self._dialect.strict

    def resume(self, names: Sequence[str]) -> None:
        """Begin in the middle of a text, at a start tag within these elements."""
        self._has_root = self.resumed = True
        self._flow.resume(names)

    @property
    def needs_input(self) -> bool:
        return not len(self._flow.lines) and (self._ended or self._waits)

    def next_lines(self, limit: int) -> list[Line]:
        """At most `limit` lines; fewer, or none yet, if one call's work was used up."""
        steps = 0
        while not self._ended and len(self._flow.lines) < limit and steps < STEPS:
            steps += 1
            if self._at < len(self._text):
                if self._step():
                    continue
            elif self._final:
                self._finish()
            self._waits = True
            break
        return self._flow.lines.next_lines(limit)

    def _finish(self) -> None:
        if self._unclosed:
            self._report(f"the text ends within {self._unclosed}")
        elif self._dialect.strict and self._flow.top is not None:
            self._report(f"the text ends before </{self._flow.top[:40]}>")
        elif self._dialect.strict and not self._has_root:
            self._report("there are no elements")
        self._flow.finish()
        self._ended = True

    def _content(self) -> bool:
        """Text up to the next <; False if more text is needed."""
        if self._text.startswith("<", self._at):
            return self._markup()
        end = self._text.find("<", self._at)
        complete = end >= 0 or self._final
        if end < 0:
            end = len(self._text)
        if not complete:
            if not self._in_text and end - self._at < TEXT_MAX:
                return False
            unfinished = _UNFINISHED.search(self._text, max(self._at, end - 70))
            end = unfinished.start() if unfinished else end
        elif end == len(self._text) - 1 and not self._final:
            return False
        if self._flow.is_verbatim and (stop := self._step_end(end)) < end:
            end, complete = stop, False
        if end == self._at:
            return False
        piece = self._text[self._at : end]
        if self._dialect.strict:
            self._check_text(piece)
        self._flow.text(piece, first=not self._in_text, complete=complete, fills=self._text.startswith("</", end))
        self._in_text = not complete
        self._advance(piece)
        return True

    def _check_text(self, piece: str) -> None:
        bare = _BARE_AMPERSAND.search(piece)
        if bare:
            self._report("an & that does not begin an entity", piece[: bare.start()])
        if not self._flow.depth and piece.strip(SPACE + "\ufeff"):
            self._report("text outside the root element")

    def _markup(self) -> bool:
        """A tag, comment, declaration or instruction."""
        text, at = self._text, self._at
        if len(text) - at < _LONGEST_OPENING and not self._final and ">" not in text[at:]:
            return False
        if text.startswith("<!--", at):
            return self._begin_span("<!--", "-->", "punctuation", "a comment")
        if text.startswith("<![CDATA[", at):
            return self._begin_span("<![CDATA[", "]]>", "text", "a CDATA section", inline=True)
        if text.startswith("<!", at):
            return self._begin_declaration()
        if text.startswith("<?", at):
            return self._begin_span("<?", self._dialect.instruction_end, "literal", "an instruction")
        closing = text.startswith("</", at)
        begin = at + 1 + closing
        if not _BEGINS_NAME.match(text, begin):
            if self._dialect.strict:
                self._report("a < that does not begin a tag")
            self._flow.text("<", first=True, complete=True)
            self._advance("<")
            return True
        match = _NAME.match(text, begin)
        if match is None or (match.end() == len(text) and not self._final and len(match.group()) < NAME_MAX):
            return False
        self._begin_tag(match.group(), closing)
        return True

    def _begin_tag(self, written: str, closing: bool) -> None:
        name = written.lower() if self._dialect.folds_case else written
        kind: Kind = "key"
        if closing and self._flow.is_open(name):
            unclosed = self._flow.begin_end(name)
            if unclosed and self._dialect.strict:
                self._report(f"</{name[:40]}> does not close the innermost element")
        elif closing:
            self._flow.begin(inline=True)
            if self._dialect.strict:
                self._report(f"</{name[:40]}> closes nothing")
                kind = "control"
        else:
            while self._flow.top in self._dialect.closes.get(name, ()):
                self._flow.drop()
            if self._dialect.strict and not self._flow.depth and self._has_root:
                self._report("a second root element")
            self._has_root = True
            self._flow.begin(inline=name in self._dialect.inline)
        opening = "</" if closing else "<"
        self._flow.write("punctuation", opening)
        self._flow.write(kind, written)
        self._advance(opening + written)
        self._name, self._closing, self._step, self._unclosed = name, closing, self._tag, "a tag"
        self._space = self._equals = self._bare = False

    def _tag(self) -> bool:
        """Between the name of a tag and its end."""
        text, at = self._text, self._at
        spaces = SPACES.match(text, at)
        if spaces:
            self._space = True
            self._advance(spaces.group())
            return True
        first = text[at]
        if first == "/" and at + 1 == len(text) and not self._final:
            return False
        if first == ">" or text.startswith("/>", at):
            return self._end_tag(">" if first == ">" else "/>")
        if first == "<" and self._dialect.strict:
            self._report("a < within a tag")
            return self._end_tag("")
        if first == "=":
            self._flow.write("punctuation", "=")
            self._equals, self._bare, self._space = True, False, False
            self._advance("=")
            return True
        if first in "\"'" and self._equals:
            self._flow.write("string", first)
            self._until, self._step, self._unclosed = first, self._value, "an attribute's value"
            self._advance(first)
            return True
        return self._word(first)

    def _word(self, first: str) -> bool:
        """A name, or a value without quotes."""
        match = (_VALUE if self._equals else _WORD).match(self._text, self._at)
        word = match.group() if match else first
        unfinished = self._at + len(word) == len(self._text) and not self._final
        if unfinished and len(word) < NAME_MAX:
            return False
        if self._dialect.strict and (self._equals or self._bare):
            self._report("a value without quotes" if self._equals else "an attribute without a value")
        self._flow.write("text", " " if self._space else "")
        self._flow.write("string" if self._equals else "number", word)
        self._bare = not self._equals
        self._equals = self._space = False
        self._advance(word)
        return True

    def _value(self) -> bool:
        end = self._text.find(self._until, self._at)
        piece = self._text[self._at :] if end < 0 else self._text[self._at : end + 1]
        self._flow.write("string", piece)
        self._advance(piece)
        if end >= 0:
            self._equals, self._step, self._unclosed = False, self._tag, "a tag"
        return True

    def _end_tag(self, end: str) -> bool:
        name, dialect = self._name, self._dialect
        if dialect.strict and self._bare:
            self._report("an attribute without a value")
        self._flow.write("punctuation", f" {end}" if self._space and end == "/>" else end)
        self._advance(end)
        self._step, self._unclosed = self._content, ""
        if self._closing or end == "/>" or name in dialect.void:
            self._flow.ended(inline=name in dialect.inline)
            return True
        self._flow.opened(name, verbatim=name in dialect.verbatim)
        if name in dialect.raw:
            self._step, self._until, self._unclosed = self._raw, name, f"<{name}>"
        return True

    def _raw(self) -> bool:
        """The content of a script or similar, where only its own end tag is a tag."""
        close = re.compile(rf"</{self._until}(?=[{SPACE}/>])", re.IGNORECASE).search(self._text, self._at)
        end = close.start() if close else self._safe_end(len(self._until) + 3)
        stop = self._step_end(end)
        piece = self._text[self._at : stop]
        self._flow.verbatim("text", piece)
        self._advance(piece)
        if close and stop == end:
            self._step, self._unclosed = self._content, ""
        return bool(close or piece)

    def _begin_declaration(self) -> bool:
        is_doctype = self._text[self._at : self._at + 9].upper() == "<!DOCTYPE"
        self._begin_span("<!", ">", "literal", "a declaration")
        if is_doctype and self._dialect.strict:
            self._step, self._subset, self._until = self._doctype, False, ""
        return True

    def _begin_span(self, opening: str, until: str, kind: Kind, name: str, *, inline: bool = False) -> bool:
        self._flow.begin(inline=inline)
        self._flow.write("punctuation" if kind == "text" else kind, opening)
        self._advance(opening)
        self._until, self._inline, self._kind = until, inline, kind
        self._step, self._unclosed = self._span, name
        return True

    def _span(self) -> bool:
        """Within a comment, CDATA section, instruction or declaration, up to its end."""
        end = self._text.find(self._until, self._at)
        stop = self._step_end(end if end >= 0 else self._safe_end(len(self._until)))
        piece = self._text[self._at : stop]
        self._flow.verbatim(self._kind, piece, entities=False)
        self._advance(piece)
        if stop == end:
            self._flow.write("punctuation" if self._kind == "text" else self._kind, self._until)
            self._advance(self._until)
            self._flow.ended(inline=self._inline)
            self._step, self._unclosed = self._content, ""
        return bool(piece) or end >= 0

    def _doctype(self) -> bool:
        """Within a document type. Its declarations get lines of their own; they are shown, never interpreted."""
        if self._until:
            end = self._text.find(self._until, self._at)
            complete = end + len(self._until) if end >= 0 else self._safe_end(len(self._until))
            stop = self._step_end(complete)
            piece = self._text[self._at : stop]
            self._until = "" if end >= 0 and stop == complete else self._until
            self._flow.verbatim("literal", piece, entities=False)
            self._advance(piece)
            return bool(piece)
        spaces = SPACES.match(self._text, self._at) if self._skips else None
        if spaces:
            self._advance(spaces.group())
            return True
        found = (_SUBSET if self._subset else _OUTSIDE).search(self._text, self._at)
        complete = found.end() if found else self._safe_end(4)
        stop = self._step_end(complete)
        piece = self._text[self._at : stop]
        mark = found.group() if found and stop == complete else ""
        self._skips = self._skips and not piece
        self._flow.verbatim("literal", piece, entities=False)
        self._advance(piece)
        if mark in ("[", "]"):
            self._subset = mark == "["
        elif mark == ">" and not self._subset:
            self._flow.ended(inline=False)
            self._step, self._unclosed = self._content, ""
        elif mark in ("'", '"', "<!--"):
            self._until = "-->" if mark == "<!--" else mark
        if self._subset and mark in ("[", ">"):
            self._flow.new_row(1)
            self._skips = True
        return bool(piece)
