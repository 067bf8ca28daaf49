"""Secrets in plain text: in URLs, after a name and a colon or equals sign, and what is a secret by its form; also in
forms, and in texts that are Base64 from the first to the last character, as queues deliver bodies.

A secret begins near one of a few literal texts. Those are looked up first, which takes a tenth of the time of trying
the patterns at each character.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple
from urllib.parse import quote_plus

from app.core.bodies.formats.multipart import decode
from app.core.redaction.in_sentence import code_secrets
from app.core.redaction.in_table import STEMS as TABLE_STEMS
from app.core.redaction.in_table import table_secrets
from app.core.redaction.secret import (
    COMPOUND,
    COMPOUND_BEFORE,
    COMPOUND_STEMS,
    HARMLESS_MAX,
    NAME_MAX,
    PARAMETERS,
    REDACTED,
    SIMPLE,
    SIMPLE_STEMS,
    WORDS,
    Decoded,
    Find,
    Secret,
    as_sent,
    binary_may_name_secret,
    is_secret,
    is_secret_header,
    is_secret_parameter,
    replaced,
    without_secret,
)
from app.core.text import word_set

# Runs are possessive, so that what does not match is read once.
_KEYS = (
    r"(?<![A-Za-z0-9_-])(?:gh[pousr]_|github_pat_|gl(?:pat|dt|rt|oas|ptt|ft|soat|cbt|agent)-|xox[a-z]-|xapp-|whsec_"
    r"|glsa_|gsk_|xkeysib-|rubygems_|tskey-|[sr]k_(?:live|test)_|pypi-|dop_v1_|sq0[a-z]{3}-|AIza|SG\.|ya29\.|hv[sb]\.|dckr_pat_|atatt3|shp[a-z]{2}_"
    r"|sk-(?=[a-z_-]{0,40}\d)|(?:npm|hf|ntn|sbp|nfp|lin_api)_(?=[a-z0-9]{24}))[A-Za-z0-9_-]{16,}+"
    r"(?:\.[A-Za-z0-9_-]{16,}+)?"
)
"""Keys and tokens of services by their prefixes."""
_PEM = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
_JWT = r"(?<![A-Za-z0-9_-])eyJ[\w-]{8,}+\.eyJ[\w-]{4,}+\.(?P<signature>[\w-]{16,}+)"
"""Of a JSON Web Token the claims stay: without its signature it gives no access."""
_PATHS = (
    r"hooks\.slack\.com/(?P<slack>[\w/-]++)|discord(?:app)?\.com/api/(?:v\d{1,3}/)?webhooks/\d{1,30}/(?P<discord>[\w-]++)"
    r"|api\.telegram\.org/bot(?P<telegram>\d{1,30}:[\w-]++)|webhook\.office\.com/(?P<office>[\w/@-]++)"
    r"|outlook\.office(?:365)?\.com/webhook/(?P<outlook>[\w/@-]++)|hooks\.zapier\.com/(?P<zapier>[\w/-]++)"
    r"|maker\.ifttt\.com/(?P<ifttt>[\w/-]++)|hook\.[a-z0-9.]{0,12}make\.com/(?P<make>[\w-]++)"
)
"""URLs that give access to whoever knows them."""
_BOT = r"(?<=\d{8}):AA[\w-]{32,36}(?![\w-])"
"""A Telegram bot's token, after its number."""
_NETRC = r"machine[ ]+\S+\s+login[ ]+\S+\s+password[ ]+(?P<netrc>\S++)"
_MYSQL = (
    r"(?:mysql|mariadb)(?:-?(?:dump|admin))?(?:[ ]+[^\s|;&]+){0,9}?[ ]+(?-i:-p)(?P<p>[\"']?)"
    r"(?P<mysql>(?:(?!(?P=p))[^\r\n\"']|[^\s\"'])++)"
)
"""Its password follows `-p` without a space; `-P` is a port."""
_VALUES = rf"(?P<key>{_KEYS}|{_PEM}|{_BOT})|{_NETRC}|{_MYSQL}|{_JWT}|{_PATHS}"
_VALUE_STEMS = (
    "machine ",
    "-----begin ",
    *word_set(
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- gloas- glptt- glft- glsoat- glcbt- glagent- xox xapp-"
        " whsec_ sk_ rk_ pypi- dop_v1_ sq0 aiza sg. ya29. hvs. hvb. dckr_pat_ atatt3 shp sk- npm_ hf_ ntn_ sbp_ nfp_"
        " glsa_ gsk_ xkeysib- rubygems_ tskey- :aa mysql mariadb lin_api_ eyj hooks.slack.com/ discord"
        " api.telegram.org/ webhook.office.com/ outlook. hooks.zapier.com/ maker.ifttt.com/ hook."
    ),
)
_SCHEME = (
    r"(?<!\w)(?:bearer[ ]{1,4}(?P<bearer>[\w.~+/=-]{16,}+)"
    r"|basic[ ]{1,4}(?=(?-i:[A-Za-z+/]*(?:[a-z][A-Z]|[0-9=])))(?P<basic>[\w.~+/=-]{8,}+))"
)
_CURL = (
    r"\s(?:(?:-u|--(?:proxy-)?user)[ =]*(?P<q>[\"']?)(?P<user>[^\s\"':]*:(?:(?!(?P=q))[^\r\n\"']|[^\s\"'])++)"
    r"|(?:-b|--cookie)[ =]+(?P<r>[\"']?)(?P<jar>[\w.-]++=(?:(?!(?P=r))[^\r\n\"']|[^\s\"'])++)"
    rf"|--?[\w-]{{0,40}}?(?:{WORDS}|oauth2-bearer)[\w-]{{0,40}}+[ ]+[\"']?(?P<option>[^\s\"'-][^\s\"']*+))"
)
"""What `curl` and other programs take as separate words."""
_SEPARATOR = r"(?:={1,3}(?!=)>?|:(?!:)={0,2}>?|%(?:25){0,3}3[ad])"
"""Also `=>`, `:=`, and encoded as in a URL."""
_TAIL = r"(?:[\w.\[\]-]|%(?!(?:25){0,3}(?:3[ad]|2[023]))){0,60}+"
"""The rest of a name."""
_AFTER_NAME = r"(?:[\\\"'\s]|%(?:25){0,3}2[02]){0,20}+"
_VALUE = (
    r"(?:\\{0,9}b?(?P<triple>\"{3}|'{3})(?P<block>.*?)(?=(?P=triple)|\Z)"
    r"|\\{0,9}[bru]{0,2}(?P<quote>[\"'])(?P<quoted>(?:(?!(?P=quote))[^\\\r\n]|\\.)++)"
    r"|(?:%(?:25){0,3}2[02]){0,4}(?P<word>(?!\|[ \t])(?:[^\s&#\"'<>\\%]|%(?!(?:25){0,3}(?:2[0236])))++))"
)
_SHORT = (
    r"(?<=[a-z0-9][_.-])(?:pass|pin|otp|pw)|(?<![a-z0-9_.-])(?:pass|pin|otp|pw)(?=[ ]?=)"
    r"|(?<![a-z0-9_.-])(?:pin|otp|pw)(?=:[ ])"
)
_SHORT_STEMS = (
    *("_pin", "_otp", "_pw", "-pin", "-pw", ".pw", "pin=", "otp=", "pw=", "pin =", "otp =", "pw ="),
    *("pin: ", "otp: ", "pw: "),
)
_CELL = r"[\"']?[ ]?\t++(?P<cell>[^\t\r\n]++)"
_NEXT_LINE = r"[ \t]*+\r?\n[ \t]*+"
_LINE_END = r"(?=[ \t]*+(?:\r?\n|\Z))"
_IN_TEXT = (
    rf"{_TAIL})(?:{_AFTER_NAME}{_SEPARATOR}[*`]{{0,3}}+\s{{0,20}}+{_VALUE}|{_CELL}"
    r"|[ ](?:is|was):?[ ]{1,4}(?P<told>(?=\S*\d)\S{6,}+)|(?<=password)[ ]{1,4}'(?P<literal>[^'\r\n]{4,}+)"
    r"|\([\"'](?P<set>[^\"'\r\n]++)(?=[\"']\))|[\"'],[ ]?[\"'](?P<argument>[^\"'\r\n]++)(?=[\"']\))"
    rf"|[*`]{{0,3}}+{_NEXT_LINE}(?P<below>(?=[^\s:]*\d)[^\s:]{{6,}}+){_LINE_END})"
)
"""What follows a word of secret names, in the middle of a line: also in the next cell or alone on the next line."""
_TO_LINE_END = (
    r"[\w.-]{0,40}+)(?:[ \t]{0,20}+[:=][ \t]{0,20}+(?![\"'\\:])"
    r"(?P<rest>[|>][-+\d]{0,2}[ \t]*+(?:\r?\n[ \t]++[^\r\n]++)++|(?:[^\r\n&]|&(?![\w.%\[\]-]++=))++)"
    rf"|{_CELL}|{_NEXT_LINE}(?P<below>(?!(?-i:[A-Z][a-z]+){_LINE_END})(?:(?:bearer|basic|token|digest)[ ])?"
    rf"(?=\S*\w)[^\s:]{{4,}}+){_LINE_END})"
)
"""In a line that begins with a name: a passphrase has several words, and YAML has blocks. Alone on a line, it may be
a heading, and a word with a capital letter below it the next one."""
_SEGMENT = r"/(?P<segment>(?=[^/?#]*\d)(?=[^/?#]*[a-z])[^/?#\s]{8,}+)"
"""What follows a name in a path, unless it is a word or a number."""
_IN_PATH = (
    rf"{_TAIL})(?:(?:=|%(?:25){{0,3}}3d)(?P<parameter>(?:[^&;/?#%]|%(?!(?:25){{0,3}}(?:26|3b|2f)))++)|{_SEGMENT})"
)
_IN_QUERY = rf"(?<=[?&])(?:{PARAMETERS})=(?P<value>[^\s&#\"'<>\\]{{{HARMLESS_MAX + 1},}}+)"
"""A parameter of a target that is no whole URL."""
_BELOW_PARAMETER = rf"/(?:{PARAMETERS}){_SEGMENT.replace('segment', 'named')}"
_IN_TUPLE = rf"(?<=[(\[][\"'])(?:{SIMPLE}){_TAIL}[\"'],\s{{0,20}}+b?[\"'](?P<second>[^\r\n\"']++)"
"""`("Cookie", "a=b")`"""
_LINE = r"(?<!\w)(?:authorization|(?:set-)?cookie2?)[\\\"']{0,9}:\s{0,9}+(?P<line>[^\r\n\"'\\]++)"
"""A header in a text; it ends where the line or the quotes around it end."""
_HEADER = r"(?:authorization|cookie2?):[ \t]*+(?P<header>(?![\"'\\])[^\r\n]++(?:\r?\n[ \t]++[^\r\n]++)*+)"
"""A header at the beginning of a line, with the lines that it goes on in."""
_URL = r"://(?P<url>[^\s\"'<>\\]++)"
_USER = (
    r"://(?P<credentials>[^/?#\s]{0,2000}(?=@)|[^/?#@\s:\[]{0,250}:(?!\d{0,5}(?:[/?#]|\Z))[^\s@…]{0,250}(?=@)"
    r"|[^/?#@:\[]{0,250}:(?!\d{1,5}(?:…|\Z))[^/?#@…]{1,2000}(?=…|\Z))"
)
"""A URL's credentials, which it may be cut off within; what follows the colon is no port."""
_LINE_BEGIN = re.compile(r"[ \t]{0,20}(?:- )?[\w.-]{0,40}")


