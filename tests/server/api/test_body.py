"""Captured bodies through the local API, as sent and decoded."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import httpx
import pytest

from app.core.model import PART_SIZE, Capture
from app.server.api.requests import DECODED_MAX
from tests import damage
from tests.codings import packed_zstd
from tests.server.api.conftest import TOKEN, Desk, problem


def raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


async def stored(desk: Desk, body: bytes, *codings: str) -> str:
    headers = tuple(("Content-Encoding", coding) for coding in codings)
    return (await desk.capture(await desk.endpoint(), body, headers=headers)).id


async def test_bytes_come_as_sent_and_no_browser_would_run_them(desk: Desk) -> None:
    body = gzip.compress(b"<script>alert(1)</script>")
    capture = await stored(desk, body, "gzip")
    response = await desk.client.get(f"/requests/{capture}/body")
    assert response.status_code == 200
    assert response.content == body
    assert response.headers["content-length"] == str(len(body))
    assert response.headers["content-disposition"] == f'attachment; filename="{capture}.bin"'
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"].startswith("sandbox")
    assert "content-encoding" not in response.headers


@pytest.mark.parametrize("size", [0, 1, PART_SIZE, PART_SIZE + 1, 5 * PART_SIZE + 3])
async def test_large_bodies_come_whole(desk: Desk, size: int) -> None:
    body = os.urandom(size)
    capture = await stored(desk, body)
    head = await desk.client.head(f"/requests/{capture}/body")
    assert (head.headers["content-length"], head.content) == (str(size), b"")
    response = await desk.client.get(f"/requests/{capture}/body")
    assert hashlib.sha256(response.content).digest() == hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    ("pack", "codings"),
    [
        (bytes, ()),
        (bytes, ("identity",)),
        (gzip.compress, ("gzip",)),
        (gzip.compress, ("X-GZip",)),
        (zlib.compress, ("deflate",)),
        (raw_deflate, ("deflate",)),
        (brotli.compress, ("br",)),
        (packed_zstd, ("zstd",)),
        (lambda data: packed_zstd(data[:9]) + packed_zstd(data[9:]), ("zstd",)),
        (lambda data: gzip.compress(brotli.compress(data)), ("br, gzip",)),
        (lambda data: gzip.compress(zlib.compress(data)), ("deflate, gzip",)),
        (lambda data: gzip.compress(zlib.compress(data)), ("deflate", "gzip")),
        (lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]) + b"\0" * 20, ("gzip",)),
    ],
)
async def test_decoded(desk: Desk, pack: Callable[[bytes], bytes], codings: tuple[str, ...]) -> None:
    for data in (b"hello, hooks", bytes(3 * PART_SIZE) + b"x"):
        packed = pack(data)
        capture = await stored(desk, packed, *codings)
        response = await desk.client.get(f"/requests/{capture}/body?decoded=true")
        assert response.status_code == 200
        assert response.content == data
        assert response.headers["content-length"] == str(len(data))
        assert (await desk.client.get(f"/requests/{capture}/body?decoded=false")).content == packed


@pytest.mark.parametrize(
    ("pack", "coding"),
    [(gzip.compress, "gzip"), (zlib.compress, "deflate"), (raw_deflate, "deflate"), (packed_zstd, "zstd")],
)
async def test_decoded_without_what_follows_the_end(desk: Desk, pack: Callable[[bytes], bytes], coding: str) -> None:
    capture = await stored(desk, pack(b"hello, hooks") + b"\x1f and more", coding)
    response = await desk.client.get(f"/requests/{capture}/body?decoded=true")
    assert (response.status_code, response.content) == (200, b"hello, hooks")


@pytest.mark.parametrize(
    ("body", "coding", "why"),
    [
        (b"x", "compress", "'compress'"),
        (b"x", "gzip, gzip, gzip, gzip", "4 times"),
        (b"not Brotli", "br", "not Brotli data"),
        (brotli.compress(b"x" * 500) + b"garbage", "br", "not Brotli data"),
        (b"not Zstandard", "zstd", "not Zstandard data"),
        (brotli.compress(os.urandom(500))[:-9], "br", "is incomplete"),
        (packed_zstd(os.urandom(500))[:-9], "zstd", "is incomplete"),
        (packed_zstd(bytes(DECODED_MAX + 1)), "zstd", "larger than 64 MiB"),
        (b"not gzip", "gzip", "not gzip data"),
        (gzip.compress(os.urandom(500))[:-9], "gzip", "is incomplete"),
        (gzip.compress(b"x" * 500, mtime=0)[:-8] + bytes(8), "gzip", "gzip data is damaged"),
        (b"\xff not deflate", "deflate", "not deflate data"),
        (zlib.compress(os.urandom(500))[:-9], "deflate", "is incomplete"),
        (raw_deflate(os.urandom(500))[:-9], "deflate", "is incomplete"),
        (gzip.compress(bytes(DECODED_MAX + 1), 1), "gzip", "larger than 64 MiB"),
    ],
)
async def test_why_a_body_cannot_be_decoded(desk: Desk, body: bytes, coding: str, why: str) -> None:
    capture = await stored(desk, body, coding)
    told = problem(await desk.client.get(f"/requests/{capture}/body?decoded=true"), 422, "cannot-decode")
    assert why in told["detail"]
    assert (await desk.client.get(f"/requests/{capture}/body")).content == body


async def test_the_flag_is_true_or_false(desk: Desk) -> None:
    capture = await stored(desk, b"")
    problem(await desk.client.get(f"/requests/{capture}/body?decoded=yes"), 400, "invalid-parameter")


async def test_a_caller_that_goes_away_costs_nothing(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    capture = await stored(desk, os.urandom(12 * PART_SIZE))
    host, port = desk.server.address
    head = f"GET /api/v1/requests/{capture}/body HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    for _ in range(3):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(head.encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.transport.abort()
    assert (await desk.client.get("/status")).status_code == 200
    await desk.server.stop()
    assert caplog.records == []


async def test_a_body_that_vanishes_on_the_way_does_not_pass_for_whole(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    capture = await stored(desk, os.urandom(40 * PART_SIZE))
    async with desk.client.stream("GET", f"/requests/{capture}/body") as response:
        assert response.status_code == 200
        assert (await desk.client.delete(f"/requests/{capture}")).status_code == 204
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await response.aread()
    assert caplog.records == []


async def test_a_request_deleted_between_its_head_and_its_body_is_not_found(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = await stored(desk, b"gone")
    find = desk.store.captures.get

    async def deleted_then(capture_id: str) -> Capture | None:
        found = await find(capture_id)
        await desk.store.captures.delete([capture_id])
        return found

    monkeypatch.setattr(desk.store.captures, "get", deleted_then)
    problem(await desk.client.get(f"/requests/{capture}/body"), 404, "not-found")
    assert caplog.records == []


@pytest.mark.parametrize("size", [3, 2 * PART_SIZE])
async def test_a_damaged_body_is_a_problem_unless_it_is_asked_for(desk: Desk, tmp_path: Path, size: int) -> None:
    capture = await stored(desk, b"a" * size)
    long = size > PART_SIZE  # only the body's own call reads it
    assert (await desk.client.get(f"/requests/{capture}")).json()["damaged"] is (None if long else False)
    damage.change_body(tmp_path, capture, (size - 1) // PART_SIZE)
    for decoded in ("", "?decoded=true"):
        response = await desk.client.get(f"/requests/{capture}/body{decoded}")
        told = problem(response, 500, "damaged-body")
        assert "does not match the SHA-256" in told["detail"]
    assert (await desk.client.head(f"/requests/{capture}/body")).status_code == 500
    assert (await desk.client.get(f"/requests/{capture}")).json()["damaged"] is (None if long else True)
    marked = await desk.client.patch(f"/requests/{capture}", json={"starred": True})
    assert (marked.status_code, marked.json()["starred"], marked.json()["damaged"]) == (200, True, None)
    response = await desk.client.get(f"/requests/{capture}/body?damaged=true")
    assert response.content == b"a" * (size - 1) + b"X"


@pytest.mark.parametrize(("size", "short"), [(0, True), (3, True), (64 * 1024, True), (64 * 1024 + 1, False)])
async def test_a_short_body_comes_with_its_request_when_asked_for(
    desk: Desk, tmp_path: Path, size: int, short: bool
) -> None:
    body, before = os.urandom(size), (await desk.client.get("/requests/wait?timeout=0")).headers["hookline-position"]
    capture = await stored(desk, body)
    expected = base64.b64encode(body).decode() if short else None
    one, waiting = f"/requests/{capture}?", f"/requests/wait?timeout=0&after={before}"
    for path in (one, waiting):
        assert (await desk.client.get(f"{path}&body=true")).json().get("body_base64") == expected
        assert "body_base64" not in (await desk.client.get(path)).json()
        assert "body_base64" not in (await desk.client.get(f"{path}&body=false")).json()
    if size:
        damage.change_body(tmp_path, capture)
        damaged = (await desk.client.get(f"{waiting}&body=true")).json()
        assert damaged["damaged"]
        assert "body_base64" not in damaged


async def test_a_request_with_an_unreadable_body_can_be_read(desk: Desk, tmp_path: Path) -> None:
    capture = await stored(desk, b"a" * 3_000)
    damage.make_unreadable(tmp_path, "capture_body")
    problem(await desk.client.get(f"/requests/{capture}/body"), 503, "storage-unavailable")
    read = await desk.client.get(f"/requests/{capture}")
    assert (read.status_code, read.json()["size"], read.json()["damaged"]) == (200, 3_000, None)
