"""The message of a test that timed out waiting: what arrived instead, the most similar requests first."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from hookline.calls import Steps
from hookline.client.requests import with_body
from hookline.errors import NotFoundError
from hookline.records import Refusal, Request
from hookline.testing.matchers import SHOWN, Matchers, Mismatch, cut

NEAREST = 3
LINES, MISMATCHES = 40, 10
"""Of one difference, and of one request."""
WHOLE = 10_000
"""Characters of a message."""


def read_nearest(seen: Sequence[Request], matchers: Matchers) -> Steps[list[Request]]:
    """The calls for the requests that are most like what was expected, with their bodies, the nearest first."""
    newest_first = seen[::-1]
    by_head = sorted(newest_first, key=lambda request: _distance(matchers.head_mismatches(request)))
    nearest = []
    for request in by_head[:NEAREST]:
        try:
            nearest.append((yield from with_body(request)))
        except NotFoundError:  # deleted meanwhile
            continue
    return sorted(nearest, key=lambda request: _distance(matchers.mismatches(request)))


def miss_message(
    url: str, *, matchers: Matchers, arrived: int, nearest: Sequence[Request], refused: Sequence[Refusal], waited: str
) -> str:
    """`arrived` requests came to `url`, `nearest` are the most similar of them; `waited` says for how long, and for how
    many."""
    lines = [f"{waited} at {url}:", f"  {cut(str(matchers), 4 * SHOWN)}"]
    if not arrived:
        lines.append("No request arrived there.")
    else:
        which = "" if arrived == len(nearest) else " The nearest:"
        lines.append(f"{arrived:,} {'request' if arrived == 1 else 'requests'} arrived.{which}")
    for place, request in enumerate(nearest, 1):
        lines += ["", f"{place}. {title(request)}", *_mismatch_lines(request, matchers)]
    if refused:
        lines += ["", "Hookline refused, from this test or one that ran at the same time:"]
        lines += [f"  {one.status} {one.method} {cut(one.target)}: {cut(one.reason)}" for one in refused]
    return cut("\n".join(lines), WHOLE)


def unwanted_message(url: str, matchers: Matchers, request: Request) -> str:
    """`request` came to `url` and should not have."""
    lines = [f"A request came to {url} that should not:", f"  {cut(str(matchers), 4 * SHOWN)}"]
    return cut("\n".join([*lines, title(request), request.text]), WHOLE)


def title(request: Request) -> str:
    """A request in one line."""
    kind = cut(request.content_type) or "no content type"
    end = "" if request.complete else ", the sender disconnected"
    size = "1 byte" if request.size == 1 else f"{request.size:,} bytes"
    return f"{cut(request.method)} {cut(request.target_below)} ({kind}, {size}{end})"


def _distance(mismatches: Sequence[Mismatch]) -> float:
    return sum(one.distance() for one in mismatches)


def _mismatch_lines(request: Request, matchers: Matchers) -> list[str]:
    wrong = matchers.mismatches(request)
    if not wrong:
        return ["   matches"]
    lines = [f"   {matchers.count - len(wrong)} of {matchers.count} match"] if matchers.count > 1 else []
    for mismatch in wrong[:MISMATCHES]:
        said = mismatch.lines()
        more = [f"… {len(said) - LINES} more lines"] if len(said) > LINES else []
        lines += [f"   {cut(mismatch.what)}", indent("\n".join([*said[:LINES], *more]), "     ")]
    if len(wrong) > MISMATCHES:
        lines.append(f"   … {len(wrong) - MISMATCHES} more differences")
    return lines
