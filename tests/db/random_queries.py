"""Random searches: every kind of term, and groups of them."""

from __future__ import annotations

import random

from app.core.search.field import quoted
from app.core.search.parse import parse
from app.core.search.query import QueryError
from tests.db.random_requests import KEYS, PATHS, WORDS, value

NETWORKS = ("127.0.0.1", "10.0.0.0/8", "10.1.0.0/15", "2001:db8::/32", "::ffff:10.1.2.4", "::/0")


def piece(rnd: random.Random) -> str:
    """A word, or a part of one, as one types it."""
    text = rnd.choice([*WORDS, rnd.choice(KEYS), rnd.choice(PATHS), "the end", "content-type: ", "host: h", "nowhere"])
    if rnd.random() < 0.5:
        begin = rnd.randrange(len(text))
        text = text[begin : begin + rnd.randint(1, 6)]
    return rnd.choice([text, text.upper(), text.lower()])


def leaf(rnd: random.Random) -> str:
    """A term."""
    name, text = quoted(rnd.choice(KEYS)), quoted(piece(rnd))
    number = rnd.choice(
        ["0", "7", "50", "77", "12.5", "9007199254740993", "-3", "1e-7", "12345678901234567890", "1e301"]
    )
    return rnd.choice(
        [
            *[text] * 8,
            f"path:{text}",
            f"header:x-kind={quoted(rnd.choice(WORDS))}",
            f"header:x-kind~{text}",
            f"header:{rnd.choice(['x-other', 'x-odd', 'content-encoding', 'no-such'])}",
            f"json:{name}",
            f"json:{name}={quoted(str(value(rnd, 0)))}",
            f"json:{name}!={text}",
            f"json:{name}~{text}",
            f"json:{name}{rnd.choice(['<', '<=', '>', '>=', '='])}{number}",
            f"json:data.{name}",
            f"json:*.{name}~{text}",
            f"json:{rnd.choice(['*', 'data.*', 'data[0]', 'data.0'])}.{name}{rnd.choice(['', '>50', '=77', '!=77'])}",
            f"method:{rnd.choice(['POST', 'put'])}",
            f"status:{rnd.choice(['200', '4xx', '>=404', '<300'])}",
            f"size:{rnd.choice(['0', '>100', '<50', '20..200'])}",
            f"from:{rnd.choice(NETWORKS)}",
            f"provider:{rnd.choice(['Stripe', 'github', 'éclair', 'ÉCLAIR', 'no'])}",
            f"event:{rnd.choice(['Invoice.Paid', 'push', 'É', 'é'])}",
            f"{rnd.choice(['since', 'before'])}:2026-11-{rnd.randint(15, 19)}T{rnd.randrange(24):02}:00Z",
            f"tag:{rnd.choice(['SHOP', 'eu', 'é'])}",
            f"is:{rnd.choice(['read', 'unread', 'starred', 'noted', 'incomplete'])}",
            f"delivery:{rnd.choice(['none', 'failed', 'delivered', 'queued'])}",
        ]
    )


def query(rnd: random.Random, depth: int = 2) -> str:
    """One that may be wrong."""
    kind = rnd.randrange(6 if depth else 3)
    if kind < 2:
        return leaf(rnd)
    if kind == 2:
        return f"-{leaf(rnd)}"
    parts = [query(rnd, depth - 1) for _ in range(2)]
    return f"({' OR '.join(parts) if kind == 3 else ' '.join(parts)})" if kind < 5 else f"-({' '.join(parts)})"


def queries(rnd: random.Random, number: int) -> list[str]:
    """So many that are right."""
    found: list[str] = []
    while len(found) < number:
        text = query(rnd)
        try:
            parse(text)
        except QueryError:
            continue
        found.append(text)
    return found
