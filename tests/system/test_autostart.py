"""Start at sign-in: each system's own file says it, changes of the user stay, and a program that moved is noticed."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.errors import HooklineError
from app.system import installation
from app.system.autostart import (
    DesktopEntry,
    LaunchAgent,
    Portable,
    StartCommand,
    autostart_for,
    exec_line,
    exec_words,
    window_command,
    windows_line,
    windows_words,
)

PROGRAM = "/opt/hookline/hookline"
ODD = ["/opt/my tools/hook line", 'a"b', "c`d", "$HOME", "back\\slash", "100%", "tab\tbed", "", "--data-dir", "/da ta"]


@pytest.fixture
def entry(tmp_path: Path) -> DesktopEntry:
    return DesktopEntry(tmp_path / "config" / "autostart", StartCommand([PROGRAM]))


@pytest.fixture
def agent(tmp_path: Path) -> LaunchAgent:
    return LaunchAgent(tmp_path / "LaunchAgents", StartCommand([PROGRAM]))


class TestDesktopEntry:
    def test_is_off_until_switched_on_and_leaves_nothing_when_switched_off(self, entry: DesktopEntry) -> None:
        assert not entry.enabled()
        entry.set(False)
        entry.set(True)
        assert entry.enabled()
        assert f"Exec={PROGRAM} --minimized\n" in entry.path.read_text()
        entry.set(True)
        entry.set(False)
        assert not entry.enabled()
        assert list(entry.path.parent.iterdir()) == []

    @pytest.mark.parametrize("line", ["Hidden=true", "X-GNOME-Autostart-enabled=false"])
    def test_what_the_desktop_switched_off_is_off_and_can_be_switched_on(self, entry: DesktopEntry, line: str) -> None:
        entry.set(True)
        text = entry.path.read_text().replace("X-GNOME-Autostart-enabled=true", line)
        entry.path.write_text(text)
        assert not entry.enabled()
        entry.set(True)
        assert entry.enabled()

    def test_what_the_user_changed_stays(self, entry: DesktopEntry) -> None:
        entry.set(True)
        text = entry.path.read_text()
        text = text.replace(f"Exec={PROGRAM}", f"# mine\nExec=env QT_SCALE_FACTOR=2 {PROGRAM}  --port 9000")
        text += "X-GNOME-Autostart-Delay=20\n[Desktop Action x]\nName=x\nExec=x\n"
        entry.path.write_text(text)
        assert entry.enabled()
        entry.set(False)
        assert not entry.enabled()
        entry.set(True)
        assert entry.enabled()
        kept = entry.path.read_text().replace("Hidden=false\n", "")
        assert kept == text

    def test_a_program_that_moved_is_told_and_renewed(self, entry: DesktopEntry) -> None:
        entry.set(True)
        moved = DesktopEntry(entry.path.parent, StartCommand(["/home/ann/Hook line.AppImage"]))
        assert not moved.enabled()
        assert moved.replaced() == f"{PROGRAM} --minimized"
        moved.set(True)
        assert moved.enabled()
        assert moved.replaced() is None
        assert not entry.enabled()
        assert "TryExec=/home/ann/Hook line.AppImage\n" in entry.path.read_text()
        moved.set(False)
        assert not entry.path.exists()

    def test_another_data_folder_is_another_start(self, entry: DesktopEntry) -> None:
        entry.set(True)
        work = DesktopEntry(entry.path.parent, StartCommand([PROGRAM], Path("/home/ann/work hooks")))
        assert not work.enabled()
        work.set(True)
        assert work.enabled()
        assert f'Exec={PROGRAM} --data-dir "/home/ann/work hooks" --minimized\n' in entry.path.read_text()
        assert not entry.enabled()
        assert entry.replaced() == f"{PROGRAM} --data-dir /home/ann/work hooks --minimized"

    def test_a_link_of_the_user_stays_a_link(self, entry: DesktopEntry, tmp_path: Path) -> None:
        entry.set(True)
        kept = tmp_path / "dotfiles.desktop"
        entry.path.rename(kept)
        entry.path.symlink_to(kept)
        kept.write_text(kept.read_text() + "Hidden=true\n")
        entry.set(True)
        assert entry.path.is_symlink()
        assert entry.enabled()

    @pytest.mark.parametrize(
        "content", [b"", b"\xff\xfe\x00", b"Exec=" + PROGRAM.encode(), b"[Desktop Entry]\nExec=\n"]
    )
    def test_a_broken_entry_is_off_and_mended(self, entry: DesktopEntry, content: bytes) -> None:
        entry.path.parent.mkdir(parents=True)
        entry.path.write_bytes(content)
        assert not entry.enabled()
        entry.set(True)
        assert entry.enabled()

    def test_what_cannot_be_written_or_read_is_said_in_words(self, entry: DesktopEntry) -> None:
        entry.path.parent.parent.write_text("a file where a folder should be")
        with pytest.raises(HooklineError, match=r"hookline\.desktop cannot be written: .+\. Check its permissions"):
            entry.set(True)
        entry.path.parent.parent.unlink()
        entry.path.mkdir(parents=True)
        with pytest.raises(HooklineError, match=r"hookline\.desktop cannot be read"):
            entry.enabled()

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows knows of no such file")
    def test_an_unreadable_entry_is_not_reported_as_off(self, tmp_path: Path) -> None:
        with pytest.raises(HooklineError, match=r"hookline\.desktop cannot be read"):
            DesktopEntry(tmp_path / ("x" * 300), StartCommand([PROGRAM])).enabled()

    def test_any_command_survives_the_line(self) -> None:
        assert exec_words(exec_line(ODD)) == ODD
        assert exec_line(["hookline", "%u", "a b", "a\\b"]) == r'hookline %%u "a b" "a\\\\b"'
        assert exec_words("hookline %u --minimized") == ["hookline", "--minimized"]

    @pytest.mark.skipif(shutil.which("desktop-file-validate") is None, reason="desktop-file-validate is not installed")
    def test_the_validator_accepts_it(self, tmp_path: Path) -> None:
        entry = DesktopEntry(tmp_path, StartCommand(["/opt/my tools/hook$line"], Path("/da ta/100%")))
        entry.set(True)
        done = subprocess.run(
            ["desktop-file-validate", str(entry.path)], capture_output=True, text=True, check=False, timeout=30
        )
        assert (done.returncode, done.stdout) == (0, "")


class TestLaunchAgent:
    def test_is_off_until_switched_on_and_leaves_nothing_when_switched_off(self, agent: LaunchAgent) -> None:
        assert not agent.enabled()
        agent.set(False)
        agent.set(True)
        assert agent.enabled()
        held = plistlib.loads(agent.path.read_bytes())
        assert held["ProgramArguments"] == [PROGRAM, "--minimized"]
        assert held["RunAtLoad"] is True
        agent.set(False)
        assert not agent.enabled()
        assert list(agent.path.parent.iterdir()) == []

    def test_what_the_user_changed_stays(self, agent: LaunchAgent) -> None:
        agent.set(True)
        held = plistlib.loads(agent.path.read_bytes())
        held |= {"EnvironmentVariables": {"LANG": "de_DE"}, "ProgramArguments": ["nice", PROGRAM, "--port", "9000"]}
        agent.path.write_bytes(plistlib.dumps(held))
        assert agent.enabled()
        agent.set(False)
        assert not agent.enabled()
        agent.set(True)
        assert agent.enabled()
        assert plistlib.loads(agent.path.read_bytes()) == held

    def test_a_program_that_moved_is_told_and_renewed(self, agent: LaunchAgent) -> None:
        agent.set(True)
        moved = LaunchAgent(agent.path.parent, StartCommand(["/Applications/Hookline.app/Contents/MacOS/hookline"]))
        assert not moved.enabled()
        assert moved.replaced() == f"{PROGRAM} --minimized"
        moved.set(True)
        assert moved.enabled()
        assert moved.replaced() is None

    @pytest.mark.parametrize("content", [b"", b"no property list", b"<plist><dict>", b"bplist00 and no more"])
    def test_a_broken_list_is_said_in_words(self, agent: LaunchAgent, content: bytes) -> None:
        agent.path.parent.mkdir()
        agent.path.write_bytes(content)
        with pytest.raises(HooklineError, match="is not a readable property list"):
            agent.enabled()

    def test_a_temporary_place_cannot_be_started_from(self, tmp_path: Path, agent: LaunchAgent) -> None:
        assert agent.unavailable() is None
        away = "/private/var/folders/x/AppTranslocation/y/d/Hookline.app/Contents/MacOS/hookline"
        assert "Applications" in (LaunchAgent(tmp_path, StartCommand([away])).unavailable() or "")


class TestWindows:
    def test_the_line_is_the_installers(self) -> None:
        words = [r"C:\Program Files\Hookline\hooklinew.exe", "--minimized"]
        assert windows_line(words) == r'"C:\Program Files\Hookline\hooklinew.exe" --minimized'
        assert windows_line([r"C:\h.exe", "--data-dir", r"D:\my hooks"]) == r'"C:\h.exe" --data-dir "D:\my hooks"'
        assert windows_words(windows_line(words)) == words

    def test_the_program_without_a_console_is_started(self, tmp_path: Path) -> None:
        console = tmp_path / "hookline.exe"
        assert window_command([str(console), "x"]) == [str(console), "x"]
        (twin := tmp_path / "hooklinew.exe").touch()
        assert window_command([str(console), "x"]) == [str(twin), "x"]
        assert window_command([str(twin)]) == [str(twin)]

    @pytest.mark.skipif(sys.platform != "win32", reason="needs Windows' registry")
    def test_switching_writes_and_deletes_the_value(self) -> None:
        from app.system.autostart import RunKey

        run, approved = r"Software\Hookline test\Run", r"Software\Hookline test\Approved"
        key = RunKey(StartCommand([r"C:\Hook line\hooklinew.exe"]), run, approved)
        key.set(False)
        assert not key.enabled()
        key.set(True)
        assert key.enabled()
        moved = RunKey(StartCommand([r"D:\hooklinew.exe"]), run, approved)
        assert moved.replaced() == r'"C:\Hook line\hooklinew.exe" --minimized'
        moved.set(True)
        assert moved.enabled()
        assert not key.enabled()
        moved.set(False)
        assert moved.replaced() is None


class TestChoosing:
    def test_the_folder_is_the_one_the_system_names(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(Path, "home", lambda: tmp_path)
        for given, place in (({}, ".config"), ({"XDG_CONFIG_HOME": "relative"}, ".config")):
            chosen = autostart_for(None, given)
            assert isinstance(chosen, DesktopEntry)
            assert chosen.path == tmp_path / place / "autostart" / "hookline.desktop"
        named = autostart_for(None, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")})
        assert isinstance(named, DesktopEntry)
        assert named.path == tmp_path / "xdg" / "autostart" / "hookline.desktop"
        monkeypatch.setattr(sys, "platform", "darwin")
        mac = autostart_for(None, {})
        assert isinstance(mac, LaunchAgent)
        assert mac.path == tmp_path / "Library" / "LaunchAgents" / "io.hookline.Hookline.plist"

    def test_a_portable_program_says_why_not(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "frozen", True, raising=False)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "hookline"))
        (tmp_path / installation.PORTABLE_MARK).touch()
        chosen = autostart_for(None, {"XDG_CONFIG_HOME": str(tmp_path)})
        assert isinstance(chosen, Portable)
        assert "portable mode (hookline.portable is beside the program)" in chosen.unavailable()
        assert not chosen.enabled()
        with pytest.raises(HooklineError, match="portable"):
            chosen.set(True)

    def test_without_a_home_there_is_no_place_for_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown() -> Path:
            raise RuntimeError

        monkeypatch.setattr(Path, "home", unknown)
        monkeypatch.setattr(sys, "platform", "linux")
        chosen = autostart_for(None, {})
        assert "HOME is not set" in (chosen.unavailable() or "")
        with pytest.raises(HooklineError, match="HOME is not set"):
            chosen.set(True)

    @pytest.mark.skipif(sys.platform != "linux", reason="the desktop entry is for Linux")
    def test_what_the_entry_starts_is_hookline(self, tmp_path: Path) -> None:
        """As a desktop would start it: the line unquoted by the specification, from another folder."""
        chosen = autostart_for(None, {"XDG_CONFIG_HOME": str(tmp_path)})
        assert isinstance(chosen, DesktopEntry)
        chosen.set(True)
        line = next(line for line in chosen.path.read_text().splitlines() if line.startswith("Exec="))
        words = [word for word in exec_words(line.removeprefix("Exec=")) if word != "--minimized"]
        assert shlex.join(words) == shlex.join(installation.command())
        done = subprocess.run([*words, "version"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=30)
        assert done.stdout.startswith("hookline ")
