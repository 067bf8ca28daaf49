"""Secrets in bodies are replaced by name, whatever their format; all else stays as it was."""

from __future__ import annotations

import base64
import gzip
import json
import time

import pytest

from app.core.redaction.body import UNENDED, UNREADABLE, redacted_body

JSON, FORM, XML = "application/json", "application/x-www-form-urlencoded", "application/xml"
MULTIPART = "multipart/form-data; boundary=b"
KEY = "ghp_" + "a1B2" * 9
"""Told by its beginning, wherever it is."""


def shown(body: str, content_type: str) -> str:
    """The body without secrets."""
    return redacted_body(body.encode(), content_type).data.decode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"password": "x", "n": 1}', '{"password": "[redacted]", "n": 1}'),
        ('{"user":{"api_key":"a\\"b","id":7}}', '{"user":{"api_key":"[redacted]","id":7}}'),
        ('{"client_secret": 12.5}', '{"client_secret": "[redacted]"}'),
        ('{"secret": null, "cookie": true, "token": ""}', '{"secret": null, "cookie": true, "token": ""}'),
        ('{"text": "the password is x"}', '{"text": "the password is x"}'),
        ('{"token": "cut of', '{"token": "[redacted]"'),
        ('{"Authorization": ["Bearer x", "a]b"], "n": [1]}', '{"Authorization": "[redacted]", "n": [1]}'),
        ('{"tokens": ["cut of', '{"tokens": "[redacted]"'),
        ('{"tokens": [{"id": 1, "n": 2}], "n": 3}', '{"tokens": "[redacted]", "n": 3}'),
        ('{"credentials": {"user": "a", "b": [{"c": "}]"}]}, "n": 1}', '{"credentials": "[redacted]", "n": 1}'),
        ('{"authorizations": [{"team": "T"}]}', '{"authorizations": [{"team": "T"}]}'),
        ('{"token": "cut\\', '{"token": "[redacted]"'),
        ('{"password": "ü\u00a0\u2028\\ü", "ü": 1}', '{"password": "[redacted]", "ü": 1}'),
        ('{"\\u0070assword":"x"}', '{"\\u0070assword":"[redacted]"}'),
        ("{password: x, 'token': 'a b', n: 1}", "{password: \"[redacted]\", 'token': \"[redacted]\", n: 1}"),
        ('{"a":1}\n{"token":"x"}\n', '{"a":1}\n{"token":"[redacted]"}\n'),
        # JSON, a form and a URL in a text
        ('{"m": "{\\"token\\":\\"x\\",\\"n\\":1}"}', '{"m": "{\\"token\\":\\"[redacted]\\",\\"n\\":1}"}'),
        ('{"query": "{ login(password: \\"x y\\") }"}', '{"query": "{ login(password: \\"[redacted]\\") }"}'),
        ('{"data": "eyJ0b2tlbiI6ICJ4In0=", "id": "eyJhIjogMSwgImIiOiAyfQ=="}',
         '{"data": "[redacted]", "id": "eyJhIjogMSwgImIiOiAyfQ=="}'),
        ('{"oauth": {"a": 1}, "dbPass": "x", "bypass": "x", "pin": 1}',
         '{"oauth": "[redacted]", "dbPass": "[redacted]", "bypass": "x", "pin": "[redacted]"}'),
        ('{"url": "https://u:p@h/?token=x&a=1"}', '{"url": "https://[redacted]@h/?token=[redacted]&a=1"}'),
        # the name of a secret as a value beside it
        ('[{"name": "PASSWORD", "value": "x"}, {"name": "a", "value": "b"}]',
         '[{"name": "PASSWORD", "value": "[redacted]"}, {"name": "a", "value": "b"}]'),
        ('[{"value": "https://a:b@c/?token=d", "n": 1, "name": "token"}, {"v": "x", "k": "a"}]',
         '[{"value": "[redacted]", "n": 1, "name": "token"}, {"v": "x", "k": "a"}]'),
        ('{"headers": [["Authorization", "Bearer x"], ["A", "b"]], "fields": ["token", "id"]}',
         '{"headers": [["Authorization", "Bearer [redacted]"], ["A", "b"]], "fields": ["token", "id"]}'),
        ('{"rawHeaders": ["Host", "h", "Cookie", "a=b"], "args": ["--password", "x", "y"]}',
         '{"rawHeaders": ["Host", "h", "Cookie", "[redacted]"], "args": ["--password", "[redacted]", "y"]}'),
        ('[{"path": "/user/password", "value": "x"}, {"name": "token", "stringValue": "x"}]',
         '[{"path": "/user/password", "value": "[redacted]"}, {"name": "token", "stringValue": "[redacted]"}]'),
        ('{"value": {"a": ["x"]}, "name": "password"}', '{"value": "[redacted]", "name": "password"}'),
        ("{'password' => 'x', \"pin\" = 12}", "{'password' => \"[redacted]\", \"pin\" = \"[redacted]\"}"),
        ("{token: a=b, n: 1}", "{token: \"[redacted]\", n: 1}"),
        ('{"body": "a=1&pass%77ord=x&b=2"}', '{"body": "a=1&pass%77ord=[redacted]&b=2"}'),
        ('{"text": "user\\ta\\npassword\\tx"}', '{"text": "user\\ta\\npassword\\t[redacted]"}'),
        ('{"cmd": "mysql --password x"}', '{"cmd": "mysql --password [redacted]"}'),
        ('{"a": "Use code 482913", "b": "|pin| 4829 |", "c": "| pw | ab |"}',
         '{"a": "Use code [redacted]", "b": "|pin| [redacted] |", "c": "| pw | [redacted] |"}'),
        ('{"a": "| a | token |\\n|---|---|\\n| b | x |"}', '{"a": "| a | token |\\n|---|---|\\n| b | [redacted] |"}'),
        # Base64 of other texts, and of an archive
        ('{"body": "YT0xJnRva2VuPWh1bnRlcjI="}', '{"body": "[redacted]"}'),
        ('{"file": "data:application/json;base64,eyJ0b2tlbiI6ICJ4In0="}', '{"file": "[redacted]"}'),
        ('{"data": "H4sIAAAAAAAAA6tWKsnPTs1TslJQqlCqBQBi+V0bDwAAAA=="}', '{"data": "[redacted]"}'),
        # not secrets
        ('{"usage": {"prompt_tokens": 1, "total_tokens": 2, "prompt_tokens_details": {"cached_tokens": 0}}}',) * 2,
        ('{"promptTokenCount": 1, "token_type": "bearer", "token_expires_at": 1, "passwordUpdatedAt": "x"}',) * 2,
        ('{"secret_scanning": {"status": "enabled"}, "tokenization_method": "x", "secretary": "y"}',) * 2,
        ('{"nextPageToken": "x", "cookie_policy": "y", "token_endpoint": "https://h/token"}',) * 2,
        ('{"name": "password.reset", "data": {"a": 1}, "b": {"name": "Token bot", "text": "hi"}}',) * 2,
    ],
)  # fmt: skip
def test_json_members_are_redacted_by_their_names(body: str, expected: str) -> None:
    assert shown(body, JSON) == expected
    assert shown(body, "") == expected, "a body without a type is read as what it looks like"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a=1&password=x\u00a0y&c=3", "a=1&password=[redacted]&c=3"),
        ("credentials[user]=x&user%5Bpassword%5D=y", "credentials[user]=[redacted]&user%5Bpassword%5D=[redacted]"),
        ("p=%7B%22token%22%3A%22x+y%22%2C%22n%22%3A1%7D", "p=%7B%22token%22%3A%22[redacted]%22%2C%22n%22%3A1%7D"),
        ("r=https%3A%2F%2Fhooks.slack.com%2Fcommands%2Fx&a=1", "r=https%3A%2F%2Fhooks.slack.com%2F[redacted]&a=1"),
        ('{"password":"x"}', '{"password":"[redacted]"}'),
        ("%&=&password&password=&a=%zz&token=%", "%&=&password&password=&a=%zz&token=[redacted]"),
        ("password: x y\n", "password: [redacted]\n"),
        ("the token=x of mine", "the token=[redacted] of mine"),
        ("grant_type=a&code=abcd&code_verifier=x", "grant_type=a&code=[redacted]&code_verifier=[redacted]"),
        ("code=abcd&key=abcd", "code=abcd&key=abcd"),
        ("[a]\npassword = \"x y\"\n", "[a]\npassword = \"[redacted]\"\n"),
        ("[info] the password: x", "[info] the password: [redacted]"),
    ],
)  # fmt: skip
def test_form_fields_are_redacted_by_their_names(body: str, expected: str) -> None:
    assert shown(body, FORM) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<a><Password t='1'>x<b>y</b></Password><c>z</c></a>", "<a><Password t='1'>[redacted]</Password><c>z</c></a>"),
        ("<s:Token>a<s:Token>b</s:Token>c</s:Token>d", "<s:Token>[redacted]</s:Token>d"),
        ('<c token="a>b" id="2"/>', '<c token="[redacted]" id="2"/>'),
        ("<token/><token></token><a>b</a>", "<token/><token></token><a>b</a>"),
        ('<a key="Token" value="x"/><c key="a"/>', '<a key="Token" value="[redacted]"/><c key="a"/>'),
        ('<p name="token">x</p><p name="a">y</p>', '<p name="token">[redacted]</p><p name="a">y</p>'),
        ("<input name=csrf_token value=x><p>hi</p>", "<input name=csrf_token value=[redacted]><p>hi</p>"),
        ('<a><![CDATA[{"token":"x"}]]></a>', '<a><![CDATA[{"token":"[redacted]"}]]></a>'),
        ("<a>{&quot;token&quot;:&quot;x&quot;}</a>", "<a>{&quot;token&quot;:&quot;[redacted]&quot;}</a>"),
        ('<a href="https://h/?a=1&amp;token=x">b</a>', '<a href="https://h/?a=1&amp;token=[redacted]">b</a>'),
        ("<a><password>cut of", "<a><password>[redacted]"),
        ("<a><!-- token: x --></a><?php $password = 'x'; ?>",
         "<a><!-- token: [redacted]--></a><?php $password = '[redacted]'; ?>"),
        ('<input type="password" value="x"><p id="password">y</p>',
         '<input type="password" value="[redacted]"><p id="password">y</p>'),
        ("<dict><key>password</key><string>x</string><key>a</key><string>b</string></dict>",
         "<dict><key>password</key><string>[redacted]</string><key>a</key><string>b</string></dict>"),
        ("<m><name>token</name> <value><string>x</string></value></m><c><name>token</name><a>b</a></c>",
         "<m><name>token</name> <value>[redacted]</value></m><c><name>token</name><a>b</a></c>"),
        ("<tr><th>Password</th><td>x</td></tr><tr><th>User</th><td>y</td></tr>",
         "<tr><th>Password</th><td>[redacted]</td></tr><tr><th>User</th><td>y</td></tr>"),
        ("<p>Your password: <b>x</b></p><p>Forgot your password? <a>y</a></p>",
         "<p>Your password: <b>[redacted]</b></p><p>Forgot your password? <a>y</a></p>"),
    ],
)  # fmt: skip
def test_xml_elements_and_attributes_are_redacted_by_their_names(body: str, expected: str) -> None:
    assert shown(body, XML) == expected


