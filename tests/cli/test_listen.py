"""`hookline listen` and `hookline serve --forward-url`, as processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import WAIT_S, Following, Program, Run
from tests.cli.sending import send
from tests.cli.target_server import serving

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="select and signals of POSIX"), pytest.mark.slow]
OWN_PORTS = ("--port", "0", "--api-port", "0")


def ended(listening: Following) -> list[str]:
    """What it says on standard error after Ctrl-C, which is no failure."""
    listening.process.send_signal(signal.SIGINT)
    assert listening.process.wait(WAIT_S) == 0
    assert listening.process.stderr is not None
    return listening.process.stderr.read().decode().splitlines()


def begun(listening: Following) -> dict[str, str]:
    """The fields it prints first."""
    lines = list(iter(listening.line, ""))
    return dict(line.split(": ", 1) for line in lines)


def place_of(url: str) -> Any:
    """What `send` asks of a program."""
    return SimpleNamespace(url=url.partition("/catch/")[0])


def test_it_captures_and_forwards_by_itself_and_keeps_one_endpoint(follow: Callable[..., Following], run: Run) -> None:
    with serving() as place:
        slugs = set()
        for typed in (str(place.port), f"localhost:{place.port}/"):
            listening = follow("listen", typed, *OWN_PORTS)
            fields = begun(listening)
            slug = fields["Endpoint"].partition("(")[2].rstrip(")")
            slugs.add(slug)
            assert fields["Forwarded to"] == f"http://localhost:{place.port}"
            assert fields["Captured by"] == "this command"
            send(place_of(fields["URL"]), f"/catch/{slug}/new")
            request = listening.line().split("\t")
            delivery = listening.line().split("\t")
            assert delivery[:5] == ["-->", request[0], slug, "POST", f"http://localhost:{place.port}/new"]
            assert delivery[5].startswith("200 in ")
            said = ended(listening)
            kept = f"hookline: Stopped capturing. The endpoint {slug} and its requests are kept"
            assert said[-2].startswith(kept)
            assert said[-1].startswith(f"hookline: To end the forwarding to http://localhost:{place.port}: ")
        assert len(slugs) == 1
    assert [one["name"] for one in run("endpoint", "list", "--json").json] == [f"localhost:{place.port}"]


def test_it_uses_the_running_program_and_the_endpoint_that_is_named(
    follow: Callable[..., Following], run: Run, serve: Callable[..., Program]
) -> None:
    run("endpoint", "add", "Shop", "--slug", "shop", "--forward-url", "http://127.0.0.1:9")
    first = run("targets", "shop", "--json").json[0]["id"]
    run("target", "edit", str(first), "--set-header", "Authorization: Bearer key")
    run("endpoint", "off", "shop")
    program = serve()
    refused = run("listen", "shop", "3000", "--port", "8790")
    assert (refused.code, "--port has no effect" in refused.err) == (2, True)
    with serving() as place:
        listening = follow("listen", "shop", place.url, "--json")
        assert "Switched on the endpoint “Shop” (shop)." in listening.line("stderr")
        changed = f"The endpoint “Shop” (shop) forwards to {place.url} now, and still to its other targets."
        assert changed in listening.line("stderr")
        first, second = json.loads(listening.line())["targets"]
        assert (first["url"], first["set_headers"]) == ("http://127.0.0.1:9", [["Authorization", "Bearer key"]])
        assert (second["url"], second["set_headers"]) == (place.url, [])
        run("target", "off", str(first["id"]))
        send(program, "/catch/shop/new")
        request, delivery = json.loads(listening.line()), json.loads(listening.line())
        assert (delivery["request"], delivery["state"]) == (request["id"], "delivered")
        goes_on, to_end = ended(listening)
    assert goes_on == f"hookline: Hookline goes on capturing at {program.url}/catch/shop and forwarding."
    assert to_end == f"hookline: To end the forwarding to {place.url}: hookline target rm {second['id']}"
    assert run("target", "rm", str(second["id"]), "--yes").code == 0
    assert [one["id"] for one in run("targets", "shop", "--json").json] == [first["id"]]
    assert run("status", "--json").json["capture_url"] == program.url


def test_a_target_of_the_same_origin_is_used(
    follow: Callable[..., Following], run: Run, serve: Callable[..., Program]
) -> None:
    with serving() as place:
        run("endpoint", "add", "Shop", "--slug", "shop", "--forward-url", f"{place.url}/old")
        number = run("targets", "shop", "--json").json[0]["id"]
        run("target", "off", str(number))
        serve()
        listening = follow("listen", "shop", f"{place.url}/new")
        changed = f"The endpoint “Shop” (shop) forwards to {place.url}/new now, no longer to {place.url}/old."
        assert listening.line("stderr") == f"hookline: {changed}"
        assert listening.line("stderr") == f"hookline: Switched on the target {place.url}/new."
        assert begun(listening)["Forwarded to"] == f"{place.url}/new"
    assert [one["id"] for one in run("targets", "shop", "--json").json] == [number]


def test_a_paused_target_is_resumed(follow: Callable[..., Following], run: Run, serve: Callable[..., Program]) -> None:
    with serving() as place:
        run("endpoint", "add", "Shop", "--slug", "shop", "--forward-url", place.url)
        number = run("targets", "shop", "--json").json[0]["id"]
        program = serve()
        run("target", "pause", str(number))
        send(program, "/catch/shop/waiting")
        listening = follow("listen", place.url)
        resumed = f"Resumed the target {place.url}, which was paused; its queue of 1 is sent now."
        assert listening.line("stderr") == f"hookline: {resumed}"
        place.wait_for(1)


def test_it_says_when_a_target_is_paused(
    follow: Callable[..., Following], run: Run, serve: Callable[..., Program]
) -> None:
    with serving() as place:
        run("endpoint", "add", "Shop", "--slug", "shop", "--forward-url", place.url)
        number = run("targets", "shop", "--json").json[0]["id"]
        program = serve()
        listening = follow("listen", "shop", place.url)
        begun(listening)
        send(program, "/catch/shop/new")
        assert [listening.line()[:3] == "-->" for _ in range(2)] == [False, True]
        run("target", "pause", str(number))
        said = f"Forwarding to {place.url} is paused. To resume it: hookline target resume {number}"
        assert listening.line("stderr") == f"hookline: {said}"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("listen",), 2, "required: URL"),
        (("listen", "shop"), 2, "must start with http:// or https://"),
        (("listen", "S h", "3000"), 2, "SLUG"),
        (("listen", "0"), 2, "port between 1 and 65535"),
    ],
)
def test_usage_errors(run: Run, words: tuple[str, ...], code: int, told: str) -> None:
    done = run(*words, *OWN_PORTS)
    assert (done.code, told in done.err) == (code, True), done.err


def test_serve_forwards_what_its_endpoints_capture(run: Run, serve: Callable[..., Program]) -> None:
    with serving() as place:
        program = serve("--forward-url", f":{place.port}", "--endpoint", "Shop", "--endpoint", "Pay")
        assert {one["name"]: one["forward_url"] for one in run("endpoint", "list", "--json").json} == dict.fromkeys(
            ("Shop", "Pay"), f"http://localhost:{place.port}"
        )
        program.stop()
        program = serve("--forward-url", str(place.port), "--tail")
        assert program.read_line().startswith("Shop: ")  # the first that forwards there
        assert len(run("endpoint", "list", "--json").json) == 2
