"""`hookline replay` and `replays`, where no program runs: each command opens the store for itself."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stored import store_requests
from tests.cli.target_server import Serving, serving
from tests.server.forward.targets import answering

BAD = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
NEWEST = 1_700_000_000_000_000


@pytest.fixture
def ids(folder: Path) -> list[str]:
    """Requests to `/0` to `/4` of the endpoint `orders`, a second apart."""
    rows = [
        {"target": f"/catch/orders/{n}", "body": b"%d" % n, "received_at": NEWEST - (4 - n) * 1_000_000}
        for n in range(5)
    ]
    return store_requests(folder, "orders", rows)


def paths(place: Serving) -> list[str]:
    return [one.line.split()[1] for one in place.received]


def test_a_request_is_sent_again_to_its_target(run: Run, ids: list[str]) -> None:
    with serving() as place:
        run("target", "add", "orders", place.url)
        done = run("replay", ids[0])
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert first == f"Replayed to: {place.url}/0: delivered, response 200"
    assert second.startswith("  Attempts: hookline delivery ")
    assert paths(place) == ["/0"]
    shown = run("show", ids[0]).out
    assert first in shown
    assert "1 (replay) of" in run("delivery", second.split()[-1], "--attempt", "1").out


def test_some_requests_go_oldest_first_to_another_url(run: Run, ids: list[str]) -> None:
    with serving() as place:
        done = run("replay", ids[3], ids[1][:30], "@last", "--to", f"{place.url}/x", "--json")
    assert done.code == 0
    assert paths(place) == ["/x/1", "/x/3", "/x/4"]
    replay = done.json
    assert (replay["state"], replay["progress"]["delivered"], replay["url"]) == ("done", 3, f"{place.url}/x")
    assert set(replay["ids"]) == {ids[1], ids[3], ids[4]}


def test_what_fails_is_told_by_the_exit_code(run: Run, ids: list[str]) -> None:
    with serving(answering(BAD)) as place:
        done = run("replay", ids[0], "--to", place.url)
        assert done.code == 1
        assert "failed" in done.out
        assert "503" in done.out
        done = run("replay", "--endpoint", "orders", "--to", place.url)
    assert done.code == 1
    assert ["Failed", "5"] in [line.replace(":", " ").split() for line in done.out.splitlines()]
    nowhere = run("replay", ids[0])
    assert nowhere.code == 1
    assert "without a target" in nowhere.err


def test_one_request_is_edited(run: Run, ids: list[str], folder: Path, tmp_path: Path) -> None:
    headers = (("Host", "old"), ("X-A", "1"), ("x-a", "2"), ("Content-Encoding", "gzip"), ("Connection", "x-b"))
    row = {"target": "/catch/gzip/", "body": gzip.compress(b"old"), "headers": (*headers, ("X-B", "3"))}
    (packed,) = store_requests(folder, "gzip", [row])
    (tmp_path / "body").write_bytes(b"\x00new")
    with serving() as place:
        to = ("--to", place.url)
        assert run("replay", packed, *to, "--method", "PUT", "--header", "X-A: 9", "--header", "New: a: b").code == 0
        assert run("replay", packed, *to, "--body-file", str(tmp_path / "body")).code == 0
        assert run("replay", packed, *to, "--body", "tëxt").code == 0
    edited, from_file, text = place.received
    assert edited.line == "PUT / HTTP/1.1"
    assert gzip.decompress(edited.body) == b"old"
    assert (edited.all("x-a"), edited.all("New"), edited.all("x-b")) == (["9"], ["a: b"], [])
    assert (edited.all("host"), edited.all("content-encoding")) == ([f"127.0.0.1:{place.port}"], ["gzip"])
    assert (from_file.body, from_file.all("content-encoding"), from_file.all("x-a")) == (b"\x00new", [], ["1", "2"])
    assert (text.body, text.all("content-length")) == ("tëxt".encode(), ["5"])


def test_the_requests_of_an_endpoint_are_sent_with_a_summary(run: Run, ids: list[str]) -> None:
    with serving() as place:
        run("target", "add", "orders", place.url)
        done = run("replay", "--endpoint", "orders")
        assert (done.code, done.err) == (0, "")
        assert paths(place) == [f"/{n}" for n in range(5)]
        assert done.out.startswith("Replay finished\n")
        place.received.clear()
        assert run("replay", "--endpoint", "orders", "-q", "-path:/1", "--after", "2023-11-14T22:13:17Z").code == 0
        assert paths(place) == ["/2", "/3", "/4"]
        place.received.clear()
        assert run("replay", "--endpoint", "orders", "--before", "2023-11-14T22:13:18Z").code == 0
        assert paths(place) == ["/0", "/1"]


def test_all_options_reach_the_replay(run: Run, ids: list[str]) -> None:
    with serving() as place:
        faults = ("--duplicate", "100%", "--swap", "0.5", "--drop", "0%", "--delay", "1", "--delay-max", "0.001")
        pace = ("--speed", "1000x", "--longest-gap", "0.01", "--parallel", "3", "--times", "2")
        more = ("--cut-off", "0", "--seed", "7", "--to", place.url)
        replay = run("replay", "--endpoint", "orders", "--json", *faults, *pace, *more).json
        rated = run("replay", "--endpoint", "orders", "--json", "--rate", "1000", "--to", place.url).json
        spaced = run("replay", ids[0], "--json", "--gaps", "original", "--to", place.url).json
    assert replay["faults"] == {
        "duplicate": 1,
        "swap": 0.5,
        "drop": 0,
        "delay": 1,
        "delay_max_ms": 1,
        "cut_off": 0,
    }
    assert (replay["gaps"], replay["scale"], replay["longest_gap_ms"]) == ("original", 0.001, 10)
    assert (replay["concurrency"], replay["times"], replay["seed"], replay["progress"]["sent"]) == (3, 2, 7, 20)
    assert (rated["rate"], rated["gaps"], spaced["gaps"], spaced["scale"]) == (1000, "none", "original", 1)


def test_nothing_to_send_and_nothing_that_could_capture(run: Run, ids: list[str]) -> None:
    done = run("replay", "--endpoint", "orders", "-q", "nowhere", "--to", "http://127.0.0.1:9")
    assert (done.code, done.out, done.err) == (1, "", "hookline: No requests match.\n")
    run("endpoint", "add", "Other", "--slug", "other")
    for words in (("--to-endpoint", "other"), ("--to", "http://127.0.0.1:9", "--background")):
        done = run("replay", ids[0], *words)
        assert done.code == 3
        assert "not running" in done.err
    assert "Nothing has been replayed" not in run("replays").err
    assert len(run("replays").out.splitlines()) == 1


@pytest.mark.slow
def test_what_cannot_be_replayed_says_why(run: Run, ids: list[str]) -> None:
    for words, code, told in (
        ("", 2, "Name requests, or use --endpoint"),
        ("@last --endpoint orders", 2, "Name requests, or use --endpoint"),
        ("@last -q x", 2, "-q only works with --endpoint"),
        ("@last --after 2h", 2, "--after only works with --endpoint"),
        ("--endpoint orders --method PUT", 2, "--method only works with a single request"),
        ("@last @last:orders --body x", 2, "--body only works with a single request"),
        ("@last --to http://localhost:1 --to-endpoint orders", 2, "not allowed with"),
        ("@last --body x --body-file y", 2, "not allowed with"),
        ("@last --rate 5 --speed 2x", 2, "--rate cannot be combined with --speed"),
        ("@last --rate 5 --gaps original", 2, "--rate cannot be combined with --gaps original"),
        ("@last --gaps none --longest-gap 5", 2, "--longest-gap cannot be combined with --gaps none"),
        ("@last --speed 0", 2, "'0' is not a speed"),
        ("@last --speed 1e-320", 2, "'1e-320' is not a speed"),
        ("@last --rate nan", 2, "'nan' is not a number"),
        ("@last --rate 0", 2, "--rate must be 0.001 to 10,000 per second"),
        ("@last --speed 0.0001", 2, "'0.0001' is not a speed"),
        ("@last --longest-gap 90000", 2, "Argument --longest-gap: 90000 is out of range; use 0 to 86,400 seconds. See"),
        ("@last --delay-max 601", 2, "601 is out of range; use 0 to 600 seconds"),
        ("@last --times 99999999999999999999", 2, "--times must be 1 to"),
        ("@last --drop much", 2, "'much' is not a share"),
        ("@last --drop 101%", 2, "'101%' is not a share from 0% to 100%; use one such as 5% or 0.05"),
        ("@last --duplicate 5", 2, "'5' is not a share from 0% to 100%"),
        ("@last --parallel 0", 2, "Argument --parallel: 0 is out of range; use 1 to 64. See"),
        ("--endpoint orders --after noon", 2, "“noon” is not a time"),
        ("--endpoint orders -q size:x", 2, "size"),
        ("--endpoint orders", 2, "has no active target"),
        ("--endpoint none", 1, "No endpoint has the slug"),
        ("@last --to-endpoint none", 1, "No endpoint has the slug"),
        ("@last --to ftp://x", 2, "--to must start with http:// or https://"),
        ("@last --header colon", 2, "has no colon"),
        ("@last --header Content-Length:5", 2, "--header: Content-Length is set by Hookline itself."),
        ("@last --body-file /none", 3, "cannot be read from /none"),
        ("@last --body-file ~nobody-here/x", 3, "cannot be read from ~nobody-here/x: No such file"),
        ("@last 019a1b2c", 1, "No request has the ID '019a1b2c'"),
    ):
        done = run("replay", *words.split())
        assert (done.code, done.out) == (code, ""), words
        assert told in done.err, words
        assert done.err.count("\n") == 1, words
    assert run("replays", "--json").json == []


def test_replays_are_listed_and_shown(run: Run, ids: list[str]) -> None:
    assert "Nothing has been replayed yet." in run("replays").err
    assert (run("replays", "@last").code, run("replays", "019a1b2c").code, run("replays", "x").code) == (1, 1, 1)
    with serving(answering(BAD)) as place:
        run("replay", ids[0], "--to", place.url)
        run("replay", "--endpoint", "orders", "-q", "path:/1", "--to", place.url)
    newest, first = (line.split("\t") for line in run("replays").out.splitlines())
    assert newest[2:] == ["done", "1", "1", "0", "1", "orders: path:/1", place.url]
    assert first[2:] == ["done", "1", "1", "0", "1", "1 request", place.url]
    assert [one["id"] for one in run("replays", "-n", "1", "--json").json] == [newest[0]]
    shown = run("replays", first[0][:30]).out
    assert f"ID: {first[0]}\n" in shown
    assert "Progress: Done: 1 of 1 sent, 0 delivered, 1 failed.\n" in shown
    assert "Replay finished\n" in shown
    assert run("replays", "@last", "--json").json["id"] == newest[0]
    for verb in ("--pause", "--resume", "--cancel"):
        done = run("replays", "@last", verb)
        assert done.code == 3
        assert "this one is done" in done.err
        assert run("replays", verb).code == 2


@pytest.mark.parametrize("time", ["1960-01-01", "1969-12-31T23:59", "0002-01-01"])
def test_a_time_before_1970_matches_no_request(run: Run, time: str) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    done = run("replay", "--endpoint", "orders", "--to", "3000", "--before", time)
    assert (done.code, done.err) == (1, "hookline: No requests match.\n")
    assert run("replay", "--endpoint", "orders", "--to", "3000", "--after", time, "--before", "9999-12-30").code == 1
    assert run("requests", "-q", f"before:{time}").err == run("requests", "-q", f"since:{time}").err
