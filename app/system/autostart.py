"""Start at sign-in: reads and writes the entry that each system has for it.

An entry counts as on only if it starts this program with this data folder. What the user changed in it (a delay, an
option, a prefix) is kept: switching off deletes only an entry that Hookline wrote unchanged, and disables any other.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from app.core.errors import HooklineError
from app.system import installation

MINIMIZED = "--minimized"
DATA_DIR = "--data-dir"


class Autostart:
    """Whether Hookline starts when the user signs in. All methods use files or the registry, so they may block.

    A system's own class says what signing in starts, and switches that.
    """

    def __init__(self, start: StartCommand) -> None:
        self._start = start

    @staticmethod
    def same(word: str) -> str:
        """Equal for words that the system takes for the same."""
        return word

    def enabled(self) -> bool:
        """Whether signing in starts this program with this data folder; HooklineError when the entry is unreadable."""
        words = self._active()
        return bool(words) and self._start.is_started_by(words, self.same)

    def replaced(self) -> str | None:
        """The other command that signing in starts instead of this program, which switching on would replace."""
        words = self._active()
        return None if not words or self._start.is_started_by(words, self.same) else self._line(words)

    def unavailable(self) -> str | None:
        """Why it cannot be switched here; None when it can."""
        return None

    def set(self, on: bool) -> None:
        """Switch it on or off; HooklineError, with nothing changed, when that fails."""
        raise NotImplementedError

    def _active(self) -> Sequence[str]:
        """The command that signing in starts; empty if it starts none."""
        raise NotImplementedError

    def _line(self, words: Sequence[str]) -> str:
        """A command as the system writes it."""
        return shlex.join(words)


class StartCommand:
    """The command that signing in starts: `program` (the words that start Hookline) with its data folder, None for the
    usual one."""

    def __init__(self, words: Sequence[str], folder: Path | None = None) -> None:
        self.program = tuple(words)
        self.folder = folder

    @property
    def words(self) -> list[str]:
        """The complete command."""
        folder_options = [DATA_DIR, str(self.folder)] if self.folder else []
        return [*self.program, *folder_options, MINIMIZED]

    def is_started_by(self, words: Sequence[str], same: Callable[[str], str] = str) -> bool:
        """Whether `words` start this program on this folder, with any prefix and any further options."""
        ours, theirs = [same(word) for word in self.program], [same(word) for word in words]
        for place in range(len(theirs) - len(ours) + 1):
            if theirs[place : place + len(ours)] == ours:
                given = _folder_in(words[place + len(ours) :])
                return (given and same(str(given))) == (self.folder and same(str(self.folder)))
        return False


def _folder_in(options: Sequence[str]) -> Path | None:
    for place, word in enumerate(options):
        if word.startswith(f"{DATA_DIR}="):
            return Path(word.partition("=")[2])
        if word == DATA_DIR and place + 1 < len(options):
            return Path(options[place + 1])
    return None


def write_atomically(path: Path, content: bytes) -> None:
    """Write atomically, so that a full disk cannot leave half an entry."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # If the entry is a link into a folder of the user's own settings, the link stays.
    target = path.resolve()
    beside = target.with_name(f".{target.name}.new")
    try:
        beside.write_bytes(content)
        beside.replace(target)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def explain_errors(place: Path, verb: str) -> Iterator[None]:
    """Turn the system's errors into a HooklineError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise HooklineError(f"{place} cannot be {verb}: {reason}. Check its permissions and the disk.") from error
    except ValueError as error:
        raise HooklineError(f"{place} is not a readable property list. Delete it and try again.") from error


class Unavailable(Autostart):
    """Used where it cannot be switched on, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(StartCommand(()))
        self._reason = reason

    def set(self, on: bool) -> None:
        if on:
            raise HooklineError(self._reason)

    def unavailable(self) -> str:
        return self._reason

    def _active(self) -> Sequence[str]:
        return ()


class Portable(Unavailable):
    """A portable program changes nothing on the computer outside its own folder."""

    def __init__(self, mark: Path) -> None:
        super().__init__(
            f"Hookline is in portable mode ({mark.name} is beside the program) and changes nothing on this computer"
            " outside its own folder. An installed Hookline can start at sign-in."
        )


def autostart_for(folder: Path | None, environment: Mapping[str, str] = os.environ) -> Autostart:
    """The implementation for this system. `folder` is the data folder to be given by name, None when it is the usual
    one."""
    if mark := installation.portable_mark():
        return Portable(mark)
    try:
        return _entry(StartCommand(window_command(installation.command()), folder), environment)
    except RuntimeError:  # from Path.home()
        return Unavailable("Start at sign-in is set up in your home folder, which is unknown: HOME is not set.")


def _entry(start: StartCommand, environment: Mapping[str, str]) -> Autostart:
    if sys.platform == "win32":
        return RunKey(start)
    if sys.platform == "darwin":
        return LaunchAgent(Path.home() / "Library" / "LaunchAgents", start)
    config = Path(environment.get("XDG_CONFIG_HOME", ""))
    # The specification says to ignore a relative path.
    return DesktopEntry((config if config.is_absolute() else Path.home() / ".config") / "autostart", start)


def window_command(words: Sequence[str]) -> list[str]:
    """`words` with the variant of its program that opens no console, if there is one: on Windows `hooklinew.exe` beside
    `hookline.exe`, as `pythonw.exe` beside `python.exe`."""
    own = Path(words[0])
    twin = own.with_stem(own.stem + "w")
    return [str(twin if own.suffix.lower() == ".exe" and twin.is_file() else own), *words[1:]]


_PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPED = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"]+)', re.DOTALL)


