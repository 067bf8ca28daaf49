"""Rebuilds HTML from allowed elements only: text, headings, lists, tables and colours, with no external references.

Qt opens files that an <img> or a background names even when resource loading is disabled, so its input has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape, unescape

from app.core.bodies.formats.markup import html_fit
from app.core.text import word_set

TEXT_MAX = 1024 * 1024
"""Maximum characters of a page."""
ELEMENTS_MAX = 20_000
DEEPEST, DEEPEST_TABLE = 60, 8
"""Maximum nesting, of elements and of tables. Deeper content is shown in the element around it."""


_ALLOWED_ELEMENTS = word_set(
    "p div span br hr h1 h2 h3 h4 h5 h6 b strong i em u s strike del ins small big sub sup code pre kbd samp tt var"
    " cite blockquote ul ol li dl dt dd table thead tbody tfoot tr td th caption center font"
)
_AS_DIV = word_set(
    "address section article header footer main nav aside figure figcaption form fieldset body details summary"
)
_AS_SPAN = word_set("label abbr mark time q dfn")
_EMPTY = word_set("br hr")
_RAW = word_set(
    "script style title textarea noscript iframe object template svg math audio video canvas select button head applet"
    " frameset noframes xmp plaintext"
)
"""The content of these is not shown."""
_COUNTED = word_set(
    "script style iframe object svg audio video canvas embed applet form input button select textarea link"
)
_COLOUR = r"(?:#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,20}|rgba?\([\d.,%\s]{1,40}\))"
_LENGTH = r"[\d.]{1,5}(?:px|pt|em|rem|%)?"
_VALUES = {
    "align": "left|right|center|justify",
    "valign": "top|middle|bottom|baseline",
    "dir": "ltr|rtl",
    "colspan": r"[1-9]\d?",
    "rowspan": r"[1-9]\d?",
    "width": r"\d{1,4}(?:px|%)?",
    "border": "[0-5]",
    "cellpadding": r"\d{1,2}",
    "cellspacing": r"\d{1,2}",
    "start": r"\d{1,5}",
    "size": "[1-7]",
    "color": _COLOUR,
    "bgcolor": _COLOUR,
}
_STYLES = {
    "color": _COLOUR,
    "background-color": _COLOUR,
    "background": _COLOUR,
    "font-weight": r"bold|normal|bolder|lighter|\d{3}",
    "font-style": "italic|normal|oblique",
    "font-size": r"\d{1,2}(?:\.\d{1,2})?(?:px|pt)|small|medium|large|x-large|smaller|larger",
    "text-decoration": "underline|line-through|none|overline",
    "text-align": "left|right|center|justify",
    "white-space": "normal|pre|nowrap|pre-wrap",
    "margin": rf"{_LENGTH}(?:\s+(?:{_LENGTH}|auto)){{0,3}}",
    "padding": rf"{_LENGTH}(?:\s+{_LENGTH}){{0,3}}",
}
_ALLOWED = {name: re.compile(values, re.IGNORECASE) for name, values in _VALUES.items()}
_DECLARED = {name: re.compile(values, re.IGNORECASE) for name, values in _STYLES.items()}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:-]*")
_ATTRIBUTE = re.compile(r"""[\s/]*(?:(>)|["'=]|([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?)""")
"""Or the end of a tag, or a stray quote or equals sign."""
_MARKS = re.compile(r"<(?:!--|[!?/]|([A-Za-z][A-Za-z0-9:-]*))")


class PageError(Exception):
    """The page cannot be shown; `str()` says why, in a sentence."""


@dataclass(frozen=True)
class SanitizedPage:
    """`text` is HTML without external references. `removed` names the elements that were removed."""

    text: str
    removed: tuple[str, ...]


def fit(media_type: str, head: bytes) -> float:
    """Ranked below the view of the markup."""
    return 0.05 if html_fit(media_type, head) >= 0.9 else 0.0


def sanitize(text: str) -> SanitizedPage:
    """Raises PageError for a page that is too large."""
    if len(text) > TEXT_MAX:
        raise PageError(
            f"This page has more than {TEXT_MAX // 1024 // 1024} million characters, too many for a preview."
        )
    sanitizer = _HtmlSanitizer(text)
    sanitizer.run()
    return SanitizedPage("".join(sanitizer.parts), tuple(sanitizer.removed))


class _HtmlSanitizer:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.parts: list[str] = []
        self.removed: dict[str, None] = {}
        self._open: list[str] = []
        self._elements = self._tables = 0

    def run(self) -> None:
        """Reads the text once, without backtracking."""
        while self._at < len(self._text):
            match = _MARKS.search(self._text, self._at)
            end = match.start() if match else len(self._text)
            self.parts.append(escape(unescape(self._text[self._at : end])))
            self._at = end
            if match is None:
                break
            mark = match.group()
            if mark == "<!--":
                self._skip_to("-->")
            elif mark[1] in "!?":
                self._skip_to(">")
            elif mark[1] == "/":
                self._end_tag()
            else:
                self._at = match.end()
                self._start_tag(match[1].lower())
        while self._open:
            self._close()

    def _skip_to(self, end: str) -> None:
        found = self._text.find(end, self._at)
        self._at = found + len(end) if found >= 0 else len(self._text)

    def _end_tag(self) -> None:
        match = _NAME.match(self._text, self._at + 2)
        self._skip_to(">")
        if match is None:
            return
        element = _output_element(match.group().lower())
        if element in self._open[-DEEPEST:]:
            while self._close() != element:
                pass

    def _close(self) -> str:
        name = self._open.pop()
        self._tables -= name == "table"
        self.parts.append(f"</{name}>")
        return name

    def _start_tag(self, name: str) -> None:
        attributes = self._attributes()
        if attributes is None:
            return
        if name in _COUNTED:
            self.removed.setdefault(name)
        if name in _RAW:
            self._skip_content(name)
        elif name == "img":
            self.removed.setdefault("img")
            alt = attributes.get("alt", "").strip()
            if alt:
                self.parts.append(f"<i>[{escape(alt[:200])}]</i>")
        elif (element := _output_element(name)) is not None:
            # Qt would paint a background of the whole page behind its first line only.
            self._begin(element, "" if name in ("a", "body") else _allowed_attributes(attributes))

    def _begin(self, name: str, attributes: str) -> None:
        self._elements += 1
        if self._elements > ELEMENTS_MAX:
            raise PageError(f"This page has more than {ELEMENTS_MAX:,} elements, too many for a preview.")
        if name in _EMPTY:
            self.parts.append(f"<{name}>")
        elif len(self._open) < DEEPEST and not (name == "table" and self._tables >= DEEPEST_TABLE):
            self.parts.append(f"<{name}{attributes}>")
            self._open.append(name)
            self._tables += name == "table"

    def _attributes(self) -> dict[str, str] | None:
        """Up to the end of the tag; None if the text ends before it."""
        found: dict[str, str] = {}
        while match := _ATTRIBUTE.match(self._text, self._at):
            self._at = match.end()
            end, name, *values = match.groups()
            if end:
                return found
            if name:
                found.setdefault(name.lower(), unescape(next(filter(None, values), "")))
        self._at = len(self._text)
        return None

    def _skip_content(self, name: str) -> None:
        end = re.compile(rf"</{name}\b", re.IGNORECASE).search(self._text, self._at)
        self._at = end.start() if end else len(self._text)
        self._skip_to(">")


def _output_element(name: str) -> str | None:
    """The element to write for this one; None to drop the tag but keep its content."""
    if name in _ALLOWED_ELEMENTS:
        return name
    return "div" if name in _AS_DIV else "span" if name in _AS_SPAN else "u" if name == "a" else None


def _allowed_attributes(attributes: dict[str, str]) -> str:
    found = []
    for name, value in attributes.items():
        allowed = _ALLOWED.get(name)
        if allowed is not None and allowed.fullmatch(value.strip()):
            found.append(f' {name}="{escape(value.strip())}"')
    style = _style(attributes.get("style", ""))
    return "".join(found) + (f' style="{escape(style)}"' if style else "")


def _style(text: str) -> str:
    found = []
    for declaration in text[:5_000].split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip().lower(), value.replace("!important", "").strip()
        allowed = _DECLARED.get(name)
        if allowed is not None and allowed.fullmatch(value):
            found.append(f"{'background-color' if name == 'background' else name}:{value}")
    return ";".join(found)
