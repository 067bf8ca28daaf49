"""The forms that need no installation: the onefile program, the AppDir, the archive, and what an .rpm holds."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trial.room import HOME, PATH, Room, TrialError, run, tail
from trial.screen import screen
from trial.senders import wait_for

AS_ANN = {"HOME": HOME, "PATH": PATH, "LANG": "C.UTF-8"}
TUNNEL = """#!/bin/sh
env > "$HOME/tunnel.new"
echo $$ >> "$HOME/tunnel.new"
mv "$HOME/tunnel.new" "$HOME/tunnel.env"
exec sleep 600
"""


def names_missing_library(room: Room, program: str) -> str:
    """On a system without Qt's libraries a start of the window says which one is missing; no traceback."""
    with screen() as display:
        command = room.command([program], variables={**AS_ANN, "DISPLAY": display})
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=60)
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 3 or "apt install" not in said or "Traceback" in said:
        raise TrialError(f"ended with {done.returncode} and said:\n{tail(said)}")
    return said


def serves_without_libraries(room: Room, program: str) -> str:
    """What needs no window needs none of its libraries."""
    return _last_line(room.run(program, "selftest", "--headless", folder="/var/tmp").stdout)


def selftest(room: Room, program: str) -> str:
    """As an ordinary user, from another folder, with an empty environment."""
    return _last_line(room.run(program, "selftest", folder="/var/tmp").stdout)


def appdir_selftest(room: Room, folder: str) -> str:
    """The AppDir as an AppImage starts it; a script stands in for the image, which mounts the folder and runs this."""
    image = room.inside(f"{HOME}/Hookline.AppImage")
    image.write_text(f'#!/bin/sh\nexec {folder}/AppRun "$@"\n', "utf-8")
    image.chmod(0o755)
    variables = {"APPDIR": folder, "APPIMAGE": f"{HOME}/{image.name}", "ARGV0": image.name, "OWD": HOME}
    return _last_line(room.run(f"{folder}/AppRun", "selftest", variables=variables, folder="/var/tmp").stdout)


def serves_without_qt(room: Room, program: str) -> str:
    """Not even loaded, though the system has all that it needs."""
    with _serving(room, program, AS_ANN) as (_, pid):
        maps = Path(f"/proc/{pid}/maps").read_text("utf-8")
    if found := sorted(set(re.findall(r"libQt6\w+", maps))):
        raise TrialError(f"hookline serve has loaded {' '.join(found)}")
    return ""


def tunnel_ends_with_hookline(room: Room, program: str) -> str:
    """A tunnel program has its user's environment, none of the bundle's, and ends when Hookline is killed."""
    script, variables = f"{HOME}/tunnel.sh", {**AS_ANN, "LD_LIBRARY_PATH": "/opt/own"}
    room.inside(script).write_text(TUNNEL, "utf-8")
    room.inside(script).chmod(0o755)
    told = room.inside(f"{HOME}/tunnel.env")
    told.unlink(missing_ok=True)
    with _serving(room, program, variables) as (process, pid):
        options = ("--set", f"command={script}", "--set", "url=https://hooks.example.org")
        room.run(program, "tunnel", "start", "own", *options, "--data-dir", _data_of(program), variables=variables)
        lines = wait_for("the tunnel program", lambda: told.read_text("utf-8").splitlines() if told.is_file() else None)
        pids = (pid, int(lines.pop()))
        process.kill()
        process.wait()
        wait_for("the end of all", lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids) or None)
    bundled = [line for line in lines if "/_internal" in line or "/_MEI" in line or line.startswith("_PYI")]
    if bundled or "LD_LIBRARY_PATH=/opt/own" not in lines:
        raise TrialError("the tunnel program got:\n" + "\n".join(lines))
    return f"{len(lines)} variables"


@contextmanager
def _serving(room: Room, program: str, variables: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`hookline serve` while the block runs: the process that was started, and the ID of the one that captures."""
    data = _data_of(program)
    room.run("rm", "-rf", data, variables={"PATH": PATH})
    runtime = room.inside(f"{data}/runtime.json")
    words = (program, "serve", "--port", "0", "--api-port", "0", "--data-dir", data)
    with room.running(*words, variables=variables) as process:
        wait_for("runtime.json", lambda: runtime.is_file() or None)
        yield process, json.loads(runtime.read_text("utf-8"))["pid"]


def _data_of(program: str) -> str:
    return f"{HOME}/data-of-{Path(program).name}"


def unpack_tarball(room: Room, archive: Path) -> str:
    """Unpack it as the user would; the program's path."""
    place = room.bring(archive)
    room.run("tar", "-xzf", place, folder=HOME, variables={"PATH": PATH})
    top = run("tar", "-tzf", archive).stdout.split("/", 1)[0]
    return f"{HOME}/{top}/hookline"


def rpm_comes_and_goes(room: Room, package: Path) -> str:
    """Put in and taken out by this machine's rpm, whose names for what it depends on the room does not know."""
    rpm = ("rpm", "--root", room.root, "--dbpath", "/var/lib/rpm-trial")
    run(*rpm, "--initdb")
    run(*rpm, "--install", "--nodeps", package)
    told = selftest(room, "/usr/bin/hookline")
    run(*rpm, "--verify", "--nodeps", "hookline")
    run(*rpm, "--erase", "hookline")
    left = room.as_root("find", "/usr", "-iname", "*hookline*").stdout.split()
    if left:
        raise TrialError("left behind: " + " ".join(left))
    return f"{told}; verified, erased, nothing left"


def portable(room: Room, program: str) -> str:
    """A file beside the program keeps its data beside it."""
    folder = program.rpartition("/")[0]
    room.run("touch", f"{folder}/hookline.portable")
    room.run(program, "endpoint", "add", "Carried along", variables=AS_ANN)
    if not room.inside(f"{folder}/hookline-data/hookline.db").is_file():
        raise TrialError(f"there is no hookline-data/hookline.db in {folder}")
    return f"{folder}/hookline-data"


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]
