"""Tunnel services on stand-in programs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.core.events import Bus
from app.core.tunnel_program import (
    AddressHeader,
    FailureRule,
    ProbeSpec,
    ProgramSpec,
    RunSpec,
    StopSpec,
    TunnelOption,
    TunnelProgram,
    UrlRule,
)
from app.data_folder.private_files import load_tunnel_options, save_tunnel_options
from app.db.sqlite.store import Store
from app.server.addresses import Addresses, ProbeKey
from app.server.tunnel.service import OptionsFile, TunnelService
from app.server.tunnel.session import Timing
from tests.support import current_settings

SCRIPT = Path(__file__).with_name("stand_in_tunnel.py")
FAST = Timing(settle=0.2, probe=600, probe_again=0.05, patience=0, tick=0.02, output=0.01, unit=0.01, first_probe=600)
"""No probe by itself."""


def spec(mode: str, *more: str, name: str = "stand-in", **changed: Any) -> ProgramSpec:
    """A program that runs the stand-in in `mode`."""
    fields: dict[str, Any] = {
        "program": TunnelProgram(
            id=name,
            name="Stand-in",
            summary="For tests.",
            website="https://example.com/",
            executables=(sys.executable,),
            install={"linux": "a", "macos": "b", "windows": "c"},
            options=(
                TunnelOption(name="name", label="Name", pattern="[a-z]+"),
                TunnelOption(name="key", label="Key", secret=True),
            ),
            address_header=AddressHeader(name="X-Forwarded-For", take="last"),
            fixed_url=changed.pop("fixed_url", False),
        ),
        "run": RunSpec(arguments=(str(SCRIPT), mode, "{port}", *more), start_s=30),
        "urls": (UrlRule(stream="stdout", pattern=r"^your url is: (https?://\S+)"),),
        "not_hosts": (r"(?:.*\.)?wrong\.example",),
        "failures": (
            FailureRule(pattern=r"token refused: (\S+)", message="The token {found} was refused.", ends=True),
        ),
        "probe": ProbeSpec(headers=(("X-Skip", "1"),)),
        "stop": StopSpec(signal="int", grace_s=0.3),
    }
    return ProgramSpec(**{**fields, **changed})


def without_program(spec: ProgramSpec) -> ProgramSpec:
    program = msgspec.structs.replace(spec.program, executables=("no-such-tunnel-program",))
    return msgspec.structs.replace(spec, program=program)


def listening_at(address: tuple[str, int] | None) -> Addresses:
    """The addresses of a Hookline with the usual settings whose capture port is there."""
    addresses = Addresses(current_settings())
    addresses.listening = address
    return addresses


def service(
    store: Store,
    bus: Bus,
    folder: Path,
    specs: Mapping[str, ProgramSpec] | None = None,
    *,
    addresses: Addresses | None = None,
    timing: Timing = FAST,
    probe_key: ProbeKey | None = None,
) -> TunnelService:
    return TunnelService(
        lambda: specs or {},
        store,
        OptionsFile(lambda: load_tunnel_options(folder), lambda saved: save_tunnel_options(folder, saved)),
        bus,
        probe_key=probe_key or ProbeKey(),
        addresses=addresses or listening_at(("127.0.0.1", 1)),
        folder=folder / "tunnels",
        timing=timing,
    )


def is_running(process: int) -> bool:
    """Whether this process runs; one that ended and waits to be collected does not."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def ended(processes: Sequence[int]) -> bool:
    """Whether all of them end: a process that was killed takes a moment."""
    for _ in range(3_000):
        if not any(map(is_running, processes)):
            return True
        await asyncio.sleep(0.01)
    return False