def multipart(head: str, content: str) -> str:
    """A body of one part with this disposition and further headers."""
    return f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n--b--\r\n"


@pytest.mark.parametrize(
    ("head", "content", "expected"),
    [
        ('name="password"', "a\r\n\r\nb", "[redacted]"),
        ('name="f"; filename="id_rsa"', "x", "[redacted]"),
        ('name="f"; filename="prod.env.credentials"', "x", "[redacted]"),
        ('name="f"; filename="tls.key"', "x", "[redacted]"),
        ('name="f"; filename="a.txt"', "x", "x"),
        ('name="f"; filename="a.csv"\r\nContent-Type: text/csv', "id,password\n1,x", "[redacted]"),
        ('name="j"\r\nContent-Type: application/json', '{"token":"x","n":1}', '{"token":"[redacted]","n":1}'),
        ('name="j"', '{"token":"x","n":1}', '{"token":"[redacted]","n":1}'),
        ('name="j"\r\nContent-Transfer-Encoding: base64', base64.b64encode(b'{"token":"x"}').decode(), "[redacted]"),
        ('name="j"\r\nContent-Transfer-Encoding: base64', "aGVsbG8=", "aGVsbG8="),
        ('name="email"', "From: a@b.test\r\nAuthorization: Basic x", "From: a@b.test\r\nAuthorization: [redacted]"),
    ],
)
def test_multipart_fields_and_files_are_redacted_by_their_names(head: str, content: str, expected: str) -> None:
    assert shown(multipart(head, content), MULTIPART) == multipart(head, expected)
    assert shown(multipart(head, content), "multipart/form-data; boundary=wrong") == multipart(head, expected)
    assert shown(multipart(head, content), "") == multipart(head, expected), "it is read as what it looks like"