def _pattern(first: str, words: str, after: str) -> re.Pattern[str]:
    """`first`, or a name with one of `words` and what follows it."""
    return re.compile(f"{first}(?P<name>(?:{words}){after}", re.IGNORECASE | re.DOTALL | re.ASCII)


_Place = tuple[int, bool]
"""Where a stem is, and whether it is a compound's."""


class _Patterns(NamedTuple):
    """What is tried at a place: where a simple or another stem is, near a compound one, and in both cases first what is
    tried there if the place is in the name that a line begins with. The `stems` are grouped by a sign that each of a
    group has."""

    simple: re.Pattern[str]
    compound: re.Pattern[str]
    simple_line: re.Pattern[str] | None = None
    compound_line: re.Pattern[str] | None = None
    stems: Mapping[str, Collection[str]] = {}


_BEFORE = rf".{{0,{COMPOUND_BEFORE}}}?"
_FIRST = f"{_VALUES}|{_SCHEME}|{_CURL}|{_LINE}|{_IN_TUPLE}|{_IN_QUERY}|"
_PARAMETER_STEMS, _PATH_STEMS = ([form.format(name) for name in PARAMETERS.split("|")] for form in ("{}=", "/{}/"))


def _stems(*some: str) -> dict[str, list[str]]:
    """Also those that all patterns have. Most texts lack some sign, which saves looking up each of its stems."""
    by_sign: dict[str, list[str]] = {}
    for stem in dict.fromkeys((*_VALUE_STEMS, "://", *SIMPLE_STEMS, *some, *COMPOUND_STEMS)):
        by_sign.setdefault(next((sign for sign in "|_=/:.-" if sign in stem), ""), []).append(stem)
    return by_sign


