"""A JSON Web Token as lines: what it says of its times, its header and its payload, and that nothing was verified."""

from __future__ import annotations

from app.core.bodies.formats import jwt
from app.core.bodies.formats.json import JsonFormatter
from app.core.bodies.formats.text import TextFormatter
from app.core.bodies.lines import Line, LineBuilder

NOT_VERIFIED = "Not verified: the token is only decoded, its signature is not checked."
_HEAD_LINES = 10_000


class JwtFormatter:
    """For a body that is a token and nothing else; anything else is given as it stands."""

    notes: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.error: str | None = None
        self._text, self._final = "", False
        self._raw: TextFormatter | None = None
        self._lines: list[Line] | None = None

    @property
    def needs_input(self) -> bool:
        """Whether it can say nothing more before more text is fed."""
        if self._raw is not None:
            return self._raw.needs_input
        return not (self._waited if self._lines is None else self._lines)

    @property
    def _waited(self) -> bool:
        return self._final or len(self._text) > jwt.TOKEN_MAX

    def feed(self, text: str, final: bool) -> None:
        """More of the text; `final` with the last of it."""
        if self._raw is not None:
            self._raw.feed(text, final)
        else:
            self._text, self._final = self._text + text, self._final or final

    def take(self, limit: int) -> list[Line]:
        """The next lines, at most `limit`."""
        if self._raw is None and self._lines is None and self._waited:
            self._look()
        if self._raw is not None:
            return self._raw.take(limit)
        lines = self._lines or []
        taken, lines[:limit] = lines[:limit], []
        return taken

    def _look(self) -> None:
        token = jwt.parsed(self._text.strip())
        if token is not None:
            self._lines, self.notes = token_lines(token, None), (NOT_VERIFIED,)
            return
        self.error = "Not a JSON Web Token, which has three parts of Base64 with dots between them."
        self._raw = TextFormatter()
        self._raw.feed(self._text, self._final)
        self._text = ""


def token_lines(token: jwt.JwtToken, arrived_us: int | None) -> list[Line]:
    """The token taken apart; times against the moment its request arrived, where that is known."""
    lines = LineBuilder()
    for name, text in jwt.times(token.claims, arrived_us):
        lines.add("key", name)
        lines.add("text", f"  {text}")
        lines.end_line()
    if len(lines):
        lines.end_line()
    said = lines.take(_HEAD_LINES)
    said += [Line("Header", ((0, 6, "literal"),)), *_json(token.header), Line("")]
    said.append(Line("Payload", ((0, 7, "literal"),)))
    if token.payload is None:
        return [*said, Line("Encrypted: readable only with the key.")]
    return [*said, *_json(token.payload)]


def _json(data: bytes) -> list[Line]:
    formatter = JsonFormatter()
    formatter.feed(data.decode("utf-8", "replace"), True)
    lines: list[Line] = []
    while not formatter.needs_input:
        lines += formatter.take(_HEAD_LINES)
    return lines


def fit(media_type: str, head: bytes) -> float:
    """Sure by type; likely where the first bytes are a token and nothing else."""
    if media_type == "application/jwt" or media_type.endswith("+jwt"):
        return 1.0
    text = head.strip().decode("latin-1")
    return 0.95 if jwt.TOKEN.fullmatch(text) and jwt.parsed(text) else 0.0
