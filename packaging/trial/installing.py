"""The life of the .deb on a bare system: installed, used as an ordinary user, upgraded while running, purged."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from project import ROOT
from trial.room import APT, HOME, PATH, Room, TrialError, run
from trial.screen import picture, screen
from trial.senders import send, wait_for

DATA = f"{HOME}/.local/share/hookline"
AS_ANN = {"HOME": HOME, "PATH": PATH, "LANG": "C.UTF-8"}
FREE_PORTS = ("--port", "0", "--api-port", "0")
OLDER = "0.0.1"


class Installing:
    """The trials, in the order they are to be run; each gives a note or raises TrialError."""

    def __init__(self, room: Room, package: Path, work: Path) -> None:
        self._room, self._package, self._work = room, package, work
        self._ids: list[str] = []

    def no_python(self) -> str:
        """The room is what it is said to be."""
        found = self._room.run("sh", "-c", "command -v python3 python || true").stdout.strip()
        if found:
            raise TrialError(f"the bare system has {found}")
        self._room.as_root("apt-get", "-q", "update")
        names = self._room.as_root("dpkg-query", "-W", "-f", "${Package}\n").stdout.split()
        return f"{len(names)} packages, no Python"

    def install(self) -> str:
        """An older version first, by apt, which brings what it depends on."""
        before = self._names()
        self._install(self._older())
        brought = sorted(self._names() - before - {"hookline"})
        return f"apt brought {len(brought)} packages with it: {' '.join(brought)}"

    def selftest(self) -> str:
        """As an ordinary user, from another folder, with an empty environment."""
        said = self._room.run("/usr/bin/hookline", "selftest", folder="/var/tmp").stdout
        return said.strip().splitlines()[-1]

    def window(self) -> str:
        """The real window on a real X server: shows what was captured, opens a link, ends when told."""
        shown = self._work / "window.png"
        with screen() as display:
            variables = {**AS_ANN, "DISPLAY": display}
            with self._room.running("hookline", *FREE_PORTS, variables=variables) as program:
                wait_for("runtime.json of the window", self._runtime)
                url = self._endpoint_url("Stripe test")
                self._ids = send(url, 25)
                self._room.run("hookline", f"hookline://request/{self._ids[-1]}", variables=variables)
                colours = wait_for("a picture that is not blank", lambda: _picture(display, shown))
                self._end(program)
        return f"{colours} colours in {shown.relative_to(ROOT)}: look at it"

    def upgrade_while_running(self) -> str:
        """The new version over the old one under the open window, which goes on until told: no request is lost."""
        shown = self._work / "upgraded.png"
        with screen() as display:
            variables = {**AS_ANN, "DISPLAY": display}
            with self._room.running("hookline", *FREE_PORTS, variables=variables) as program:
                wait_for("runtime.json of the window", self._runtime)
                url = self._endpoint_url("Stripe test")
                self._ids += send(url, 10)
                self._install(self._package)
                self._ids += send(url, 10)
                # What opens the request loads parts of the program that were not in use before.
                self._room.run("hookline", f"hookline://request/{self._ids[-1]}", variables=variables)
                self._expect_all_kept()
                wait_for("a picture that is not blank", lambda: _picture(display, shown))
                self._end(program)
        version = self._room.as_root("dpkg-query", "-W", "-f", "${Version}", "hookline").stdout
        self._expect_all_kept()
        return f"{OLDER} -> {version}, {len(self._ids)} requests kept; look at {shown.relative_to(ROOT)}"

    def purge(self) -> str:
        """Nothing is left but what belongs to the user."""
        listed = self._room.as_root("dpkg", "-L", "hookline").stdout.split()
        self._room.as_root(*APT, "purge", "hookline")
        ours = [path for path in listed if "hookline" in path.lower() and os.path.lexists(self._room.inside(path))]
        # dpkg's and apt's own logs go on naming what was once there.
        search = "find / -xdev -iname '*hookline*' -not -path '/proc/*' -not -path '/opt/*' -not -path '/var/log/*'"
        found = self._room.as_root("sh", "-c", search).stdout.split()
        strays = [path for path in found if not path.startswith(HOME)]
        if ours or strays:
            raise TrialError("left behind: " + " ".join([*ours, *strays]))
        kept = self._room.inside(DATA) / "hookline.db"
        if not kept.is_file():
            raise TrialError(f"the user's data is gone: {kept}")
        return f"only {DATA} stays"

    @staticmethod
    def _end(program: subprocess.Popen[str]) -> None:
        program.terminate()
        if program.wait(15) != 0:
            raise TrialError(f"the window ended with {program.returncode} on SIGTERM")

    def _older(self) -> Path:
        """The same package with a lower version; packed lightly, for speed."""
        tree, older = self._work / "older", self._work / f"hookline_{OLDER}.deb"
        run("rm", "-rf", tree)
        run("dpkg-deb", "-R", self._package, tree)
        control = tree / "DEBIAN/control"
        lines = control.read_text("utf-8").splitlines()
        lines = [f"Version: {OLDER}" if line.startswith("Version:") else line for line in lines]
        control.write_text("\n".join(lines) + "\n", "utf-8")
        run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, older)
        return older

    def _install(self, package: Path) -> None:
        self._room.as_root(*APT, "install", self._room.bring(package))

    def _names(self) -> set[str]:
        return set(self._room.as_root("dpkg-query", "-W", "-f", "${Package}\n").stdout.split())

    def _runtime(self) -> Mapping[str, Any] | None:
        file = self._room.inside(DATA) / "runtime.json"
        return json.loads(file.read_text("utf-8")) if file.is_file() else None

    def _hookline(self, *words: str) -> Any:
        return json.loads(self._room.run("hookline", *words, "--json", variables=AS_ANN).stdout)

    def _endpoint_url(self, name: str) -> str:
        """The capture URL of the endpoint of that name, made when there is none."""
        url: str = self._hookline("endpoint", "add", name, "--ensure")["url"]
        return url

    def _expect_all_kept(self) -> None:
        slug = self._endpoint_url("Stripe test").rsplit("/", 1)[-1]
        kept = {request["id"] for request in self._hookline("requests", slug, "-n", "500")}
        if lost := set(self._ids) - kept:
            raise TrialError(f"{len(lost)} of {len(self._ids)} requests that were answered are gone")


def _picture(display: str, file: Path) -> int | None:
    colours = picture(display, file)
    return colours if colours > 40 else None
