"""The guide (docs/guide): what it says to do works, and prints what it says. test_pages.py looks at all pages.

tests/docs/reader.py says how a page is followed, and what replaces the guide's port numbers.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.parser import parse
from app.core.events import Bus
from tests.docs.pages import FILE_NAME, PAGES, read

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
ALL = sorted(PAGES.glob("*.md"))
LANGUAGES = {"sh", "text", "python", "yaml", "ini", "cfg", "json", "nginx", "console"}
TEAM = "team.md"
each = pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)


@pytest.mark.skipif(not shutil.which("curl"), reason="the guide's commands use curl")
@pytest.mark.skipif(os.name == "nt", reason="the guide's commands are typed into a POSIX shell on a pseudo-terminal")
@pytest.mark.timeout(240)
@each
def test_what_a_page_says_works(page: Path, tmp_path: Path) -> None:
    from tests.docs.reader import Place, Reader  # Windows has no pseudo-terminals

    with ExitStack() as stack:
        place = Place(tmp_path)
        if page.name == TEAM:
            place.use_database(*stack.enter_context(database()))
        reader = Reader(page, place)
        stack.callback(reader.close)
        reader.follow()


@contextmanager
def database() -> Iterator[tuple[PostgresServer, Path]]:
    """A server, and the folder with PostgreSQL's programs."""
    from tests.postgres import PostgresServer, programs, why_no_server  # where the driver is installed

    folder = programs()
    if folder is None:
        pytest.skip(str(why_no_server()))
    with closing(PostgresServer()) as server:
        yield server, folder


