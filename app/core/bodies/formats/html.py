"""HTML as markup: end tags are optional, scripts and styles stay unchanged, nothing is loaded or run."""

from __future__ import annotations

import re

from app.core.bodies.formats.markup import Dialect, writer


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PARAGRAPH_ENDS = _names(
    "address article aside blockquote details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav"
    " ol p pre section table ul"
)
_HTML = Dialect(
    strict=False,
    folds_case=True,
    instruction_end=">",
    void=_names("area base br col embed hr img input link meta param source track wbr"),
    raw=_names("script style textarea"),
    verbatim=_names("script style textarea pre"),
    inline=_names(
        "a abbr acronym b bdi bdo big br button cite code del dfn em font i img input ins kbd label mark q s samp"
        " select small span strike strong sub sup time tt u var wbr"
    ),
    closes={
        **{name: frozenset({"p"}) for name in _PARAGRAPH_ENDS},
        "li": _names("li"),
        "dt": _names("dt dd"),
        "dd": _names("dt dd"),
        "td": _names("td th"),
        "th": _names("td th"),
        "tr": _names("td th tr"),
        "tbody": _names("td th tr thead tbody"),
        "tfoot": _names("td th tr tbody"),
        "option": _names("option"),
    },
)
# A comment ends at the first `-->`: allowing a later one would try n comments in 2^n ways.
_HTML_START = re.compile(
    rb"(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)

write = writer(_HTML)


def is_html(start: bytes) -> bool:
    """Whether text that begins like this is HTML, regardless of its type."""
    return _HTML_START.match(start) is not None


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and text agree; likely if the text begins as HTML does."""
    start = head.replace(b"\0", b"").lstrip(b" \t\r\n\xef\xbb\xbf\xff\xfe")
    if media_type == "text/html":
        return 1.0 if b"<" in start else 0.45
    return 0.96 if is_html(start) else 0.0
