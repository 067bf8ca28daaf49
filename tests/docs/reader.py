"""Does what a page of the guide says, in the order in which it says so.

A page follows these rules, which read as instructions to people:

- a `sh` block is typed into the page's terminal and must succeed, or fail if "fails:" ends the sentence before it;
  "in a terminal of its own" before it means one that stays open until the end of the page;
- a `text` block is what the block before it prints, or the terminal that the sentence before it names ("In the terminal
  of `COMMAND`"). `…` stands for anything in a line, a line of `…` for any lines;
- a `console` block is not run: it needs a service of the machine;
- a block of another language has the name of its file before it, in "Save this as `NAME`".

The guide says 8787 and 3000, and no test may rely on a fixed port. So the `hookline` on PATH starts `serve` on free
ports, servers in Python blocks get port 0 instead of 3000, and the port that they print replaces the guide's from then
on: a `text` block captures it, or the file `runtime.json` tells it. There is no network either: what a page installs is
left out. packaging/guide_test.py follows the pages on a bare system instead, where all is as printed. The page about a
team's server needs PostgreSQL: `db.example.com` is one that runs here, whose administrator the reader is.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

from hookline.instance import PROGRAM
from tests.docs.pages import FILE_NAME, Block, read
from tests.docs.terminal import Terminal

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
CAPTURE_PORT, API_PORT, TARGET_PORT = "8787", "8788", "3000"
DATABASE_HOST = "db.example.com"
PORTS = re.compile(rf"\b({CAPTURE_PORT}|{API_PORT}|{TARGET_PORT})\b")
OWN_TERMINAL = "in a terminal of its own"
OUTPUT_OF = re.compile(r"[Ii]n the terminal of `([^`]+)`")
INSTALLS = re.compile(r"^(?:(?:python3? -m )?pip install|python3 -m venv|\. \S+/bin/activate)\b.*\n?", re.MULTILINE)
SET_UP_PYTHON = "python3 -m venv ~/setup-python\n. ~/setup-python/bin/activate\n"
"""What `actions/setup-python` does, if anything is installed."""
RECORDED = ROOT / "tests" / "core" / "tunnel" / "recorded.toml"
TUNNEL_PROGRAMS = {"cloudflared-quick": "cloudflared", "ngrok": "ngrok"}
NO_NETWORK = "http://127.0.0.1:9"
"""A proxy that is not there. The probe of a stand-in's URL ends here, before its name is looked up."""


class Place:
    """Where a page is followed: in `folder / "work"`, by the program of this checkout."""

    as_printed = False
    """Whether ports are the guide's and what it installs is installed."""
    database_host = DATABASE_HOST

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.environment = environment(folder)

    def use_database(self, server: PostgresServer, programs: Path) -> None:
        """The guide's database server is this one."""
        self.database_host = str(server.folder)
        path = f"{self.environment['PATH']}{os.pathsep}{programs}"
        self.environment |= {"PATH": path, "PGHOST": self.database_host, "PGUSER": "postgres"}

    def command(self, words: list[str]) -> list[str]:
        """What runs them here."""
        return words

    def path(self, file: Path) -> str:
        """How programs here name a file below `folder`."""
        return str(file)


