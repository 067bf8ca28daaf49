"""What `make package-test` and `make guide-test` stand on: a report that goes on after a failure, honest sizes,
senders that check, pages followed."""

from __future__ import annotations

import sys

import pytest

from tests.docs.reader import Reader

posix = pytest.mark.skipif(sys.platform == "win32", reason="the trial runs on Linux alone")
if sys.platform != "win32":
    from guide_test import BareSystem
    from trial.report import Report
    from trial.room import Room, TrialError, run
    from trial.senders import wait_for

pytestmark = posix


def test_a_failed_trial_is_told_and_the_next_one_is_still_made(capsys):
    report = Report()

    def fail() -> str:
        raise TrialError("left behind: /usr/bin/x")

    assert not report.trial("purge", fail)
    assert report.trial("sizes", lambda: "9 MiB")
    assert report.close() == 1
    said = capsys.readouterr().out
    assert "FAIL  purge" in said
    assert "left behind: /usr/bin/x" in said
    assert "ok    sizes" in said
    assert "1 failed: purge" in said


def test_when_all_pass_the_exit_code_says_so(capsys):
    report = Report()
    report.trial("sizes", lambda: None)
    assert report.close() == 0
    assert "all trials passed" in capsys.readouterr().out


def test_a_program_that_fails_is_quoted():
    with pytest.raises(TrialError, match=r"ended with 3:\nno such luck"):
        run("sh", "-c", "echo no such luck; exit 3")


def test_waiting_ends_with_what_did_not_come():
    with pytest.raises(TrialError, match=r"the window did not come within 0.3 s"):
        wait_for("the window", lambda: None, 0.3)


def test_a_command_of_the_room_gets_no_variable_but_those_given(tmp_path):
    command = Room(tmp_path).command(["hookline", "version"], variables={"HOME": "/home/ann"}, folder="/var/tmp")
    assert command[:3] == ["chroot", "--userspec=ann:ann", str(tmp_path)]
    assert command[3:] == ["/usr/bin/env", "-i", "-C", "/var/tmp", "HOME=/home/ann", "hookline", "version"]


def test_what_is_brought_into_the_room_lies_there(tmp_path):
    (tmp_path / "made.deb").write_bytes(b"deb")
    room = Room(tmp_path / "room")
    assert room.bring(tmp_path / "made.deb") == "/opt/made.deb"
    assert room.inside("/opt/made.deb").read_bytes() == b"deb"


def test_a_page_of_the_guide_is_followed_as_printed(tmp_path, monkeypatch):
    """On a bare system, but for what takes root."""
    monkeypatch.setattr(Room, "command", lambda _room, words, **_: list(words))
    monkeypatch.setattr(BareSystem, "path", lambda _system, file: str(file))
    system = BareSystem(Room(tmp_path), "/usr/bin:/bin")
    (system.folder / "work").mkdir(parents=True)
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 8787 >port\n```\n", "utf-8")
    reader = Reader(page, system)
    try:
        reader.follow()
    finally:
        reader.close()
    assert (system.folder / "work" / "port").read_text("utf-8") == "8787\n"
