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
        ("/a?sv=1&sig=abcd&X-Amz-Signature=y", "/a?sv=1&sig=[redacted]&X-Amz-Signature=[redacted]"),
        ("https://hooks.slack.com/services/T1/B1/x", "https://hooks.slack.com/[redacted]"),
        ("https://discord.com/api/webhooks/12/x-y", "https://discord.com/api/webhooks/12/[redacted]"),
        ("https://api.telegram.org/bot1:x/getMe", "https://api.telegram.org/bot[redacted]/getMe"),
        ("https://hooks.zapier.com/hooks/catch/1/x", "https://hooks.zapier.com/[redacted]"),
        ("https://outlook.office.com/webhook/x", "https://outlook.office.com/webhook/[redacted]"),
        ("https://hook.eu1.make.com/x", "https://hook.eu1.make.com/[redacted]"),
        ("/a;jsessionid=x?b=1", "/a;jsessionid=[redacted]?b=1"),
        ("/a?pw=x&session_id=y", "/a?pw=[redacted]&session_id=[redacted]"),
        ("postgres://user:p/w#o?rd@db:5432/a", "postgres://[redacted]@db:5432/a"),
        ("http://h:80/a?b=c:d@e", "http://h:80/a?b=c:d@e"),
        ("https://h:8080/@x", "https://h:8080/@x"),
        ("/a%3Ftoken%3Dx%26b", "/a%3Ftoken%3D[redacted]%26b"),
        ("/a?u=http%253A%252F%252Fh%252F%253Ftoken%253Dx%2526b%253D1",
         "/a?u=http%253A%252F%252Fh%252F%253Ftoken%253D[redacted]%2526b%253D1"),
        ("/a?token_type=bearer&page_token=x", "/a?token_type=bearer&page_token=x"),
        ("/cb?code=4/0Ab&state=x&session=abcd", "/cb?code=[redacted]&state=x&session=[redacted]"),
        ("/a?key=abcd&sid=abcd&sas=abcd&Signature=abcd&api_sig=abcd&connect.sid=abcd",
         "/a?key=[redacted]&sid=[redacted]&sas=[redacted]&Signature=[redacted]&api_sig=[redacted]&connect.sid=[redacted]"),
        ("/a?code=404&key=id&country_code=abcd&CallSid=abcd", "/a?code=404&key=id&country_code=abcd&CallSid=abcd"),
        ("/reset-password/a1b2c3d4e5/ok", "/reset-password/[redacted]/ok"),
        ("/token/a1b2c3d4?b=1", "/token/[redacted]?b=1"),
        ("/key/a1b2c3d4", "/key/[redacted]"),
        ("/tokens/12345678/session/overview", "/tokens/12345678/session/overview"),
    ],
)  # fmt: skip
def test_urls_lose_credentials_and_secret_parameters(url: str, shown: str) -> None:
    assert redacted_url(url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the password is in the vault", "the password is in the vault"),
        ("order.paid · JSON · id, password, type", "order.paid · JSON · id, password, type"),
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
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\na\n-----END PGP PRIVATE KEY BLOCK-----\nb", "[redacted]\nb"),
        ('log: {"Authorization": "Bearer x", "Cookie": "a=b; c=d"}',
         'log: {"Authorization": "[redacted]", "Cookie": "[redacted]"}'),
        ("Authorization: Basic a\r\n b\r\nHost: h", "Authorization: [redacted]\r\nHost: h"),
        ("Cookie: a=1&b=2; c=\"3\"\nHost: h", "Cookie: [redacted]\nHost: h"),
        ("DB_PASSWORD=a&b\nC=1", "DB_PASSWORD=[redacted]\nC=1"),
        ("token=x&a=1", "token=[redacted]&a=1"),
        ("A=1\nSMTP_PASS=x\nB_PIN=2", "A=1\nSMTP_PASS=[redacted]\nB_PIN=[redacted]"),
        ("x:\n  password: a b\n  - token: c d\n", "x:\n  password: [redacted]\n  - token: [redacted]\n"),
        ("api_key: a b\nc", "api_key: [redacted]\nc"),
        ("{'token': b'a b', 'n': 1}", "{'token': b'[redacted]', 'n': 1}"),
        ("use {'password' => 'x y'} or password := \"x\"",
         "use {'password' => '[redacted]'} or password := \"[redacted]\""),
        ("[('Cookie', 'a=b'), ('A', 'b')]", "[('Cookie', '[redacted]'), ('A', 'b')]"),
        ('password = """\na\n"""\nb = 1', 'password = """[redacted]"""\nb = 1'),
        ("curl -u user:x http://h/", "curl -u [redacted] http://h/"),
        ("curl -b 'a=b; c=d' --proxy-user 'u:p q' h", "curl -b '[redacted]' --proxy-user '[redacted]' h"),
        ("mysql --user root --password x db", "mysql --user root --password [redacted] db"),
        ("use Basic dTpodW50ZXIy now", "use Basic [redacted] now"),
        ("a%22token%22%3A%22x%22", "a%22token%22%3A%22[redacted]%22"),
        ("GET /cb?code=abcd&a=1 HTTP/1.1", "GET /cb?code=[redacted]&a=1 HTTP/1.1"),
        ("user\ta\npassword\tx y\nn\t1", "user\ta\npassword\t[redacted]\nn\t1"),
        ("a\tapi key\tx\tb", "a\tapi key\t[redacted]\tb"),
        ("User\nanna\nPassword\nhunter\nNote\nb", "User\nanna\nPassword\n[redacted]\nNote\nb"),
        ("Authorization\nBearer abcd\nHost\nh", "Authorization\n[redacted]\nHost\nh"),
        ("your new password\nhunter2\n", "your new password\n[redacted]\n"),
        ('user.setPassword("x y"); it.with_key("x")', 'user.setPassword("[redacted]"); it.with_key("x")'),
        ("mysqldump -u root -px -h h db", "mysqldump -u root -p[redacted] -h h db"),
        ("mysql -uroot -p'x y' db; mariadb -p\"z\"", "mysql -uroot -p'[redacted]' db; mariadb -p\"[redacted]\""),
        ("SetApiKey('x')", "SetApiKey('[redacted]')"),
        ('setPwd("abcd")', 'setPwd("[redacted]")'),
        # not secrets
        ('reset_password("anna"), resetPassword("anna"), getToken("id"), setTokenType("b"), Password("Label")',) * 2,
        ("mysql -u root -P3306 -p db; rsync -pr a b",) * 2,
        ("Privacy\nCookies\nTerms", "Privacy\nCookies\nTerms"),
        ("Reset password\nlogin\n\nSession token\n=====\nIt is long.",) * 2,
        ("total_tokens=17 prompt_tokens: 5", "total_tokens=17 prompt_tokens: 5"),
        ("SyntaxError: Unexpected token: }", "SyntaxError: Unexpected token: }"),
        ("crate::token::Parser", "crate::token::Parser"),
        ("hf_transformers_library_name sk-skeleton-loader-class",) * 2,
        ("Basic understanding-of-things, Basic authentication", "Basic understanding-of-things, Basic authentication"),
        ("token_url=https://h/?token=x", "token_url=https://h/?token=[redacted]"),
    ],
)  # fmt: skip
def test_texts_lose_what_follows_a_secret_name_or_is_a_secret_by_its_form(text: str, shown: str) -> None:
    assert redacted_text(text) == shown
    assert redacted_text(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Use code 482913 to sign in", "Use code [redacted] to sign in"),
        ("Use code 482913", "Use code [redacted]"),
        ("Your verification code is 482913", "Your verification code is [redacted]"),
        ("Your verification code is 482 913.", "Your verification code is [redacted]."),
        ("verification code: 482 913 for you", "verification code: [redacted] for you"),
        ("enter the code: 482 913", "enter the code: [redacted]"),
        ("Enter the 6-digit code *482913* within 10 min.", "Enter the 6-digit code *[redacted]* within 10 min."),
        ("Your login code is 4829, it expires soon", "Your login code is [redacted], it expires soon"),
        ("Your code is 4829.", "Your code is [redacted]."),
        ("Type in code X7K2PL to verify your device", "Type in code [redacted] to verify your device"),
        ("your one-time code: WDJB-MJHT", "your one-time code: [redacted]"),
        ("482913 is your Google verification code", "[redacted] is your Google verification code"),
        ("<#> G-482913 is your Google code. 2 min", "<#> [redacted] is your Google code. 2 min"),
        ("4829 is your code", "[redacted] is your code"),
        ("Enter this code to sign in:\r\n\r\n482 913\r\n\r\nBye",
         "Enter this code to sign in:\r\n\r\n[redacted]\r\n\r\nBye"),
        ("Use code 482913 to confirm your order", "Use code [redacted] to confirm your order"),
        ("Use code 482913 to sign in or 111222 to sign up. Your code is 333444.",
         "Use code [redacted] to sign in or 111222 to sign up. Your code is [redacted]."),
    ],
)  # fmt: skip
def test_sentences_lose_one_time_codes(text: str, shown: str) -> None:
    assert redacted_text(text) == shown
    assert redacted_text(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("| api key | sk_live_1 |", "| api key | [redacted] |"),
        ("|Host|h|\n|API key|hunter|\n|City|Berlin|", "|Host|h|\n|API key|[redacted]|\n|City|Berlin|"),
        ("| name | value |\n|---|---|\n| host | h |\n| **api_key** | `a b` |\nEnd",
         "| name | value |\n|---|---|\n| host | h |\n| **api_key** | [redacted] |\nEnd"),
        ("| name | use | value |\n|--|--|--|\n| token | test | x |",
         "| name | use | value |\n|--|--|--|\n| token | [redacted] | [redacted] |"),
        ("| Value | Name |\n|---|:-:|\n| x | password |\n| y | city |",
         "| Value | Name |\n|---|:-:|\n| [redacted] | password |\n| y | city |"),
        ("| user | password | city |\r\n| - | --- | - |\r\n| a | x y | b |\r\n| c || d |\r\n\r\nN | this | x",
         "| user | password | city |\r\n| - | --- | - |\r\n| a | [redacted] | b |\r\n| c || d |\r\n\r\nN | this | x"),
        ("> | PIN | 4829 |\n> | pin: | 12 |", "> | PIN | [redacted] |\n> | pin: | [redacted] |"),
        ("| API key | hunter2x |\n|---|---|\n| Host | h |", "| API key | [redacted] |\n|---|---|\n| Host | h |"),
        ("| token | a\\|b | c |", "| token | [redacted] | c |"),
        ("user | password\n--- | ---\na | x", "user | password\n--- | ---\na | [redacted]"),
        ("key | what\n--- | ---\nhost | h\napi key | x", "key | what\n--- | ---\nhost | h\napi key | [redacted]"),
        ("+----+----------+\n| id | password |\n+----+----------+\n|  1 | x        |\n+----+----------+\n",
         "+----+----------+\n| id | password |\n+----+----------+\n|  1 | [redacted]        |\n+----+----------+\n"),
        (" id | token\n----+-------\n  1 | x\n(1 row)", " id | token\n----+-------\n  1 | [redacted]\n(1 row)"),
        ("| token | db |\n|---|---|\n| x | y |\n\n| a | token |\n|---|---|\n| y | x |",
         "| token | db |\n|---|---|\n| [redacted] | y |\n\n| a | token |\n|---|---|\n| y | [redacted] |"),
    ],
)  # fmt: skip
def test_tables_lose_what_is_below_or_beside_a_secret_name(text: str, shown: str) -> None:
    assert redacted_text(text) == shown
    assert redacted_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Use code SUMMER20 at checkout",
        "Use code 482913 at checkout",
        "Get 20% off: use code 202020",
        "Enter the code SAVE10 to get free shipping.",
        "Use your code FRIEND2026 for a gift",
        "Apply promo code 20202020 to your cart",
        "Your discount code is 482913",
        "Your confirmation code is X7K2PL",
        "Your booking code: X7K2PL",
        "status code 404",
        "It returned status code 404 in 12345 ms",
        "error code 500",
        "Error code: 500123",
        "The error code is 100200",
        "exit code 1",
        "Process finished with exit code 137000",
        "zip code 94107",
        "Your zip code is 94107",
        "94107 is your zip code",
        "940107 is your postal code",
        "the postal code: 101150",
        "country code DE",
        "Enter your country code 0049 and number",
        "area code 415",
        "code review",
        "Your code review 482913 is open",
        "Enter code mode, 482913 lines later",
        "The code 482913 is of a product",
        "product code 4829131",
        "QR code 482913",
        "Use code blocks for 482913",
        "Use code 1001 for a timeout",
        "Your code has 100200 lines",
        "Use code 2026-11-20",
        "Use code 4.829131",
        "source code 482913",
        "Morse code: 482 913",
        "HTTP code 200 is your friend",
        "1 is your code",
        "| name | city |\n|---|---|\n| Anna | Berlin |",
        "| token count | 17 |\n| token type | bearer |",
        "| id | tokens used |\n|---|---|\n| 1 | 17 |",
        "| status code | 404 |\n| country code | DE |\n| zip code | 94107 |",
        "| password | string |\n| token | yes |\n| cookie | |",
        "| password | login |\n|---|---|",
        "| Reset your password in the settings of your account | done |",
        "INFO | token | refreshed | 12",
        "a | password || b",
        "| a | token |",
        "if (token | secret) || password | key: pass",
    ],
)
def test_codes_and_tables_without_secrets_stay(text: str) -> None:
    assert redacted_text(text) == text


def test_urls_in_urls_end_somewhere() -> None:
    assert "hunter2" not in redacted_url("http://h/?a=" * 10_000 + "&password=hunter2")


@pytest.mark.parametrize(
    "key",
    [
        *(
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "glrt-",
            "gloas-",
            "xoxb-",
            "xapp-",
            "sk_live_",
        ),
        *(
            "rk_test_",
            "whsec_",
            "sk-proj-",
            "shpat_",
            "npm_",
            "pypi-",
            "hf_",
            "dop_v1_",
            "sq0atp-",
            "AIza",
            "SG.",
            "ya29.",
        ),
        *("hvs.", "dckr_pat_", "ATATT3", "ntn_", "sbp_", "nfp_", "lin_api_"),
    ],
)
def test_keys_are_known_by_how_they_begin(key: str) -> None:
    assert redacted_text(f"the {key}abcdefghijklmnop1234qrstuv.") == "the [redacted]."


def test_a_long_text_of_capitals_that_have_two_small_letters_is_read() -> None:
    assert redacted_text("İ" * 100 + " token=x") == "İ" * 100 + " token=[redacted]"
