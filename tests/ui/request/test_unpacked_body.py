"""Packed bodies: the bar below says how much was unpacked, and where unpacking stops."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable

import brotli
import pytest

from app.ui.request.body.body_pane import SHOWN_MAX, BodyPane
from tests.codings import packed_zstd
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import until

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: bytes(brotli.compress(data, quality=3)),
    "zstd": packed_zstd,
}


async def open_packed(shown: PageDesk, data: bytes, coding: str, content_type: str) -> BodyPane:
    await open_body(shown, PACKERS[coding](data), content_type, headers=(("Content-Encoding", coding),))
    return shown.detail.body


async def load_more(body: BodyPane) -> None:
    length = body.code.length()
    body.rest.more.clicked.emit()
    await until(lambda: body.code.length() > length)


@pytest.mark.parametrize(
    ("coding", "content_type"),
    [("gzip", "application/json"), ("deflate", "text/plain"), ("br", "application/json"), ("zstd", "text/plain")],
)
async def test_a_bomb_is_shown_up_to_a_bound_that_is_named(coding: str, content_type: str, shown: PageDesk) -> None:
    body = await open_packed(shown, b"0" * (10 * 1024 * 1024), coding, content_type)
    told = [body.rest.text.text()]
    assert told[0].startswith("Showing the first 256 KiB, decompressed from ")
    while not body.rest.more.isHidden():
        await load_more(body)
        told.append(body.rest.text.text())
    assert len(set(told)) == len(told) > 2  # one click loads step by step, and several may be over
    assert all(" KiB, decompressed from " in text or " MiB, decompressed from " in text for text in told[:-1])
    assert told[-1].startswith("Decompression stopped at 8.")
    assert SHOWN_MAX <= body.code.length() < SHOWN_MAX + 300_000


@pytest.mark.parametrize("coding", sorted(PACKERS))
async def test_an_honest_body_can_be_read_to_its_end(coding: str, shown: PageDesk) -> None:
    data = b"".join(b"line %d of a log\n" % number for number in range(50_000)) + b"the end"
    body = await open_packed(shown, data, coding, "text/plain")
    told = [body.rest.text.text()]
    assert re.match(r"Showing 5,000 lines of the first \d{3} KiB, decompressed from \d", told[0])
    while not body.rest.isHidden():
        await load_more(body)
        told.append(body.rest.text.text())
    assert len(set(told[:-1])) == len(told) - 1
    assert body.code.toPlainText().endswith("\nthe end")
