"""Plain text, split at its own line ends and folded where lines are too long."""

from __future__ import annotations

from app.core.bodies.lines import Line, LineBuilder


class TextFormatter:
    """Lines end at LF or CR LF; a lone CR is shown as `\\r`."""

    error: str | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, builder: LineBuilder | None = None) -> None:
        self._lines = LineBuilder() if builder is None else builder
        self._text, self._at = "", 0
        self._final = self._ended = False

    @property
    def needs_input(self) -> bool:
        return not len(self._lines) and (self._ended or (not self._final and self._at >= self._safe_end()))

    def feed(self, text: str, final: bool) -> None:
        self._text = self._text[self._at :] + text
        self._at = 0
        self._final = self._final or final

    def take(self, limit: int) -> list[Line]:
        """At most `limit` lines; an incomplete line is returned in folds once it is long."""
        end = self._safe_end()
        while len(self._lines) < limit and self._at < end:
            stop = self._text.find("\n", self._at, end)
            if stop < 0:
                self._lines.add("text", self._text[self._at : end])
                self._at = end
                break
            self._lines.add("text", self._text[self._at : stop].removesuffix("\r"))
            self._lines.end_line()
            self._at = stop + 1
        if self._final and self._at >= len(self._text) and not self._ended:
            self._ended = True
            if not self._lines.empty:
                self._lines.end_line()
        return self._lines.take(limit)

    def _safe_end(self) -> int:
        """Holds back a CR at the end of the text."""
        end = len(self._text)
        return end - 1 if not self._final and self._text.endswith("\r") else end


def fit(media_type: str, head: bytes) -> float:
    """Good if the first bytes are text, poor if many of them are control bytes."""
    if not head:
        return 0.5
    controls = sum(head.count(byte) for byte in _BINARY)
    if controls * 20 > len(head):
        return 0.1
    textual = media_type.startswith("text/") or media_type == "application/x-www-form-urlencoded"
    return 0.6 if textual else 0.5


def is_binary(text: str) -> bool:
    """Whether decoded text is more likely binary: it has zeros, or many control characters."""
    return "\0" in text or sum(map(text.count, _CONTROLS)) * 20 > len(text)


_BINARY = tuple(bytes([code]) for code in range(32) if code not in b"\t\n\r\f\x1b")
_CONTROLS = tuple(byte.decode("ascii") for byte in _BINARY)
