"""No secret of a corpus passes in what an agent gets of a request, and hardly anything else is hidden. With -s, the
tests print a table."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

from app.cli.mcp_results import Serializer, part_without_secrets
from app.db.models import encode_headers
from app.db.search.redacted import RedactedCandidate
from tests.cli.mcp.secret_corpus import ENDPOINT_HEADER, HARMLESS, SECRETS, Make, Sent, secret, word

PIECE = 5
"""So many characters of a secret in a row have passed if they are shown."""


def shown(sent: Sent) -> str:
    """All that the tools return of it."""
    serializer = Serializer(show_secrets=False)
    headers = [("Content-Type", sent.content_type), *sent.headers]
    body = part_without_secrets(iter([sent.body]), headers, len(sent.body), 65_536, 0)
    candidate = RedactedCandidate(
        target=sent.target,
        event=None,
        secret_header=ENDPOINT_HEADER,
        source="127.0.0.1",
        headers=encode_headers(tuple(headers)),
        content_type=sent.content_type,
        data=sent.body,
        column_results={},
    )
    texts = [
        serializer.url(sent.target),
        *(f"{name}: {value}" for name, value in serializer.headers(headers, ENDPOINT_HEADER)),
        body.text or base64.b64decode(body.base64 or "").decode("latin-1"),
        candidate.description("POST", len(sent.body), complete=True).gist,
        serializer.text(sent.text),
    ]
    return "\n".join(texts)


def _counts(kinds: Mapping[str, Make], of_each: int, value: Any, holds: Any) -> dict[str, list[str]]:
    """What is wrong, by kind, out of so many requests of each; prints the table."""
    wrong: dict[str, list[str]] = {}
    for kind, make in kinds.items():
        for number in range(of_each):
            seed = random.Random(f"{kind} {number}")
            one = value(seed)
            text = shown(make(one, seed))
            if not holds(one, text):
                wrong.setdefault(kind, []).append(f"{one!r} in {text!r}")
    total = len(kinds) * of_each
    print(f"\n{total} requests of {len(kinds)} kinds, {sum(map(len, wrong.values()))} wrong")
    for kind in kinds:
        print(f"{kind:32} {of_each:3} {len(wrong.get(kind, ())):3}")
    return wrong


def _is_hidden(one: str, text: str) -> bool:
    # Base64 depends on how many bytes are before it.
    encoded = [base64.b64encode(b"." * before + one.encode()).decode()[4:-4] for before in range(3)]
    return not any(form[at : at + PIECE] in text for form in (one, *encoded) for at in range(len(form) - PIECE + 1))


def test_no_secret_of_the_corpus_passes() -> None:
    assert len(SECRETS) * 6 >= 300
    assert len(SECRETS) >= 40
    assert _counts(SECRETS, 6, secret, _is_hidden) == {}


def test_what_only_looks_like_a_secret_is_shown() -> None:
    assert len(HARMLESS) * 10 >= 300
    wrong = _counts(HARMLESS, 10, word, lambda one, text: one in text)
    assert sum(map(len, wrong.values())) <= 5, wrong
