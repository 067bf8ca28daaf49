"""The fuzz itself: its strict reader reads what it generates, and whatever must hold is told when it does not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.fuzz.__main__ import main
from benchmarks.fuzz.cases import Case, Ending, Packet, make_case
from benchmarks.fuzz.invariants import violations
from benchmarks.fuzz.responses import read_responses
from benchmarks.fuzz.run import plain_case
from benchmarks.fuzz.sender import Finish, Outcome
from benchmarks.fuzz.stored_requests import StoredRequest
from benchmarks.fuzz.strict_reader import End, read_strictly

pytestmark = pytest.mark.long

ID = "01a20236-6000-7049-b00d-6ada8995a466"
OTHER = ID.replace("0", "9")
SOURCE = ("127.0.0.1", 50_000)
LINE = b"POST /catch/x HTTP/1.1\r\nHost: x\r\n"


def test_the_strict_reader_reads_every_valid_case_as_it_was_meant() -> None:
    cases = [case for case in (make_case(7, number) for number in range(300)) if case.requests]
    assert len(cases) > 100
    for case in cases:
        assert case.reading.end is End.COMPLETE, case.number
        assert case.reading.requests == tuple(valid.request for valid in case.requests), case.number


def test_a_case_is_made_of_its_seed_and_number_alone() -> None:
    assert make_case(7, 5) == make_case(7, 5)
    assert make_case(7, 5).sent != make_case(8, 5).sent
    assert {make_case(7, number).ending for number in range(100)} == set(Ending)


@pytest.mark.parametrize(
    ("data", "end", "bodies"),
    [
        (LINE + b"Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n", End.COMPLETE, [b"abc", b""]),
        (LINE + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n", End.COMPLETE, [b"abc"]),
        (LINE + b"Connection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n", End.COMPLETE, [b""]),
        (b"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n", End.COMPLETE, [b""]),
        (LINE + b"Content-Length: 9\r\n\r\nabc", End.INCOMPLETE, []),
        (LINE + b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc", End.INCOMPLETE, []),
        (LINE + b"Content-Le", End.INCOMPLETE, []),
        (LINE + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", End.MALFORMED, []),
        (LINE + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na", End.MALFORMED, []),
        (LINE + b"Content-Length: +1\r\n\r\na", End.MALFORMED, []),
        (LINE + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", End.MALFORMED, []),
        (LINE + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", End.MALFORMED, []),
        (LINE + b"X: a\r\n folded\r\n\r\n", End.MALFORMED, []),
        (LINE + b"X : a\r\n\r\n", End.MALFORMED, []),
        (LINE + b"X: a\0b\r\n\r\n", End.MALFORMED, []),
        (LINE.replace(b"\r\n", b"\n") + b"\n", End.MALFORMED, []),
        (b"GET  / HTTP/1.1\r\n\r\n", End.MALFORMED, []),
        (b"GET / HTTP/2.0\r\n\r\n", End.MALFORMED, []),
    ],
)
def test_what_the_strict_reader_takes_for_a_request(data: bytes, end: End, bodies: list[bytes]) -> None:
    reading = read_strictly(data)
    assert (reading.end, [request.body for request in reading.requests]) == (end, bodies)


def test_responses_are_read_from_one_stream() -> None:
    body = b'{"status":"captured","id":"%b"}\n' % ID.encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    data = (
        b"HTTP/1.1 100 Continue\r\n\r\n" + head + body + head + head + body + b"HTTP/1.1 204 No Content\r\n\r\n" + head
    )
    found = read_responses(data).found
    assert [(one.status, one.capture_id) for one in found] == [
        (200, ID),
        (200, None),
        (200, ID),
        (204, None),
        (200, None),
    ]
    assert read_responses(head + body[:9]).rest == head + body[:9]
    assert read_responses(b"nonsense\r\n\r\n").broken


def answer(status: int = 200, *, capture_id: str = ID, more: bytes = b"") -> bytes:
    body = b'{"status":"captured","id":"%b"}\n' % capture_id.encode()
    return b"HTTP/1.1 %d Fine\r\n%bContent-Length: %d\r\n\r\n%b" % (status, more, len(body), body)


def outcome(received: bytes | None = None, finish: Finish = Finish.ANSWERED) -> Outcome:
    return Outcome(SOURCE, answer() if received is None else received, finish)


def stored(case: Case, **changed: object) -> StoredRequest:
    """What the store holds of the case's first request."""
    request = case.requests[0].request
    row = StoredRequest(
        1, ID, request.method, request.target, request.version, request.headers, request.body, SOURCE, complete=True
    )
    return replace(row, **changed)  # type: ignore[arg-type]


