"""The exit codes: the same for the same, whatever it is that is missing.

docs/command-line.md and the manual page explain them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Program, Run
from tests.cli.stored import store_requests

ID = "019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b"
MISSING = (
    *("endpoint show none", "endpoint edit none --name x", "endpoint rm none --yes", "endpoint on None!"),
    *("requests none", "requests @last:none", "clear none --yes", "mark --endpoint none --read", "tunnel updated none"),
    *("targets none", "target add none 3000", "target show 99", "target edit 99 --timeout 5", "target rm x --yes"),
    *("deliveries none", "deliveries --target 99", f"deliveries --replay {ID}", f"delivery {ID}", "delivery none"),
    *(f"retry {ID}", "retry --endpoint none", "retry --target 99", f"send-now {ID}"),
    *(f"replay {ID}", "replay none", "replay --endpoint none", "replay @last --to-endpoint none", f"replays {ID}"),
    *("compare none", "compare orders 98 99", f"show {ID}", "show none", f"mark {ID} --star", f"rm {ID} --yes"),
    *("tail none", "wait none --timeout 0"),
)
NOT_UNDERSTOOD = ("bogus", "endpoint bogus", "requests --bogus", "settings bogus", "settings port x", "plan bogus")


@pytest.mark.slow
def test_whatever_is_not_stored_ends_with_1_and_what_is_not_understood_with_2(
    serve: Callable[..., Program], run: Run, folder: Path
) -> None:
    store_requests(folder, "orders", [{}])
    serve()  # each command would otherwise open the store
    for command in MISSING:
        done = run(*command.split())
        assert (command, done.code) == (command, 1)
        assert done.err.count("\n") == 1
        assert re.search(r"99|98|None!|none|\bx\b|019a1b2c", done.err)
        assert ("No endpoint" in done.err) <= ("See hookline endpoint list." in done.err)
    for command in NOT_UNDERSTOOD:
        assert (command, run(*command.split()).code) == (command, 2)


def test_page_and_manual_page_have_the_same_table() -> None:
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    table = re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)
    status = (ROOT / "packaging/linux/hookline.1.in").read_text("utf-8").partition(".SH EXIT STATUS")[2]
    manual = re.findall(r"^\.B (\d+)\n((?:[^.].*\n)+)", status.partition(".SH ENVIRONMENT")[0], re.MULTILINE)
    said = [(code, " ".join(text.split()).replace("\\-", "-").rstrip(".").lower()) for code, text in manual]
    assert said == [(code, text.lower()) for code, text in table]
    assert [code for code, _ in table] == ["0", "1", "2", "3", "130"]
