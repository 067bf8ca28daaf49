"""The fixture's endpoints: waiting, what is said when nothing comes, responses set from the test."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from hookline.testing import Hookline, HooklineEndpoint, Request, Response
from hookline.testing.https import HttpsPort
from hookline.testing.matchers import MatcherArguments
from tests.hookline.sending import send


@pytest.fixture
def endpoint(hookline: Hookline) -> HooklineEndpoint:
    return hookline.endpoint()


def told(error: pytest.ExceptionInfo[AssertionError], endpoint: HooklineEndpoint) -> str:
    """The message, with URL for the endpoint's."""
    return str(error.value).replace(endpoint.url, "URL")


def test_a_request_is_found_whenever_it_came(endpoint: HooklineEndpoint) -> None:
    send(f"{endpoint.url}/first", b'{"n": 1}')
    first = endpoint.wait_for(path="/first")
    assert (first.json(), endpoint.wait_for(path="/first")) == ({"n": 1}, first)
    sender = threading.Timer(0.1, send, (f"{endpoint.url}/second",))
    sender.start()
    second = endpoint.wait_for(path="/second", timeout=30)
    sender.join()
    assert [one.id for one in endpoint.wait_for(count=2)] == [first.id, second.id]
    assert endpoint.wait_for(after=first).id == second.id
    assert [one.path for one in endpoint.requests()] == ["/first", "/second"]


async def test_a_failure_shows_the_test_and_nothing_of_hookline(endpoint: HooklineEndpoint) -> None:
    failures: list[pytest.ExceptionInfo[AssertionError]] = []
    with pytest.raises(AssertionError) as failure:
        endpoint.wait_for(timeout=0)
    failures.append(failure)
    with pytest.raises(AssertionError) as failure:
        await endpoint.async_wait_for(timeout=0)
    failures.append(failure)
    send(endpoint.url)
    with pytest.raises(AssertionError) as failure:
        endpoint.assert_none()
    failures.append(failure)
    with pytest.raises(AssertionError) as failure:
        await endpoint.async_assert_none()
    failures.append(failure)
    for one in failures:
        shown = one.traceback.filter(one)
        assert [Path(entry.path) for entry in shown] == [Path(__file__)]


