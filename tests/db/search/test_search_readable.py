"""Words as people read them: found in what senders escape and encode, with the index and without; `-` works too."""

from __future__ import annotations

import base64
import gzip
import json
import quopri
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from app.core.model import PART_SIZE, Endpoint
from app.core.record import Headers
from app.core.search.parse import parse
from app.db.search.candidate import WINDOW
from app.db.search.index_query import to_index_query
from app.db.search.index_terms import INDEXED
from app.db.search.scan import meets
from app.db.sqlite import search_group
from app.db.sqlite.search import IndexFile
from app.db.sqlite.search_group import ALWAYS
from app.db.sqlite.store import Store
from tests.db.helpers import add, candidate, entry
from tests.db.search.test_search import search

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
MAIL = (
    'From: Ann\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nContent-Type: multipart/mixed; boundary="in"\r\n\r\n--in\r\n'
    "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    "Die Rechnung =FCber zw=F6lf Euro ist so lang, dass sie um=\r\ngebrochen wird.\r\n--in\r\n"
    "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    f"{base64.encodebytes('<p>für Zoë & Söhne</p>'.encode()).decode()}\r\n--in--\r\n"
)


def part(head: str, content: str) -> str:
    return f'--x1\r\nContent-Disposition: form-data; name="a"{head}\r\n\r\n{content}\r\n--x1--\r\n'


QP = "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable"
B64 = "\r\nContent-Transfer-Encoding: base64"
MULTIPART = "multipart/form-data; boundary=x1"


def of(body: str | bytes, content_type: str, target: str = "/catch/s", headers: Headers = ()) -> Any:
    return target, headers, body.encode() if isinstance(body, str) else body, content_type


SAMPLES = {
    "python": of(json.dumps({"name": "Zoë", "mood": "😀", "note": "a\tb"}), JSON),
    "php": of(json.dumps({"url": "https://example.com/a"}).replace("/", "\\/"), JSON),
    "sns": of(json.dumps({"Message": json.dumps({"name": "Zoë", "path": 'C:\\new "x"'})}), "text/plain; charset=UTF-8"),
    "utf16": of(json.dumps({"name": "Zoë"}).encode("utf-16"), JSON),
    "gzip": of(
        gzip.compress(json.dumps({"name": "Zoë"}).encode(), mtime=0), JSON, headers=(("Content-Encoding", "gzip"),)
    ),
    "twilio": of("From=%2B15558675310&Body=two+words%21", FORM),
    "latin form": of("who=Zo%EB&x=", f"{FORM}; charset=iso-8859-1"),
    "github": of(urlencode({"payload": json.dumps({"name": "Zoë"})}), FORM),
    "part qp": of(part(QP, quopri.encodestring("Zoë and soufflé".encode()).decode()), MULTIPART),
    "part base64": of(part(B64, base64.b64encode("Zoë, two words".encode()).decode()), MULTIPART),
    "part sql": of(part(f"{B64}\r\nContent-Type: application/sql", "Wm/Dqw=="), MULTIPART),
    "file": of(part("; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf", "%PDF"), MULTIPART),
    "picture": of(part("; filename=Zoë.png", "").encode() + b"\x89PNG\xff\xfe", MULTIPART),
    "mail": of(MAIL, "message/rfc822"),
    "mail in form": of(urlencode({"body-mime": MAIL}), FORM),
    "mail in part": of(part("", MAIL), MULTIPART),
    "mail in json": of(json.dumps({"RawEmail": MAIL}), JSON),
    "target": of("", "", "/catch/s/caf%C3%A9?q=a%20b+c&p=%2B1"),
    "header": of("", "", headers=(("X-From", "=?utf-8?b?Wm/Dqw==?="), ("X-To", "caf\u00c3\u00a9"))),
}
MAILS = ("mail", "mail in form", "mail in part", "mail in json")
ZOES = (
    *("python", "sns", "utf16", "gzip", "latin form", "github", "part qp", "part base64", "part sql", "picture"),
    "header",
    *MAILS,
)
FOUND = {
    "zoë": ZOES,
    "ZOË": ZOES,
    "ë": ZOES,
    "😀": ("python",),
    '"zoë\\""': ("python", "sns", "utf16", "gzip", "github"),
    "https://example.com/a": ("php",),
    '"C:\\\\new \\"x\\""': ("sns",),
    '"a\tb"': ("python",),
    "+15558675310": ("twilio",),
    '"two words!"': ("twilio",),
    '"body=two words!"': ("twilio",),
    '"zoë and soufflé"': ("part qp",),
    '"zoë, two"': ("part base64",),
    "résumé.pdf": ("file",),
    "grüße": MAILS,
    '"rechnung über zwölf euro"': MAILS,
    '"sie umgebrochen"': MAILS,
    '"zoë & söhne"': MAILS,
    "café": ("target", "header"),
    '"a b c"': ("target",),
    "p=+1": ("target",),
    "%2B15558675310": ("twilio",),
    "zo\\u00eb": ("github", "python", "sns", "utf16", "gzip"),
    "soufflézoë": (),
    "path:café": (),
    "header:x-from~zoë": (),
    "json:name=Zoë": ("python", "utf16", "gzip"),
}
NAMES = list(SAMPLES)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexFile]:
    """All samples, numbered as they stand, and as many that hold nothing of it."""
    path = tmp_path_factory.mktemp("index") / "search.db"
    with pytest.MonkeyPatch.context() as patch, closing(IndexFile(path, "store", 99)) as made:
        patch.setattr(search_group, "SAMPLED", 4)
        others = [entry(len(NAMES) + number, "/", (), b"nothing here") for number in range(30)]
        made.add([*(entry(at, *SAMPLES[name]) for at, name in enumerate(NAMES)), *others])
        yield made


