"""Requests that hold a secret, in many kinds of places, and requests that only look like it; each made from a seed."""

from __future__ import annotations

import base64
import gzip
import json
import quopri
import random
import string
import struct
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import msgspec

JSON, FORM, XML, TEXT = "application/json", "application/x-www-form-urlencoded", "application/xml", "text/plain"
LETTERS = string.ascii_letters + string.digits
ENDPOINT_HEADER = "X-Partner"
"""The one in which the endpoint of all these requests asks for a secret."""


@dataclass(frozen=True)
class Sent:
    """A request, and what else is told of it: `text` stands for a note or an error."""

    body: bytes = b""
    content_type: str = ""
    target: str = "/catch/a"
    headers: tuple[tuple[str, str], ...] = ()
    text: str = ""


Make = Callable[[str, random.Random], Sent]
"""A request with this value in it."""


def secret(seed: random.Random) -> str:
    """A key, a password, a hash or an ID, of at least 8 characters."""
    return seed.choice(
        [
            "".join(seed.choices(LETTERS, k=seed.randint(12, 40))) + "7x",
            "".join(seed.choices("0123456789abcdef", k=32)) + "a1",
            f"{''.join(seed.choices(string.ascii_lowercase, k=7))}{seed.randint(10, 99)}{seed.choice('-_.')}Q",
            "".join(seed.choices(string.ascii_lowercase, k=14)),
            "-".join("".join(seed.choices("0123456789abcdef", k=size)) for size in (8, 4, 4, 4, 11)) + "b",
        ]
    )


def name(seed: random.Random) -> str:
    return seed.choice(
        ["password", "api_key", "access_token", "clientSecret", "auth_token", "Passwd", "private-key", "refreshToken"]
    )


def body(text: str, kind: str = TEXT) -> Sent:
    return Sent(text.encode(), kind)


def members(value: object) -> Sent:
    return body(json.dumps(value), JSON)


def header(key: str, value: str) -> Sent:
    return Sent(headers=((key, value),))


def part(head: str, content: str) -> Sent:
    return body(
        f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n--b--\r\n", "multipart/x; boundary=b"
    )


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def bson(key: str, value: str) -> bytes:
    text = value.encode() + b"\0"
    element = b"\x02" + key.encode() + b"\0" + struct.pack("<i", len(text)) + text
    return struct.pack("<i", len(element) + 5) + element + b"\0"


def cbor(key: str, value: str) -> bytes:
    heads = [bytes([0x60 + len(one)] if len(one) < 24 else [0x78, len(one)]) for one in (key, value)]
    return b"\xa1" + heads[0] + key.encode() + heads[1] + value.encode()


