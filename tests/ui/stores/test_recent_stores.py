"""The team stores that were opened last: which are kept, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from app.core.team import name_of, where
from app.ui.store_commands import KEPT, RECENT_KEY, RecentStore, RecentStores

TEAM, SHOP = RecentStore("postgresql://ann@db.example.com/team"), RecentStore("service=shop", captures=True)


def test_the_last_one_is_first_and_one_can_be_forgotten(tmp_path: Path) -> None:
    RecentStores(tmp_path).use(TEAM)
    RecentStores(tmp_path).use(SHOP)
    assert RecentStores(tmp_path).all() == [SHOP, TEAM]
    again = RecentStore(TEAM.address, captures=True)
    RecentStores(tmp_path).use(again)
    assert RecentStores(tmp_path).all() == [again, SHOP]
    RecentStores(tmp_path).forget(again.address)
    assert RecentStores(tmp_path).all() == [SHOP]


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    stores = RecentStores(tmp_path)
    for number in range(KEPT + 2):
        stores.use(RecentStore(f"service=s{number}"))
    assert [one.address for one in stores.all()] == [f"service=s{number}" for number in range(KEPT + 1, 1, -1)]


@pytest.mark.parametrize("text", ["{", '[{"address": 1}]', '[{"address": "postgresql://ann:secret@db/team"}]'])
def test_what_is_no_address_without_secrets_is_ignored(tmp_path: Path, text: str) -> None:
    file = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    file.setValue(RECENT_KEY, text)
    file.sync()
    assert RecentStores(tmp_path).all() == []


@pytest.mark.parametrize(
    ("place", "short", "name"),
    [
        ("postgresql://ann@db.example.com:5433/team?sslmode=disable", "ann@db.example.com:5433/team", "team"),
        ("postgresql:///team?host=/var/run/postgresql", "/team", "team"),
        (
            "postgresql://ann@a.example.com,b.example.com/",
            "ann@a.example.com,b.example.com/",
            "ann@a.example.com,b.example.com/",
        ),
        ("service=shop", "service=shop", "shop"),
    ],
)
def test_names_are_short_and_tell_stores_apart(place: str, short: str, name: str) -> None:
    assert (where(place), name_of(place)) == (short, name)