def mutated(case: Case, data: bytes) -> Case:
    return replace(case, packets=(Packet(data),), requests=())


PLAIN = plain_case()
TWICE = mutated(PLAIN, PLAIN.sent * 2)
BROKEN = mutated(PLAIN, b"\x00" + PLAIN.sent)
CUT = mutated(PLAIN, PLAIN.sent[:-3])


@pytest.mark.parametrize(
    ("case", "came", "rows"),
    [
        (PLAIN, outcome(), [stored(PLAIN)]),
        (PLAIN, outcome(b"", Finish.LEFT), []),
        (PLAIN, replace(outcome(answer(408)), sending_s=2.0), []),
        (TWICE, outcome(answer(400), Finish.ENDED), []),
        (TWICE, outcome(answer(more=b"Connection: close\r\n"), Finish.ENDED), [stored(PLAIN)]),
        (BROKEN, outcome(answer(), Finish.ENDED), [stored(PLAIN)]),
        (CUT, outcome(answer(400), Finish.ENDED), [stored(PLAIN, complete=False, body=b'{"plain"')]),
    ],
)
def test_what_may_be(case: Case, came: Outcome, rows: list[StoredRequest]) -> None:
    assert violations(case, came, rows) == []


@pytest.mark.parametrize(
    ("case", "came", "rows", "told"),
    [
        (PLAIN, outcome(), [], "was acknowledged and is not stored"),
        (PLAIN, outcome(), [stored(PLAIN, complete=False)], "was acknowledged and is not stored"),
        (PLAIN, outcome(), [stored(PLAIN, body=b"other")], "no strict reader finds this request"),
        (PLAIN, outcome(), [stored(PLAIN, target=b"/catch/other")], "no strict reader finds this request"),
        (PLAIN, outcome(), [stored(PLAIN, headers=())], "no strict reader finds this request"),
        (PLAIN, outcome(), [stored(PLAIN, damage="its SHA-256 is not that of its body")], "SHA-256"),
        (PLAIN, outcome(), [stored(PLAIN), stored(PLAIN, id="other")], "no strict reader finds this request"),
        (PLAIN, outcome(answer() * 2), [stored(PLAIN)], "2 responses to at most 1 requests"),
        (PLAIN, outcome(answer(400)), [], "is not stored as it was sent"),
        (PLAIN, outcome(answer(500)), [stored(PLAIN)], "internal_error"),
        (PLAIN, outcome(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), [stored(PLAIN)], "names no stored request"),
        (PLAIN, outcome(b"", Finish.HUNG), [], "no response and no close"),
        (PLAIN, outcome(answer()[:-1], Finish.ENDED), [stored(PLAIN)], "within a response"),
        (PLAIN, outcome(b"oh\r\n\r\n", Finish.ENDED), [stored(PLAIN)], "no status line"),
        (TWICE, outcome(answer(more=b"Connection: close\r\n") * 2), [stored(PLAIN)], "and another follows"),
        (TWICE, outcome(), [stored(PLAIN), stored(PLAIN, id="b")], "2 complete requests are stored and 1 were"),
        (TWICE, outcome(answer(capture_id=OTHER) + answer()), [stored(PLAIN)], "was acknowledged and is not stored"),
        (TWICE, outcome(answer() * 2), [stored(PLAIN)], "one came twice"),
        (BROKEN, outcome(), [stored(PLAIN, target=b"/catch/made-up")], "was not sent"),
        (BROKEN, outcome(), [stored(PLAIN, body=b"made up")], "its body was not sent"),
        (
            BROKEN,
            outcome(),
            [stored(PLAIN, headers=((b"Content-Length", b"14"), (b"Transfer-Encoding", b"x")))],
            "two lengths",
        ),
        (CUT, outcome(answer(400)), [stored(PLAIN, complete=False, body=b"other")], "is not the beginning"),
    ],
)
def test_what_may_not_be_is_told(case: Case, came: Outcome, rows: list[StoredRequest], told: str) -> None:
    assert any(told in text for text in violations(case, came, rows)), violations(case, came, rows)


@pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors of a process are read from /proc")
def test_a_short_run_of_the_program_finds_nothing_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--minutes", "0.005", "--seed", "1", "--connections", "2", "--folder", str(tmp_path)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "nothing is wrong" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="memory and descriptors of a process are read from /proc")
def test_a_case_can_be_sent_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "3", "--seed", "7", "--folder", str(tmp_path)]) == 0
    assert '"case": 3' in capsys.readouterr().out
