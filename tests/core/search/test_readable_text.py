"""A body as it reads: what each notation is decoded to, in pieces as at once, and that nothing sent breaks it."""

from __future__ import annotations

import base64
import json
import quopri
import time
from email.message import EmailMessage
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.search.notations import readable_headers, readable_targets
from app.core.search.readable_text import READ_MAX, ReadableText, readable_texts

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
NOTE = "caf\u00e9 \U0001f600 & cr\u00e8me, two words!"


def reads(content_type: str, text: str, codec: str = "utf-8") -> list[str]:
    return readable_texts(content_type, text, codec)


def mail(charset: str = "utf-8", encoding: str = "quoted-printable", text: str = NOTE) -> str:
    """A mail with its text and an attachment."""
    made = EmailMessage()
    made["Subject"], made["From"] = "Gr\u00fc\u00dfe aus K\u00f6ln", "Zo\u00eb <zoe@example.com>"
    made.set_content(text, charset=charset, cte=encoding)
    made.add_alternative(f"<p>{text}</p>", subtype="html", charset=charset, cte=encoding)
    made.add_attachment("name;\u00e9t\u00e9\n".encode(), maintype="text", subtype="csv", filename="\u00e9t\u00e9.csv")
    made.add_attachment(b"\x89PNG\xff\xfe" * 50, maintype="image", subtype="png", filename="a.png")
    return made.as_bytes().decode("ascii").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("content_type", "text", "found"),
    [
        (JSON, r'{"name":"zo\u00eb"}', '{"name":"zo\u00eb"}'),
        (JSON, r'{"name":"zo\u00EB \uD83D\uDE00"}', "zo\u00eb \U0001f600"),
        (JSON, r'{"url":"https:\/\/example.com\/a"}', "https://example.com/a"),
        (JSON, r'["a\nb \"c\" C:\\new"]', 'a\nb "c" C:\\new'),
        ("text/plain", r'data: {"name":"zo\u00eb"}', "zo\u00eb"),
        (JSON, json.dumps({"Message": json.dumps({"name": "zo\u00eb"})}), '{"name": "zo\u00eb"}'),
        (FORM, "From=%2B15558675310&Body=two+words%21", "From=+15558675310&Body=two words!"),
        (FORM, "a=%E2%82%AC", "\u20ac"),
        (f"{FORM}; charset=iso-8859-1", "a=caf%E9", "caf\u00e9"),
        (FORM, "payload=" + quote(json.dumps({"name": "zo\u00eb"})), "zo\u00eb"),
        ("", "a=b%20c&d=e", "a=b c&d=e"),
        (FORM, "{%22name%22:%22zo%C3%AB%22}", '{"name":"zo\u00eb"}'),
        ("multipart/form-data", "--b\r\nContent-Disposition: x; filename*=UTF-8''caf%C3%A9.txt\r\n", "caf\u00e9.txt"),
        ("message/rfc822", "Subject: =?utf-8?b?em8=?= =?UTF-8?Q?=C3=AB_b?=\n\n", "zo\u00eb b"),
    ],
)  # fmt: skip
def test_what_a_body_reads_as(content_type: str, text: str, found: str) -> None:
    assert any(found in read for read in reads(content_type, text))
    assert any(found in read for read in readable_texts(content_type, text, "utf-8", only_changed=True))


WRAPS: list[tuple[str, Any]] = [
    ("message/rfc822", lambda text: text),
    (JSON, lambda text: json.dumps({"RawEmail": text})),
    (FORM, lambda text: urlencode({"from": "a@b", "body-mime": text})),
    (
        "multipart/form-data; boundary=xYz",
        lambda text: f'--xYz\r\nContent-Disposition: form-data; name="email"\r\n\r\n{text}\r\n--xYz--\r\n',
    ),
]


@pytest.mark.parametrize(("charset", "encoding"), [("utf-8", "quoted-printable"), ("utf-8", "base64")])
@pytest.mark.parametrize(("content_type", "wrap"), WRAPS)
def test_a_mail_is_read_wherever_it_stands(content_type: str, wrap: Any, charset: str, encoding: str) -> None:
    texts = reads(content_type, wrap(mail(charset, encoding)))
    for found in (
        NOTE,
        f"<p>{NOTE}</p>",
        "name;\u00e9t\u00e9",
        "Gr\u00fc\u00dfe aus K\u00f6ln",
        "Zo\u00eb",
        "\u00e9t\u00e9.csv",
    ):
        assert any(found in text for text in texts), found
    assert not any("PNG" in text for text in texts)


