"""What in markup is passed on as it stands, up to its end: comments, CDATA, instructions, declarations, scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.core.bodies.formats.markup_dialect import Dialect
from app.core.bodies.formats.markup_layout import SPACE, SPACES, Flow
from app.core.bodies.formats.markup_scanner import Scanner
from app.core.bodies.lines import Kind

_OUTSIDE = re.compile(r"[\[>]")
_SUBSET = re.compile(r"[\"'\]>]|<!--")


class SpanScanner(Scanner):
    """Reads such a stretch step by step into `_flow`, and then goes on with `_content`."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        self._dialect = dialect
        self._flow = Flow()
        self._step: Callable[[], bool] = self._content
        self._within = ""
        self._until, self._inline = "", False
        self._kind: Kind = "text"
        self._subset = self._skips = False

    def _content(self) -> bool:
        """Between tags; False when it can do nothing before more text comes."""
        raise NotImplementedError

    def _raw(self) -> bool:
        """Text in which nothing is a tag but the end of this one."""
        close = re.compile(rf"</{self._until}(?=[{SPACE}/>])", re.IGNORECASE).search(self._text, self._at)
        end = close.start() if close else self._sure(len(self._until) + 3)
        stop = self._one_step(end)
        piece = self._text[self._at : stop]
        self._flow.verbatim("text", piece)
        self._advance(piece)
        if close and stop == end:
            self._step, self._within = self._content, ""
        return bool(close or piece)

    def _begin_declaration(self) -> bool:
        is_doctype = self._text[self._at : self._at + 9].upper() == "<!DOCTYPE"
        self._begin_span("<!", ">", "literal", "a declaration")
        if is_doctype and self._dialect.strict:
            self._step, self._subset, self._until = self._doctype, False, ""
        return True

    def _begin_span(self, opening: str, until: str, kind: Kind, within: str, *, inline: bool = False) -> bool:
        self._flow.begin(inline=inline)
        self._flow.write("punctuation" if kind == "text" else kind, opening)
        self._advance(opening)
        self._until, self._inline, self._kind = until, inline, kind
        self._step, self._within = self._span, within
        return True

    def _span(self) -> bool:
        """Within a comment, CDATA section, instruction or declaration, up to its end."""
        end = self._text.find(self._until, self._at)
        stop = self._one_step(end if end >= 0 else self._sure(len(self._until)))
        piece = self._text[self._at : stop]
        self._flow.verbatim(self._kind, piece, entities=False)
        self._advance(piece)
        if stop == end:
            self._flow.write("punctuation" if self._kind == "text" else self._kind, self._until)
            self._advance(self._until)
            self._flow.ended(inline=self._inline)
            self._step, self._within = self._content, ""
        return bool(piece) or end >= 0

    def _doctype(self) -> bool:
        """Within a document type, whose declarations stand on lines of their own; they are shown, never followed."""
        if self._until:
            end = self._text.find(self._until, self._at)
            whole = end + len(self._until) if end >= 0 else self._sure(len(self._until))
            stop = self._one_step(whole)
            piece = self._text[self._at : stop]
            self._until = "" if end >= 0 and stop == whole else self._until
            self._flow.verbatim("literal", piece, entities=False)
            self._advance(piece)
            return bool(piece)
        spaces = SPACES.match(self._text, self._at) if self._skips else None
        if spaces:
            self._advance(spaces.group())
            return True
        found = (_SUBSET if self._subset else _OUTSIDE).search(self._text, self._at)
        whole = found.end() if found else self._sure(4)
        stop = self._one_step(whole)
        piece = self._text[self._at : stop]
        mark = found.group() if found and stop == whole else ""
        self._skips = self._skips and not piece
        self._flow.verbatim("literal", piece, entities=False)
        self._advance(piece)
        if mark in ("[", "]"):
            self._subset = mark == "["
        elif mark == ">" and not self._subset:
            self._flow.ended(inline=False)
            self._step, self._within = self._content, ""
        elif mark in ("'", '"', "<!--"):
            self._until = "-->" if mark == "<!--" else mark
        if self._subset and mark in ("[", ">"):
            self._flow.new_row(1)
            self._skips = True
        return bool(piece)
