"""Start at sign-in on Linux and other free desktops, by the Desktop Entry and Autostart specifications."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from app.system.autostart.entry import StartCommand, explain_errors, write_atomically

_PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPED = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"]+)', re.DOTALL)


class DesktopEntry:
    """A file in the user's `autostart` folder."""

    def __init__(self, folder: Path, start: StartCommand) -> None:
        self.path = folder / "hookline.desktop"
        self._start = start

    def enabled(self) -> bool:
        """Whether the entry is neither hidden nor switched off by the desktop, and starts this program."""
        return self._start.is_started_by(_active_exec(self._lines()))

    def replaced(self) -> str | None:
        words = _active_exec(self._lines())
        return None if not words or self._start.is_started_by(words) else " ".join(words)

    def unavailable(self) -> str | None:
        """None: a desktop that ignores the entry cannot be distinguished from one that does not."""
        return None

    def set(self, on: bool) -> None:
        """On: create or repair the entry. Off: delete it, or hide it if the user changed it."""
        lines = self._lines()
        with explain_errors(self.path, "written"):
            if on:
                _write(self.path, self._switched_on(lines) if _key(lines, "Exec") else self._fresh())
            elif _without_program(lines) == _without_program(self._fresh()):
                self.path.unlink(missing_ok=True)
            elif _key(lines, "Exec") and _key(lines, "Hidden") != "true":
                _write(self.path, _with_key(lines, "Hidden", "true"))

    def _fresh(self) -> list[str]:
        return [
            "[Desktop Entry]",
            "Type=Application",
            "Version=1.4",
            "Name=Hookline",
            "Comment=Catch webhooks from the moment you sign in",
            "Icon=hookline",
            f"Exec={exec_line(self._start.words)}",
            f"TryExec={string_value(self._start.program[0])}",
            "Terminal=false",
            "X-GNOME-Autostart-enabled=true",
        ]

    def _switched_on(self, lines: list[str]) -> list[str]:
        if not self._start.is_started_by(exec_words(_key(lines, "Exec") or "")):
            lines = _with_key(lines, "Exec", exec_line(self._start.words))
            lines = _with_key(lines, "TryExec", string_value(self._start.program[0]))
        if _key(lines, "Hidden") is not None:
            lines = _with_key(lines, "Hidden", "false")
        return _with_key(lines, "X-GNOME-Autostart-enabled", "true")

    def _lines(self) -> list[str]:
        with explain_errors(self.path, "read"), suppress(FileNotFoundError, NotADirectoryError):
            return self.path.read_text("utf-8", "surrogateescape").splitlines()
        return []


def string_value(text: str) -> str:
    """`text` as a string of a desktop entry."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def quoted(word: str) -> str:
    """`word` as an argument of a desktop entry's Exec: in double quotes unless it is plain."""
    if _PLAIN.fullmatch(word):
        return word
    return '"' + re.sub(r'(["`$\\])', r"\\\1", word) + '"'


def exec_line(words: Sequence[str]) -> str:
    """The value of Exec. A percent sign would be a field code, so it is doubled."""
    return string_value(" ".join(quoted(word.replace("%", "%%")) for word in words))


def exec_words(value: str) -> list[str]:
    """The words of an Exec value, without its field codes."""
    line = re.sub(r"\\(.)", lambda found: _UNESCAPED.get(found[1], found[0]), value)
    words = []
    for inside, bare in _WORD.findall(line):
        if not re.fullmatch(r"%[a-zA-Z]", bare):
            words.append((bare or re.sub(r"\\(.)", r"\1", inside, flags=re.DOTALL)).replace("%%", "%"))
    return words


def _key(lines: Sequence[str], name: str) -> str | None:
    return next((value for _, key, value in _entries(lines) if key == name), None)


def _with_key(lines: Sequence[str], name: str, value: str) -> list[str]:
    """`lines` with `name` set in place, or added at the end of the main group, which must have an entry."""
    places = [place for place, key, _ in _entries(lines) if key == name]
    changed = list(lines)
    if places:
        changed[places[0]] = f"{name}={value}"
        return changed
    last = max(place for place, _, _ in _entries(lines))
    return [*changed[: last + 1], f"{name}={value}", *changed[last + 1 :]]


def _entries(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Index, key and value of each entry in the main group."""
    group = ""
    for place, line in enumerate(lines):
        if line.startswith("["):
            group = line.strip()
        elif group == "[Desktop Entry]" and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            yield place, key.strip(), value.strip()


def _active_exec(lines: Sequence[str]) -> list[str]:
    if _key(lines, "Hidden") == "true" or _key(lines, "X-GNOME-Autostart-enabled") == "false":
        return []
    return exec_words(_key(lines, "Exec") or "")


def _without_program(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not line.startswith(("Exec=", "TryExec="))]


def _write(path: Path, lines: Sequence[str]) -> None:
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
