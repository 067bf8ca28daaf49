"""What must hold between the bytes of a case, the responses to it and what is stored of it.

None of it depends on which odd requests the program captures and which it refuses:

- What a strict reader finds in the bytes may be stored or refused, but not read in another way: the complete requests
  stored of a connection are some of those read, in their order, equal in method, target, version, headers and body.
- Only behind bytes that no strict reader takes for a request may something else be stored, and then nothing that was
  not sent, and never one whose length two parsers may disagree on.
- A valid request that is harmless, and sent without long pauses, has to be stored and acknowledged.
- Each acknowledgement has its request in the store, in the order of the responses. To the reverse, a complete request
  was acknowledged if its sender read to the end; not if it left or was reset, because a response may be lost then.
- After a response that closes the connection nothing follows. Each connection of a sender that reads to its end ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.fuzz.cases import Case
from benchmarks.fuzz.sender import Finish, Outcome
from benchmarks.fuzz.stored_requests import StoredRequest
from benchmarks.fuzz.strict_reader import End
from benchmarks.fuzz.valid_requests import HttpRequest

SLOW_S = 1.5
"""A sender that took longer, as on a machine that has much else to do, may have been cut off for that."""


def violations(case: Case, outcome: Outcome, stored: Sequence[StoredRequest]) -> list[str]:
    """What does not hold, in words; `stored` are the requests from the case's source in the order of their arrival."""
    found = [f"{row.head}: {row.damage}" for row in stored if row.damage]
    found += wrong_responses(case, outcome)
    found += _acknowledged(outcome, stored)
    found += _framing(stored)
    found += _readings(case, stored)
    found += _certain(case, outcome, stored)
    return found


def wrong_responses(case: Case, outcome: Outcome) -> list[str]:
    """What does not hold of the responses alone."""
    return list(_responses(case, outcome))


def _responses(case: Case, outcome: Outcome) -> Iterator[str]:
    responses = outcome.responses
    if outcome.finish is Finish.HUNG:
        yield f"no response and no close within {outcome.waited_s:.0f} s ({len(responses.found)} responses before)"
    if responses.broken:
        yield responses.broken
    elif responses.rest and outcome.finish is Finish.ENDED:
        yield "the server closed the connection within a response"
    for number, response in enumerate(responses.found[:-1], 1):
        if response.closes:
            yield f"response {number} closes the connection, and another follows"
    if any(response.status == 500 for response in responses.found):
        yield "a response is 500 internal_error"
    most = len(case.requests) or case.sent.count(b"\n") + 1
    if len(responses.found) > most:
        yield f"{len(responses.found)} responses to at most {most} requests"


def _acknowledged(outcome: Outcome, stored: Sequence[StoredRequest]) -> Iterator[str]:
    complete = [row for row in stored if row.complete]
    responses = [response for response in outcome.responses.found if response.acknowledges]
    ids = [row.id for row in complete]
    told = [response.capture_id for response in responses if response.capture_id is not None]
    for capture_id in told:
        if capture_id not in ids:
            yield f"{capture_id} was acknowledged and is not stored as a complete request of this sender"
    if [capture_id for capture_id in ids if capture_id in told] != told:
        yield "acknowledgements are in another order than the stored requests, or one came twice"
    for response in responses:
        if response.capture_id is None and response.body is not None:
            yield f"a response {response.status} names no stored request"
    if outcome.finish not in (Finish.RESET, Finish.LEFT) and len(responses) != len(complete):
        yield f"{len(complete)} complete requests are stored and {len(responses)} were acknowledged"


def _framing(stored: Sequence[StoredRequest]) -> Iterator[str]:
    for row in stored:
        lengths = {value for name, value in row.headers if name.lower() == b"content-length"}
        codings = [value for name, value in row.headers if name.lower() == b"transfer-encoding"]
        if row.complete and (len(lengths) > 1 or (lengths and codings)):
            yield f"{row.head}: stored although its headers give two lengths"


def _readings(case: Case, stored: Sequence[StoredRequest]) -> Iterator[str]:
    """Match what is stored against what was read strictly."""
    reading = case.reading
    left = list(reading.requests)
    for row in stored:
        place = next((at for at, request in enumerate(left) if row.complete and _same(row, request)), None)
        if place is not None:
            del left[: place + 1]
        elif reading.end is End.MALFORMED:
            yield from _invented(row, case.sent)
        elif row.complete:
            yield f"{row.head}: no strict reader finds this request in what was sent"
        else:
            yield from _partial(row, [*left, *([reading.begun] if reading.begun else [])])


def _same(row: StoredRequest, request: HttpRequest) -> bool:
    return _same_head(row, request) and row.body == request.body


def _same_head(row: StoredRequest, request: HttpRequest) -> bool:
    """Trailers may stand behind the headers, or elsewhere."""
    sent = (request.method, request.target, request.version)
    count = len(request.headers)
    more = row.headers[count:]
    return (
        (row.method, row.target, row.version) == sent
        and row.headers[:count] == request.headers
        and more in ((), request.trailers)
    )


def _partial(row: StoredRequest, possible: Sequence[HttpRequest]) -> Iterator[str]:
    """An incomplete one is the beginning of a request that was sent, wholly or not."""
    if not any(_same_head(row, request) and request.body.startswith(row.body) for request in possible):
        yield f"{row.head}: what is stored of it is not the beginning of a request that was sent"


def _invented(row: StoredRequest, sent: bytes) -> Iterator[str]:
    """Whatever a lenient reader makes of the bytes, it makes nothing up."""
    pieces = [row.method, row.target, *(piece for header in row.headers for piece in header)]
    missing = next((piece for piece in pieces if piece not in sent), None)
    if missing is not None:
        yield f"{row.head}: {missing[:80]!r} was not sent"
    chunked = any(name.lower() == b"transfer-encoding" for name, _ in row.headers)
    if not chunked and row.body not in sent:
        yield f"{row.head}: its body was not sent"


def _certain(case: Case, outcome: Outcome, stored: Sequence[StoredRequest]) -> Iterator[str]:
    if outcome.sending_s > SLOW_S:
        return
    count = case.certain
    if outcome.finish in (Finish.RESET, Finish.LEFT):
        count = min(count, len(outcome.responses.found))
    for number, valid in enumerate(case.requests[:count], 1):
        if number > len(stored) or not _same(stored[number - 1], valid.request):
            name = f"{valid.request.method.decode()} {valid.request.target[:120]!r}"
            yield f"request {number}, {name}, is not stored as it was sent"
            return
    wrong = [response.status for response in outcome.responses.found[:count] if not response.acknowledges]
    if wrong:
        yield f"a valid request was answered {wrong[0]}"
