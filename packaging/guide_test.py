"""`make guide-test`: a new user follows the guide page by page on a bare system, with each kind of installation.

All is as printed: the ports are the guide's, in a network without anything else, and what a page installs is installed,
from wheels that are fetched before. Only the tunnel programs are stand-ins. The page about a team's server is about
several machines, and left to the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

# Started as a file, it finds only its own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from linux import deb
from project import BUILD, DIST, ROOT, version
from tests.docs import terminal
from tests.docs.pages import PAGES
from tests.docs.reader import TUNNEL_PROGRAMS, Place, Reader, stand_in, write
from trial.report import Report
from trial.room import APT, HOME, PATH, USER, Room, TrialError, enter_namespace, make_base, run, unpack

WORK = BUILD / "trial"
WHEELS = "/opt/wheels"
ENVIRONMENT, CHECKOUT = f"{HOME}/hookline", f"{HOME}/checkout"
START, READ = "README.md", "--read"
SEVERAL_MACHINES = "team.md"
VARIABLES = {
    "HOME": HOME,
    "USER": USER,
    "PATH": PATH,
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": WHEELS,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
LIMIT_S = 300.0
"""For a command of a page: it may install PySide6."""


def install_package(room: Room) -> None:
    room.as_root(*APT, "install", room.bring(DIST / deb.file_name(version())))


def install_nothing(room: Room) -> None:
    """The first page does it."""


def install_checkout(room: Room) -> None:
    archive = WORK / "checkout.tar"
    run("git", "-C", ROOT, "archive", "--output", archive, "HEAD")
    room.run("mkdir", CHECKOUT)
    room.run("tar", "-C", CHECKOUT, "-xf", room.bring(archive))
    room.run("python3", "-m", "venv", ENVIRONMENT, variables=VARIABLES)
    pip = (f"{ENVIRONMENT}/bin/python", "-m", "pip", "install", "--quiet", "-e", ".[window]")
    room.run(*pip, variables=VARIABLES, folder=CHECKOUT)


FORMS: dict[str, Callable[[Room], None]] = {
    "package": install_package,
    "pip": install_nothing,
    "checkout": install_checkout,
}


class BareSystem(Place):
    """The home folder of the room's user."""

    as_printed = True

    def __init__(self, room: Room, path: str) -> None:
        self.folder, self.environment = room.inside(HOME), dict(os.environ)
        self.data = self.folder / ".local/share/hookline"
        self._room, self._variables = room, {**VARIABLES, "PATH": path}

    def command(self, words: list[str]) -> list[str]:
        return self._room.command(words, variables=self._variables, folder=f"{HOME}/work")

    def path(self, file: Path) -> str:
        return f"/{file.relative_to(self._room.root)}"


@cache
def wheels(python: str) -> Path:
    """A folder with Hookline and all that pages install, for this version of Python."""
    folder = WORK / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    wanted = (f"hookline[https,mcp,window] @ {wheel.as_uri()}", "pytest", "pytest-xdist", "hatchling", "editables")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder)
    run(*pip, "--only-binary", ":all:", "--python-version", python, *wanted)
    return folder


def make_room(form: str) -> Room:
    """A bare system with what the first page of the guide asks for, and Hookline in this form."""
    room = unpack(WORK / "base.tar", WORK / form)
    room.as_root("apt-get", "-q", "update")
    room.as_root(*APT, "install", "curl", "python3", "python3-venv")
    for entry, program in TUNNEL_PROGRAMS.items():
        write(room.inside(f"/usr/local/bin/{program}"), stand_in(entry))
        room.inside(f"/usr/local/bin/{program}").chmod(0o755)
    # debootstrap leaves it out; every container has it.
    room.inside("/etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n", "utf-8")
    python = room.run("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout.strip()
    room.bring(wheels(python))
    FORMS[form](room)
    return room


def read_alone(form: str, page: Path) -> str:
    """Follow the page in a process with a network of its own."""
    command = ["unshare", "--net", sys.executable, sys.argv[0], READ, form, page.name]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise TrialError(done.stdout)
    return done.stdout


def read(form: str, page: Path) -> int:
    """What `read_alone` runs: the exit code."""
    run("ip", "link", "set", "lo", "up")
    terminal.LIMIT_S = LIMIT_S
    room = Room(WORK / form)
    for left in room.inside(HOME).iterdir():
        if left.name not in (Path(ENVIRONMENT).name, Path(CHECKOUT).name):
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
    room.run("mkdir", f"{HOME}/work")
    path = PATH if form == "package" or page.name == START else f"{ENVIRONMENT}/bin:{PATH}"
    reader = Reader(page, BareSystem(room, path))
    try:
        reader.follow()
    except AssertionError as error:
        print(error)
        return 1
    finally:
        reader.close()
    return 0


def main() -> int:
    """Every page with every form, or those that are named; the exit code."""
    enter_namespace([sys.executable, *sys.argv])
    if sys.argv[1:2] == [READ]:
        return read(sys.argv[2], PAGES / sys.argv[3])
    forms = sys.argv[1:] or list(FORMS)
    if unknown := set(forms) - FORMS.keys():
        print(f"guide-test: there is no form {', '.join(unknown)}; there are {', '.join(FORMS)}.", file=sys.stderr)
        return 2
    report = Report()
    try:
        WORK.mkdir(parents=True, exist_ok=True)
        if not (WORK / "base.tar").is_file():
            print("making the bare system (once)", flush=True)
            make_base(WORK / "base.tar")
        pages = sorted(PAGES.glob("*.md"), key=lambda page: (page.name != START, page.name))
        pages = [page for page in pages if page.name != SEVERAL_MACHINES]
        if "package" in forms and not (DIST / deb.file_name(version())).is_file():
            raise TrialError("dist/ has no .deb. Run make package first, or choose pip or checkout.")
        for form in forms:
            make_room(form)
            for page in pages[form == "checkout" :]:  # the first page would install the wheel
                report.trial(f"{form}: {page.name}", partial(read_alone, form, page))
    except TrialError as error:
        print(f"guide-test: {error}", file=sys.stderr)
        return 1
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