@pytest.mark.parametrize("text", FOUND)
def test_what_is_found_and_what_is_left_out(file: IndexFile, text: str) -> None:
    for written in (text, f"-{text}"):
        terms = parse(written).terms
        found = {name for name in NAMES if all(meets(candidate(*SAMPLES[name]), term) for term in terms)}
        assert found == (set(FOUND[text]) if written is text else set(NAMES) - set(FOUND[text]))
        asked = to_index_query(terms)
        named = None if asked is None else set(file.find(asked, 0))
        assert named is None or {NAMES.index(name) for name in found} <= named


def test_the_index_leaves_out_what_does_not_read_so(file: IndexFile) -> None:
    for text in ("zoë", "+15558675310", "résumé.pdf", '"two words!"'):
        asked = to_index_query(parse(text).terms)
        assert asked is not None
        assert {*file.find(asked, 0)} <= {NAMES.index(name) for name in FOUND[text]}


def test_the_index_knows_for_certain_who_has_a_decoded_word(tmp_path: Path) -> None:
    with closing(IndexFile(tmp_path / "search.db", "store", 99)) as made:
        made.add([entry(number, "/", (), json.dumps({"name": "Zoë"}).encode(), JSON) for number in range(20)])
        made.add([entry(20, "/", (), b"{}", JSON)])
        asked = to_index_query(parse("-zoë").terms)
        assert asked is not None
        assert sorted(made.find(asked, 0)) == [20]


def test_a_body_too_long_to_be_indexed_is_looked_at(file: IndexFile) -> None:
    made = entry(0, "/", (), json.dumps({"a": "ë" * (INDEXED // 6 + 9)}).encode(), JSON)
    assert made.text.startswith(ALWAYS)
    assert len(made.text) <= INDEXED + 9


async def test_through_the_store(store: Store, endpoint: Endpoint) -> None:
    made = {}
    for name, (target, headers, body, content_type) in SAMPLES.items():
        one = await add(store, endpoint.id, body, target=target, headers=headers, content_type=content_type)
        made[one.id] = name
    for text in ("zoë", "+15558675310", '"a b c"', "grüße"):
        assert {made[one.id] for one in await search(store, text)} == set(FOUND[text])
        assert {made[one.id] for one in await search(store, f"-{text}")} == set(NAMES) - set(FOUND[text])


@pytest.mark.parametrize(
    ("at", "back"), [(WINDOW, 1), (PART_SIZE, 3), (PART_SIZE, 6), (PART_SIZE, 12), (PART_SIZE + WINDOW, 11)]
)
def test_an_escape_in_a_long_body_is_read_wherever_it_is_cut(at: int, back: int) -> None:
    body = b'{"a":"' + b"." * (at - back - 6) + b'\\ud83d\\ude00 zo\\u00eb"}' + b" " * PART_SIZE
    reader = candidate("/", (), body[:PART_SIZE], JSON)
    parts = [body[begin : begin + PART_SIZE] for begin in range(0, len(body), PART_SIZE)]
    reader._read = lambda number: parts[number] if number < len(parts) else None
    assert reader.has("😀 zoë")
    assert not reader.has("😀 zoé")