SECRETS: dict[str, Make] = {
    "header Authorization": lambda s, r: header("Authorization", r.choice(["Bearer ", "Token ", ""]) + s),
    "header Authorization: Basic": lambda s, r: header("Authorization", f"Basic {b64('user:' + s)}"),
    "header Cookie": lambda s, r: header(r.choice(["Cookie", "Set-Cookie"]), f"theme=dark; sid={s}; Path=/"),
    "header of a key": lambda s, r: header(r.choice(["X-Api-Key", "X-Auth-Token", "Private-Token"]), s),
    "header Key, Session": lambda s, r: header(r.choice(["X-Key", "X-Session", "Sid", "Session"]), s),
    "header of the endpoint": lambda s, r: header(ENDPOINT_HEADER, s),
    "header with a URL": lambda s, r: header("Referer", f"https://shop.test/a?{name(r)}={s}&b=1"),
    "header with a target": lambda s, r: header("X-Original-Uri", f"/cb?{r.choice(['code', 'token', 'sid'])}={s}&a=1"),
    "query, named": lambda s, r: Sent(target=f"/catch/a?a=1&{name(r)}={quote_plus(s)}&b=2"),
    "query, a code": lambda s, r: Sent(target=f"/catch/a/callback?code={quote_plus(s)}&state=x"),
    "query, a key": lambda s, r: Sent(target=f"/catch/a?{r.choice(['key', 'session', 'sid', 'sas'])}={quote_plus(s)}"),
    "query, a signature": lambda s, r: Sent(
        target=f"/catch/a?se=2026&{r.choice(['sig', 'Signature', 'X-Amz-Signature', 'oauth_signature'])}={s}"
    ),
    "query, an encoded name": lambda s, r: Sent(target=f"/catch/a?user%5Bpass%77ord%5D={s}"),
    "query, a URL in it": lambda s, r: Sent(target=f"/catch/a?next={quote(f'https://h.test/?token={s}&a=1', safe='')}"),
    "query, JSON in it": lambda s, r: Sent(target=f"/catch/a?data={quote_plus(json.dumps({name(r): s}))}"),
    "path parameter": lambda s, r: Sent(target=f"/catch/a/orders;jsessionid={s}?a=1"),
    "path below a name": lambda s, r: Sent(
        target=f"/catch/a/{r.choice(['reset-password', 'token', 'api-key', 'session', 'key'])}/{s}1"
    ),
    "JSON": lambda s, r: members({"id": 7, name(r): s, "n": 1}),
    "JSON, below a name": lambda s, r: members({"credentials": {"user": "a", "list": [s]}, "n": 1}),
    "JSON, name and value": lambda s, r: members([{"name": name(r), "value": s}, {"name": "a", "value": "b"}]),
    "JSON, a list of headers": lambda s, r: members({"headers": [["Authorization", f"Bearer {s}"], ["A", "b"]]}),
    "JSON in JSON": lambda s, r: members({"Message": json.dumps({"user": {name(r): s}})}),
    "JSON in Base64": lambda s, r: members({"message": {"data": b64(json.dumps({name(r): s}))}}),
    "JSON, a URL": lambda s, r: members({"url": f"https://h.test/cb?{r.choice(['code', 'key', 'sig'])}={s}&a=1"}),
    "JSON, cut off": lambda s, r: body(json.dumps({"a": 1, name(r): s})[:-4], JSON),
    "JSON lines": lambda s, r: body(f'{{"a":1}}\n{{"{name(r)}":"{s}"}}\n', "application/x-ndjson"),
    "JSON, a text of lines": lambda s, r: members({"text": f"User\nanna\nPassword\n{s}\n"}),
    "GraphQL": lambda s, r: members({"query": f'mutation {{ login(user: "a", password: "{s}") {{ id }} }}'}),
    "form": lambda s, r: body(f"a=1&{name(r)}={quote_plus(s)}&b=2", FORM),
    "form, a grant": lambda s, r: body(f"grant_type=authorization_code&code={quote_plus(s)}&redirect_uri=x", FORM),
    "form, JSON in it": lambda s, r: body(f"payload={quote_plus(json.dumps({name(r): s}))}", FORM),
    "multipart, a field": lambda s, r: part(f'name="{name(r)}"', s),
    "multipart, a file": lambda s, r: part(f'name="f"; filename="{r.choice([".env", "id_rsa", "tls.key"])}"', s),
    "multipart, JSON": lambda s, r: part('name="f"', json.dumps({name(r): s})),
    "XML": lambda s, r: body(f"<a><n>1</n><{name(r)}>{s}</a>".replace("</a>", "") + "</a>", XML),
    "XML, name and value": lambda s, r: body(f'<a><add key="{name(r)}" value="{s}"/><b>1</b></a>', XML),
    "SOAP": lambda s, r: body(f"<s:Header><wsse:Password Type='t'>{s}</wsse:Password></s:Header>", XML),
    "HTML": lambda s, r: body(f'<input type="password" name="p" value="{s}"><p>hi</p>', "text/html"),
    ".env": lambda s, r: body(f"A=1\nexport DB_PASSWORD={s}\nSMTP_PASS={s}\n"),
    "INI": lambda s, r: body(f"[db]\nuser = a\n{name(r)} = {s}\n"),
    "YAML": lambda s, r: body(f"db:\n  user: a\n  {name(r)}: {s}\n", "application/yaml"),
    "a log": lambda s, r: body(f'10.0.0.1 - - "GET /a?{r.choice(["token", "code", "key"])}={s} HTTP/1.1" 200 12\n'),
    "the next cell": lambda s, r: body(f"user\tanna\n{r.choice(['password', 'API key', 'Client secret'])}\t{s}\n"),
    "the next line": lambda s, r: body(f"User\nanna\n{r.choice(['Password', 'API key', 'access_token'])}\n{s}\nbye"),
    "curl": lambda s, r: body(f"curl {r.choice(['-u u:', '-b sid=', '--oauth2-bearer ', '-H X-Api-Key:'])}{s} h"),
    "a connection string": lambda s, r: body(f"{r.choice([f'postgres://u:{s}@db/a', f'Server=db;Password={s};'])}\na"),
    "Python": lambda s, r: body(f"{{'user': 'a', '{name(r)}': '{s}', 'headers': [('A', 'b'), ('Cookie', 'id={s}')]}}"),
    "a known key": lambda s, r: body(
        f"it is {r.choice(['ghp_', 'sk_live_', 'xoxb-', 'npm_'])}{''.join(filter(str.isalnum, s))}{'aB3' * 8} now"
    ),
    "a private key": lambda s, r: body(f"-----BEGIN RSA PRIVATE KEY-----\n{s}\n-----END RSA PRIVATE KEY-----\n"),
    "a JSON Web Token": lambda s, r: body(
        f"it sent eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{s.replace('.', '_')}abcdefgh ok"
    ),
    "CSV, a column": lambda s, r: body(f"id,{name(r)},n\n1,{s},2\n", "text/csv"),
    "CSV, a row": lambda s, r: body(f"user,anna\n{name(r)},{s}\n", r.choice(["text/csv", TEXT])),
    "TSV, a column": lambda s, r: body(f"id\t{name(r)}\n1\t{s}\n", "text/tab-separated-values"),
    "MessagePack": lambda s, r: Sent(msgspec.msgpack.encode({r.choice([name(r), "pin"]): s}), "application/msgpack"),
    "CBOR": lambda s, r: Sent(cbor(r.choice([name(r), "pin"]), s), r.choice(["application/cbor", ""])),
    "BSON": lambda s, r: Sent(bson(name(r), s), "application/octet-stream"),
    "CBOR in Base64": lambda s, r: members({"data": base64.b64encode(cbor(name(r), s)).decode()}),
    "UTF-16": lambda s, r: Sent(json.dumps({name(r): s}).encode("utf-16"), JSON),
    "gzip": lambda s, r: Sent(gzip.compress(json.dumps({name(r): s}).encode(), mtime=0), JSON),
    "mail": lambda s, r: Sent(b"Subject: a\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
                              + quopri.encodestring(f"Your password: {s}\r\n".encode()), "message/rfc822"),
    "mail, Base64": lambda s, r: body(
        f"Subject: a\r\nContent-Transfer-Encoding: base64\r\n\r\n{b64(f'Your password: {s}')}\r\n",
        r.choice(["message/rfc822", TEXT]),
    ),
    "CSV in JSON": lambda s, r: members({"file": f"id,{name(r)}\n1,{s}\n"}),
    "YAML in JSON": lambda s, r: members({"file": f"a: 1\n{name(r)}:\n  - {s}\n"}),
    "a PIN": lambda s, r: body(f"Welcome! {r.choice(['PIN', 'Your OTP', 'Verification code'])}: {s}, for 5 minutes."),
    "told in words": lambda s, r: body(f"Your {r.choice(['temporary password', 'verification code'])} is {s}1 today"),
    "SQL": lambda s, r: body(f"ALTER USER a WITH PASSWORD '{s}';"),
    ".netrc": lambda s, r: body(f"machine shop.test login a password {s}\n"),
    "arguments": lambda s, r: r.choice(
        [members({"args": ["--token=a", "--password", s, "b"]}), body(f"define('DB_PASSWORD', '{s}');")]
    ),
    "a chat": lambda s, r: members({"text": r.choice([f"*Password:*\n{s}", f"**API key**\n{s}1"])}),
    "header in Base64": lambda s, r: header("X-Data", b64(json.dumps({name(r): s}))),
    "query in Base64": lambda s, r: Sent(target=f"/catch/a?state={b64(json.dumps({name(r): s})).rstrip('=')}"),
    "XML, an attribute": lambda s, r: body(f'<a><{name(r)} id="7" value="{s}"/></a>', XML),
    "Markdown, a row": lambda s, r: body(f"# Keys\n\n| Host | h |\n| {r.choice(['API key', '`token`'])} | {s} |\n"),
    "Markdown, a column": lambda s, r: body(f"Hi!\n\n| user | {name(r)} |\n|:---|---|\n| anna | {s} |\n\nBye\n"),
    "Markdown, name and value": lambda s, r: body(
        f"name | {r.choice(['value', 'host'])}\n--- | ---\nhost | h\n{name(r)} | {s}\n"
    ),
    "Markdown in JSON": lambda s, r: members({"text": f"| name | value |\n|---|---|\n| {name(r)} | {s} |"}),
    "a note, an error": lambda s, r: Sent(text=r.choice([f"the {name(r)}={s} is old", f"http://u:{s}@h/ is down"])),
}  # fmt: skip
"""By the kind of place."""


