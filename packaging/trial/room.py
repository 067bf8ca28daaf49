"""A bare Debian or Ubuntu of this machine's release, without Python, in a folder: what a package meets when new."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

USER = "ann"
HOME = f"/home/{USER}"
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "--no-install-recommends")


class TrialError(Exception):
    """Something is not as promised; the text says what."""


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command of this machine, its output captured; TrialError with what it said when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise TrialError(f"{' '.join(words)[:200]} ended with {done.returncode}:\n{tail(done.stdout + done.stderr)}")
    return done  # type: ignore[no-any-return]


def tail(text: str, lines: int = 15) -> str:
    """The last lines, which tell what went wrong."""
    return "\n".join(text.strip().splitlines()[-lines:])


class Room:
    """The system in `root`. Its mounts belong to the mount namespace of the process that made it and end with it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def inside(self, path: str) -> Path:
        """Where a path of the room is on this machine."""
        return self.root / path.lstrip("/")

    def command(
        self, words: Sequence[str], user: str = USER, variables: Mapping[str, str] | None = None, folder: str = "/"
    ) -> list[str]:
        """What runs `words` in the room as `user`, with these variables and no others."""
        given = [f"{name}={value}" for name, value in (variables or {}).items()]
        entering = ["chroot", f"--userspec={user}:{user}", str(self.root), "/usr/bin/env", "-i", "-C", folder]
        return [*entering, *given, *words]

    def run(
        self,
        *words: str,
        user: str = USER,
        variables: Mapping[str, str] | None = None,
        folder: str = "/",
        expect: int = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; TrialError with what was said when the exit code is another than `expect`."""
        command = self.command(words, user, variables, folder)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=600)
        if done.returncode != expect:
            said = tail(done.stdout + done.stderr)
            raise TrialError(f"{' '.join(words)} ended with {done.returncode}, not {expect}:\n{said}")
        return done

    def as_root(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run as the room's administrator."""
        return self.run(*words, user="root", variables={"PATH": PATH})

    @contextmanager
    def running(self, *words: str, variables: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
        """A program of the room while the block runs; ended by SIGTERM, and by SIGKILL when it stays."""
        process = subprocess.Popen(
            self.command(words, variables=variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()

    def bring(self, file: Path, folder: str = "/opt") -> str:
        """Copy a file or folder of this machine into the room; its path there."""
        place = self.inside(folder) / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            shutil.copytree(file, place, symlinks=True)
        else:
            shutil.copy2(file, place)
        return f"{folder}/{file.name}"


def sources() -> list[str]:
    """This machine's own package sources as lines `ADDRESS RELEASE COMPONENT`, the system's own release first."""
    release = run("sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME").stdout.strip()
    wanted = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    listed = run("apt-get", "indextargets", "--format", wanted, "Created-By: Packages").stdout.splitlines()
    own = sorted({line for line in listed if line.split()[1].split("-")[0] == release}, key=len)
    if not own:
        raise TrialError(f"apt knows no sources of {release}; run apt-get update first.")
    return own


def make_base(base: Path) -> None:
    """Build the bare system once, as an archive that rooms are unpacked from."""
    folder = base.with_suffix(".building")
    shutil.rmtree(folder, ignore_errors=True)
    lines = sources()
    address, release, _ = lines[0].split()
    run("debootstrap", "--variant=minbase", release, folder, address)
    (folder / "etc/apt/sources.list").write_text("".join(f"deb {line}\n" for line in lines), "utf-8")
    unfinished = base.with_suffix(".new")
    run("tar", "-C", folder, "-cf", unfinished, ".")
    unfinished.replace(base)
    shutil.rmtree(folder)


def unpack(base: Path, root: Path) -> Room:
    """A fresh room in place of an earlier one, with an ordinary user, its kernel folders mounted.

    Call it in a mount namespace of your own (`enter_namespace`).
    """
    run("rm", "-rf", "--one-file-system", root)
    root.mkdir(parents=True)
    run("tar", "-C", root, "-xf", base)
    for kind, folder in (("proc", "proc"), ("tmpfs", "tmp")):
        run("mount", "-t", kind, kind, root / folder)
    run("mount", "--rbind", "/dev", root / "dev")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    room = Room(root)
    room.as_root("useradd", "--create-home", USER)
    return room


def enter_namespace(argv: Sequence[str]) -> None:
    """Start this program anew with mounts of its own, which vanish with it; returns when it already has them."""
    mark = "HOOKLINE_TRIAL_NAMESPACE"
    if os.environ.get(mark):
        return
    if os.geteuid() != 0:
        raise TrialError("Trying the packages takes an administrator (chroot, mount). Run it with sudo.")
    os.environ[mark] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", *argv])
