"""Packed bodies: the bar below says how much was unpacked, and where unpacking stops."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest

from app.core.bodies import body_reader
from app.core.bodies.body_reader import FORMATTED_MAX
from app.ui.inspector.body.body_pane import BodyPane
from tests.codings import packed_zstd
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import until

pytestmark = pytest.mark.slow

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: bytes(brotli.compress(data, quality=3)),
    "zstd": packed_zstd,
}


async def open_packed(shown: PageDesk, data: bytes, coding: str, content_type: str) -> BodyPane:
    await open_body(shown, PACKERS[coding](data), content_type, headers=(("Content-Encoding", coding),))
    return shown.detail.body


@pytest.mark.parametrize(
    ("coding", "content_type", "bound", "named"),
    [
        ("gzip", "application/json", FORMATTED_MAX, "8.0 MiB"),
        ("deflate", "text/plain", 1024 * 1024, "1.0 MiB"),
        ("br", "application/json", 1024 * 1024, "1.0 MiB"),
        ("zstd", "text/plain", 1024 * 1024, "1.0 MiB"),
    ],
)
async def test_a_bomb_is_shown_up_to_a_bound_that_is_named(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch, *, coding: str, content_type: str, bound: int, named: str
) -> None:
    monkeypatch.setattr(body_reader, "FORMATTED_MAX", bound)
    body = await open_packed(shown, b"0" * (10 * 1024 * 1024), coding, content_type)
    await until(lambda: body.loader.ended)
    assert body.rest.text.text().startswith(f"Decompression stopped at {named}: ")
    assert body.rest.more.isHidden()
    assert len(body.code.searchable) in range(bound, bound + 10_000)


@pytest.mark.parametrize("coding", sorted(PACKERS))
async def test_an_honest_body_can_be_read_to_its_end(shown: PageDesk, coding: str) -> None:
    data = b"".join(b"line %d of a log\n" % number for number in range(15_000)) + b"the end"
    body = await open_packed(shown, data, coding, "text/plain")
    await until(lambda: body.loader.ended)
    assert body.rest.isHidden()
    assert body.code.toPlainText().endswith("\nthe end")
