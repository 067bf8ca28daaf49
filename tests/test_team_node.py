"""Two whole programs on one team's store: what each says of itself to whoever watches them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from app.application import Application
from app.core.store import Store
from tests.e2e.senders import post
from tests.factories import draft
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


async def ask(node: Application, path: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        return await client.get(f"{node.addresses.api_url}{path}", headers={"Authorization": f"Bearer {node.token}"})


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
