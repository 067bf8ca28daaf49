"""What recorded output of each program means; lines that name a wrong host, or nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.core.files import resource
from app.core.tunnel_program import OutputReader, Reading, plain, public_url, read_folder, values_to_run

SPECS = read_folder(resource("tunnels"))
RECORDED: dict[str, list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text("utf-8"))
CASES = [(program, case) for program, cases in RECORDED.items() for case in cases]


def read(program: str, case: dict[str, Any]) -> Reading:
    saved = {option.name: option.default for option in SPECS[program].program.options} | case.get("values", {})
    values = {
        "port": "8787",
        "local_host": "127.0.0.1",
        "target": "127.0.0.1:8787",
        "folder": "/f",
        "data": "/d",
        **saved,
    }
    reader = OutputReader(SPECS[program], values)
    for line in case["lines"]:
        stream, text = ("stderr", line[3:]) if line.startswith("2> ") else ("stdout", line)
        reader.read(stream, plain(text))
    return reader.reading


@pytest.mark.parametrize(("program", "case"), CASES, ids=[f"{program}: {case['says']}" for program, case in CASES])
def test_recorded_output(program: str, case: dict[str, Any]) -> None:
    reading = read(program, case)
    failure = reading.failure
    if "failure" in case:
        assert failure is not None
        assert failure.message.startswith(case["failure"])
        assert (failure.ends, failure.retry) == (case.get("ends", False), case.get("retry", False))
    else:
        assert failure is None
        assert reading.url == case.get("url")
        assert reading.up is case.get("up", False)


def test_every_program_has_recorded_output_that_works() -> None:
    assert {program for program, case in CASES if case.get("up")} == SPECS.keys()


@pytest.mark.parametrize("program", [key for key, spec in SPECS.items() if spec.urls and key != "own"])
def test_another_programs_url_is_not_taken(program: str) -> None:
    """None of the hosts that appear in the output beside the URL, in whatever form."""
    hosts = (
        "api.trycloudflare.com/tunnel",
        "developers.cloudflare.com",
        "dashboard.ngrok.com",
        "admin.localhost.run",
        "console.serveo.net",
        "dashboard.pinggy.io",
        "dashboard.tunnelmole.com",
        "id-8787-inspect.euw.devtunnels.ms",
    )
    case = {
        "lines": [
            f"{text}https://{host}{end}" for host in hosts for text in ("", "  ", "|  ") for end in ("", "/", " |")
        ]
    }
    assert read(program, case).url is None


def test_each_program_runs_with_its_defaults_or_says_what_it_needs() -> None:
    for spec in SPECS.values():
        required = {option.name: option.placeholder or "x" for option in spec.program.options if option.required}
        assert values_to_run(spec, required).keys() == {option.name for option in spec.program.options}


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://a.example.com", "https://a.example.com"),
        ("https://A.example.com/path?q", "https://a.example.com"),
        ("a.example.com", "https://a.example.com"),
        ("http://a.example.com:9001", "http://a.example.com:9001"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("ftp://a.example.com", None),
        ("https://user:pw@a.example.com", None),
        ("https://", None),
        ("https://a.example.com:notaport", None),
        ("https://a.example.com:99999", None),
        ("https://[::1", None),
        ("https://exa mple.com", None),
        ("https://" + "a" * 600, None),
        ("", None),
    ],
)
def test_public_url(text: str, url: str | None) -> None:
    assert public_url(text) == url