def word(seed: random.Random) -> str:
    """A value that is no secret."""
    return seed.choice(
        [
            *("orders", "2026-11-20", "12345", "Berlin", "paid", "4f2a9c1e", "eu-central-1", "in-progress"),
            *("evt_1MqqbKLt4dXK03v5", "550e8400-e29b-41d4-a716-446655440000", "d41d8cd98f00b204e9800998ecf8427e"),
        ]
    )


HARMLESS: dict[str, Make] = {
    "counts of tokens": lambda s, r: members({r.choice(["total_tokens", "prompt_tokens", "maxTokens"]): s, "n": 1}),
    "about secrets": lambda s, r: members(
        {r.choice(["token_type", "password_changed_at", "secret_version", "cookie_policy", "tokenExpiresAt"]): s}
    ),
    "pages": lambda s, r: members({r.choice(["nextPageToken", "page_token", "syncToken", "continuation_token"]): s}),
    "keys of members": lambda s, r: members({r.choice(["key", "primaryKey", "sort_key", "partition_key", "keys"]): s}),
    "codes": lambda s, r: members({r.choice(["code", "status_code", "countryCode", "zip_code", "error_code"]): s}),
    "words that begin alike": lambda s, r: members(
        {r.choice(["secretary", "passenger", "compass", "author", "monkey", "pinned", "keyboard", "tokenizer"]): s}
    ),
    "sessions": lambda s, r: members({r.choice(["session_count", "session", "sessions", "sid", "callSid"]): s}),
    "signatures": lambda s, r: header(
        r.choice(["Stripe-Signature", "X-Hub-Signature-256", "Paypal-Transmission-Sig", "Svix-Signature"]), s * 4
    ),
    "other headers": lambda s, r: header(
        r.choice(["Idempotency-Key", "ETag", "X-Request-Id", "X-RateLimit-Remaining-Tokens", "Traceparent"]), s
    ),
    "policies": lambda s, r: header(r.choice(["Access-Control-Allow-Credentials", "Permissions-Policy"]), s),
    "codes in a query": lambda s, r: Sent(
        target=f"/catch/a?{r.choice(['country_code', 'promo_code', 'status_code', 'keyword', 'sort_key'])}={s}"
    ),
    "short codes in a query": lambda s, r: Sent(target=f"/catch/a?{r.choice(['code', 'key'])}={s[:3]}&v={s}"),
    "pages in a query": lambda s, r: Sent(target=f"/catch/a?{r.choice(['page_token', 'CallSid', 'sessions'])}={s}"),
    "paths": lambda s, r: Sent(
        target=f"/catch/a/{r.choice(['tokens', 'sessions', 'keys', 'password', 'code', 'secrets'])}/{s[:7]}/{s}"
    ),
    "prose": lambda s, r: body(
        r.choice(
            [
                f"Reset your password in {s} minutes",
                f"The cookie recipe of {s}\n\n- sugar\n",
                f"Unexpected token in {s}",
                f"Your secret admirer from {s} sent a card",
                f"We changed the tokens, the mail and {s}",
                f"the password is required for {s}",
                f"a token was sent to {s}, it's in the mail",
            ]
        )
    ),
    "headings": lambda s, r: body(f"{r.choice(['Password', 'Cookies', 'Tokens'])}\n\n{s} is what they read.\n"),
    "menus": lambda s, r: body(f"Privacy\nCookies\nTerms\nPassword\nHelp\n{s}"),
    "tables": lambda s, r: body(f"id\tname\ttoken_count\n1\t{s}\t3\n", r.choice([TEXT, "text/tab-separated-values"])),
    "CSV": lambda s, r: body(f"id,keyword,country_code\n1,{s},de\n", "text/csv"),
    "forms": lambda s, r: body(f"a=1&{r.choice(['code', 'key', 'zip_code', 'tokens_used', 'session'])}={s}", FORM),
    "XML": lambda s, r: body(f"<a><{r.choice(['code', 'key', 'keyword', 'passenger'])}>{s}</a>", XML),
    "events": lambda s, r: members({"type": r.choice(["password.reset", "token.created"]), "data": {"id": s}}),
    "names of secrets": lambda s, r: members({"fields": ["password", "token", s], "required": ["secret"]}),
    "code": lambda s, r: body(f"crate::token::Parser::{s} of {r.choice(['auth::Key', 'token::Kind'])}"),
    "URLs": lambda s, r: members({"url": f"https://tokens.test:8080/{s}/@a?page=2"}),
    "hashes": lambda s, r: members({"sha": f"{r.getrandbits(160):040x}", "id": s}),
    "binary": lambda s, r: Sent(msgspec.msgpack.encode({"ping": s, "spin": 1}), "application/msgpack"),
    "logs": lambda s, r: body(f"2026-11-20T09:00:00Z INFO worker handled /orders/{s} tokens_used=17 in 12 ms\n"),
    "notes": lambda s, r: Sent(text=r.choice([f"the password of {s} was reset", f"ask {s} for a token"])),
    "Markdown tables": lambda s, r: body(
        r.choice(
            [
                f"| id | name |\n|---|---|\n| 1 | {s} |\n",
                f"| token count | {s} |\n| token type | {s} |\n",
                f"| field | status code |\n|---|---|\n| {s} | 404 |\n",
                f"| keyword | {s} |\n| passenger | {s} |\n| country code | {s} |\n",
            ]
        )
    ),
    "codes in sentences": lambda s, r: body(
        r.choice(
            [
                f"Use code {s} at checkout",
                f"Your coupon code is {s}",
                f"exit code 1 of {s}",
                f"the zip code {s}",
                f"status code {s}, error code {s}",
                f"country code DE, {s}",
                f"a code review of {s}",
            ]
        )
    ),
    "usage": lambda s, r: members({"usage": {"input_tokens": 5, "output_tokens_details": {"cached_tokens": s}}}),
}  # fmt: skip
