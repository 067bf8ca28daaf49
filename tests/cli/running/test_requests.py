"""`hookline requests` and `hookline show` on what a real sender sent to a running program."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import os
import re
import shutil
import subprocess
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import ROOT, Program, Run, command
from tests.cli.sending import BODY, post, send
from tests.codings import zeros_brotli

ODD = bytes(range(256)) * 3


def newest(run: Run) -> str:
    found: str = run("requests", "orders", "--json", "-n", "1").json[0]["id"]
    return found


def test_the_running_program_answers_and_goes_on(program: Program, run: Run) -> None:
    """It holds the data folder, so that only it can answer."""
    send(program, "/catch/orders/new?x=1", Content_Type="application/json")
    done = run("requests", "orders")
    assert done.code == 0
    identity, _, method, response, delivery, size, *rest, target = done.out.rstrip("\n").split("\t")
    assert re.fullmatch(r"[0-9a-f-]{36}", identity)
    assert (method, response, delivery, size, target) == ("POST", "200", "-", f"{len(BODY)} B", "/catch/orders/new?x=1")
    assert rest == ["-", "JSON · name, total", "-"]
    assert program.process.poll() is None


def test_who_sent_a_request_is_listed_and_shown(program: Program, run: Run) -> None:
    send(program, "/catch/orders", Content_Type="application/json", X_GitHub_Event="push", X_GitHub_Delivery="d-1")
    listed = run("requests", "orders", "--json").json[0]
    assert (listed["provider"], listed["event"]) == ("github", "push")
    assert run("requests", "orders").out.split("\t")[6:8] == ["github", "push"]
    shown = run("show", newest(run)).out
    assert "Provider: github\nEvent: push\nDelivery ID: d-1\n" in shown


def test_a_search_says_what_it_left_unexamined(program: Program, run: Run) -> None:
    """On standard error, so that what reads the output reads requests."""
    bomb = zeros_brotli(128 * 1024 * 1024)
    send(program, "/catch/orders", bomb, Content_Encoding="br")
    why = "hookline: 1 request was not searched to the end: its compressed body unpacks to too much.\n"
    done = run("requests", "-q", "needle")
    assert (done.code, done.out, done.err) == (0, "", f"hookline: No requests match.\n{why}")
    done = run("requests", "-q", "needle", "--json")
    assert (done.json, done.err) == ([], why)


def test_newest_first_and_as_many_as_asked_for_over_several_pages(program: Program, run: Run) -> None:
    place = urlsplit(program.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 0, timeout=10)
    for number in range(510):
        connection.request("POST", f"/catch/orders/{number}", b"x")
        connection.getresponse().read()
    connection.close()
    targets = [item["target"] for item in run("requests", "orders", "--json", "-n", "505").json]
    assert targets == [f"/catch/orders/{number}" for number in range(509, 4, -1)]
    assert len(run("requests", "orders").out.splitlines()) == 50


def test_senders_text_cannot_reach_the_terminal(program: Program, run: Run) -> None:
    send(program, "/catch/orders", Content_Type="text/plain", X_Evil="a\x9b31mb", X_Name="J\xfcrgen")
    shown = run("show", newest(run)).out
    assert "X-Evil: a\\x9b31mb\n" in shown
    assert "X-Name: Jürgen\n" in shown
    assert all(line.isprintable() for line in shown.replace("\t", " ").splitlines())


def test_show_tells_all_of_a_request(program: Program, run: Run) -> None:
    send(program, "/catch/orders/a%2Fb?x=1", Content_Type="application/json")
    identity = newest(run)
    shown = run("show", identity).out
    assert shown.startswith("POST /catch/orders/a%2Fb?x=1 HTTP/1.1\n")
    assert f"ID: {identity}\n" in shown
    assert f"SHA-256: {hashlib.sha256(BODY).hexdigest()}\n" in shown
    assert "Endpoint: orders\n" in shown
    assert "From: 127.0.0.1 port " in shown
    assert "Response: 200" in shown
    assert "\nContent-Type: application/json\n" in shown
    assert shown.endswith(BODY.decode())


def test_show_leaves_out_a_body_that_is_not_text_and_says_how_to_get_it(program: Program, run: Run) -> None:
    send(program, "/catch/orders", ODD)
    shown = run("show", identity := newest(run)).out
    assert f"(768 B that are not text. To get them: hookline show {identity} --body > FILE)" in shown


def test_show_cuts_a_long_body_between_characters(program: Program, run: Run) -> None:
    send(program, "/catch/orders", b"x" + "ü".encode() * 20_000)
    shown = run("show", newest(run)).out
    assert "(The first 16 KiB of 39 KiB. All of it: hookline show " in shown


def test_show_as_json_is_the_apis_request(program: Program, run: Run) -> None:
    send(program, "/catch/orders", x_dup="1", X_DUP="2")
    request = run("show", newest(run), "--json").json
    assert [pair for pair in request["headers"] if pair[0].lower() == "x-dup"] == [["x-dup", "1"], ["X-DUP", "2"]]
    assert request["deliveries"] == []


def test_headers_alone(program: Program, run: Run) -> None:
    send(program, "/catch/orders", x_b="2", X_A="1")
    lines = run("show", newest(run), "--headers").out.splitlines()
    assert lines[0].startswith("Host: ")
    assert lines[1:3] == ["x-b: 2", "X-A: 1"]


def test_show_has_the_trailers(program: Program, run: Run) -> None:
    post(program, "/catch/orders", b"1\r\na\r\n0\r\nX-Sum: \x9b1\r\nhost: y\r\n\r\n", b"", chunked=True)
    assert "\n\nTrailers, sent after the body:\nX-Sum: \\x9b1\nhost: y\n\na\n" in run("show", newest(run)).out
    assert run("show", newest(run), "--json").json["trailers"] == [["X-Sum", "\x9b1"], ["host", "y"]]
    show = command("show", newest(run), "--raw", "--data-dir", str(program.folder))
    shown = subprocess.run(show, capture_output=True, check=True, cwd=ROOT).stdout
    assert shown.endswith(b"\r\n\r\na\r\nX-Sum: \x9b1\r\nhost: y\r\n\r\n")


@pytest.mark.parametrize("part", ["--body", "--raw"])
def test_the_bytes_leave_as_they_came(program: Program, run: Run, part: str) -> None:
    send(program, "/catch/orders/x?y", ODD, method="PUT", X_Name="J\xfcrgen")
    where = ["--data-dir", str(program.folder)]
    shown = subprocess.run(command("show", newest(run), part, *where), capture_output=True, check=True, cwd=ROOT).stdout
    head, _, body = shown.partition(b"\r\n\r\n") if part == "--raw" else (b"", b"", shown)
    assert body == ODD
    if part == "--raw":
        assert head.split(b"\r\n")[0] == b"PUT /catch/orders/x?y HTTP/1.1"
        assert b"\r\nX-Name: J\xfcrgen\r\n" in head + b"\r\n"


def test_a_body_in_gzip_stays_in_gzip(program: Program, run: Run) -> None:
    packed = gzip.compress(BODY)
    send(program, "/catch/orders", packed, Content_Encoding="gzip")
    shown = subprocess.run(
        command("show", newest(run), "--body", "--data-dir", str(program.folder)),
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    assert shown.stdout == packed


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("body", [BODY, b"", "it's $HOME `ž`\n".encode(), ODD])
def test_the_curl_command_sends_the_same_again(program: Program, run: Run, body: bytes) -> None:
    send(program, "/catch/orders/a?b=[c]", body, X_One="1")
    first = run("show", newest(run), "--json").json
    show = command("show", first["id"], "--curl", "--data-dir", str(program.folder))
    printed = subprocess.run(show, capture_output=True, check=True, cwd=ROOT, env={**os.environ, "LC_ALL": "C"}).stdout
    subprocess.run(["sh"], input=printed, check=True, capture_output=True, timeout=20)
    second = run("show", newest(run), "--json").json
    assert second["id"] != first["id"]
    for field in ("method", "target", "size", "sha256"):
        assert second[field] == first[field], field


def test_rm_tells_how_many_requests_went(program: Program, run: Run) -> None:
    send(program, "/catch/orders")
    assert run("endpoint", "rm", "orders", "--yes").out == "Deleted Orders with 1 request.\n"


def test_the_list_is_json_however_long(program: Program, run: Run) -> None:
    for number in range(3):
        send(program, f"/catch/orders/{number}")
    assert [item["target"][-1] for item in json.loads(run("requests", "orders", "--json").out)] == ["2", "1", "0"]


def test_a_search_over_one_endpoint_or_all(program: Program, run: Run) -> None:
    run("endpoint", "add", "Other", "--slug", "other")
    send(program, "/catch/orders/paid")
    send(program, "/catch/orders/draft", method="PUT")
    send(program, "/catch/other/paid")
    assert [one["target"] for one in run("requests", "orders", "-q", "paid", "--json").json] == ["/catch/orders/paid"]
    lines = run("requests", "-q", "paid").out.splitlines()
    assert [line.split("\t")[2] for line in lines] == ["other", "orders"]
    assert [line.split("\t")[-1] for line in lines] == ["/catch/other/paid", "/catch/orders/paid"]
    assert [one["method"] for one in run("requests", "-q", "-method:POST", "--json").json] == ["PUT"]
    assert len(run("requests").out.splitlines()) == 3
    nothing = run("requests", "-q", "absent")
    assert (nothing.code, nothing.out) == (0, "")
    assert "No requests match." in nothing.err