def test_bodies_that_are_not_kept_are_read_again(endpoint: HooklineEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.testing.fixture.KEPT_MAX", 5)
    for body in (b"first", b"second", b"x" * 100_000):
        send(f"{endpoint.url}/", body)
    for _ in range(2):
        assert [one.body for one in endpoint.wait_for(count=3)] == [b"first", b"second", b"x" * 100_000]


def test_endpoints_keep_their_requests_apart(hookline: Hookline) -> None:
    one, two = hookline.endpoint("One"), hookline.endpoint("Two", slug="fixed-slug")
    send(one.url)
    two.assert_none()
    assert two.url.endswith("/fixed-slug")
    assert len(one.requests()) == 1


def test_a_test_may_delete_an_endpoint_itself(hookline: Hookline) -> None:
    endpoint = hookline.endpoint()
    hookline.client.endpoints.delete(endpoint.slug)
    assert endpoint.slug not in [one.slug for one in hookline.client.endpoints.list()]


def test_more_endpoints_than_the_free_plan_allows(hookline: Hookline) -> None:
    assert len({hookline.endpoint().url for _ in range(12)}) == 12


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_none_is_missed_among_many(endpoint: HooklineEndpoint) -> None:
    """From four senders at once, while each is waited for."""
    count, senders = 200, 4

    def send_part(part: int) -> None:
        with httpx.Client(trust_env=False, timeout=60) as client:
            for number in range(part, count, senders):
                client.post(f"{endpoint.url}/{number}", content=b"%d" % number)

    with ThreadPoolExecutor(senders) as pool:
        sending = [pool.submit(send_part, part) for part in range(senders)]
        for number in range(count):
            assert endpoint.wait_for(path=f"/{number}", timeout=60).body == b"%d" % number
        for one in sending:
            one.result()
    assert len({one.id for one in endpoint.wait_for(count=count)}) == count
    endpoint.assert_none(path=str(count))


async def test_waiting_lets_the_loop_go_on(endpoint: HooklineEndpoint) -> None:
    async def send_later() -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            for number in range(3):
                await client.post(endpoint.url, content=b"%d" % number)

    sending = asyncio.create_task(send_later())
    several, one = await asyncio.gather(
        endpoint.async_wait_for(count=3, timeout=30), endpoint.async_wait_for(body=b"1", timeout=30)
    )
    assert [request.body for request in several] == [b"0", b"1", b"2"]
    assert several[1] == one
    await sending
    await endpoint.async_assert_none(body=b"3", within=0.01)
    with pytest.raises(AssertionError, match="should not"):
        await endpoint.async_assert_none(body=b"2")
    with pytest.raises(AssertionError, match="3 of 4 requests matched"):
        await endpoint.async_wait_for(count=4, timeout=0)


def test_a_wait_in_vain_shows_the_nearest_misses(endpoint: HooklineEndpoint) -> None:
    send(f"{endpoint.url}/health", b"", method="GET")
    send(f"{endpoint.url}/orders", b'{"id": 8}', content_type="application/json", x_sig="b")
    with pytest.raises(AssertionError) as caught:
        endpoint.wait_for(
            method="POST", path="/orders", header={"X-Sig": re.compile("^a")}, json_path={"id": 7}, timeout=0
        )
    assert told(caught, endpoint) == (
        "No request matched within 0 s at URL:\n"
        "  method 'POST', path '/orders', header X-Sig /^a/, json id 7\n"
        "2 requests arrived.\n"
        "\n"
        "1. POST /orders (application/json, 9 bytes)\n"
        "   2 of 4 match\n"
        "   header X-Sig\n"
        "     expected: /^a/\n"
        "     actual:   'b'\n"
        "   json id\n"
        "     expected: 7\n"
        "     actual:   8\n"
        "\n"
        "2. GET /health (no content type, 0 bytes)\n"
        "   0 of 4 match\n"
        "   method\n"
        "     expected: 'POST'\n"
        "     actual:   'GET'\n"
        "   path\n"
        "     expected: '/orders'\n"
        "     actual:   '/health'\n"
        "   header X-Sig\n"
        "     expected: /^a/\n"
        "     actual:   nothing there\n"
        "   json\n"
        "     the body is no JSON (Expecting value: line 1 column 1 (char 0)): ''"
    )


def test_of_many_misses_the_nearest_are_shown(endpoint: HooklineEndpoint) -> None:
    for number in range(5):
        send(f"{endpoint.url}/{number}", b'{"n": %d, "kind": "order", "paid": true}' % number)
    with pytest.raises(AssertionError) as caught:
        endpoint.wait_for(path="/2", json={"n": 2, "kind": "order", "paid": False}, timeout=0)
    said = told(caught, endpoint)
    assert "5 requests arrived. The nearest:\n\n1. POST /2 " in said
    assert '-  "paid": false\n     +  "paid": true' in said
    assert said.count(" match\n") == 3


def test_nothing_at_all_is_said_with_what_was_refused(hookline: Hookline, endpoint: HooklineEndpoint) -> None:
    send(f"{endpoint.url}-typo")
    with pytest.raises(AssertionError) as caught:
        endpoint.wait_for(timeout=0)
    assert told(caught, endpoint) == (
        "No request matched within 0 s at URL:\n"
        "  any request\n"
        "No request arrived there.\n"
        "\n"
        "Hookline refused, from this test or one that ran at the same time:\n"
        f"  404 POST /catch/{endpoint.slug}-typo: No endpoint has this path."
    )


def test_what_should_not_come_is_shown(endpoint: HooklineEndpoint) -> None:
    endpoint.assert_none(within=0.01)
    send(f"{endpoint.url}/a", b"content")
    with pytest.raises(AssertionError) as caught:
        endpoint.assert_none(method="POST")
    assert told(caught, endpoint) == (
        "A request came to URL that should not:\n  method 'POST'\nPOST /a (no content type, 7 bytes)\ncontent"
    )


def test_a_response_is_set_from_the_test(endpoint: HooklineEndpoint) -> None:
    endpoint.respond(418, headers=[("X-A", "1")], json={"short": True}, delay=0.01)
    first = send(endpoint.url)
    assert (first.status_code, first.headers["x-a"], first.json()) == (418, "1", {"short": True})
    endpoint.respond()
    assert send(endpoint.url).json()["status"] == "captured"


def test_responses_in_turn_are_given_in_turn_however_fast_requests_are_repeated(endpoint: HooklineEndpoint) -> None:
    endpoint.respond_in_turn(Response(500), Response(503, json={"a": 1}), Response(200, [("X-A", "1")], b"\xff"))
    first, second, third, fourth = (send(endpoint.url, method=method) for method in ("POST", "PUT", "DELETE", "GET"))
    assert [one.status_code for one in (first, second, third, fourth)] == [500, 503, 200, 200]
    assert (second.json(), third.content, fourth.headers["x-a"]) == ({"a": 1}, b"\xff", "1")
    assert [one.response.status for one in endpoint.requests()] == [500, 503, 200, 200]
    endpoint.respond_in_turn(Response(204))
    assert send(endpoint.url).status_code == 204
    endpoint.respond(201)
    assert send(endpoint.url).status_code == 201


@pytest.mark.slow
def test_many_failures_in_turn_pause_nothing(endpoint: HooklineEndpoint) -> None:
    endpoint.respond_in_turn(*[Response(500)] * 15, Response(200))
    assert [send(endpoint.url).status_code for _ in range(16)] == [500] * 15 + [200]


def test_an_endpoint_that_forwards_cannot_respond_in_turn(hookline: Hookline) -> None:
    forwarding = hookline.endpoint(forward_url="http://127.0.0.1:9/")
    with pytest.raises(ValueError, match="cannot respond in turn"):
        forwarding.respond_in_turn(Response(200))
    with pytest.raises(ValueError, match="at least one response"):
        hookline.endpoint().respond_in_turn()


def test_a_function_chooses_the_response(endpoint: HooklineEndpoint) -> None:
    seen: list[Request] = []

    def respond(request: Request) -> Response:
        seen.append(request)
        return Response(201, [("X-Path", request.path)], json=request.json()["n"])

    send(f"{endpoint.url}/before")
    endpoint.respond(respond)
    responses = [send(f"{endpoint.url}//a%20b?q={n}", b'{"n": %d}' % n, method="PUT") for n in (1, 2)]
    assert [(one.status_code, one.headers["x-path"], one.json()) for one in responses] == [
        (201, "//a%20b", 1),
        (201, "//a%20b", 2),
    ]
    captured = endpoint.wait_for(method="PUT", count=2)
    assert [(one.id, one.body, one.headers) for one in seen] == [(one.id, one.body, one.headers) for one in captured]


def test_responses_by_path_and_method(endpoint: HooklineEndpoint) -> None:
    endpoint.respond(404, body="none")
    endpoint.respond(201, path="/orders", json={"a": 1})
    endpoint.respond_in_turn(Response(500), Response(202), path=re.compile("^/retried"))
    endpoint.respond(lambda request: Response(203, body=request.query), path="/asked?x=1", method="get")

    def ask(path: str, method: str = "POST") -> tuple[int, str]:
        response = send(f"{endpoint.url}{path}", method=method)
        return response.status_code, response.text

    assert [ask("/orders"), ask("/orders?x=1"), ask("/other")] == [(201, '{"a": 1}')] * 2 + [(404, "none")]
    assert [ask("/retried")[0], ask("/retried/again")[0], ask("/retried")[0]] == [500, 202, 202]
    assert [ask("/asked?x=1", "GET"), ask("/asked?x=1")] == [(203, "x=1"), (404, "none")]
    endpoint.respond(204, path="/orders")
    assert ask("/orders") == (204, "")
    endpoint.respond()
    assert "captured" in ask("/orders")[1]


def test_what_a_function_raises_goes_to_sender_and_test(endpoint: HooklineEndpoint) -> None:
    def respond(request: Request) -> Response:
        raise ValueError("no such order")

    endpoint.respond(respond)
    said = send(endpoint.url)
    assert (said.status_code, said.text) == (500, "The test's function raised ValueError: no such order\n")
    with pytest.raises(ValueError, match="no such order") as caught:
        endpoint.raise_errors()
    assert [Path(entry.path) for entry in caught.traceback.filter(caught)] == [Path(__file__)] * 2
    endpoint.respond(lambda _: 200)  # type: ignore[arg-type, return-value]
    assert "has to return a hookline.testing.Response, not 200" in send(endpoint.url).text
    with pytest.raises(TypeError):
        endpoint.raise_errors()
    endpoint.raise_errors()


def test_https_with_an_authority_of_its_own(hookline: Hookline) -> None:
    endpoint = hookline.endpoint(https=True, slug="secure")
    assert re.fullmatch(r"https://127\.0\.0\.1:\d+/catch/secure", endpoint.url)
    body = bytes(range(256)) * 4_096
    endpoint.respond(lambda request: Response(201, body=request.body))
    with httpx.Client(verify=hookline.ssl_context, trust_env=False, timeout=30) as client:
        assert client.post(f"{endpoint.url}/a", content=body).content == body
        assert client.post(f"{endpoint.url}/b", headers={"Connection": "close"}).status_code == 201
    assert [request.path for request in endpoint.wait_for(count=2)] == ["/a", "/b"]
    with httpx.Client(trust_env=False) as client, pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        client.post(endpoint.url)
    trusting = ssl.create_default_context(cafile=str(hookline.ca_file))
    assert httpx.get(endpoint.url, verify=trusting, trust_env=False).status_code == 201
    assert hookline.endpoint().url.startswith("http:")


def test_what_https_needs_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)
    with pytest.raises(ImportError, match=r"pip install 'hookline\[https\]'"):
        HttpsPort("http://127.0.0.1:9", tmp_path / "ca.pem")


