"""A storage limit of `hookline serve`: said once on standard error, and over by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.program import Program, hookline
from tests.e2e.senders import post

pytestmark = pytest.mark.slow


def test_capturing_stops_is_said_once_and_goes_on_with_room(tmp_path: Path) -> None:
    with Program(tmp_path, "--endpoint", "Orders") as program:
        url = program.line("Orders: ").removeprefix("Orders: ")
        slug = url.rsplit("/", 1)[1]
        limited = hookline(
            tmp_path, "endpoint", "edit", slug, "--storage-limit", "1MiB", "--when-full", "stop_capturing"
        )
        assert limited.returncode == 0, limited.stderr
        answers = [post(url, bytes(200_000)) for _ in range(7)]
        assert [answer.status for answer in answers] == [200] * 5 + [503] * 2
        assert json.loads(answers[-1].body) == {"error": "storage_limit_reached"}
        assert answers[-1].headers["retry-after"] == "60"
    told = (
        "hookline: The storage limit of “Orders” (1 MiB) is reached: its requests are not captured."
        " Senders get 503. Delete requests, or raise the endpoint's limit.\n"
    )
    assert program.errors == [told]
    with Program(tmp_path) as program:
        url = f"{program.base}/catch/{slug}"
        assert post(url, bytes(200_000)).status == 503
        shown = hookline(tmp_path, "endpoint", "show", slug).stdout
        assert "of 1 MiB: full, senders get 503" in shown
        assert hookline(tmp_path, "endpoint", "edit", slug, "--storage-limit", "none").returncode == 0
        assert post(url, b"").status == 200
    assert program.errors == [told, "hookline: The storage limit of “Orders” is no longer reached.\n"]
