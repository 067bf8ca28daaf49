"""What is wrong with an option is said of the option, whatever the window or the API call it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from app.cli.field_options import as_typed
from app.cli.parser import build_parser
from tests.cli.conftest import Run

BEFORE = {
    "endpoint add": "endpoint add X",
    "endpoint edit": "endpoint edit orders",
    "target add": "target add orders localhost:3000",
    "target edit": "target edit 1",
    "delivery": "delivery x",
    "replay": "replay --endpoint orders",
    "listen": "listen 3000",
    "serve": "serve --port 0 --api-port 0",
}
"""Commands with the arguments that they need."""
NO_NUMBER = "ftp://x"
"""Wrong for a URL too."""
VALUES = {"URL", "N", "S", "SECONDS", "DAYS", "SIZE", "PORT", "SHARE", "FACTOR", "TIME"}
ANY_NUMBER = {"delivery --attempt", "deliveries --target", "refused --raw"}
"""Names something that is not found."""


def options(parser: argparse.ArgumentParser, command: str = "") -> Iterator[tuple[str, str]]:
    """Commands, each with an option that has a URL, a number or a duration."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, choice in action.choices.items():
                yield from options(choice, f"{command} {name}".strip())
        elif command and action.option_strings and action.metavar in VALUES and action.nargs is None:
            yield command, action.option_strings[-1]


ALL = [one for one in options(build_parser()) if one[1] != "--attempt-header"]  # a name


def test_the_options_of_all_commands_are_tried() -> None:
    assert len(ALL) >= 50
    assert {("replay", "--to"), ("serve", "--port"), ("target edit", "--url")} <= set(ALL)


@pytest.mark.slow
def test_a_wrong_value_is_said_of_the_option(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    run("target", "add", "orders", "http://localhost:3000")
    wrong = []
    for command, option in ALL:
        for value in (NO_NUMBER, "-5"):
            if value != NO_NUMBER and f"{command} {option}" in ANY_NUMBER:
                continue
            done = run(*BEFORE.get(command, command).split(), f"{option}={value}")
            if (done.code, option in done.err, done.err.count("\n")) != (2, True, 1):
                wrong.append((command, option, value, done))
    assert wrong == []


def test_the_label_of_the_window_is_not_said(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    for command, told in (
        (
            "replay --endpoint orders --to ftp://x",
            "--to must start with http:// or https:// and have a host, not 'ftp://x'.",
        ),
        ("target add orders ftp://x", "URL must start with http:// or https:// and have a host, not 'ftp://x'."),
        (
            "endpoint edit orders --retention-days 99 --response-status 99",
            "--retention-days must be 1 to 90 days, not 99. --response-status must be 200 to 599, not 99.",
        ),
        ("endpoint edit orders --response-header a/b:x", "--response-header: 'a/b' is not a header name."),
        (
            "replay --endpoint orders --to http://a --after today --before yesterday",
            "--before: The time range must end after it begins.",
        ),
        (
            "endpoint add X --slug orders",
            "--slug 'orders' is taken by another endpoint. Choose another, or leave it empty to have one generated.",
        ),
        (
            "serve --port 0 --api-port 0 --forward-url ftp://x",
            "--forward-url must start with http:// or https:// and have a host, not 'ftp://x'.",
        ),
        ("serve --base-url ftp://x", "--base-url must start with http:// or https:// and have a host, not 'ftp://x'."),
    ):
        done = run(*command.split())
        assert (done.code, done.err) == (2, f"hookline: {told}\n"), command


def test_a_message_without_a_label_stays_whole() -> None:
    assert as_typed("a.b", "Name is required.", {}) == "Name is required."
    assert as_typed("edit.method", "It is wrong.", {"method": "--method"}) == "--method: It is wrong."
