"""A search without secrets tells nothing of them: requests that differ in a secret alone match alike."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from typing import Any

import pytest

from app.core.model import Endpoint, Summary
from app.core.search.field import quoted
from app.db.search import redacted
from app.db.store import Store
from tests.db.helpers import add
from tests.db.search.index import indexed, without_index
from tests.db.search.test_search import search

pytestmark = pytest.mark.slow

SECRETS = {"hunter7xQ": 8675309, "battery1Z": 1234567}
"""As words and as numbers; with few digits, for the index has terms for those."""
JSON, FORM, PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
PARTNER = "X-Partner"
BEFORE = (
    *("", "password", '"password": "', '"pin": ', "<password>", "password: ", "token=", "code="),
    *("/token/", "sid=", "Bearer ", "X-Api-Key: ", "| token | ", "| ", "Use code "),
)


def requests(secret: str) -> dict[str, dict[str, Any]]:
    """A request for each place that the secret can be in."""
    inner = json.dumps({"password": secret, "n": 1})
    bodies: dict[str, tuple[bytes, str]] = {
        "json": (json.dumps({"password": secret, "n": 1}).encode(), JSON),
        "number": (b'{"n": 1, "pin": %d}' % SECRETS[secret], JSON),
        "object": (json.dumps({"credentials": {"user": "a", "key": [secret]}, "n": 1}).encode(), JSON),
        "json in json": (json.dumps({"message": inner}).encode(), JSON),
        "base64 in json": (json.dumps({"data": base64.b64encode(inner.encode()).decode()}).encode(), JSON),
        "url in json": (json.dumps({"url": f"https://shop.test/?code={secret}&a=1"}).encode(), JSON),
        "form": (f"a=1&password={secret}&b=2".encode(), FORM),
        "text": (f"see the password: {secret}".encode(), PLAIN),
        "table": (f"id\tpassword\n1\t{secret}\n".encode(), "text/tab-separated-values"),
        "table in Markdown": (f"| name | value |\n|---|---|\n| token | {secret} |\n".encode(), PLAIN),
        "column in Markdown": (json.dumps({"text": f"| a | password |\n|---|---|\n| b | {secret} |"}).encode(), JSON),
        "sentence": (b"Use code %d to sign in." % SECRETS[secret], PLAIN),
        "sentence in json": (b'{"text": "%d is your login code"}' % SECRETS[secret], JSON),
        "xml": (f"<a><password>{secret}</password><n>1</n></a>".encode(), "application/xml"),
        "part": (
            f'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n{secret}\r\n--b--'.encode(),
            "multipart/a",
        ),
        "binary": (b"\xa1\x68password\x69" + secret.encode(), "application/cbor"),
    }
    found = {name: {"body": body, "content_type": kind} for name, (body, kind) in bodies.items()}
    packed = (("Content-Type", JSON), ("Content-Encoding", "gzip"))
    return {
        **found,
        "gzip": {"body": gzip.compress(inner.encode(), mtime=0), "content_type": JSON, "headers": packed},
        "query": {"target": f"/catch/a?a=1&token={secret}"},
        "path": {"target": f"/catch/a/token/{secret}"},
        "header": {"headers": (("X-Api-Key", secret),)},
        "cookie": {"headers": (("Cookie", f"sid={secret}; a=1"),)},
        "scheme": {"headers": (("Authorization", f"Bearer {secret}"),)},
        "endpoint's header": {"headers": ((PARTNER, secret),)},
        "event": {"event": f"token={secret}", "provider": "stripe"},
    }


def questions() -> list[str]:
    """Ways to ask for each beginning, middle and end of the first secret."""
    secret, number = next(iter(SECRETS.items()))
    parts = [secret[0], secret, str(number)]
    asked = []
    for part in parts:
        positive = [
            *(quoted(before + part) for before in BEFORE),
            quoted(part + '"'),
            *(f"json:password{sign}{part}" for sign in ("=", "!=", "<", "<=", ">", ">=", "~")),
            *(f"json:{path}~{part}" for path in ("message", "data", "text", "url", "credentials.key.*", "*", "pin")),
            f'json:url!="https://shop.test/?code={part}&a=1"',
            *(f"json:pin{sign}{part}" for sign in ("=", "!=", "<", "<=", ">", ">=")),
            *(f"header:{name}{sign}{part}" for name in ("x-api-key", "cookie", PARTNER) for sign in ("=", "~", "=~")),
            *(f'header:authorization{sign}"Bearer {part}"' for sign in ("=", "~")),
            f"path:/token/{part}",
            f"event:token={part}",
        ]
        asked += [*positive, *(f"-{one}" for one in positive)]
    either = [f"(-json:password={secret} n) OR {secret}", f"-(n {secret})", f"-(-{secret})", "json:password~r"]
    return [*asked, *either, 'json:password="[redacted]"', "redacted", "\x7f", "json:password=\x7f", "json:url~\x7f"]


async def found(store: Store, text: str, **more: Any) -> list[Summary]:
    return await search(store, text, secret_headers={one.id: PARTNER for one in store.endpoints.all()}, **more)


@pytest.fixture
def _each_part_is_redacted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a thousand questions would have the same few requests redacted anew."""
    for name in ("searchable_body", "redacted_headers", "redacted_url"):
        monkeypatch.setattr(redacted, name, cache(getattr(redacted, name)))


@pytest.mark.usefixtures("small_index", "_each_part_is_redacted_once")
async def test_no_question_tells_two_secrets_apart(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [
        {(await add(store, endpoint.id, **fields)).id: place for place, fields in requests(secret).items()}
        for secret in SECRETS
    ]
    wrong: list[tuple[str, str, str]] = []

    async def ask(how: str) -> None:
        for text in questions():
            left_out: list[int] = []
            ids = [one.id for one in await found(store, text, unexamined=left_out.append, limit=1000)]
            matched = [{places[one] for one in ids if one in places} for places in (first, second)]
            wrong.extend((how, text, place) for place in matched[0] ^ matched[1])
            assert not left_out

    for _ in range(8):  # a batch of the index that is not full waits
        await add(store, endpoint.id)
    await indexed(store, 2 * len(first))
    await ask("with the index")
    without_index(store, monkeypatch)
    await ask("without it")
    assert wrong == []