def test_a_multipart_body_that_is_cut_off_hides_what_came_of_a_secret() -> None:
    body = multipart('name="token"', "hunter2")
    for end in range(len(body)):
        assert "hunter" not in shown(body[:end], MULTIPART)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\x81\xa8password\xa78675309", "application/msgpack"),
        ('{"password":"8675309"}'.encode("utf-16"), JSON),
        (gzip.compress(b"password=8675309", mtime=0), ""),
        (b"id,password\n1,8675309\n", "text/csv"),
        (b"credentials:\n  user: a\n  pin: 8675309\n", "application/yaml"),
        (b"secret: |-\n  8675309\n", "application/yaml"),
        (b"secret: # c\n  8675309\n", "application/yaml"),
        (b"- name: TOKEN\n  value: 8675309\n", "application/yaml"),
        (b"id,pin\n1,8675309\n", "text/csv"),
        (b"id;password\n1;8675309\n", "text/plain"),
    ],
    ids=["msgpack", "utf-16", "gzip", "csv", "yaml", "yaml block", "yaml comment", "yaml pair", "csv pin", "table"],
)
def test_nothing_is_shown_of_a_body_that_names_secrets_and_cannot_be_read(body: bytes, content_type: str) -> None:
    assert redacted_body(body, content_type) == (b"", UNREADABLE)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\x81\xa1a\xa1b", "application/msgpack"),
        (b"id,name\n1,a\n", "text/csv"),
        (b"id,token_count\n1,2\n", "text/csv"),
        (b"\x89PNG\0token", "image/png"),
        (b"We changed the password, the mail\nand more, soon\n", "text/plain"),
        (b"Cookie recipe:\n\n- sugar\n", "text/markdown"),
    ],
    ids=["msgpack", "csv", "csv count", "png", "text", "list"],
)
def test_other_formats_are_shown(body: bytes, content_type: str) -> None:
    assert redacted_body(body, content_type) == (body, None)