_OF_INMOST_TEXT = _Patterns(
    _pattern(_FIRST, f"{SIMPLE}|{_SHORT}", _IN_TEXT),
    _pattern(_BEFORE, COMPOUND, _IN_TEXT),
    _pattern(f"{_HEADER}|", f"{SIMPLE}|{_SHORT}", _TO_LINE_END),
    _pattern(_BEFORE, COMPOUND, _TO_LINE_END),
    stems=_stems("bearer ", "basic ", " -", "\n-", *_SHORT_STEMS, *_PARAMETER_STEMS, *TABLE_STEMS),
)
_OF_TEXT = _OF_INMOST_TEXT._replace(simple=_pattern(f"{_URL}|{_FIRST}", f"{SIMPLE}|{_SHORT}", _IN_TEXT))
_OF_PATH = _Patterns(
    _pattern(f"{_USER}|{_VALUES}|{_BELOW_PARAMETER}|", SIMPLE, _IN_PATH),
    _pattern(_BEFORE, COMPOUND, _IN_PATH),
    stems=_stems(*_PATH_STEMS),
)
_NAME_BEFORE = re.compile(r"(?:unexpected )?[\w.-]{0,40}\Z", re.IGNORECASE)
_PLAIN = re.compile(r"(?:(?!-|[Bb]asic )[^\s:=<{\[%&]{0,15}+(?:\s++|\Z))*+\Z")
_PAIR_MIN = 9
"""Characters of a short name, a space and a value."""
_MAY_BE_VALUE = re.compile(r"[ \t\n][\"']?[^\s\d']*+[\d'\t\n]|[\t\n]\S|\([\"']")
"""A word with a digit, in quotes, or in a cell or line of its own: what follows a name without a sign between them.
Also the quoted argument of a call."""
_MAY_HOLD_VALUE = ("|", " is your ")
"""The same of tables, and of a sentence that a code begins."""
_NAME_STEMS = (*SIMPLE_STEMS, *COMPOUND_STEMS, *_SHORT_STEMS, *TABLE_STEMS)
_SETTER = re.compile(r"(?<![A-Za-z])(?:[Ss]et|[Ww]ith)(?:_|(?=[A-Z]))")
_QUERY = re.compile("[?#]")
DEPTH_MAX = 4
"""URLs within the parameters of URLs are read this deep."""


