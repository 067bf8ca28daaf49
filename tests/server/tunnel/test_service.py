"""The tunnel in every state: programs that work, that do not, that end, that will not end."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import stat
from pathlib import Path

import msgspec
import pytest

from app.core.clock import now_us
from app.core.errors import HooklineError, InvalidFieldsError, NotFoundError
from app.core.events import TunnelChanged
from app.core.tunnel import CONNECTED, Tunnel, TunnelState
from app.core.tunnel_program import RunSpec
from tests import factories
from tests.server.tunnel.conftest import TunnelRig
from tests.stand_in_tunnel import URL
from tests.support import while_read
from tests.tunnels import ended, is_running, spec, without_program

CHECKING, FAILED, OFF = TunnelState.CHECKING, TunnelState.FAILED, TunnelState.OFF


def connected(tunnel: Tunnel) -> bool:
    return tunnel.state in CONNECTED


def failed(tunnel: Tunnel) -> bool:
    return tunnel.state is FAILED


def states(rig: TunnelRig) -> list[str]:
    """Without repetitions."""
    found: list[str] = []
    for event in rig.events:
        if not found or found[-1] != event.tunnel.state.value:
            found.append(event.tunnel.state.value)
    return found


@pytest.mark.parametrize("mode", ["in pieces", "leaves children", "renames", "floods", "ignores signals"])
async def test_a_program_that_works_is_up_and_can_be_stopped(rig: TunnelRig, mode: str) -> None:
    service = await rig.use(spec(mode, *([str(rig.folder / "never")] if mode == "renames" else [])))
    started = await service.start("stand-in")
    assert (started.state, started.program, started.url) == (TunnelState.STARTING, "stand-in", None)
    tunnel = await rig.until(connected)
    assert tunnel.url == service.base == URL
    assert tunnel.problem is None
    process = service._session._run._process.pid  # type: ignore[union-attr]
    stopped = await service.stop()
    assert (stopped.state, stopped.url, service.base) == (OFF, None, None)
    assert not is_running(process)
    assert states(rig) == ["starting", "checking", "stopping", "off"]
    changes = [event.tunnel.state for event in rig.events if event.url_changed]
    assert changes == [CHECKING, TunnelState.STOPPING]


@pytest.mark.parametrize(
    ("mode", "limit", "problem"),
    [
        ("silent", 0.3, "has not printed a public URL within 0.3 s. It printed nothing."),
        ("something else", 1, "within 1 s. Its last line: Hello, I am another program. See https://docs.example.com/"),
        ("another's URL", 1, "within 1 s. Its last line: your url is: https://api.wrong.example/tunnel"),
        ("dies at once", 30, "ended by itself with exit code 7. Its last line: cannot start: no such thing"),
        ("long last words", 30, f"Its last line: {('Error: ' + 'no route to the relay, ' * 10)[:159]}…"),
        ("known failure", 30, "The token abc was refused."),
    ],
)
async def test_a_program_that_does_not_work_is_told_in_words(
    rig: TunnelRig, mode: str, limit: float, problem: str
) -> None:
    service = await rig.use(spec(mode), start=limit)
    await service.start("stand-in")
    tunnel = await rig.until(failed)
    if mode != "silent" and not tunnel.output:
        pytest.skip("the machine is too busy: the program has not come to print anything")
    assert (tunnel.problem or "").endswith(problem)
    assert tunnel.url is None
    assert states(rig) == ["starting", "failed"]
    assert (await service.stop()).state is OFF


async def test_a_missing_program_is_explained(rig: TunnelRig) -> None:
    service = await rig.use(without_program(spec("silent")))
    with pytest.raises(NotFoundError, match=r"no-such-tunnel-program is not installed. Install it: [abc]\."):
        await service.start("stand-in")
    with pytest.raises(NotFoundError, match=r"There is no tunnel program 'other'\. There are stand-in\."):
        await service.start("other")
    assert [(one.program.id, one.path) for one in await service.programs()] == [("stand-in", None)]
    assert service.tunnel == Tunnel()


async def test_without_a_capture_port_there_is_no_tunnel(rig: TunnelRig) -> None:
    service = await rig.use(spec("silent"))
    service._addresses.listening = None
    with pytest.raises(HooklineError, match="not listening"):
        await service.start("stand-in")


async def test_a_program_that_ended_is_started_again_and_that_is_said(rig: TunnelRig) -> None:
    service = await rig.use(spec("dies once", str(rig.folder / "marker")))
    await service.start("stand-in")
    tunnel = await rig.until(lambda tunnel: connected(tunnel) and tunnel.restarts == 1)
    assert states(rig) == ["starting", "checking", "restarting", "starting", "checking"]
    waiting = next(event.tunnel for event in rig.events if event.tunnel.state is TunnelState.RESTARTING)
    assert waiting.restart_at is not None
    assert "ended by itself with exit code 3" in (waiting.problem or "")
    assert (tunnel.problem, tunnel.restart_at) == (None, None)
    history = await service.history()
    assert [(one.url, one.until is None) for one in history] == [(URL, True), (URL, False)]
    await service.stop()
    assert (await service.history())[0].until is not None


async def test_waits_between_restarts_grow(rig: TunnelRig) -> None:
    unit, waits = 0.1, dict[int, int]()

    def note(event: TunnelChanged) -> None:
        tunnel = event.tunnel
        if tunnel.state is TunnelState.RESTARTING and tunnel.restart_at is not None:
            waits.setdefault(tunnel.restarts, math.ceil((tunnel.restart_at - now_us()) / 1_000_000 / unit))

    rig.bus.subscribe(TunnelChanged, note)
    service = await rig.use(spec("dies later"), unit=unit)
    await service.start("stand-in")
    await rig.until(lambda tunnel: tunnel.restarts == 3)
    assert waits == {1: 1, 2: 2, 3: 4}
    await service.stop()


async def test_a_first_start_that_fails_is_repeated_where_nobody_waits_for_it(rig: TunnelRig) -> None:
    service = await rig.use(spec("dies at once"))
    await service.start("stand-in", persistent=True)
    await rig.until(lambda tunnel: tunnel.restarts == 2)
    assert (await service.stop()).state is OFF


@pytest.mark.parametrize("fixed", [True, False])
async def test_the_url_is_kept_through_a_restart_only_if_it_comes_back(rig: TunnelRig, fixed: bool) -> None:
    service = await rig.use(spec("dies later", fixed_url=fixed), unit=30)
    await service.start("stand-in")
    await rig.until(lambda tunnel: tunnel.state is TunnelState.RESTARTING)
    assert service.base == (URL if fixed else None)
    assert service.address_header is None
    assert service.bases == (URL,)


async def test_a_url_that_changes_while_it_runs(rig: TunnelRig) -> None:
    endpoint = await rig.store.endpoints.create(factories.draft(slug="orders"))
    service = await rig.use(spec("renames", str(rig.folder / "now")))
    await service.start("stand-in")
    await rig.until(connected)

    async def changes() -> None:
        assert service.tunnel.outdated == ()
        (rig.folder / "now").touch()
        await rig.until(lambda tunnel: tunnel.url == "https://red-hen.example.com")

    while_read(rig.store.tunnels, "copied", changes)
    await service.copied(endpoint.id)
    assert [(one.endpoint_id, one.url) for one in service.tunnel.outdated] == [(endpoint.id, f"{URL}/catch/orders")]
    changed = [event.tunnel.url for event in rig.events if event.url_changed]
    assert changed == [URL, "https://red-hen.example.com"]
    await service.copied(endpoint.id)  # looking at the new URL does not give it to the provider
    assert len(service.tunnel.outdated) == 1
    again = await rig.use(spec("renames"))
    assert len(again.tunnel.outdated) == 1, "it survives the end of Hookline"
    await again.updated(endpoint.id)
    assert again.tunnel.outdated == ()
    assert (await rig.use(spec("renames"))).tunnel.outdated == ()


async def test_an_endpoint_that_is_deleted_is_not_outdated(rig: TunnelRig) -> None:
    endpoint = await rig.store.endpoints.create(factories.draft(slug="orders"))
    service = await rig.use(spec("renames", str(rig.folder / "now")))
    await service.start("stand-in")
    await rig.until(connected)
    await service.copied(endpoint.id)
    (rig.folder / "now").touch()
    await rig.until(lambda tunnel: len(tunnel.outdated) == 1)
    await rig.store.endpoints.delete(endpoint.id)
    assert service.tunnel.outdated == ()


async def test_a_second_start_ends_the_first_program(rig: TunnelRig) -> None:
    service = await rig.use(spec("in pieces"), spec("in pieces", name="other"))
    await service.start("stand-in")
    await rig.until(connected)
    process = service._session._run._process.pid  # type: ignore[union-attr]
    await service.start("other")
    assert not is_running(process)
    assert (await rig.until(connected)).program == "other"
    assert [one.program for one in await service.history()] == ["other", "stand-in"]


async def test_start_and_stop_at_once(rig: TunnelRig) -> None:
    service = await rig.use(spec("in pieces"))
    for _ in range(5):
        await service.start("stand-in")
        await asyncio.sleep(0)
        await service.stop()
    await asyncio.gather(service.start("stand-in"), service.start("stand-in"), service.stop())
    assert (await service.stop()).state is OFF


async def test_the_programs_input_does_not_end(rig: TunnelRig) -> None:
    service = await rig.use(spec("reads"))
    await service.start("stand-in")
    process = service._session
    tunnel = await rig.until(connected)
    assert tunnel.state is CHECKING
    assert process is service._session
    assert (await service.stop()).state is OFF


async def test_what_a_program_leaves_behind_is_ended(rig: TunnelRig) -> None:
    service = await rig.use(spec("leaves children"))
    await service.start("stand-in")
    tunnel = await rig.until(lambda tunnel: connected(tunnel) and len(tunnel.output) >= 4)
    processes = [int(line.split()[1]) for line in tunnel.output if line.startswith(("child", "me"))]
    assert len(processes) == 3
    assert all(map(is_running, processes))
    await service.stop()
    assert await ended(processes)


async def test_a_child_that_hides_is_ended_where_the_system_can_tell(rig: TunnelRig) -> None:
    service = await rig.use(spec("hides children"))
    await service.start("stand-in")
    tunnel = await rig.until(lambda tunnel: connected(tunnel) and len(tunnel.output) >= 3)
    (hidden,) = (int(line.split()[1]) for line in tunnel.output if line.startswith("child"))
    cgroup = service._session._run._process._cgroup  # type: ignore[union-attr]
    try:
        if cgroup is None:
            pytest.skip("Hookline may not make control groups here")
        await service.stop()
        assert await ended([hidden])
        assert not cgroup.exists()
    finally:
        if is_running(hidden):
            os.kill(hidden, signal.SIGKILL)


async def test_a_known_url_needs_no_output(rig: TunnelRig) -> None:
    known = msgspec.structs.replace(
        spec("silent"),
        urls=(),
        run=RunSpec(arguments=spec("silent").run.arguments, known_urls=("https://hooks.example.com",)),
    )
    service = await rig.use(known)
    await service.start("stand-in")
    assert (await rig.until(connected)).url == "https://hooks.example.com"


async def test_options_of_two_programs_that_are_saved_at_once_are_both_kept(rig: TunnelRig) -> None:
    service = await rig.use(spec("silent", name="first"), spec("silent", name="second"))
    await asyncio.gather(service.configure("first", {"name": "abc"}), service.configure("second", {"name": "def"}))
    await service.load()
    assert [one.values for one in await service.programs()] == [{"name": "abc"}, {"name": "def"}]


async def test_options_are_saved_where_only_their_owner_reads_them(rig: TunnelRig) -> None:
    one = spec("silent", "--secret", "{key}")
    service = await rig.use(one)
    await service.configure("stand-in", {"name": "abc", "key": "s3cret-key"})
    file = rig.folder / "tunnels.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(InvalidFieldsError, match="Name"):
        await service.configure("stand-in", {"name": "ABC"})
    for again in (service, await rig.use(one)):
        (found,) = await again.programs()
        assert (found.values, found.secrets_set) == ({"name": "abc"}, ("key",))
        assert "s3cret" not in str(found)
    await service.configure("stand-in", {"key": ""})
    assert (await service.programs())[0].secrets_set == ()


async def test_a_secret_in_the_output_is_hidden(rig: TunnelRig) -> None:
    tricky = msgspec.structs.replace(
        spec("in pieces"), run=RunSpec(arguments=("-c", "print('key=' + '{key}'); raise SystemExit(2)"))
    )
    service = await rig.use(tricky)
    await service.configure("stand-in", {"key": "s3cret-key"})
    await service.start("stand-in")
    tunnel = await rig.until(failed)
    assert tunnel.output == ("key=•••",)
    assert "s3cret" not in (tunnel.problem or "")


async def test_a_flood_is_read_to_its_last_lines(rig: TunnelRig) -> None:
    service = await rig.use(spec("floods"))
    await service.start("stand-in")
    tunnel = await rig.until(lambda tunnel: connected(tunnel) and len(tunnel.output) > 20)
    assert len(tunnel.output) <= 50
    assert set(tunnel.output[-1]) <= {"x", "y"}


async def test_the_programs_files_are_its_owners_and_go_with_it(rig: TunnelRig, tmp_path: Path) -> None:
    report = tmp_path / "report"
    code = (
        "import os, stat; f = r'{folder}/token';"
        f"open(r'{report}', 'w').write(f + ' ' + oct(stat.S_IMODE(os.stat(f).st_mode)) + ' ' + open(f).read());"
        "print('your url is: https://a.example.com', flush=True); import time; time.sleep(600)"
    )
    with_file = msgspec.structs.replace(
        spec("x"), run=RunSpec(arguments=("-c", code), files={"token": "{key}", "unused": "{name}"})
    )
    service = await rig.use(with_file)
    await service.configure("stand-in", {"key": "s3cret-key"})
    await service.start("stand-in")
    await rig.until(connected)
    path, mode, text = report.read_text().split()
    assert (mode, text) == ("0o700", "s3cret-key")
    folder = os.path.dirname(path)
    assert "unused" not in os.listdir(folder)
    await service.stop()
    with pytest.raises(FileNotFoundError):
        os.listdir(folder)


async def test_what_a_program_keeps_in_its_folder_stays_where_only_the_owner_reads_it(rig: TunnelRig) -> None:
    """As ssh does with the keys of the servers that it knows."""
    code = "import sys; open(r'{data}/known', 'a').write('x'); print('your url is: https://a.example.com', flush=True)"
    keeps = msgspec.structs.replace(spec("x"), run=RunSpec(arguments=("-c", f"{code}; sys.stdin.read()")))
    service = await rig.use(keeps)
    for _ in range(2):
        await service.start("stand-in")
        await rig.until(connected)
        await service.stop()
    (kept,) = rig.folder.rglob("known")
    assert kept.read_text() == "xx"
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