def test_it_says_so_if_a_secret_does_not_end() -> None:
    assert redacted_body(b'{"token": {"a": 1, "b": 2', JSON).note == UNENDED
    assert redacted_body(b"<a><token>1</a>", XML).note == UNENDED
    assert redacted_body(b'{"token": {"a": 1}}', JSON).note is None


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"a":"ü","password":"8675309","b":["ü",1]}', JSON),
        ('{"a":"ü","token":{"b":"8675309"},"b":["ü",1]}', JSON),
        ("a=1&token=8675309&b=2", FORM),
        ("<a>ü<token>8675309</token></a>", XML),
        (multipart('name="token"', "8675309"), MULTIPART),
    ],
)
def test_no_part_of_a_body_has_a_part_of_a_secret(body: str, content_type: str) -> None:
    sent = body.encode()
    at = sent.index(b"8675309")
    for start in range(len(sent)):
        for end in (start + 1, start + 5, len(sent)):
            part = redacted_body(sent, content_type, start, end).data
            assert not any(sent[one : one + 2] in part for one in range(at, at + 6))
        assert redacted_body(sent, content_type, start).data.endswith(sent[max(start, at + 9) :])  # all else stays


@pytest.mark.parametrize("content_type", [JSON, FORM, XML, MULTIPART, "text/plain"])
@pytest.mark.parametrize(
    "part",
    [
        *('"', '"a', '"token', "token", '\\"', "&token", '"token" ', '["', '"token":["a"{', "[", '{"a":', "://a"),
        *("http://a?b=", "<", "<a ", '<a b="', "<!--", "<![CDATA[", "--b\r\n", "--b\r\n\r\n", "eyJaaaaaaaa-", "%7B"),
        *("-----BEGIN PRIVATE KEY-----", "'", 'token:"', "token    ", '{"a":"{\\"a\\":', "<token>", "cookie:", " "),
        *("a://b:", "://u:p/", "token=", "x token: ", "-u a:", "token:\n", "tokentoken", "<td>token</td>", "key", "<!"),
        *("|token", "|token|a\n", "token|a\n-|-\n", "|-|\n", "--\n", "|", "your code ", "1 is your code ", "code:\n\n"),
    ],
)  # fmt: skip
def test_a_long_body_is_read_in_a_moment(part: str, content_type: str) -> None:
    """A pattern that reads the text again and again takes longer; what follows is read as well."""
    body = part * (20_000 // len(part)) + "\n\n" + KEY + "\n"
    began = time.thread_time()
    assert KEY.encode() not in redacted_body(body.encode(), content_type).data
    assert time.thread_time() - began < 2


def test_deep_nesting_hides_what_is_below_a_secret_name() -> None:
    deep = 50_000
    body = '{"token":' + "[" * deep + '"hunter2"' + "]" * deep + ',"n":' + "[" * deep + "1" + "]" * deep + "}"
    assert shown(body, JSON) == '{"token":"[redacted]","n":' + "[" * deep + "1" + "]" * deep + "}"
    text = '{"password":"hunter2"}'
    for _ in range(8):
        text = json.dumps({"message": text})
    assert "hunter2" not in shown(text, JSON)
