"""Headers are redacted by their names, and what is a secret in the others."""

from __future__ import annotations

import pytest

from app.core.redaction.in_text import redacted_headers


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer abc.def", "Bearer [redacted]"),
        ("authorization", "abc", "[redacted]"),
        ("Cookie", "a=1; b=2", "[redacted]"),
        ("Set-Cookie", "sid=1; Path=/", "[redacted]"),
        ("X-Api-Key", "k", "[redacted]"),
        ("X-Auth-Key", "k", "[redacted]"),
        ("Ocp-Apim-Subscription-Key", "k", "[redacted]"),
        ("X-Gitlab-Token", "t", "[redacted]"),
        ("Cf-Access-Jwt-Assertion", "a.b.c", "[redacted]"),
        ("Referer", "https://u:p@shop.test/?token=x&a=1", "https://[redacted]@shop.test/?token=[redacted]&a=1"),
        ("Location", "/done#access_token=x&a=1", "/done#access_token=[redacted]&a=1"),
        ("Stripe-Signature", "t=1,v1=ab", "t=1,v1=ab"),
        ("X-Hub-Signature-256", "sha256=ab", "sha256=ab"),
        ("Paypal-Transmission-Sig", "ab", "ab"),
        ("Klarna-Signing-Key-Id", "krn:1", "krn:1"),
        ("Idempotency-Key", "k", "k"),
        ("Authentication", "k", "[redacted]"),
        ("X-Session-Id", "k", "[redacted]"),
        ("X-Consumer-Key", "k", "[redacted]"),
        ("DD-Application-Key", "k", "[redacted]"),
        ("Authentication-Results", "mx.test; spf=pass", "mx.test; spf=pass"),
        ("X-RateLimit-Remaining-Tokens", "100", "100"),
        ("Access-Control-Allow-Credentials", "true", "true"),
        ("Idempotency-Token", "k", "k"),
        ("X-Session", "abcd", "[redacted]"),
        ("Key", "abcd", "[redacted]"),
        ("X-Code", "404", "404"),
        ("Signature", "abcd", "abcd"),
        ("X-Original-Uri", "/cb?code=abcd&a=1", "/cb?code=[redacted]&a=1"),
        ("Content-Type", "text/plain", "text/plain"),
        ("Content-Disposition", 'form-data; name="password"', 'form-data; name="password"'),
    ],
)
def test_headers_are_redacted_by_their_names(name: str, value: str, shown: str) -> None:
    assert redacted_headers([(name, value)]) == [(name, shown)]