def is_plain(text: str) -> bool:
    """Whether the text has only words that are too short for a key, and no names with values; quick."""
    if _PLAIN.match(text) is None:
        return False
    if len(text) < _PAIR_MIN:
        return True
    if _MAY_BE_VALUE.search(text) is None and not any(part in text for part in _MAY_HOLD_VALUE):
        return True
    lower = text.lower()
    return not any(stem in lower for stem in _NAME_STEMS)


def text_secrets(text: str, depth: int = 0) -> Iterator[Secret]:
    """The secrets in a plain text."""
    if is_plain(text):
        return
    if depth < DEPTH_MAX and holds_secrets(text, partial(text_secrets, depth=depth + 1)):
        yield Secret(0, len(text))
        return
    patterns = _OF_TEXT if depth < DEPTH_MAX else _OF_INMOST_TEXT
    lower = _lower(text)
    places = _places(lower, patterns.stems)
    more = list(code_secrets(text, lower)) if "code" in lower else []
    if "|" in text:
        more += table_secrets(text, [place for place, _ in places])
    found = _pattern_secrets(text, patterns, places, depth)
    yield from _merged(sorted((*found, *more))) if more else found


def _merged(secrets: Iterable[Secret]) -> Iterator[Secret]:
    """Without overlaps."""
    last: Secret | None = None
    for secret in secrets:
        if last and secret.begin < last.end:
            last = last._replace(end=max(last.end, secret.end))
            continue
        if last:
            yield last
        last = secret
    if last:
        yield last


