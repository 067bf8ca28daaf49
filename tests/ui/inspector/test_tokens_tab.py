"""The tab for the tokens of a request is there only if it has any."""

from __future__ import annotations

import gzip
import json

import pytest

from app.core.clock import now_us
from app.core.errors import StorageUnavailableError
from app.ui.inspector.request_view import BODY, TOKENS
from tests.core.bodies.wire import token
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import until


async def test_tokens_of_header_query_and_body_are_told_of(shown: PageDesk) -> None:
    detail, arrived = shown.detail, now_us()
    bearer = token({"sub": "a\u202eb", "exp": arrived // 1_000_000 - 3 * 3_600})
    in_query, in_body = token({"sub": "query"}), token({"sub": "body"})
    body = gzip.compress(json.dumps({"token": in_body, "same": bearer}).encode())
    await open_body(
        shown,
        body,
        "application/json",
        headers=(("Authorization", f"Bearer {bearer}"), ("Content-Encoding", "gzip")),
        target=f"/catch/x?access_token={in_query}",
        received_at=arrived,
    )
    await until(lambda: detail.tabs.isTabVisible(TOKENS))
    assert detail.tabs.tabText(TOKENS) == "Tokens 3"
    assert detail.tabs.currentIndex() == BODY
    text = detail.view.tokens.code.toPlainText()
    assert text.startswith("Authorization header \u00b7 token, algorithm HS256\n")
    assert "expired 3 hours before it arrived" in text
    assert '"sub": "a\\u202eb"' in text
    assert "access_token in the query \u00b7 token" in text
    assert "Body \u00b7 token" in text
    assert "verified" not in text
    assert detail.view.tokens.notices.text.text().startswith("Not verified")
    assert not detail.view.tokens.grab().isNull()


async def test_there_is_none_while_the_body_cannot_be_read(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unreadable(*_: object) -> bytes:
        raise StorageUnavailableError("The stored requests cannot be read.")

    await open_body(shown, json.dumps({"token": token({"sub": "a"})}).encode(), "application/json")
    await until(lambda: shown.detail.tabs.isTabVisible(TOKENS))
    other = await shown.add(b"{}")
    with monkeypatch.context() as broken:
        broken.setattr(shown.desk.store.captures, "body", unreadable)
        shown.page.open_request(other.id)
        await until(shown.desk.messages.waiting)
        await until(lambda: not shown.detail.tabs.isTabVisible(TOKENS))
    for message in shown.desk.messages.waiting():
        shown.desk.messages.withdraw(message.key)


async def test_the_tab_goes_when_there_are_none_and_is_remembered(shown: PageDesk) -> None:
    detail = shown.detail
    bearer = (("Authorization", f"Bearer {token({'sub': 'a'})}"),)
    await open_body(shown, b"{}", "application/json", headers=bearer)
    await until(lambda: detail.tabs.isTabVisible(TOKENS))
    detail.tabs.setCurrentIndex(TOKENS)
    detail.tabs.tabBarClicked.emit(TOKENS)
    await open_body(shown, b'{"a":1}', "application/json")
    await until(lambda: not detail.tabs.isTabVisible(TOKENS))
    assert detail.tabs.currentIndex() == BODY
    await open_body(shown, b'{"b":1}', "application/json", headers=bearer)
    await until(lambda: detail.tabs.currentIndex() == TOKENS)
