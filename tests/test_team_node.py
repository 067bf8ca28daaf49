"""Two whole programs on one team's store: what each says of itself to whoever watches them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from app.application import Application
from app.core.team import Role
from app.db.store import Store
from app.doctor import examine
from tests.e2e.senders import post
from tests.factories import draft
from tests.server.forward.targets import OK, Received, target
from tests.support import until

if TYPE_CHECKING:
    from tests.postgres import PostgresServer


@pytest.fixture
async def nodes(postgres_server: PostgresServer, tmp_path: Path) -> AsyncIterator[list[Application]]:
    name = postgres_server.create()
    settings = {"port": 0, "api_port": 0, "store": postgres_server.url(name)}
    running = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        running.append(Application(tmp_path / folder, settings))
        await running[-1].open()
        await running[-1].listen()
    yield running
    for node in running:
        await node.close()
    postgres_server.drop_later(name)


async def ask(node: Application, path: str, method: str = "GET") -> httpx.Response:
    headers = {"Authorization": f"Bearer {node.token}"}
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        return await client.request(method, f"{node.addresses.api_url}{path}", headers=headers)


async def metric(node: Application, name: str) -> float:
    lines = (await ask(node, "/metrics")).text.splitlines()
    (value,) = (line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} "))
    return float(value)


async def test_each_counts_what_it_did_itself(nodes: list[Application]) -> None:
    one, two = nodes
    store: Store = two.store
    endpoint = await one.store.endpoints.create(draft())
    for _ in range(3):
        assert (await asyncio.to_thread(post, one.addresses.capture_url(endpoint), b"{}")).status == 200
    await until(lambda: store.captures.newest_seq == 3)
    captured = 'hookline_captured_requests_total{status="2xx"}'
    assert [await metric(node, captured) for node in nodes] == [3, 0]
    assert [await metric(node, "hookline_stored_requests") for node in nodes] == [3, 3]
    assert [await metric(node, "hookline_nodes") for node in nodes] == [2, 2]
    found = (await ask(two, "/api/v1/nodes")).json()["items"]
    assert [node["current"] for node in found] == [False, True]


async def test_doctor_examines_the_store_that_a_node_was_started_on(nodes: list[Application]) -> None:
    found = {finding.name: finding for finding in await asyncio.to_thread(list, examine(nodes[0].folder))}
    assert found["Database"].text.startswith("postgresql://")
    assert "Disk" not in found


async def test_a_node_without_its_database_lives_and_is_not_ready(
    nodes: list[Application], postgres_server: PostgresServer
) -> None:
    one, two = nodes
    assert (await ask(one, "/readyz")).text == "ready\n"
    assert one.settings.store is not None
    postgres_server.drop(one.settings.store.partition("///")[2].partition("?")[0])
    for node in (one, two):
        await until(lambda node=node: node.troubles.storage)  # type: ignore[misc]
        response = await ask(node, "/readyz")
        assert (response.status_code, response.text) == (503, f"{node.troubles.storage}\n")
        assert (await ask(node, "/healthz")).status_code == 200
        assert await metric(node, "hookline_storage_trouble") == 1


async def test_what_one_has_just_done_the_other_knows_when_asked(nodes: list[Application]) -> None:
    """As when a load balancer is in front of their APIs."""
    one, two = nodes
    endpoint = await one.store.endpoints.create(draft())
    assert (await ask(two, f"/api/v1/endpoints/{endpoint.slug}")).status_code == 200
    await ask(one, "/api/v1/requests/wait?timeout=0")  # positions are known from the first such call on
    for _ in range(10):
        assert (await asyncio.to_thread(post, one.addresses.capture_url(endpoint), b"{}")).status == 200
        position = (await ask(one, "/api/v1/requests/wait?timeout=0")).headers["Hookline-Position"]
        waited = await ask(two, f"/api/v1/requests/wait?timeout=0&after={position}")
        assert waited.status_code == 204
        async with follow(two, position) as lines:
            opening = [await anext(lines) for _ in range(4)]
        assert "event: gap" not in opening


async def test_what_was_queued_is_sent_when_another_node_restores_its_endpoint(nodes: list[Application]) -> None:
    one, two = nodes
    answer = asyncio.Event()

    async def later(_: Received, writer: asyncio.StreamWriter) -> None:
        await answer.wait()
        writer.write(OK)

    async with target(later) as place:
        endpoint = await one.store.endpoints.create(draft(forward_url=place.url))
        assert await one.store.deliveries.claim(endpoint.targets[0].id)
        for _ in range(3):
            assert (await asyncio.to_thread(post, one.addresses.capture_url(endpoint), b"{}")).status == 200
        await place.arrival()
        await until(lambda: two.store.endpoints.by_id(endpoint.id))
        deletion = await two.store.trash.delete_endpoint(endpoint.id)
        await until(lambda: one.store.endpoints.by_id(endpoint.id) is None)
        answer.set()
        assert one._forwarder is not None
        await until(lambda: not one._forwarder._workers)
        await two.store.trash.undo(deletion)
        await until(lambda: len(place.received) == 3, 5)


async def test_whoever_goes_on_at_another_node_and_back_gets_nothing_twice(nodes: list[Application]) -> None:
    one, two = nodes
    endpoint = await one.store.endpoints.create(draft())
    wait = "/api/v1/requests/wait?timeout=0"
    position = (await ask(one, wait)).headers["Hookline-Position"]
    assert (await asyncio.to_thread(post, one.addresses.capture_url(endpoint), b"{}")).status == 200
    await until(lambda: two.store.captures.newest_seq == 1)
    found = await ask(two, f"{wait}&after={position}")
    assert found.status_code == 200
    assert (await ask(one, f"{wait}&after={found.headers['Hookline-Position']}")).status_code == 204


@asynccontextmanager
async def follow(node: Application, position: str) -> AsyncIterator[AsyncIterator[str]]:
    headers = {"Authorization": f"Bearer {node.token}", "Last-Event-ID": position}
    url = f"{node.addresses.api_url}/api/v1/events?types=captured"
    async with (
        httpx.AsyncClient(trust_env=False, verify=False) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        yield response.aiter_lines()


async def test_what_a_role_may_not_do_is_refused_in_words(postgres_server: PostgresServer, tmp_path: Path) -> None:
    from tests.team import USERS, as_user, team_store

    running: dict[Role, Application] = {}
    with team_store(postgres_server) as address:
        try:
            for role, user in USERS.items():
                (tmp_path / role).mkdir()
                settings = {"port": 0, "api_port": 0, "store": as_user(address, user)}
                running[role] = Application(tmp_path / role, settings)
                await running[role].open()
                await running[role].listen()
            edge, reader, member = (running[role] for role in USERS)
            endpoint = await member.store.endpoints.create(draft())
            assert (await asyncio.to_thread(post, edge.addresses.capture_url(endpoint), b"{}")).status == 200
            await until(lambda: reader.store.captures.counts(endpoint.id).total == 1)
            assert (await ask(reader, "/api/v1/requests")).json()["items"][0]["endpoint"] == endpoint.slug
            refused = await ask(edge, "/api/v1/requests")
            assert (refused.status_code, refused.json()["type"]) == (403, "urn:hookline:problem:not-allowed")
            assert refused.json()["detail"] == "Your role in the team's store may only capture."
            deleting = await ask(reader, f"/api/v1/endpoints/{endpoint.slug}", "DELETE")
            assert deleting.json()["detail"] == "Your role in the team's store may only read."
            assert (await ask(edge, "/readyz")).text == "ready\n"
            assert await metric(edge, "hookline_nodes") == 2
            assert (await ask(edge, "/api/v1/status")).json()["storage"] == "ok"
        finally:
            for node in running.values():
                await node.close()
