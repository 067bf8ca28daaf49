"""`/backup`: started, followed and cancelled through the API."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.server.api.conftest import Desk


async def ended(desk: Desk) -> dict[str, object]:
    async with asyncio.timeout(45):
        while True:
            response = await desk.client.get("/backup")
            assert response.status_code == 200
            state: dict[str, object] = response.json()
            if state["state"] != "running":
                return state
            await asyncio.sleep(0.01)


async def test_a_backup_is_followed_to_its_end(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    assert (await desk.client.get("/backup")).status_code == 404
    response = await desk.client.post("/backup", json={"path": str(folder / "a.db")})
    assert response.status_code == 202
    assert response.json()["path"] == str(folder / "a.db")
    done = await ended(desk)
    assert done["state"] == "done"
    assert done["size"] == (folder / "a.db").stat().st_size
    assert (await desk.client.post("/backup/cancel")).json() == done


async def test_what_cannot_be_is_409_and_a_relative_path_422(desk: Desk, tmp_path: Path) -> None:
    for path in ("a.db", "", "/", "/tmp/a\0b"):
        response = await desk.client.post("/backup", json={"path": path})
        assert response.status_code == 422, path
        assert response.json()["errors"][0]["field"] == "path"
    response = await desk.client.post("/backup", json={"path": str(tmp_path / "missing" / "a.db")})
    assert response.status_code == 409
    assert response.json()["type"] == "urn:hookline:problem:cannot-back-up"
    assert "There is no folder" in response.json()["detail"]
    assert (await desk.client.post("/backup", json={"file": "/tmp/x"})).status_code == 422
    assert (await desk.client.post("/backup/cancel")).status_code == 404
