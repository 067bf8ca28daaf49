"""The benchmark of a team's store runs, and its numbers mean what they say."""

from __future__ import annotations

import sys

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc"),
]


@pytest.mark.timeout(180)
def test_it_measures_node_and_server_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.postgres import programs, why_no_server

    if programs() is None:
        pytest.skip(str(why_no_server()))
    from benchmarks import team_cost
    from benchmarks.programs import bare_process, fresh_folder
    from hookline.client import Client

    monkeypatch.setattr(team_cost, "WARM_UP", 50)
    monkeypatch.setenv("HOOKLINE_STORE", "")  # it sets this, which is put back
    with fresh_folder("hookline-cost-") as folder:  # the server's user may not enter those of the tests
        folder.chmod(0o755)
        team = team_cost.Team(folder)
        try:
            team.make()
            with team.node(team_cost.WORKING_NODE) as worker, Client(worker.api_url, worker.token) as api:
                slug = api.endpoints.create("bench").slug
            with team.node(team_cost.CAPTURE_NODE) as edge, bare_process(folder) as team.bare:
                url = f"{edge.capture_url}/catch/{slug}"
                found = {line.name: line.value for line in team_cost.captures(team, url, 1, 400)}
        finally:
            team.server.close()
    for connections in team_cost.CONNECTIONS:
        assert 1 < found[f"{connections} connections: requests in a commit"] <= connections
        for who in ("capture node", "server"):
            assert 1 < found[f"{connections} connections: {who}"] < 10_000
        assert found[f"{connections} connections: working node"] == 0
        assert 500 < found[f"{connections} connections: write-ahead log"] < 20_000