class DesktopEntry(Autostart):
    """Linux and other free desktops, by the Desktop Entry and Autostart specifications: a file in the user's
    `autostart` folder. A desktop that ignores it cannot be distinguished from one that does not."""

    def __init__(self, folder: Path, start: StartCommand) -> None:
        super().__init__(start)
        self.path = folder / "hookline.desktop"

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

    def _active(self) -> list[str]:
        """Empty if it is hidden, or the desktop has switched it off."""
        lines = self._lines()
        if _key(lines, "Hidden") == "true" or _key(lines, "X-GNOME-Autostart-enabled") == "false":
            return []
        return exec_words(_key(lines, "Exec") or "")

    def _line(self, words: Sequence[str]) -> str:
        return " ".join(words)

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


def _without_program(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not line.startswith(("Exec=", "TryExec="))]


def _write(path: Path, lines: Sequence[str]) -> None:
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


AGENT = "io.hookline.Hookline"


class LaunchAgent(Autostart):
    """macOS: a property list in the user's `LaunchAgents`; launchd reads it at the next sign-in."""

    def __init__(self, folder: Path, start: StartCommand) -> None:
        super().__init__(start)
        self.path = folder / f"{AGENT}.plist"

    def unavailable(self) -> str | None:
        """A program run directly from a download is at a path that does not exist at the next start."""
        if "/AppTranslocation/" in self._start.program[0]:
            return "macOS runs Hookline from a temporary folder. Move it to Applications and open it from there."
        return None

    def set(self, on: bool) -> None:
        """On: create or repair the agent. Off: delete it, or disable it if the user changed it."""
        import plistlib  # start-up time, see below

        stored = self._stored()
        fresh: dict[str, Any] = {"Label": AGENT, "ProgramArguments": self._start.words, "RunAtLoad": True}
        fresh |= {"ProcessType": "Interactive", "LimitLoadToSessionType": "Aqua"}
        with explain_errors(self.path, "written"):
            if on:
                ours = self._start.is_started_by(_arguments(stored))
                words = stored["ProgramArguments"] if ours else self._start.words
                changed = {**fresh, **stored, "ProgramArguments": words, "RunAtLoad": True}
                changed.pop("Disabled", None)
                write_atomically(self.path, plistlib.dumps(changed))
            elif {**stored, "ProgramArguments": 0} == {**fresh, "ProgramArguments": 0}:
                self.path.unlink(missing_ok=True)
            elif stored:
                write_atomically(self.path, plistlib.dumps({**stored, "Disabled": True}))

    def _active(self) -> list[str]:
        """Empty if it is disabled, or does not run at load."""
        stored = self._stored()
        return _arguments(stored) if stored.get("RunAtLoad") is True and not stored.get("Disabled") else []

    def _stored(self) -> dict[str, Any]:
        stored: object = {}
        with explain_errors(self.path, "read"), suppress(FileNotFoundError, NotADirectoryError):
            stored = _property_list(self.path.read_bytes())
        return stored if isinstance(stored, dict) else {}


def _property_list(content: bytes) -> object:
    """Raises ValueError."""
    import plistlib  # start-up time: elsewhere nothing else reads property lists
    from xml.parsers.expat import ExpatError  # as above

    try:
        return plistlib.loads(content)
    except ExpatError as error:
        raise ValueError(str(error)) from error


def _arguments(stored: Mapping[str, Any]) -> list[str]:
    words = stored.get("ProgramArguments")
    return [str(word) for word in words] if isinstance(words, list) else []


RUN_KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"
APPROVED_KEY = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
RUN_VALUE = "Hookline"


def windows_line(words: Sequence[str]) -> str:
    """A command line whose program is always quoted, as the installer writes it."""
    return " ".join([f'"{words[0]}"', *([subprocess.list2cmdline(words[1:])] if words[1:] else [])])


def windows_words(line: str) -> list[str]:
    """The words of a command line in which no word contains a quote."""
    return [inside or bare for inside, bare in re.findall(r'"([^"]*)"|(\S+)', line)]


if sys.platform == "win32":
    import winreg

    class RunKey(Autostart):
        """A value of the user's Run key, the same that the installer writes."""

        def __init__(self, start: StartCommand, run: str = RUN_KEY, approved: str = APPROVED_KEY) -> None:
            super().__init__(start)
            self._run, self._approved = run, approved

        @staticmethod
        def same(word: str) -> str:
            return os.path.normcase(word)

        def set(self, on: bool) -> None:
            """Write the value and clear that it was switched off elsewhere, or delete it."""
            with explain_errors(Path("HKEY_CURRENT_USER", self._run), "written"):
                if on:
                    if not self._start.is_started_by(windows_words(self._value()), self.same):
                        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, self._run) as key:
                            winreg.SetValueEx(key, RUN_VALUE, 0, winreg.REG_SZ, windows_line(self._start.words))
                    self._delete(self._approved)
                else:
                    self._delete(self._run)

        def _active(self) -> list[str]:
            """Empty if the Task Manager has switched it off, which it marks with an odd first byte."""
            state = self._read(self._approved)
            off = isinstance(state, bytes) and bool(state) and state[0] % 2 == 1
            return [] if off else windows_words(self._value())

        def _line(self, words: Sequence[str]) -> str:
            return windows_line(words)

        def _value(self) -> str:
            value = self._read(self._run)
            return value if isinstance(value, str) else ""

        def _read(self, key_name: str) -> object:
            with explain_errors(Path("HKEY_CURRENT_USER", key_name), "read"):
                try:
                    with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key_name) as key:
                        return winreg.QueryValueEx(key, RUN_VALUE)[0]
                except FileNotFoundError:
                    return None

        def _delete(self, key_name: str) -> None:
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key_name, 0, winreg.KEY_SET_VALUE) as key:
                    winreg.DeleteValue(key, RUN_VALUE)
            except FileNotFoundError:
                return