def _pattern_secrets(text: str, patterns: _Patterns, places: Iterable[_Place], depth: int) -> Iterator[Secret]:
    for found in _found(text, patterns, places):
        if found.lastgroup != "url":
            yield Secret(*found.span(found.lastgroup or 0))
        else:
            begin = found.start()
            for secret in _url_secrets(found[0], depth + 1):
                yield Secret(begin + secret.begin, begin + secret.end, secret.text)


def _url_secrets(url: str, depth: int = 0) -> Iterator[Secret]:
    """The secrets in a URL or request target: credentials, parameters of its query and fragment, secret paths."""
    find = partial(text_secrets, depth=depth + 1)
    reached = 0
    for found in _found(url, _OF_PATH, _places(_lower(url), _OF_PATH.stems)):
        query = _QUERY.search(url, reached, found.start())
        if query:
            break
        reached = found.end()
        yield Secret(*found.span(found.lastgroup or 0))
    query = _QUERY.search(url, reached)
    while query:
        begin, query = query.end(), _QUERY.search(url, query.end())
        end = query.start() if query else len(url)
        for secret in form_secrets(url[begin:end], find, is_query=True):
            yield Secret(begin + secret.begin, begin + secret.end, secret.text)


def _lower(text: str) -> str:
    """In small letters, each at its place."""
    lower = text.lower()
    if len(lower) != len(text):  # a capital letter that is written as two small ones
        lower = "".join(one.lower()[0] for one in text)
    return lower


def _found(text: str, patterns: _Patterns, places: Iterable[_Place]) -> Iterator[re.Match[str]]:
    """All matches in order."""
    reached = 0
    for place, is_compound in places:
        if place < reached:
            continue
        pattern, in_line = (
            (patterns.compound, patterns.compound_line) if is_compound else (patterns.simple, patterns.simple_line)
        )
        begin = max(reached, place - COMPOUND_BEFORE) if is_compound else place
        found = in_line.match(text, begin) if in_line and _begins_line(text, place) else None
        found = found or pattern.match(text, begin)
        if found and (found["name"] is None or _is_of_secret(_whole_name(text, found), found.lastgroup)):
            yield found
            reached = found.end()


def _places(lower: str, stems: Mapping[str, Collection[str]]) -> list[_Place]:
    """Where stems are, in order."""
    places = []
    for stem in [one for sign, some in stems.items() if sign in lower for one in some if one in lower]:
        is_compound = stem in COMPOUND_STEMS
        at = lower.find(stem)
        while at >= 0:
            places.append((at, is_compound))
            at = lower.find(stem, at + len(stem))
    return sorted(places)


