"""The list of refused requests: the newest thousand, each of bounded size."""

from __future__ import annotations

from app.core.events import Event, Refused
from app.core.model import Refusal
from app.server.refused import KEPT, TEXT_MAX, RefusedLog


def refusal(number: int = 0, target: str = "/x") -> Refusal:
    return Refusal(at=number, source_address="127.0.0.1", source_port=1, status=404, reason="No.", target=target)


def test_the_newest_thousand_are_kept_newest_first() -> None:
    events: list[Event] = []
    log = RefusedLog(events.append)
    for number in range(KEPT + 5):
        log.add(refusal(number))
    assert [entry.at for entry in log.newest()] == list(range(KEPT + 4, 4, -1))
    assert log.total == len(events) == KEPT + 5
    assert events[0] == Refused(refusal=refusal(0))


def test_long_texts_are_cut() -> None:
    events: list[Event] = []
    log = RefusedLog(events.append)
    log.add(refusal(target="/" + "x" * 65_000))
    (kept,) = log.newest()
    assert len(kept.target) == TEXT_MAX
    assert kept.target.endswith("x…")
    assert events == [Refused(refusal=kept)]


def test_clearing_empties_the_list_and_not_the_count() -> None:
    log = RefusedLog(lambda event: None)
    log.add(refusal())
    log.clear()
    assert (log.newest(), log.total) == ([], 1)
