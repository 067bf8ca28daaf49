"""The forms that need no installation: the onefile program, the AppDir, the archive, and what an .rpm holds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from trial.room import HOME, PATH, Room, TrialError, run, tail
from trial.screen import screen
from trial.senders import wait_for

AS_ANN = {"HOME": HOME, "PATH": PATH, "LANG": "C.UTF-8"}
TUNNEL = """#!/bin/sh
env > "$HOME/tunnel.env"
echo $$ > "$HOME/tunnel.pid"
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


def tunnel_ends_with_hookline(room: Room, program: str) -> str:
    """A tunnel program has its user's environment, none of the bundle's, and ends when Hookline is killed."""
    data, script = f"{HOME}/tunnel-trial", room.inside(f"{HOME}/tunnel.sh")
    script.write_text(TUNNEL, "utf-8")
    script.chmod(0o755)
    variables = {**AS_ANN, "HOOKLINE_DATA_DIR": data, "LD_LIBRARY_PATH": "/opt/own"}
    started = room.inside(f"{data}/runtime.json"), room.inside(f"{HOME}/tunnel.pid")
    with room.running(program, "serve", "--port", "0", "--api-port", "0", variables=variables) as process:
        wait_for("runtime.json", lambda: started[0].is_file() or None)
        own = ("--set", f"command={HOME}/tunnel.sh", "--set", "url=https://hooks.example.org")
        room.run(program, "tunnel", "start", "own", *own, variables=variables)
        pids = [json.loads(started[0].read_text("utf-8"))["pid"], int(started[1].read_text("utf-8"))]
        process.kill()
        process.wait()
        wait_for("the end of all", lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids) or None)
    lines = room.inside(f"{HOME}/tunnel.env").read_text("utf-8").splitlines()
    bundled = [line for line in lines if "/_internal" in line or "/_MEI" in line or line.startswith("_PYI")]
    if bundled or "LD_LIBRARY_PATH=/opt/own" not in lines:
        raise TrialError("the tunnel program got:\n" + "\n".join(lines))
    return f"{len(lines)} variables"


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
