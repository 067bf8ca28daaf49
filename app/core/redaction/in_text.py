"""Secrets in plain text: in URLs, after a name and a colon or equals sign, and what is a secret by its form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from app.core.redaction.in_form import form_secrets
from app.core.redaction.names import WORDS
from app.core.redaction.secret import Secret, replaced

# Runs are possessive and begin only where no run of the same characters ends, so that no text takes more than its
# length.
_KEYS = (
    r"(?<![A-Za-z0-9_-])(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|[sr]k_(?:live|test)_|whsec_|sk-|shp[a-z]{2}_"
    r"|npm_|pypi-|hf_|dop_v1_|sq0[a-z]{3}-|AIza|SG\.|ya29\.)[A-Za-z0-9_-]{16,}+(?:\.[A-Za-z0-9_-]{16,}+)?"
)
"""Keys and tokens of services by their prefixes."""
_PEM = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
_JWT = r"(?<![A-Za-z0-9_-])eyJ[\w-]{8,}+\.eyJ[\w-]{4,}+\.(?P<signature>[\w-]{16,}+)"
"""Of a JSON Web Token the claims stay: without its signature it gives no access."""
_PATHS = (
    r"hooks\.slack\.com/(?P<slack>[\w/-]++)|discord(?:app)?\.com/api/(?:v\d{1,3}/)?webhooks/\d{1,30}/(?P<discord>[\w-]++)"
    r"|api\.telegram\.org/bot(?P<telegram>\d{1,30}:[\w-]++)|webhook\.office\.com/(?P<office>[\w/@-]++)"
)
"""URLs that give access to whoever knows them."""
_SCHEME = r"(?<!\w)(?:bearer|basic)[ ]{1,4}(?P<bearer>[\w.~+/=-]{16,}+)"
_LINE = r"(?<!\w)(?:authorization|(?:set-)?cookie)[\\\"']{0,9}:\s{0,9}(?P<line>[^\r\n\"'\\]++)"
"""A header in a text; it ends where the line or the quotes around it end."""
_REST = (
    rf"(?:\A|(?<=\n))[\w.-]{{0,40}}?(?:{WORDS})[\w.-]{{0,40}}+[ \t]{{0,20}}[:=][ \t]{{0,20}}+(?![\"'\\])"
    r"(?P<rest>[^\r\n&]++)"
)
"""A line that begins with a name: a passphrase has several words."""
_NAMED = (
    rf"(?:{WORDS})[\w.\[\]%-]{{0,60}}+[\\\"'\s]{{0,20}}+[:=]\s{{0,20}}+"
    r"(?:\\{0,9}(?P<quote>[\"'])(?P<quoted>(?:(?!(?P=quote))[^\\\r\n]|\\.)++)|(?P<word>[^\s&#\"'<>\\]++))"
)
_PARAMETER = rf"(?:{WORDS})[\w.\[\]%-]{{0,60}}+=(?P<parameter>[^&;/]++)"
_VALUES = rf"(?P<key>{_KEYS}|{_PEM})|{_JWT}|{_PATHS}"
_URL = r"(?<![a-z0-9+.-])(?P<url>[a-z][a-z0-9+.-]{1,20}+://[^\s\"'<>\\]++)"
_TEXT = re.compile(f"{_URL}|{_VALUES}|{_SCHEME}|{_LINE}|{_REST}|{_NAMED}", re.IGNORECASE | re.DOTALL | re.ASCII)
_CUT = r"(?<=://)(?P<cut>[^/?#@:\[]*:(?!\d{1,5}(?:…|\Z))[^/?#@…]+)(?=…|\Z)"
"""A URL that is cut off within its credentials; what follows the colon is no port."""
_IN_URL = re.compile(
    rf"(?<=://)(?P<user>[^/?#]*)(?=@)|{_CUT}|{_VALUES}|{_PARAMETER}", re.IGNORECASE | re.DOTALL | re.ASCII
)
_INMOST = re.compile(f"{_VALUES}|{_SCHEME}|{_LINE}|{_REST}|{_NAMED}", re.IGNORECASE | re.DOTALL | re.ASCII)
_QUERY = re.compile("[?#]")
DEPTH_MAX = 4
"""URLs within the parameters of URLs are read this deep."""


def text_secrets(text: str, depth: int = 0) -> Iterator[Secret]:
    """The secrets in a plain text."""
    for found in (_TEXT if depth < DEPTH_MAX else _INMOST).finditer(text):
        if found.lastgroup != "url":
            yield Secret(*found.span(found.lastgroup or 0))
            continue
        begin = found.start()
        for secret in url_secrets(found[0], depth + 1):
            yield Secret(begin + secret.begin, begin + secret.end, secret.text)


def url_secrets(url: str, depth: int = 0) -> Iterator[Secret]:
    """The secrets in a URL or request target: credentials, parameters of its query and fragment, secret paths."""
    find = partial(text_secrets, depth=depth + 1)
    begin, query = 0, _QUERY.search(url)
    end = query.start() if query else len(url)
    for found in _IN_URL.finditer(url, 0, end):
        yield Secret(*found.span(found.lastgroup or 0))
    while query:
        begin, query = query.end(), _QUERY.search(url, query.end())
        end = query.start() if query else len(url)
        for secret in form_secrets(url[begin:end], find):
            yield Secret(begin + secret.begin, begin + secret.end, secret.text)


def redacted_url(url: str) -> str:
    """A URL or request target without its secrets."""
    return replaced(url, url_secrets(url))


def redacted_text(text: str) -> str:
    """A text for people without the secrets in it."""
    return replaced(text, text_secrets(text))