def test_the_workflows_are_what_github_reads(tmp_path: Path) -> None:
    files = []
    for number, block in enumerate(read(PAGES / "ci.md")):
        if block.language == "yaml":
            files.append(tmp_path / f"{number}.yml")
            files[-1].write_text(block.code, "utf-8")
    checker = Path(sys.executable).with_name("check-jsonschema")
    command = [str(checker), "--builtin-schema", "vendor.github-workflows", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert files
    assert done.returncode == 0, done.stdout + done.stderr


@each
def test_every_program_on_a_page_is_run(page: Path) -> None:
    """By a command, by pytest or by another program that imports it."""
    blocks = read(page)
    assert {block.language for block in blocks} <= LANGUAGES
    for number, block in enumerate(blocks):
        if block.language != "python":
            continue
        name = FILE_NAME.search(block.before)
        assert name, f"line {block.line}"
        used = "\n".join(later.code for later in blocks[number + 1 :] if later.language != "text")
        stem = Path(name[1]).stem
        by_pytest = stem.startswith("test_") and "python -m pytest" in used
        assert by_pytest or re.search(rf"\b{re.escape(stem)}\b", used), f"{name[1]} is not run"


def spans(page: Path) -> list[str]:
    """The code in its sentences and tables."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`]+)`", text)


def test_a_message_in_a_sentence_is_the_programs() -> None:
    """Code that ends as a sentence does. `…` stands for what differs from time to time."""
    said = [tomllib.loads(file.read_text("utf-8")) for file in (ROOT / "resources" / "tunnels").glob("*.toml")]
    texts = [failure["message"] for spec in said for failure in spec.get("failures", ())]
    for file in (*(ROOT / "app").rglob("*.py"), *(ROOT / "hookline").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                texts.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    everything = "\0".join(texts)
    messages = [span for page in ALL for span in spans(page) if span.endswith((".", "?"))]
    assert len(messages) > 20
    assert not [message for message in messages if message not in everything]


KEY = "It's a Secret to Everybody"
SLASH_COMMAND = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121"
    b".803a0bc887a14d10d2c447fce8b6703c"
)


def program(page: str, name: str) -> dict[str, Any]:
    """The names that a program of the guide defines."""
    (code,) = (block.code for block in read(PAGES / page) if block.before.endswith(f"`{name}`:"))
    defined: dict[str, Any] = {"__name__": name}
    exec(compile(code, name, "exec"), defined)
    return defined


def test_githubs_own_example_is_verified() -> None:
    is_from_github = program("github.md", "github_app.py")["is_from_github"]
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert is_from_github(signature, b"Hello, World!", KEY)
    assert not is_from_github(signature, b"Hello, World.", KEY)
    assert not is_from_github(signature, b"Hello, World!", "another")
    assert not is_from_github("", b"Hello, World!", KEY)
    assert not is_from_github("é", b"Hello, World!", KEY)


def test_slacks_own_example_is_verified() -> None:
    is_from_slack = program("slack.md", "slack_app.py")["is_from_slack"]
    secret, at = "8f742231b10e8888abcd99yyyzzz85a5", 1531420618
    signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    assert is_from_slack(signature, str(at), SLASH_COMMAND, secret, at)
    assert is_from_slack(signature, str(at), SLASH_COMMAND, secret, at + 300)
    for wrong in (
        (signature, str(at), SLASH_COMMAND, secret, at + 301),
        (signature, str(at), SLASH_COMMAND, secret, at - 301),
        (signature, str(at + 1), SLASH_COMMAND, secret, at),
        (signature, str(at), SLASH_COMMAND + b" ", secret, at),
        (signature, str(at), SLASH_COMMAND, "another", at),
        ("", "", SLASH_COMMAND, secret, at),
        ("é", str(at), SLASH_COMMAND, secret, at),
    ):
        assert not is_from_slack(*wrong)


def test_stripes_signatures_are_verified() -> None:
    is_from_stripe = program("stripe.md", "stripe_app.py")["is_from_stripe"]
    secret, at, body = "whsec_test", 1_700_000_000, b'{"id": "evt_1"}'
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    assert is_from_stripe(f"t={at},v1={signed}", body, secret, at)
    assert is_from_stripe(f"t={at},v1={'0' * 64},v1={signed},v0=1", body, secret, at), "while a secret is exchanged"
    for header, content, now in (
        (f"t={at},v1={signed}", body, at + 301),
        (f"t={at + 1},v1={signed}", body, at),
        (f"t={at},v1={signed}", b"{}", at),
        (f"t={at},v0={signed}", body, at),
        (f"v1={signed}", body, at),
        (f"t={at},v1=é", body, at),
        ("", body, at),
    ):
        assert not is_from_stripe(header, content, secret, now)


def test_shopifys_signatures_are_verified() -> None:
    is_from_shopify = program("shopify.md", "shopify_app.py")["is_from_shopify"]
    signed = base64.b64encode(hmac.new(KEY.encode(), b"{}", hashlib.sha256).digest()).decode()
    assert is_from_shopify(signed, b"{}", KEY)
    assert not is_from_shopify(signed, b"{ }", KEY)
    assert not is_from_shopify(signed, b"{}", "another")
    assert not is_from_shopify("", b"{}", KEY)


def test_the_service_runs_a_command_that_was_tried() -> None:
    blocks = read(PAGES / "server.md")
    (unit,) = (block.code for block in blocks if block.language == "ini")
    (command,) = re.findall(r"^ExecStart=/usr/bin/(.+)$", unit, re.MULTILINE)
    assert command in [block.code.strip() for block in blocks if block.language == "sh"]


def block_of(page: str, file: str) -> str:
    """The file that a page says to save."""
    (code,) = (
        block.code for block in read(PAGES / page) if (found := FILE_NAME.search(block.before)) and found[1] == file
    )
    return code


def test_a_node_gets_the_files_that_its_unit_reads() -> None:
    unit = (ROOT / "packaging" / "linux" / "hookline@.service").read_text("utf-8")
    console = "".join(block.code for block in read(PAGES / TEAM) if block.language == "console")
    assert "systemctl enable --now hookline@worker\n" in console
    assert "install -m 600 worker.conf worker.env /etc/hookline\n" in console
    for kind in ("conf", "env"):
        assert f"/etc/hookline/%i.{kind}\n" in unit
        assert block_of(TEAM, f"edge.{kind}")
        assert block_of(TEAM, f"worker.{kind}")
    variable, _, options = block_of(TEAM, "edge.env").partition("=")
    assert f"${variable}\n" in unit
    assert parse(["serve", *options.split()]).api_host == "0.0.0.0"
    service = re.search(r"HOOKLINE_STORE=service=(\w+)", unit)
    assert service
    assert block_of(TEAM, "edge.conf").startswith(f"[{service[1]}]\n")


HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed")
def test_haproxy_takes_the_configuration_on_the_page(tmp_path: Path) -> None:
    import trustme

    certificate, config = tmp_path / "hooks.pem", tmp_path / "haproxy.cfg"
    trustme.CA().issue_cert("hooks.example.com").private_key_and_cert_chain_pem.write_to_path(certificate)
    config.write_text(block_of(TEAM, "haproxy.cfg").replace("/etc/haproxy/hooks.pem", str(certificate)), "utf-8")
    assert HAPROXY is not None
    done = subprocess.run([HAPROXY, "-c", "-f", config], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_metric_that_is_worth_an_alert_exists() -> None:
    from app.server.api.exposition import GAUGES, text
    from app.server.node_counts import NodeCounts

    told = text("1", NodeCounts(Bus()), dict.fromkeys(GAUGES, 1.0)).decode()
    named = {re.sub(r"\{.*", "", span) for span in spans(PAGES / TEAM) if span.startswith("hookline_")}
    assert len(named) > 3
    assert not [name for name in named if f"\n{name}" not in told]


def test_an_agent_is_told_a_command_that_exists() -> None:
    (settings,) = (block.code for block in read(PAGES / "agents.md") if block.language == "json")
    server = json.loads(settings)["mcpServers"]["hookline"]
    assert (server["command"], parse(server["args"]).command) == ("hookline", "mcp")


def test_the_index_names_every_page() -> None:
    index = (PAGES / "README.md").read_text("utf-8")
    assert not [page.name for page in ALL if page.name != "README.md" and f"]({page.name})" not in index]
