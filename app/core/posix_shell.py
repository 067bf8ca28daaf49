"""Quotes bytes for the POSIX shell, portable to dash, bash, zsh, mksh and busybox."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_LINE = re.compile(r"[^\n]{0,240}\n|[^\n]{1,240}")
"""A terminal in line mode accepts 4,095 bytes per line; an escaped character has up to 16."""
_FORMAT_MAX = 60_000
"""Maximum bytes of a `printf` format: Linux limits an argument to 128 KiB, and in mksh `printf` is a program."""
_ESCAPES = {
    code: f"\\{code:03o}" for code in (*range(0x20), 0x21, 0x27, 0x7F)
} | {  # an exclamation mark recalls history in bash
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("%"): "%%",
    ord("\\"): "\\\\",
}


class _FormatTable(dict[int, str]):
    """The escapes of characters in a quoted `printf` format. Lone surrogates are bytes that are not UTF-8."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        escaped = "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
        self[code] = escaped_char = char if char.isprintable() else escaped
        return escaped_char


def is_readable(data: bytes) -> bool:
    """Whether `data` needs only quotes: printable UTF-8, and line feeds."""
    try:
        return data.decode("utf-8").replace("\n", "").isprintable()
    except UnicodeDecodeError:
        return False


def shell_word(data: bytes) -> str:
    """`data` (without NUL) as one word; unprintable bytes are written in octal."""
    if is_readable(data):
        text = data.decode("utf-8")
        return text if _PLAIN.fullmatch(text) else _quoted(text)
    kept = data.rstrip(b"\n")  # a command substitution drops the line feeds at its end
    ending = data[len(kept) :].decode("ascii")
    return f'"$({print_command(kept)})"' + (_quoted(ending) if ending else "")


def print_command(data: bytes) -> str:
    """A command, possibly of several lines, that prints `data`, which can contain NUL."""
    commands = [_printf(pieces) for pieces in _formats(data)]
    return commands[0] if len(commands) == 1 else "\n".join(["{", *commands, "}"])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _printf(pieces: list[str]) -> str:
    """Every `printf` understands octal escapes in its format; with three digits their end is unambiguous."""
    first = pieces[0]
    if first.startswith("-"):
        pieces = [f"\\055{first[1:]}", *pieces[1:]]  # some shells take it for an option
    # A backslash at the end of a line joins the next line to the same word.
    return "printf " + "\\\n".join(f"'{piece}'" for piece in pieces)


def _formats(data: bytes) -> list[list[str]]:
    """The formats that print `data` one after the other, each in pieces short enough for a line."""
    table = _FormatTable(_ESCAPES)
    formats: list[list[str]] = [[]]
    size = 0
    for line in _LINE.findall(data.decode("utf-8", "surrogateescape")):
        piece = line.translate(table)
        length = len(piece.encode("utf-8"))
        if size + length > _FORMAT_MAX:
            formats.append([])
            size = 0
        formats[-1].append(piece)
        size += length
    return formats
