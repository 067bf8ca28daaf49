"""The grammar: what `serve` and the window are asked for, and how wrong use ends."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

import app
from app.cli import parser
from app.cli.main import CliServices, main
from app.cli.options import SelftestOptions, ServeOptions, WindowOptions, default_folder
from app.core.links import BrokenLink, EndpointLink, LaunchAction, RequestLink
from hookline.running import ApiAddress
from tests.cli.conftest import services

ROOT = Path(__file__).parents[2]


class Asked:
    """Doors that note what they were asked for."""

    def __init__(self) -> None:
        self.serve: ServeOptions | None = None
        self.window: WindowOptions | None = None
        self.selftest: SelftestOptions | None = None

    def services(self) -> CliServices:
        return services(
            serve=self._serve, listen=closed, window=self._window, open_api=self._open, selftest=self._selftest
        )

    def _serve(self, options: ServeOptions) -> int:
        self.serve = options
        return 0

    def _window(self, options: WindowOptions) -> int:
        self.window = options
        return 0

    def _selftest(self, options: SelftestOptions) -> int:
        self.selftest = options
        return 1

    def _open(self, folder: Path) -> AbstractAsyncContextManager[ApiAddress]:
        raise AssertionError("the store is not to be opened")


def closed(*_: object) -> NoReturn:
    raise AssertionError("no door is to be opened")


CLOSED = services(serve=closed, listen=closed, window=closed, open_api=closed, selftest=closed)


def test_serve_hands_on_all_it_was_given(tmp_path: Path) -> None:
    asked = Asked()
    given = "serve --port 9000 --host 0.0.0.0 --api-port 9001 --base-url https://hooks.example.com --tail"
    given += " --proxies 10.0.0.0/8,::1 --exit-on-stdin-close --exit-when-unused --no-fsync"
    more = ["--endpoint", "Orders", "--endpoint", "Pay", "--set-aside-damaged", "--data-dir", str(tmp_path)]
    assert main([*given.split(), *more], asked.services()) == 0
    assert asked.serve == ServeOptions(
        data_dir=tmp_path,
        port=9000,
        host="0.0.0.0",
        api_port=9001,
        base_url="https://hooks.example.com",
        proxies="10.0.0.0/8,::1",
        endpoints=("Orders", "Pay"),
        tail=True,
        set_aside_damaged=True,
        exit_on_stdin_close=True,
        exit_when_unused=True,
        fsync=False,
    )


@pytest.mark.parametrize(("name", "said"), [("", "Name is required"), (" ", "Name is required"), ("a\nb", "one line")])
def test_an_endpoint_that_cannot_be_made_is_refused_before_anything_starts(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--endpoint", "Good", "--endpoint", name], CLOSED) == 2
    told = capsys.readouterr().err
    assert told.startswith("hookline: --endpoint: ")
    assert said in told
    assert told.count("\n") == 1


def test_an_endpoints_name_is_found_again_as_it_is_kept(tmp_path: Path) -> None:
    asked = Asked()
    assert main(["serve", "--endpoint", " Good ", "--data-dir", str(tmp_path)], asked.services()) == 0
    assert asked.serve is not None
    assert asked.serve.endpoints == ("Good",)


def test_what_is_not_given_leaves_the_settings_in_force(tmp_path: Path) -> None:
    asked = Asked()
    assert main(["serve", "--port", "0", "--data-dir", str(tmp_path)], asked.services()) == 0
    assert asked.serve is not None
    assert asked.serve.overrides() == {"port": 0}


def test_without_a_command_the_window_opens(tmp_path: Path) -> None:
    asked = Asked()
    assert main(["--port", "9000", "--data-dir", str(tmp_path)], asked.services()) == 0
    assert asked.window == WindowOptions(data_dir=tmp_path, port=9000)
    assert asked.window.headless() == ServeOptions(data_dir=tmp_path, port=9000)


ID = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b"
LINK = f"hookline://request/{ID}"


@pytest.mark.parametrize(
    ("arguments", "given", "launch_action"),
    [
        ([LINK], {"link": RequestLink(id=ID)}, RequestLink(id=ID)),
        (["--port", "0", LINK], {"port": 0, "link": RequestLink(id=ID)}, RequestLink(id=ID)),
        ([LINK, "--port", "0"], {"port": 0, "link": RequestLink(id=ID)}, RequestLink(id=ID)),
        (["--", LINK], {"link": RequestLink(id=ID)}, RequestLink(id=ID)),
        (["hookline:x"], {"link": BrokenLink(text="hookline:x")}, BrokenLink(text="hookline:x")),
        (["HOOKLINE:endpoint/my-hooks/"], {"link": EndpointLink(slug="my-hooks")}, EndpointLink(slug="my-hooks")),
        (["--new-endpoint"], {"new_endpoint": True}, LaunchAction.NEW_ENDPOINT),
        (["--minimized"], {"minimized": True}, LaunchAction.STAY),
        (["--replaced", "old.db"], {"replaced": Path("old.db")}, LaunchAction.SHOW),
        ([], {}, LaunchAction.SHOW),
    ],
)
def test_how_the_window_starts(
    tmp_path: Path, arguments: list[str], given: dict[str, Any], launch_action: LaunchAction | RequestLink | BrokenLink
) -> None:
    asked = Asked()
    assert main(["--data-dir", str(tmp_path), *arguments], asked.services()) == 0
    assert asked.window == WindowOptions(data_dir=tmp_path, **given)
    assert asked.window.launch_action == launch_action
    assert asked.window.headless() == ServeOptions(data_dir=tmp_path, port=given.get("port"))


def test_a_link_that_is_no_word_of_its_own_is_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = Asked()
    assert main(["--data-dir", "hookline:folder", "serve", "--endpoint", LINK], asked.services()) == 0
    assert asked.serve == ServeOptions(data_dir=tmp_path / "hookline:folder", endpoints=(LINK,))


def test_the_data_folder_may_stand_before_the_command_and_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = Asked()
    assert main(["--data-dir", "here", "serve"], asked.services()) == 0
    assert asked.serve is not None
    assert asked.serve.data_dir == tmp_path / "here"


def test_the_environment_names_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKLINE_DATA_DIR", str(tmp_path / "chosen"))
    assert default_folder() == tmp_path / "chosen"
    asked = Asked()
    main(["serve"], asked.services())
    assert asked.serve is not None
    assert asked.serve.data_dir == tmp_path / "chosen"


@pytest.mark.skipif(sys.platform == "win32", reason="accounts of POSIX")
def test_without_a_home_it_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HOOKLINE_DATA_DIR", raising=False)
    without_home(monkeypatch)
    assert main(["endpoint", "list"], CLOSED) == 3
    told = "hookline: Your home folder is not known. Set HOME, or set HOOKLINE_DATA_DIR to a data folder.\n"
    assert capsys.readouterr().err == told
    asked = Asked()
    assert main(["--data-dir", str(tmp_path), "serve"], asked.services()) == 0


def without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user without an account, as in a container."""
    import pwd

    def unknown(_: int) -> NoReturn:
        raise KeyError

    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_an_empty_variable_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKLINE_DATA_DIR", "")
    assert default_folder().name == "hookline"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("nonsense", "Unknown command 'nonsense'. See hookline --help."),
        ("serve --port many", "--port: 'many' is not a whole number"),
        ("serve --port 65536", "must be 1 to 65535, not 65536"),
        ("serve --port 9000 --api-port 9000", "must differ"),
        ("serve --host example.com", "must be an IP address"),
        ("serve --base-url ftp://example.com", "must start with http:// or https://"),
        ("serve --json", "--json"),
        ("--json", "--json"),
        ("--port 9000 version", "--port only works with hookline serve"),
        ("endpoint", "VERB"),
        ("endpoint add", "NAME"),
        ("endpoint edit a-slug --slug other", "--slug"),
        ("endpoint edit a-slug --forward-url http://x --no-forward-url", "not allowed with"),
        ("endpoint add x --retention-days week", "'week' is not a whole number; use one such as 7"),
        ("requests a-slug -n 0", "0 is not a valid number of rows; use 1 or more"),
        ("requests -n x", "Argument -n: 'x' is not a whole number; use 1 or more. See hookline requests --help."),
        ("endpoint add x --response-delay soon", "'soon' is not a number of seconds; use one such as 0.5 or 30"),
        ("endpoint edit x --forward-timeout -1", "not a number of seconds"),
        ("plan gold", "invalid choice: 'gold'"),
        ("delete an-id", "Unknown command 'delete'. Did you mean rm? See hookline --help."),
        ("reqests", "Unknown command 'reqests'. Did you mean requests?"),
        ("bogus", "Unknown command 'bogus'. See hookline --help."),
        ("endpoint delete x", "Unknown verb 'delete'. Did you mean rm? See hookline endpoint --help."),
        ("requests --josn", "Unrecognized arguments: --josn. Did you mean --json? See hookline requests --help."),
        ("endpoint add x --foward-url=y", "Did you mean --forward-url? See hookline endpoint add --help."),
        ("show an-id another-id", "Unrecognized arguments: another-id. See hookline show --help."),
        ("rm", "ID"),
        ("show an-id --body --raw", "not allowed with"),
        ("serve --tai", "--tai"),
        (f"serve {LINK}", "Unrecognized arguments: hookline:"),
        (f"{LINK} serve", "A link cannot be combined with serve"),
        (f"{LINK} --minimized", "A link cannot be combined with --minimized"),
        (f"{LINK} --json", "--json"),
        (f"-- {LINK} --base-url http://x", "After -- only a link may follow, not '--base-url'"),
        (f"{LINK} {LINK}", "Unknown command"),
        ("--new-endpoint --minimized", "not allowed with"),
        ("--minimized serve", "--minimized only works without a command"),
        ("--new-endpoint version", "--new-endpoint only works without a command"),
        ("serve --minimized", "--minimized"),
        pytest.param(
            "--data-dir ~no-such-user/x serve",
            "unknown home folder",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="Windows takes every name for a user's"),
        ),
    ],
)
def test_wrong_use_ends_with_2_and_one_line(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split(), CLOSED) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert shown.err.startswith("hookline: ")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("link", "said"), [("hookline://request/12", "'12' is not one"), ("hookline:", "names a request")]
)
def test_a_broken_link_that_was_typed_is_refused(
    link: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main([link], CLOSED) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("arguments", ["--help", "serve --help", "endpoint add --help", "show -h"])
def test_help_is_there(arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)  # since Python 3.14 it colours help
    assert main(arguments.split(), CLOSED) == 0
    assert capsys.readouterr().out.startswith("usage: hookline")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["version"], ["--version"]):
        assert main(arguments, CLOSED) == 0
        assert capsys.readouterr().out == f"hookline {app.__version__}\n"
    assert main(["version", "--json"], CLOSED) == 0
    assert capsys.readouterr().out == f'{{\n  "version": "{app.__version__}"\n}}\n'


