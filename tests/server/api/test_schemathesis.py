"""The running program does what its document says, for thousands of valid and invalid calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.fuzz_api.run import QUICK, run

pytestmark = pytest.mark.long


@pytest.mark.timeout(600)
def test_no_check_of_schemathesis_fails(tmp_path: Path) -> None:
    """In a process of its own, so that neither its warnings nor its pytest plugin reach the other tests."""
    code, report = run(tmp_path, QUICK)
    assert code == 0, report
    selected = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", report)
    assert selected is not None, report
    chosen, of, tested = map(int, selected.groups())
    assert (chosen, tested) == (of - 1, of - 1), report  # without the stream of events, which never ends
