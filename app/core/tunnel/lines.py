"""A program's output as lines: joined from what single reads brought, without colours and control characters."""

from __future__ import annotations

import codecs
import re

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