def test_parts_end_where_they_end() -> None:
    body = (
        "--b\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\n"
        "caf=E9 a very=\r\n long line\r\n-- \r\nAnn\r\n--b\r\nContent-Disposition: form-data; name=x\r\n\r\n=E9\r\n"
        "--b\r\ncontent-transfer-encoding: BASE64\r\n\r\nem/Dqw==\r\n--b--\r\n"
    )
    texts = [text.strip() for text in reads("multipart/mixed; boundary=b", body)]
    assert texts == ["caf\u00e9 a very long line\r\n-- \r\nAnn", "zo\u00eb"]


def test_what_stands_between_pieces_is_never_invented() -> None:
    body = "a=%31&b=%32\r\n"
    assert not any("12" in text for text in reads(FORM, body))
    parts = "".join(f"--b\r\nContent-Transfer-Encoding: base64\r\n\r\n{text}\r\n" for text in ("em8=", "ZQ=="))
    assert reads("multipart/mixed; boundary=b", parts) == ["zo", "e"]


def test_a_part_of_a_long_body_reads_as_that_of_a_short_one() -> None:
    kind, text = "multipart/mixed; boundary=b", "=3D?utf-8?q?one?=3D =3D?utf-8?q?two?=3D"
    body = f"--b\nContent-Transfer-Encoding: quoted-printable\n\n{text}\n--b--\n"
    assert any("onetwo" in found for found in reads(kind, body))
    assert any("onetwo" in found for found in ReadableText(kind, overlap=6).feed(body, True))


def test_fields_in_utf8_beside_a_picture_are_read() -> None:
    sent = b'--b\r\nContent-Disposition: form-data; name="who"\r\n\r\nzo\xc3\xab\r\n--b\r\n\r\n\x89PNG\xff\xfe\r\n--b--'
    assert any(
        "zo\u00eb" in text for text in reads("multipart/form-data; boundary=b", sent.decode("latin-1"), "latin-1")
    )


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        (JSON, '{"name":"zoe"}'),
        ("text/plain", "50% off + more = fun?"),
        (FORM, "a=b&c=d"),
        ("text/html", "<p>caf\u00e9</p>"),
        (
            "multipart/form-data; boundary=b",
            '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\ncaf\u00e9\r\n--b--',
        ),
    ],
)
def test_what_reads_as_it_was_sent_is_not_given_again(content_type: str, text: str) -> None:
    assert reads(content_type, text) == []


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        (JSON, r'{"a":"\u12","b":"\x41","c":"\u00g0\"'),
        (JSON, "\\"),
        (FORM, "a=%zz&b=%&c=%4"),
        (FORM, "a=%E9%C3"),
        ("message/rfc822", "Content-Transfer-Encoding: base64\n\n!!!=not=base64"),
        ("message/rfc822", "Content-Transfer-Encoding: base64\n\nA"),
        ("message/rfc822", "\nContent-Transfer-Encoding: base64\nContent-Type: text/plain; charset=zlib\n\nem/Dqw=="),
        ("message/rfc822", "Subject: =?hex?q?ff?= =?utf-8?b?!?= =?nope?b?AA?="),
        ("text/plain", "filename*=zlib''%FF filename*=utf-8''\u20ac%"),
        (f"{FORM}; charset=utf-16", "a=%00%41"),
        ("multipart/mixed; boundary=\"", "--\r\ncontent-transfer-encoding: quoted-printable\r\n\r\n=\r\n=Z"),
    ],
)  # fmt: skip
def test_what_is_broken_is_read_without_an_error_and_without_half_surrogates(content_type: str, text: str) -> None:
    for read in (*reads(content_type, text), *map(str, ReadableText(content_type, overlap=3).feed(text, True))):
        assert not any("\ud800" <= char <= "\udfff" for char in read)


def test_lone_halves_of_a_pair_are_no_text() -> None:
    (read,) = reads(JSON, r'"\ud83d x \ude00"')
    assert read == '"\ufffd x \ufffd"'