def _begins_line(text: str, place: int) -> bool:
    """Whether a name that the line begins with reaches to `place`."""
    line = text.rfind("\n", max(0, place - 64), place) + 1
    return (line > 0 or place < 64) and _LINE_BEGIN.fullmatch(text, line, place) is not None


def _is_of_secret(name: str, group: str | None) -> bool:
    """Of calls only those that set it: `reset_password("anna")` says whose it is."""
    return is_secret(name) and (group != "set" or _SETTER.search(name) is not None)


def _whole_name(text: str, found: re.Match[str]) -> str:
    begin = found.start("name")
    before = _NAME_BEFORE.search(text, max(0, begin - 52), begin)
    return (before[0] if before else "") + found["name"]


def redacted_url(url: str, mark: str = REDACTED) -> str:
    """A URL or request target without its secrets."""
    return replaced(url, _url_secrets(url), mark)


def redacted_text(text: str, mark: str = REDACTED) -> str:
    """A text for people without the secrets in it."""
    return replaced(text, text_secrets(text), mark)


def redacted_headers(
    headers: Iterable[tuple[str, str]], secret: str = "", mark: str = REDACTED
) -> list[tuple[str, str]]:
    """The headers without the values of secret ones, and without the secrets in others; an authentication scheme such
    as `Bearer` stays. `secret` is the name of one that is known to be secret."""
    return [
        (
            name,
            without_secret(value, mark)
            if is_secret_header(name, value) or name.lower() == secret.lower()
            else redacted_text(value, mark),
        )
        for name, value in headers
    ]


_FORM_FIELD = re.compile(r"[^&]++")
_FORM_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}|\+")
_GRANT = re.compile(r"(?:\A|&)grant_type=")
"""A form that asks for a token has what the queries of URLs have."""


def form_secrets(text: str, find: Find, *, is_query: bool = False) -> Iterator[Secret]:
    """The values of secret fields, and what `find` finds in the values of others."""
    as_query = is_query or _GRANT.search(text) is not None
    for field in _FORM_FIELD.finditer(text):
        name, equals, value = field[0].partition("=")
        if not value:
            continue
        begin = field.start() + len(name) + len(equals)
        plain = Decoded(value, begin, _FORM_ESCAPE, _unescaped)
        called = Decoded(name[: 3 * NAME_MAX], 0, _FORM_ESCAPE, _unescaped).text
        if is_secret_parameter(called, value) if as_query else is_secret(called):
            yield Secret(begin, field.end(), _form_encoded(without_secret(plain.text)))
        else:
            yield from as_sent(find(plain.text), plain, _form_encoded)


def _unescaped(escape: str) -> str:
    return " " if escape == "+" else chr(int(escape[1:], 16))


def _form_encoded(text: str) -> str:
    return quote_plus(text, safe="[]")


_BASE64 = re.compile(
    r"\s*+(?:data:[\w/+.;=-]{0,100}?;base64,)?(?P<text>[\w+/-]{16,}+={0,2}(?:\s++[\w+/-]++={0,2})*+)\s*+\Z", re.ASCII
)
_URL_SAFE = str.maketrans("-_", "+/")
BINARY_MAX = 4096
PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")


def holds_secrets(text: str, find: Find) -> bool:
    """Whether the text is text or an archive in Base64, as queues deliver it, with secrets in it."""
    encoded = _BASE64.match(text)
    if not encoded:
        return False
    plain, decoded = decode("base64", encoded["text"].translate(_URL_SAFE).encode(), complete=False)
    if not decoded or not plain.isascii():
        short = plain[:BINARY_MAX]  # in many random bytes is any short name
        return bool(decoded) and (plain.startswith(PACKED) or binary_may_name_secret(short))
    return next(iter(find(plain.decode("ascii"))), None) is not None
