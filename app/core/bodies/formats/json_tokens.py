"""The tokens of JSON, found by one regular expression, and the grammar as a table: no recursion, nothing re-encoded."""

from __future__ import annotations

import re
from enum import IntEnum

# No possessive repeats: before 3.11.5 Python matches them wrongly, and Debian 12 has 3.11.2.
_STRING_REST = r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'

TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    rf'|(?P<string>"{_STRING_REST}")'
    r"|(?P<punctuation>[{}\[\],:])"
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z.+_-]))"
    r"|(?P<literal>(?:true|false|null)(?![0-9A-Za-z_]))"
    rf'|(?P<open>"{_STRING_REST})'
)
"""`open` is a string whose end is not there (yet)."""

STRING_REST = re.compile(_STRING_REST)
UNFINISHED = re.compile(r"[-+.0-9A-Za-z]*\Z")
"""What may yet become a number or literal when more text comes."""
UNFINISHED_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")


class Expect(IntEnum):
    """What may come next."""

    VALUE = 0
    VALUE_OR_END = 1
    KEY = 2
    KEY_OR_END = 3
    COLON = 4
    COMMA_OR_END = 5
    NOTHING = 6


WORDS = {
    Expect.VALUE: "a value",
    Expect.VALUE_OR_END: "a value or ]",
    Expect.KEY: "a name in quotes",
    Expect.KEY_OR_END: "a name in quotes or }",
    Expect.COLON: "a colon",
    Expect.COMMA_OR_END: "a comma or the end of the list or object",
    Expect.NOTHING: "the end of the text",
}
