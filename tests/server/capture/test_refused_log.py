"""The list of refused requests: the newest thousand, each of bounded size."""

from __future__ import annotations

from msgspec.structs import replace

from app.core.events import Event, Refused
from app.core.model import REFUSED_RAW_MAX, Refusal
from app.server.refused import KEPT, RAW_KEPT, TEXT_MAX, RefusedLog


def refusal(number: int = 0, target: str = "/x") -> Refusal:
    return Refusal(at=number, source_address="127.0.0.1", source_port=1, status=404, reason="No.", target=target)


def test_the_newest_thousand_are_kept_newest_first() -> None:
    events: list[Event] = []
    log = RefusedLog(events.append)
    for number in range(KEPT + 5):
        log.add(refusal(number))
    assert [entry.at for entry in log.newest()] == list(range(KEPT + 4, 4, -1))
    assert log.total == len(events) == KEPT + 5
    assert events[0] == Refused(refusal=replace(refusal(0), id=1))


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


def test_what_came_is_kept_within_bounds_and_the_oldest_goes_first() -> None:
    log = RefusedLog(lambda event: None)
    kept = RAW_KEPT // REFUSED_RAW_MAX
    for number in range(kept + 3):
        log.add(refusal(number), bytes(REFUSED_RAW_MAX))
    assert [log.raw(number) is not None for number in range(1, kept + 4)] == [False] * 3 + [True] * kept
    assert [entry.raw_size for entry in log.newest()] == [REFUSED_RAW_MAX] * (kept + 3)
    log.clear()
    assert log.raw(kept + 3) is None
    log.add(refusal(), bytes(REFUSED_RAW_MAX))
    assert log.raw(log.total) == bytes(REFUSED_RAW_MAX)


def test_what_came_goes_with_its_line() -> None:
    log = RefusedLog(lambda event: None)
    for number in range(KEPT + 2):
        log.add(refusal(number), b"GET /%d" % number)
    assert (log.raw(1), log.raw(2), log.raw(3)) == (None, None, b"GET /2")
    assert log.raw(0) is None