@pytest.mark.slow
def test_messages_are_short_whatever_came(endpoint: HooklineEndpoint) -> None:
    long = "x" * 1_000_000
    for number in range(5):
        text = json.dumps({"text": long, "list": list(range(20_000)), **{f"{n}": number for n in range(100)}})
        send(f"{endpoint.url}/{'p' * 5_000}", text.encode(), content_type="c" * 5_000)
        send(f"{endpoint.url}-{'p' * 5_000}")
    paths = {f"{n}": long for n in range(100)}
    given: list[MatcherArguments] = [
        {"json": {"text": f"y{long}", "list": list(range(1, 20_000))}},
        {"json_path": {**paths, "no" * 10_000: 1}, "header": {"h" * 10_000: long}},
        {"path": re.compile(f"y{'z' * 100_000}"), "body": long.encode()},
        {"predicate": lambda request: {}[request.text]},
        {"predicate": lambda request: [] if request.text else 1},
    ]
    for matchers in given:
        with pytest.raises(AssertionError) as caught:
            endpoint.wait_for(timeout=0, **matchers)
        assert len(str(caught.value)) <= 10_100
        assert "5 requests arrived. The nearest:" in str(caught.value)
    with pytest.raises(AssertionError) as caught:
        endpoint.assert_none()
    assert len(str(caught.value)) <= 10_100