class Reader:
    """Somebody who follows one page."""

    def __init__(self, page: Path, place: Place) -> None:
        self._page, self._place, self._folder = page, place, place.folder / "work"
        self._folder.mkdir(exist_ok=True)
        guides = (CAPTURE_PORT, API_PORT, TARGET_PORT)
        self._ports = dict(zip(guides, guides, strict=True)) if place.as_printed else {}
        self._terminal = self._open(["sh", "-eu"])
        self._others: dict[str, Terminal] = {}
        self._output: str | Terminal = ""

    def close(self) -> None:
        # the last one started first: what is forwarded to goes before Hookline, as its user would
        for terminal in [*reversed(self._others.values()), self._terminal]:
            terminal.close()

    def follow(self) -> None:
        for block in read(self._page):
            try:
                self._do(block)
            except AssertionError as error:
                raise AssertionError(f"{self._page.name}:{block.line}: {error}") from error

    def _open(self, words: list[str]) -> Terminal:
        return Terminal(self._place.command(words), self._folder, self._place.environment)

    def _do(self, block: Block) -> None:
        if block.language == "text":
            self._compare(block)
        elif block.language == "sh":
            self._run(block)
        elif block.language == "yaml":
            self._save(block)
            self._run_workflow(block)
        elif block.language != "console":
            self._save(block)

    def _save(self, block: Block) -> None:
        name = FILE_NAME.search(block.before)
        assert name, "say before the block: Save this as `NAME`"
        path = self._folder / name[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        code = block.code
        if block.language == "python":
            compile(code, path.name, "exec")
            if not self._place.as_printed:
                code = re.sub(rf"\b{TARGET_PORT}\b", "0", code)
            code = self._as_here(code)
        path.write_text(self._with_database(code), "utf-8")

    def _run(self, block: Block) -> None:
        code = self._as_here(block.code)
        if block.before.endswith("fails:"):
            code = f"! {code}"
        if OWN_TERMINAL not in block.before.lower():
            self._output = self._type(f"line-{block.line}.sh", code)
            return
        terminal = self._open(["sh", "-c", f"exec env {code.strip()}"])
        self._others[block.code.strip()] = self._output = terminal

    def _type(self, name: str, code: str) -> str:
        script = self._place.folder / name
        script.write_text(code if self._place.as_printed else INSTALLS.sub("", code), "utf-8")
        return self._terminal.type_file(self._place.path(script), f"[end of {name}]")

    def _compare(self, block: Block) -> None:
        other = OUTPUT_OF.search(block.before)
        output = self._others[other[1]] if other else self._output
        pattern = self._pattern(block.code)
        if isinstance(output, Terminal):
            found = output.wait_for(pattern)
        else:
            match = re.fullmatch(pattern, output.strip("\n") + "\n", re.MULTILINE)
            assert match, f"expected\n{block.code}\nbut it printed\n{output}"
            found = match
        self._ports |= {name[1:]: port for name, port in found.groupdict().items()}

    def _pattern(self, code: str) -> str:
        """A port that is not known yet becomes a group that captures it."""
        groups: set[str] = set()

        def port(found: re.Match[str]) -> str:
            known = self._ports.get(found[1])
            if known is not None:
                return known
            again = found[1] in groups
            groups.add(found[1])
            return f"(?P=p{found[1]})" if again else rf"(?P<p{found[1]}>\d+)"

        lines = []
        for line in code.splitlines():
            escaped = re.escape(line.rstrip()).replace("…", ".*")
            lines.append(r"(?:.*\n)*" if line.strip() == "…" else PORTS.sub(port, escaped) + r" *\n")
        return "^" + "".join(lines)

    def _as_here(self, code: str) -> str:
        runtime = self._place.data / "runtime.json"
        if runtime.exists() and not self._place.as_printed:
            told: dict[str, Any] = json.loads(runtime.read_bytes())
            for port, key in ((CAPTURE_PORT, "capture_url"), (API_PORT, "api_url")):
                self._ports[port] = str(told[key]).rpartition(":")[2]
        unknown = set(PORTS.findall(code)) - self._ports.keys()
        assert not unknown, f"the page has not shown the server on port {', '.join(unknown)} before"
        return PORTS.sub(lambda found: self._ports[found[1]], self._with_database(code))

    def _with_database(self, code: str) -> str:
        return code.replace(DATABASE_HOST, self._place.database_host)

    def _run_workflow(self, block: Block) -> None:
        """Run the scripts of a CI file, in the page's terminal, and look at the rest only for its shape."""
        jobs = YAML(typ="safe").load(block.code)["jobs"]
        for number, step in enumerate(step for job in jobs.values() for step in job["steps"]):
            assert ("run" in step) != ("uses" in step)
            sets_up = step.get("uses", "").startswith("actions/setup-python@")
            code = SET_UP_PYTHON if sets_up else self._as_here(step.get("run", ""))
            self._output = self._type(f"step-{block.line}-{number}.sh", code)


def environment(folder: Path) -> dict[str, str]:
    """What a reader has: Hookline, Python, curl, and stand-ins for the tunnel programs."""
    programs, home = folder / "bin", folder / "home"
    for made in (programs, home):
        made.mkdir()
    python = shlex.quote(sys.executable)
    run = f"exec {python} -P {shlex.quote(str(PROGRAM))} "
    serve = 'if [ "${1-}" = serve ]; then shift; set -- serve --port 0 --api-port 0 "$@"; fi'
    write(programs / "hookline", f'{serve}\n{run}"$@"')
    for name in ("python", "python3"):
        write(programs / name, f'exec {python} "$@"')
    for entry, program in TUNNEL_PROGRAMS.items():
        write(programs / program, stand_in(entry))
    kept = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "TMPDIR", "TZ")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "HOOKLINE_DATA_DIR": str(folder / "data"),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # the fixture of this checkout, whether or not one is installed, and no plugin of this environment
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "hookline.pytest_plugin,xdist.plugin",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "https_proxy": NO_NETWORK,
        "http_proxy": NO_NETWORK,
        "no_proxy": "127.0.0.1,localhost",
    }


def stand_in(entry: str) -> str:
    """A program that prints what the real one printed when it worked, and stays."""
    recorded = tomllib.loads(RECORDED.read_text("utf-8"))[entry]
    (works,) = (run for run in recorded if run["says"] == "works")
    lines = []
    for line in works["lines"]:
        on_stderr = line.startswith("2> ")
        lines.append(f"printf '%s\\n' {shlex.quote(line.removeprefix('2> '))}{' >&2' if on_stderr else ''}")
    return "\n".join([*lines, "exec sleep 600"])


def write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o700)
