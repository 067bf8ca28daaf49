"""Each shell makes of words and commands the bytes they were made of."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.curl import INLINE_MAX, curl_command, print_command, shell_word
from tests.factories import capture
from tests.shells import SHELLS, posix_only, run_in

pytestmark = posix_only

PARTS = (
    *(b"\0", b"'", b'"', b"\n", b"\r\n", b"\t", b"\xff\xfe", b"%", b"%s%n", b"\\", b"\\n", b"\\000", b"7", b"@", b"-"),
    *(b"!", b"`id`", b"$HOME", b"$(id)", b"\x81", b"\x88", "žluť\u202e日本\U0001f600".encode()),
)
STARTS = (b"", b"@", b"-", b"-n ", b"--")
ENDS = (b"", b"\n", b"\n\n", b"\0", b"\\")


def hostile_bodies(count: int) -> list[bytes]:
    """The same ones each time, three of them longer than an argument may be."""
    chance = random.Random(9)
    middles = [b"".join(chance.choices(PARTS, k=chance.randint(1, 40))) for _ in range(count - 3)]
    bodies = [chance.choice(STARTS) + middle + chance.choice(ENDS) for middle in middles]
    return [*bodies, chance.randbytes(140_000), b"%" * 70_000, "日".encode() * (INLINE_MAX // 3 + 1)]


SEPARATOR = b"-- the next one --"
SAYS_BODY = f"""
curl() {{
  for last; do :; done
  if [ "$last" = @- ]; then cat; else printf %s "$last"; fi
  printf %s '{SEPARATOR.decode()}'
}}
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_hands_curl_the_bodys_bytes(shell: str) -> None:
    bodies = hostile_bodies(200)
    commands = [curl_command(capture(body), body, "http://127.0.0.1:8787") for body in bodies]
    assert all(
        max(map(len, command.encode().split(b"\n"))) < 4_096 for command in commands if "--data-raw" not in command
    )
    printed = run_in(shell, SAYS_BODY + "\n".join(commands), LC_ALL="C.UTF-8")
    assert printed.split(SEPARATOR)[:-1] == bodies


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_reads_a_word_as_it_was(shell: str) -> None:
    words = [body.replace(b"\0", b"") for body in hostile_bodies(60)[:-3]] + [b"", b"\xff" * 40_000]
    script = "".join(f"printf %s {shell_word(word)} '{SEPARATOR.decode()}'\n" for word in words)
    assert run_in(shell, script).split(SEPARATOR)[:-1] == words


@settings(max_examples=20)
@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=20))
def test_any_bytes_at_all(pieces: list[bytes]) -> None:
    assert run_in("sh", "\n".join(map(print_command, pieces))) == b"".join(pieces)


def test_text_can_be_read() -> None:
    assert shell_word(b"http://127.0.0.1/a?b=1") == "'http://127.0.0.1/a?b=1'"
    assert shell_word("it's žluť\n".encode()) == "'it'\\''s žluť\n'"
    assert shell_word(b"caf\xe9!") == "\"$(printf 'caf\\351\\041')\""
    assert print_command(b'{\n\t"a": 1\n}\n') == "printf '{\\n'\\\n'\\t\"a\": 1\\n'\\\n'}\\n'"
    assert print_command(b"-e") == "printf '\\055e'"


def test_an_interactive_shell_finds_no_history_to_recall() -> None:
    """Bash does so inside double quotes, whatever stands in them."""
    assert "!" not in shell_word(b"a!\xff")
