"""How a command finds the running program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.application import Application
from app.cli.client import connect
from app.cli.options import CliServices


def _unused(*_: object) -> object:
    raise AssertionError("not needed")


async def test_finding_the_program_counts_no_expired_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    application = Application(tmp_path, {"port": 0, "api_port": 0})
    await application.open()
    await application.listen()
    counted = []
    monkeypatch.setattr(application.store.retention, "size", lambda: counted.append(1))
    services = CliServices(**dict.fromkeys(CliServices.__struct_fields__, _unused))  # type: ignore[arg-type]

    def ask() -> None:
        with connect(tmp_path, services, create=False) as api:
            assert api is not None

    try:
        await asyncio.to_thread(ask)
        assert counted == []
    finally:
        await application.close()
