"""Bytes as words and commands of the POSIX shell: dash, bash, zsh, mksh and busybox read them alike."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_LINE = re.compile(r"[^\n]{0,240}\n|[^\n]{1,240}")
"""A terminal in line mode takes 4,095 bytes in a line; a character takes at most 16 when escaped."""
_FORMAT_MAX = 60_000
"""Bytes of one `printf`'s format: Linux hands a program no argument of 128 KiB or more, and mksh has no `printf` of
its own."""
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
    """What stands for each character in a quoted `printf` format. Lone surrogates stand for bytes that are no UTF-8."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        escaped = "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
        self[code] = shown = char if char.isprintable() else escaped
        return shown


def is_readable(data: bytes) -> bool:
    """Whether quotes alone make a word of `data`: printable UTF-8, and line feeds."""
    try:
        return data.decode("utf-8").replace("\n", "").isprintable()
    except UnicodeDecodeError:
        return False


def shell_word(data: bytes) -> str:
    """`data` (without NUL) as one word; bytes that cannot be read are written in octal."""
    if is_readable(data):
        text = data.decode("utf-8")
        return text if _PLAIN.fullmatch(text) else _quoted(text)
    kept = data.rstrip(b"\n")  # a command substitution drops the line feeds at its end
    ending = data[len(kept) :].decode("ascii")
    return f'"$({print_command(kept)})"' + (_quoted(ending) if ending else "")


def print_command(data: bytes) -> str:
    """A command, over as many lines as it takes, that prints `data`, which may hold NUL."""
    commands = [_printf(pieces) for pieces in _formats(data)]
    return commands[0] if len(commands) == 1 else "\n".join(["{", *commands, "}"])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _printf(pieces: list[str]) -> str:
    """Octal escapes are understood in a format by every `printf`, of three digits they end where they should."""
    first = pieces[0]
    if first.startswith("-"):
        pieces = [f"\\055{first[1:]}", *pieces[1:]]  # some take it for an option
    # A backslash at the end of a line joins what stands on the next one to the same word.
    return "printf " + "\\\n".join(f"'{piece}'" for piece in pieces)


def _formats(data: bytes) -> list[list[str]]:
    """The formats that print `data` one after the other, each in pieces that fit a line."""
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
