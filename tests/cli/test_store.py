"""`hookline store copy`: to a server and back, interrupted, and what it says then."""

from __future__ import annotations

import signal
import subprocess
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli.call import LocalCall
from app.cli.commands.team import copy
from app.cli.errors import CliError, Exit
from app.cli.output import Output
from app.core.backup import CopiedStore, Report
from tests.cli.conftest import ROOT, Done, command, press_ctrl_c_at_once, services
from tests.cli.stored import store_requests
from tests.damage import change_body

Hookline = Callable[..., Done]


@pytest.fixture
def hookline(capsys: pytest.CaptureFixture[str]) -> Hookline:
    """Runs `hookline ARGUMENTS`, in this process and without a data folder."""

    def call(*arguments: str) -> Done:
        capsys.readouterr()
        code = main(arguments)
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return call


def call_of(copy_store: Callable[[str | Path, str | Path, Report], CopiedStore]) -> LocalCall:
    options = Namespace(source=Path("/a"), target="service=team")
    return LocalCall(options, Output(), Path(), services(copy_store=copy_store))


def test_to_a_server_and_back(folder: Path, tmp_path: Path, postgres_url: str, hookline: Hookline) -> None:
    ids = store_requests(folder, "orders", [{}, {}])
    # A process of its own: psycopg is not loaded yet.
    done = subprocess.run(
        command("store", "copy", str(folder), postgres_url), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Copied 1 endpoint and 2 requests to {postgres_url}.\n"
    back = tmp_path / "back"
    copied = hookline("store", "copy", postgres_url, str(back), "--json")
    assert (copied.code, copied.err) == (0, "")
    assert copied.json == {"endpoints": 1, "requests": 2, "queued": 0, "damaged_bodies": []}
    listed = hookline("requests", "orders", "--json", "--data-dir", str(back))
    assert [one["id"] for one in listed.json] == ids[::-1]


def test_a_folder_is_named_as_the_caller_sees_it(
    folder: Path, hookline: Hookline, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_requests(folder, "orders", [{}])
    monkeypatch.chdir(folder.parent)
    done = hookline("store", "copy", folder.name, "new")
    assert (done.code, done.out) == (0, f"Copied 1 endpoint and 1 request to {folder.parent / 'new'}.\n")
    assert (folder.parent / "new" / "hookline.db").exists()


def test_damaged_bodies_are_named(folder: Path, tmp_path: Path, hookline: Hookline) -> None:
    ids = store_requests(folder, "orders", [{}, {}, {}])
    for damaged in ids[1:]:
        change_body(folder, damaged)
    done = hookline("store", "copy", str(folder), str(tmp_path / "new"))
    assert done.code == 0
    assert done.out.splitlines()[1:] == ids[1:]
    assert done.err.startswith(
        "hookline: 2 bodies in it do not match the SHA-256 of what was received. They are as the"
    )
    assert hookline("store", "copy", str(folder), str(tmp_path / "newer"), "--json").json["damaged_bodies"] == ids[1:]


def test_that_both_would_send_what_is_queued_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert copy(call_of(lambda *_: CopiedStore(endpoints=1, requests=2, queued=3, damaged=()))) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "Copied 1 endpoint and 2 requests to service=team.",
        "3 queued deliveries will be sent from there. Do not start Hookline on the original, or it sends them, too.",
    ]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("postgresql://ann:secret@db/team", "leave out the password, which others could see"),
        ("mysql://db/team", "mysql:// begins no address of a store; use postgresql://USER@HOST/DATABASE"),
    ],
)
def test_an_address_that_is_refused(tmp_path: Path, hookline: Hookline, source: str, said: str) -> None:
    done = hookline("store", "copy", source, str(tmp_path / "new"))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "secret" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_data_folder_is_an_argument(tmp_path: Path, hookline: Hookline) -> None:
    done = hookline("--data-dir", str(tmp_path), "store", "copy", "a", "b")
    assert (done.code, done.err) == (2, "hookline: Name the data folder as FROM or TO, not with --data-dir.\n")


def test_a_refusal_is_one_line(folder: Path, tmp_path: Path, hookline: Hookline) -> None:
    done = hookline("store", "copy", str(folder), str(tmp_path / "new"))
    assert (done.code, done.out) == (3, "")
    assert done.err == f"hookline: There is no Hookline data in {folder}. Check the folder; nothing was copied.\n"


def test_ctrl_c_ends_it_at_the_next_step_and_says_how_to_go_on() -> None:
    ended = []

    def copy_store(source: str | Path, target: str | Path, report: Report) -> CopiedStore:
        try:
            for done in range(10_000):
                report("copying", done * 1_000, 98_000)
                if done == 5:
                    signal.raise_signal(signal.SIGINT)
        finally:
            ended.append((source, target))
        raise AssertionError("it goes on")

    with pytest.raises(CliError, match=r"^Stopped while copying: \d+,000 of 98,000 requests done\. To go") as raised:
        copy(call_of(copy_store))
    assert raised.value.code == Exit.INTERRUPTED
    assert ended == [(Path("/a"), "service=team")]


def test_a_second_ctrl_c_does_not_wait_for_a_step_that_hangs() -> None:
    def copy_store(source: str | Path, target: str | Path, report: Report) -> CopiedStore:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it goes on")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        copy(call_of(copy_store))
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_as_it_begins_to_listen_for_that_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def copy_store(source: str | Path, target: str | Path, report: Report) -> CopiedStore:
        report("copying", 0, 1)
        raise AssertionError("it goes on")

    press_ctrl_c_at_once(monkeypatch)
    with pytest.raises(CliError, match=r"^Stopped before anything was copied\."):
        copy(call_of(copy_store))
