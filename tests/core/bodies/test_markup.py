"""Markup is indented, broken or not: every character that is no space stays, in order, and nothing is expanded."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.bodies.escape import escape
from app.core.bodies.formats.markup import html_write, xml_write
from app.core.bodies.formatter import Write
from tests.core.bodies.format_lines import formatted, joined, read, texts

TOKENS = (
    "<a> </a> <b x='1'> <p> </p> <br/> <li> <pre> </pre> <script> </script> <!-- --> <![CDATA[ ]]> <!DOCTYPE [ ]> <? ?>"
    " &amp; & < > ' \" = / \n \r\n - text \u202e <!ENTITY"
)
tokens = st.sampled_from([*TOKENS.split(" "), " ", "\r"])
markup = st.lists(tokens, max_size=30).map("".join) | st.text(max_size=60)
formatters = st.sampled_from([xml_write, html_write])


def ink(text: str) -> str:
    """All but white space, control characters named as they are shown."""
    return escape(re.sub(r"[ \t\n\r\f]", "", text))


@example("<!DOCTYPE[", xml_write)
@example("<!DOCTYPE a [ <!ENTITY b 'c'> \n", xml_write)
@given(markup, formatters)
def test_nothing_but_white_space_is_lost_or_added(text: str, write: Write) -> None:
    shown = re.sub(r"\\[nrt]|\\x0c", "", joined(formatted(write, text)[0]))
    assert ink(shown) == re.sub(r"\\[nrt]|\\x0c", "", ink(text))


@given(markup, formatters, st.integers(0, 200))
def test_where_a_text_that_goes_on_is_cut_is_no_fault_of_it(text: str, write: Write, at: int) -> None:
    lines, out = formatted(write, text[:at], complete=False)
    assert joined(lines) == joined(formatted(write, text[:at])[0])
    assert "the text ends" not in "".join(out.notes)


def test_a_well_formed_text_that_goes_on_has_no_note_wherever_it_is_cut() -> None:
    text = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><a b='1'>x &amp; y<!-- c --><![CDATA[d]]></a>"
    assert [at for at in range(len(text)) if formatted(xml_write, text[:at], complete=False)[1].notes] == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("<p>a</p></p>b", ["<p>a</p>", "</p>", "b"]),
        ("<ul><li>x</li></li></ul>", ["<ul>", "  <li>x</li>", "  </li>", "</ul>"]),
        ("<div><div>a</div><p>b</p></div>c", ["<div>", "  <div>a</div>", "  <p>b</p>", "</div>", "c"]),
        ("<b><b>a</b></b></b>c", ["<b><b>a</b></b></b>c"]),
    ],
)
def test_an_end_tag_ends_one_element_and_a_repeated_one_none(text: str, lines: list[str]) -> None:
    assert texts(html_write, text) == lines


def test_xml_in_lines() -> None:
    lines, out = formatted(
        xml_write,
        '<?xml version="1.0"?><!-- who\n knows --><a x="1&amp;2"><b>text &lt; more</b><c/><d>\n  one\n  two\n</d>'
        "<e><![CDATA[ <raw> & ]]></e><f> </f></a>",
    )
    assert [line.text for line in lines] == [
        '<?xml version="1.0"?>',
        "<!-- who",
        " knows -->",
        '<a x="1&amp;2">',
        "  <b>text &lt; more</b>",
        "  <c/>",
        "  <d>",
        "    one",
        "    two",
        "  </d>",
        "  <e><![CDATA[ <raw> & ]]></e>",
        "  <f> </f>",
        "</a>",
    ]
    assert out.notes == []
    assert lines[3].runs() == [
        ("punctuation", "<"),
        ("key", "a"),
        ("text", " "),
        ("number", "x"),
        ("punctuation", "="),
        ("string", '"1&amp;2"'),
        ("punctuation", ">"),
    ]
    assert ("literal", "&lt;") in lines[4].runs()


def test_html_in_lines() -> None:
    assert texts(
        html_write,
        "<!DOCTYPE html><html><head><meta charset=utf-8><script>if (a < b) '</div>'</script></head><BODY>"
        "<p>Hello <b>world</b>,<br>you<p>two<ul><li>one<li>two</ul><pre>a\n  b</pre></body></html>",
    ) == [
        "<!DOCTYPE html>",
        "<html>",
        "  <head>",
        "    <meta charset=utf-8>",
        "    <script>if (a < b) '</div>'</script>",
        "  </head>",
        "  <BODY>",
        "    <p>Hello <b>world</b>,<br>you",
        "    <p>two",
        "    <ul>",
        "      <li>one",
        "      <li>two",
        "    </ul>",
        "    <pre>a",
        "  b</pre>",
        "  </body>",
        "</html>",
    ]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("<a>\n<b></a>", "line 2, column 4: </a> does not close the innermost element"),
        ("<a/></b>", "column 5: </b> closes nothing"),
        ("<a>x & y</a>", "column 6: an & that does not begin an entity"),
        ("<a>1 < 2</a>", "column 6: a < that does not begin a tag"),
        ("<a b=1/>", "column 6: a value without quotes"),
        ("<a b/>", "column 5: an attribute without a value"),
        ("<a/><b/>", "column 5: a second root element"),
        ("<a/>more", "column 5: text outside the root element"),
        ("<a><b>", "column 7: the text ends before </b>"),
        ("<a><!-- x", "column 10: the text ends within a comment"),
        ("<a x='1", "column 8: the text ends within an attribute's value"),
        ("", "there are no elements"),
    ],
)
def test_what_is_not_well_formed_is_told_by_its_place_and_shown(text: str, note: str) -> None:
    lines, out = formatted(xml_write, text)
    assert ink(joined(lines)) == ink(text)
    assert note in out.notes[0]


def test_an_entity_bomb_stays_as_it_was_written() -> None:
    bomb = '<!DOCTYPE z [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY e SYSTEM "file:///etc/passwd">]><z>&b;&e;</z>'
    lines, out = formatted(xml_write, bomb)
    assert [line.text for line in lines] == [
        "<!DOCTYPE z [",
        '  <!ENTITY a "ha">',
        '  <!ENTITY b "&a;&a;">',
        '  <!ENTITY e SYSTEM "file:///etc/passwd">',
        "  ]>",
        "<z>&b;&e;</z>",
    ]
    assert not out.notes


@pytest.mark.slow
@pytest.mark.parametrize("write", [xml_write, html_write])
def test_deep_nesting_and_endless_lines_stay_quick_and_bounded(write: Write) -> None:
    deep, _ = formatted(write, "<u1>" * 25_000 + "</u1>" * 25_000)
    assert len(deep) == 49_999
    size = 1_000_000
    for text in ("<a>" + "x" * size, "<" + "x" * size, "<a b='" + "x" * size, "<!--" + "x" * size, "<" * 100_000):
        lines, _ = formatted(write, text)
        assert len(ink(joined(lines))) == len(text) - text.count(" ")


@pytest.mark.parametrize(
    ("content_type", "body", "name"),
    [
        ("application/xml", b"<a/>", "xml"),
        ("application/soap+xml", b"\xef\xbb\xbf<a/>", "xml"),
        ("", b"<?xml version='1.0'?><a/>", "xml"),
        ("text/plain", b"<order><id>1</id></order>", "xml"),
        ("text/plain", b"<ann@example.com> wrote", "text"),
        ("application/xml", b"out of order", "text"),
        ("text/html", b"<p>hi", "html"),
        ("text/html", b"OK", "text"),
        ("text/plain", b"<!doctype html><p>hi", "html"),
        ("application/json", b"<html><body>502</body></html>", "html"),
    ],
)
def test_where_markup_is_the_best_view(content_type: str, body: bytes, name: str) -> None:
    reader, _ = read(body, content_type)
    assert reader.view is not None
    assert reader.view.name == name


@pytest.mark.parametrize(
    ("content_type", "body", "line"),
    [
        ("application/xml", "<a>é</a>".encode("utf-16"), "<a>é</a>"),
        ("application/xml", "<a>é</a>".encode("utf-16-le"), "<a>é</a>"),
        ("application/xml", "<a>é</a>".encode("utf-16-be"), "<a>é</a>"),
        ("text/xml; charset=utf-16", "<a>é</a>".encode(), "<a>é</a>"),
        ("text/xml; charset=windows-1251", "<a>да</a>".encode("cp1251"), "<a>да</a>"),
        ("text/html", '<meta charset="shift_jis"><p>日本'.encode("shift_jis"), "<p>日本"),
        ("text/xml", "<?xml version='1.0' encoding='koi8-r'?><a>да</a>".encode("koi8-r"), "<a>да</a>"),
        ("text/xml", b"<a>\xe9</a>", "<a>é</a>"),
    ],
)
def test_charsets_declared_written_and_wrong(content_type: str, body: bytes, line: str) -> None:
    assert read(body, content_type)[1][-1] == line


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("<!--", "-->"), ("<pre>", "</pre>"), ("<script>", "</script>"), ("<![CDATA[", "]]>"), ("<pre>\r", "")],
)
def test_line_ends_without_end_are_kept_where_they_count(opening: str, closing: str) -> None:
    ends = 50_000
    shown = texts(html_write, opening + "\r\n" * ends + closing)
    assert len(shown) == ends + 1 - (not closing)
    assert not any("\\r" in line for line in shown[1:])


def test_line_ends_without_end_are_nothing_where_they_do_not_count() -> None:
    ends = "\r\n \t" * 300_000
    assert texts(xml_write, f"<a>{ends}<b>{ends}x{ends}y{ends}</b>{ends}</a>") == [
        *("<a>", "  <b>", "    x", "    y", "  </b>", "</a>")
    ]
