"""Tries the Windows installer under wine, with a stand-in for the program: installs, updates, uninstalls, silently.

`python packaging/windows/trial.py` runs it alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

# Started as a file, it finds only its own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from project import PackagingError
from trial.room import TrialError
from windows.installer import compile_script, find_makensis, make_installer
from windows.wine import Windows, wait_until, windows

STAND_IN = Path(__file__).with_name("stand_in.nsi")
KEY = r"Software\Microsoft\Windows\CurrentVersion"
UNINSTALL = rf"{KEY}\Uninstall\Hookline"
COMMAND = r"Software\Classes\hookline\shell\open\command"
OLD, NEW = "1.0.0", "1.1.0rc1"
CANNOT_RUN, IN_USE = 3, 4
# Longer than any string of NSIS, with a name that must stay as it is written.
USERS_PATH = ";".join(["%USERPROFILE%\\bin", *(rf"C:\Tools\{number:04}" for number in range(200))])


def try_installer() -> str:
    """Everything the installer promises that wine can show; the versions tried. TrialError says what is not so."""
    with tempfile.TemporaryDirectory(prefix="hookline-wine-") as given:
        folder = Path(given)
        try:
            setups = {version: make_setup(folder, version) for version in (OLD, NEW)}
        except PackagingError as error:
            raise TrialError(str(error)) from error
        with windows(folder / "windows") as machine:
            trial = Trial(machine, setups)
            trial.refuses_old_windows()
            trial.installs()
            trial.opens_links()
            trial.waits_for_a_running_program()
            trial.updates()
            trial.changes_choices()
            trial.uninstalls_and_keeps_data()
            trial.moves()
            trial.uninstalls_with_data()
            return f"{machine.run('--version').strip()}: install, update, move, uninstall with and without the data"


def make_setup(folder: Path, version: str) -> Path:
    """An installer whose program is the stand-in; each version has a file that the other has not."""
    payload = folder / version
    library = payload / "_internal" / "it's 100 $ ü"
    library.mkdir(parents=True)
    (library / f"of {version}.dll").write_text(version, "utf-8")
    (payload / "_internal" / "both.dll").write_text(version, "utf-8")
    for name in ("hookline.exe", "hooklinew.exe"):
        compile_script(find_makensis(), {"OUTPUT": payload / name}, STAND_IN)
    return make_installer(payload, folder, version)


class Trial:
    """The life of an installation on one machine."""

    def __init__(self, machine: Windows, setups: dict[str, Path]) -> None:
        self.machine = machine
        self.setups = setups
        self.folder = machine.local / "Programs" / "Hookline"
        self.data = machine.local / "hookline"
        self.shortcut = machine.menu / "Hookline.lnk"
        self.on_desktop = machine.desktop / "Hookline.lnk"

    def setup(self, version: str, *options: str, expect: int = 0) -> None:
        """Run an installer silently."""
        self.machine.run(self.setups[version], "/S", *options, expect=expect)

    def path(self) -> list[str]:
        """The folders of the user's PATH."""
        return (self.machine.value("Environment", "Path") or "").split(";")

    def program(self, name: str = "hooklinew.exe") -> str:
        """The installed program as Windows writes it."""
        user = self.machine.local.relative_to(self.machine.drive)
        return "\\".join(["C:", *user.parts, "Programs", "Hookline", name])

    def refuses_old_windows(self) -> None:
        self.machine.become("win7")
        self.setup(OLD, expect=CANNOT_RUN)
        require(not self.folder.exists(), "Windows 7 was refused, and yet something was installed")
        self.machine.become("win10")

    def installs(self) -> None:
        self.machine.run("reg", "add", r"HKCU\Environment", "/v", "Path", "/t", "REG_EXPAND_SZ", "/d", USERS_PATH, "/f")
        self.setup(OLD, "/DESKTOP=1", "/AUTOSTART=1")
        self.is_whole(OLD)
        window = self.program()
        for name, value in {
            "DisplayName": "Hookline",
            "DisplayVersion": OLD,
            "DisplayIcon": window,
            "InstallLocation": self.program("").rstrip("\\"),
            "UninstallString": f'"{self.program("uninstall.exe")}"',
            "QuietUninstallString": f'"{self.program("uninstall.exe")}" /S',
        }.items():
            self.holds(UNINSTALL, name, value)
        self.holds(rf"{KEY}\Run", "Hookline", f'"{window}" --minimized')
        self.holds(rf"{KEY}\App Paths\hookline.exe", "", window)
        self.holds(COMMAND, "", f'"{window}" -- "%1"')
        require(self.machine.value(r"Software\Classes\hookline", "URL Protocol") == "", "URL Protocol is not there")
        require(self.shortcut.is_file(), f"{self.shortcut} is missing")
        require(self.on_desktop.is_file(), f"{self.on_desktop} is missing")
        self.path_is(with_hookline=True)

    def opens_links(self) -> None:
        """A link comes to the program as it was clicked."""
        started, link = self.machine.local / "started.txt", "hookline://request/0198?a=1&b=%20c"
        # Windows looks for links among the user's own programs too; wine 8 only among everybody's.
        everybody = r"HKLM\Software\Classes\hookline"
        self.machine.run("reg", "copy", r"HKCU\Software\Classes\hookline", everybody, "/s", "/f")
        self.machine.run("start", link)
        wait_until(started.is_file, "a link had opened the program")
        wait_until(lambda: started.read_text("utf-16") == f'-- "{link}"', "the program was told the link")
        self.machine.run("reg", "delete", everybody, "/f")

    def waits_for_a_running_program(self) -> None:
        flag = self.machine.local / "run.flag"
        flag.touch()
        told = "C:\\" + "\\".join(flag.relative_to(self.machine.drive).parts)
        process = self.machine.start(self.program(), "/while", told)
        try:
            wait_until((self.machine.local / "running.txt").is_file, "the program was running")
            self.setup(NEW, expect=IN_USE)
            self.is_whole(OLD)
            self.holds(UNINSTALL, "DisplayVersion", OLD)
        finally:
            flag.unlink()
            process.wait(timeout=60)

    def updates(self) -> None:
        own = f'"{self.program()}" --data-dir C:\\data --minimized'
        self.machine.run("reg", "add", rf"HKCU\{KEY}\Run", "/v", "Hookline", "/d", own, "/f")
        self.setup(NEW)
        self.is_whole(NEW)
        self.holds(UNINSTALL, "DisplayVersion", NEW)
        require(self.on_desktop.is_file(), "the update forgot the desktop shortcut")
        self.holds(rf"{KEY}\Run", "Hookline", own)
        self.path_is(with_hookline=True)

    def changes_choices(self) -> None:
        self.setup(NEW, "/STARTMENU=0", "/DESKTOP=0", "/AUTOSTART=0", "/LINKS=0", "/PATH=0")
        self.is_whole(NEW)
        self.nothing_but_the_program()
        self.setup(NEW)
        require(not self.shortcut.exists(), "an update made a choice anew that had been turned off")
        self.setup(NEW, "/STARTMENU=1", "/DESKTOP=1", "/AUTOSTART=1", "/LINKS=1", "/PATH=1")

    def uninstalls_and_keeps_data(self) -> None:
        self.data.mkdir()
        (self.data / "hookline.db").write_text("captured", "utf-8")
        (self.folder / "_internal" / "my own.txt").write_text("mine", "utf-8")
        self.uninstall()
        left = sorted(path.name for path in self.folder.rglob("*"))
        require(left == ["_internal", "my own.txt"], f"the folder was left with {left}")
        require((self.data / "hookline.db").read_text("utf-8") == "captured", "the data are gone")

    def moves(self) -> None:
        """Installed again elsewhere, the first place is left."""
        (self.folder / "_internal" / "my own.txt").unlink()
        (self.folder / "_internal").rmdir()
        self.folder.rmdir()
        self.setup(OLD, r"/D=C:\Tools\Hookline")
        elsewhere = self.machine.inside(r"C:\Tools\Hookline")
        require((elsewhere / "hooklinew.exe").is_file(), f"nothing was installed in {elsewhere}")
        require(r"C:\Tools\Hookline" in self.path(), "PATH does not name the chosen folder")
        self.setup(NEW, f"/D={self.program('').rstrip(chr(92))}")
        self.is_whole(NEW)
        require(not elsewhere.exists(), f"{elsewhere} was left behind")
        self.path_is(with_hookline=True)

    def uninstalls_with_data(self) -> None:
        own = f'"{self.program()}" --data-dir C:\\data --minimized'
        self.machine.run("reg", "add", rf"HKCU\{KEY}\Run", "/v", "Hookline", "/d", own, "/f")
        self.uninstall("/DATA")
        require(not self.folder.exists(), f"{self.folder} is still there")
        require(not self.data.exists(), f"{self.data} is still there")

    def uninstall(self, *options: str) -> None:
        """Run the uninstaller as Windows would, silently, and see to it that nothing is left."""
        self.machine.run(self.program("uninstall.exe"), "/S", *options)
        # It goes on from a temporary copy of itself, which cannot be waited for.
        wait_until(lambda: self.machine.value(UNINSTALL, "DisplayName") is None, "Hookline was uninstalled")
        wait_until(lambda: not (self.folder / "uninstall.exe").exists(), "the uninstaller had removed itself")
        self.nothing_but_the_program()

    def nothing_but_the_program(self) -> None:
        """No shortcut, no autostart, no link scheme, and the user's PATH as it was before Hookline came."""
        require(not self.shortcut.exists(), f"{self.shortcut} is still there")
        require(not self.on_desktop.exists(), f"{self.on_desktop} is still there")
        for key, name in ((rf"{KEY}\Run", "Hookline"), (COMMAND, ""), (r"Software\Classes\hookline", "")):
            require(self.machine.value(key, name) is None, f"{key} {name} is still in the registry")
        self.path_is(with_hookline=False)

    def is_whole(self, version: str) -> None:
        """Every file of this version is there and none of the other."""
        found = sorted(path.name for path in self.folder.rglob("*") if path.is_file())
        wanted = sorted(["both.dll", "hookline.exe", "hooklinew.exe", f"of {version}.dll", "uninstall.exe"])
        require(found == wanted, f"after {version} was installed, its folder holds {found}")
        require((self.folder / "_internal" / "both.dll").read_text("utf-8") == version, "a file was not replaced")

    def path_is(self, *, with_hookline: bool) -> None:
        """The user's own folders are all there, and Hookline's once or not at all."""
        own = [self.program("").rstrip("\\")] if with_hookline else []
        found = self.path()
        require(found == USERS_PATH.split(";") + own, f"PATH ends with {found[-3:]} and has {len(found)} folders")

    def holds(self, key: str, name: str, value: str) -> None:
        found = self.machine.value(key, name)
        require(found == value, f"the registry has {found!r} for {key} {name}, not {value!r}")


def require(true: bool, otherwise: str) -> None:
    """TrialError with the words of `otherwise` unless `true`."""
    if not true:
        raise TrialError(otherwise)


def main() -> int:
    try:
        print(try_installer())
    except (TrialError, subprocess.SubprocessError) as error:
        print(f"installer trial: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