def test_targets_and_headers() -> None:
    assert readable_targets("/caf%C3%A9?q=a%20b+c") == ["/caf\u00e9?q=a b+c", "/caf\u00e9?q=a b c"]
    assert readable_targets("/a+b?x=%E9") == []
    assert readable_targets("/a?x=1+2") == ["/a?x=1 2"]
    headers = (
        ("A", "plain"),
        ("Subject", "=?utf-8?q?zo=C3=AB?="),
        ("B", "zo\u00c3\u00ab"),
        ("Content-Disposition", "attachment; filename*=UTF-8'en'%E2%82%AC%20rates"),
    )
    assert [*readable_headers(headers)] == [
        "Subject: zo\u00eb",
        "B: zo\u00eb",
        "Content-Disposition: attachment; filename*=\u20ac rates",
    ]


WORDS = ("zo\u00eb", "\U0001f600", "\u8ba2\u5355", "a b", "x/y", '"q"', "\\")
PIECES = st.lists(st.sampled_from(WORDS) | st.text("a\\u0+%= \u00e9\U0001f600", max_size=4), max_size=6).map("".join)


def in_qp(text: str) -> str:
    return (
        "\n--x\nContent-Transfer-Encoding: quoted-printable\n\n"
        + quopri.encodestring(text.encode()).decode()
        + "\n--x--"
    )


def in_base64(text: str) -> str:
    return "\n\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(text.encode()).decode() + "\n."


WRITTEN = st.recursive(
    PIECES,
    lambda inner: st.one_of(
        inner.map(json.dumps),
        inner.map(lambda text: json.dumps(text).replace("/", "\\/")),
        inner.map(lambda text: urlencode({"a": text, "b": "c"})),
        inner.map(in_qp),
        inner.map(in_base64),
        inner.map(lambda text: "=?utf-8?b?" + base64.b64encode(text.encode()).decode() + "?= "),
    ),
    max_leaves=3,
)


@settings(max_examples=60, deadline=None)
@given(text=WRITTEN, kind=st.sampled_from([JSON, FORM, "message/rfc822"]), word=st.sampled_from(WORDS), cut=st.data())
@example(text='"' + "\\\\" * 9 + '\\ud83d\\ude00"', kind=JSON, word="\U0001f600", cut=None)
@example(text=json.dumps(json.dumps("\\00\U0001f600")), kind=JSON, word="\U0001f600", cut=None)
def test_cut_anywhere_it_reads_the_same(text: str, kind: str, word: str, cut: st.DataObject | None) -> None:
    at_once = any(word in read for read in reads(kind, text))
    changed = any(word in read for read in readable_texts(kind, text, "utf-8", only_changed=True))
    assert at_once in (changed, word in text)
    cuts = range(1, len(text)) if cut is None else cut.draw(st.lists(st.integers(0, len(text)), max_size=5).map(sorted))
    reader, before = ReadableText(kind, overlap=len(word)), 0
    found = False
    for end in (*cuts, len(text)):
        found = found or any(word in read for read in reader.feed(text[before:end], end == len(text)))
        before = end
    assert found >= at_once - (word in text)
    assert found <= at_once or word in text


@pytest.mark.parametrize(
    "text",
    [
        "\\" * 250_000,
        "\\u00eb" * 42_000,
        "\\ud83d" * 42_000,
        "%C3" * 85_000,
        "+" * 250_000,
        "=?utf-8?b?" * 25_000,
        "=?a?q??= " * 9_000,
        "*=a'" * 62_000,
        "\ncontent-transfer-encoding:base64\n\n" * 1_000,
        "\ncontent-transfer-encoding:base64\n" * 1_000,
        "\n--b\ncontent-transfer-encoding:quoted-printable\n\n=\n" * 1_000,
        "ransfer-" * 31_000,
        "\n\ncontent-transfer-encoding: base64\n\n" + "A===" * 62_000,
    ],
    ids=range(13),
)  # fmt: skip
def test_a_hostile_body_takes_bounded_time(text: str) -> None:
    begin = time.process_time()
    for kind in (FORM, "multipart/mixed; boundary=b"):
        reads(kind, text)
        reader = ReadableText(kind, overlap=9)
        for at in range(0, len(text), 65_536):
            list(reader.feed(text[at : at + 65_536], False))
    assert time.process_time() - begin < 4


def test_of_a_body_without_end_so_much_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert READ_MAX == 128 * 1024 * 1024
    monkeypatch.setattr("app.core.search.readable_text.READ_MAX", 10)
    reader = ReadableText(JSON, overlap=3)
    assert list(reader.feed(r'"\u00eb"', False)) == ['"\u00eb"']
    assert list(reader.feed(r'"\u00eb"', False)) == []