def test_version_loads_neither_network_nor_store_nor_window() -> None:
    """What makes it quick, without a clock in the test."""
    heavy = "{'asyncio', 'httpx', 'aiohttp', 'peewee', 'PySide6'}"
    code = f"import sys, app.__main__; app.__main__.main(['version']); sys.exit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
    assert done.stdout == f"hookline {app.__version__}\n"


def test_a_command_line_loads_its_own_command_only() -> None:
    """All together take longer to load than most commands take."""
    code = (
        "import sys, app.__main__; app.__main__.main(['plan', '--help'])\n"
        "sys.exit(str([name for name in sys.modules if name.startswith('app.cli.commands.')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == str(["app.cli.commands.status"])


def test_every_command_can_be_found_from_the_parser() -> None:
    """Completions are made from it."""
    from app.cli.parser import build_parser

    actions = [action for action in build_parser()._actions if action.dest == "command"]
    assert {
        *("listen", "mcp", "tail", "wait"),
        *(
            "backup",
            "clear",
            "compare",
            "completion",
            "deliveries",
            "delivery",
            "doctor",
            "endpoint",
            "logs",
            "mark",
            "nodes",
            "plan",
            "refused",
            "replay",
        ),
        *(
            "replay",
            "replays",
            "requests",
            "restore",
            "retention",
            "retry",
            "rm",
            "selftest",
            "send-now",
            "serve",
            "settings",
            "show",
            "status",
            "store",
            "target",
            "targets",
        ),
        *("team", "tunnel"),
        "version",
    } == set(actions[0].choices or ())


def test_the_selftest_is_told_how_to_run_and_its_code_is_handed_on() -> None:
    asked = Asked()
    assert main(["selftest", "--json", "--headless", "--time-limit", "5"], asked.services()) == 1
    assert asked.selftest == SelftestOptions(as_json=True, headless=True, time_limit_s=5.0)


@pytest.mark.parametrize(
    "words",
    ["--data-dir . selftest", "--port 9000 selftest", "selftest --headless --on-screen", "selftest --time-limit nan"],
)
def test_the_selftest_takes_nothing_that_it_would_not_heed(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split(), CLOSED) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_window_can_be_asked_for_again_with_the_same_folder_and_settings(tmp_path: Path) -> None:
    given = [
        "--data-dir",
        str(tmp_path),
        "--port",
        "0",
        "--api-port",
        "9001",
        "--base-url",
        "https://hooks.example.com",
    ]
    first, second = Asked(), Asked()
    assert main([*given, "--minimized"], first.services()) == 0
    assert first.window is not None
    assert main(first.window.arguments(), second.services()) == 0
    assert second.window == msgspec.structs.replace(first.window, minimized=False)


def _leaves(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Each command line without arguments, with its options."""
    below = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for choices in below:
        for name, one in choices.items():
            yield from _leaves(one, (*path, name))
    if not below:
        yield " ".join(path), set(parser._option_string_actions)


def test_the_page_says_which_commands_print_no_json() -> None:
    without = [f"`{name}`" for name, options in _leaves(parser.build_parser()) if "--json" not in options]
    assert f"All but {' and '.join(without)} accept `--json`" in (ROOT / "docs/command-line.md").read_text("utf-8")


@pytest.mark.parametrize(
    "words", [("endpoint", "list"), ("target", "show"), ("tunnel", "status"), ("retention", "resume")]
)
def test_the_options_of_all_may_stand_between_noun_and_verb(words: tuple[str, str]) -> None:
    noun, verb = words
    rest = ["3"] if noun == "target" else []
    for given in (["--data-dir", "there", "--json"], ["--json", "--data-dir=there"]):
        options = parser.parse([noun, *given, verb, *rest])
        assert (options.verb, options.data_dir, options.as_json) == (verb, Path("there"), True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("endpoint", "--data-dir", "X"), "The following arguments are required: VERB. See hookline endpoint"),
        (("endpoint", "--port", "3", "list"), "Unrecognized arguments: --port. See hookline endpoint"),
        (("endpoint", "--jsn", "list"), "Unrecognized arguments: --jsn. Did you mean --json? See hookline endpoint"),
        (("--retention-days", "3", "endpoint"), "Unrecognized arguments: --retention-days. See hookline"),
        (("--data-dir", "X", "endpont"), "Unknown command 'endpont'. Did you mean endpoint? See hookline"),
    ],
)
def test_options_in_the_wrong_place_are_named(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(words), CLOSED) == 2
    assert capsys.readouterr().err == f"hookline: {told} --help.\n"
