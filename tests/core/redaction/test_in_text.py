"""Secrets in texts and URLs; all else stays as it was."""

from __future__ import annotations

import pytest

from app.core.redaction.in_text import redacted_text, redacted_url

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("/catch/a?token=x&b=1", "/catch/a?token=[redacted]&b=1"),
        ("http://h/p?a=1&access_token=x#f", "http://h/p?a=1&access_token=[redacted]#f"),
        ("/catch/a?q=token", "/catch/a?q=token"),
        ("/catch/token", "/catch/token"),
        ("http://user:p@ss@h:80/p@th", "http://[redacted]@h:80/p@th"),
        ("http://ghp@h/", "http://[redacted]@h/"),
        ("http://user:hunt…", "http://[redacted]…"),
        ("http://h:80", "http://h:80"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("http://tokens.test:8080/a", "http://tokens.test:8080/a"),
        ("/cb#access_token=x&a=1", "/cb#access_token=[redacted]&a=1"),
        ("http://h/a;token=x/b", "http://h/a;token=[redacted]/b"),
        ("/a?user%5Bpassword%5D=x&pass%77ord=y", "/a?user%5Bpassword%5D=[redacted]&pass%77ord=[redacted]"),
        ("/a?next=https%3A%2F%2Fh%2F%3Ftoken%3Dx%26b%3D1", "/a?next=https%3A%2F%2Fh%2F%3Ftoken%3D[redacted]%26b%3D1"),
        ("/a?data=key%3D1%26password%3Dx", "/a?data=key%3D1%26password%3D[redacted]"),
        ("/a?sv=1&sig=x&X-Amz-Signature=y", "/a?sv=1&sig=[redacted]&X-Amz-Signature=[redacted]"),
        ("https://hooks.slack.com/services/T1/B1/x", "https://hooks.slack.com/[redacted]"),
        ("https://discord.com/api/webhooks/12/x-y", "https://discord.com/api/webhooks/12/[redacted]"),
        ("https://api.telegram.org/bot1:x/getMe", "https://api.telegram.org/bot[redacted]/getMe"),
    ],
)
def test_urls_lose_credentials_and_secret_parameters(url: str, shown: str) -> None:
    assert redacted_url(url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the password is in the vault", "the password is in the vault"),
        ("JSON · id, password, type: order.paid", "JSON · id, password, type: order.paid"),
        ("password: hunter2, of 2 words", "password: [redacted]"),
        ("the password: hunter2 works", "the password: [redacted] works"),
        ("A=1\nexport DB_PASSWORD=a b\nC=2", "A=1\nexport DB_PASSWORD=[redacted] b\nC=2"),
        ("A=1\nDB_PASSWORD=a b\nC=2", "A=1\nDB_PASSWORD=[redacted]\nC=2"),
        ('api_key = "a b" works', 'api_key = "[redacted]" works'),
        ("token=abc", "token=[redacted]"),
        ("see https://u:p@h/?a=1&token=x for it", "see https://[redacted]@h/?a=1&token=[redacted] for it"),
        ("Could not connect to http://token-svc:8080/x", "Could not connect to http://token-svc:8080/x"),
        ("Authorization: Digest a, b\nHost: h", "Authorization: [redacted]\nHost: h"),
        ("curl -H 'Cookie: a=b; c=d' h", "curl -H 'Cookie: [redacted]' h"),
        ("it sent Bearer abcdefghijklmnop1234 twice", "it sent Bearer [redacted] twice"),
        ("use ghp_abcdefghijklmnopqrst1234.", "use [redacted]."),
        (f"claims {JWT}.abcdefghijklmnopqrstuv end", f"claims {JWT}.[redacted] end"),
        ("-----BEGIN RSA PRIVATE KEY-----\na\n-----END RSA PRIVATE KEY-----\nb", "[redacted]\nb"),
        ("-----BEGIN PRIVATE KEY-----\ncut of", "[redacted]"),
    ],
)
def test_texts_lose_what_follows_a_secret_name_or_is_a_secret_by_its_form(text: str, shown: str) -> None:
    assert redacted_text(text) == shown
    assert redacted_text(shown) == shown


def test_urls_in_urls_end_somewhere() -> None:
    assert "hunter2" not in redacted_url("http://h/?a=" * 10_000 + "&password=hunter2")
