"""Looks for matching requests among those an endpoint captured, in the order they were stored, and waits for more."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from threading import Lock

from msgspec import UNSET
from msgspec.structs import replace

from hookline.calls import Steps
from hookline.client.requests import Waited, wait_call, with_body
from hookline.errors import NotFoundError
from hookline.records import Request
from hookline.testing.matchers import Matchers

KEPT_MAX = 16 * 1024 * 1024
"""Bytes of bodies that an endpoint's requests are kept with. The others are read again."""


class SeenRequests:
    """What is known of an endpoint's requests, some with their bodies: all up to `position`. Several threads and tasks
    may look for requests at once."""

    def __init__(self, slug: str, position: str) -> None:
        self.slug, self.position = slug, position
        self.requests: list[Request] = []
        self._kept = 0
        self._lock = Lock()

    def add(self, after: str, waited: Waited) -> None:
        """Add what came `after` a position, unless somebody else did."""
        with self._lock:
            if self.position != after:
                return
            self.position = waited.position
            if waited.request is not None:
                self._kept += len(waited.request.body_base64 or b"")
                kept = self._kept <= KEPT_MAX
                self.requests.append(waited.request if kept else replace(waited.request, body_base64=UNSET))


def search(
    seen: SeenRequests, matchers: Matchers, wanted: int, timeout: float, after: Request | None
) -> Steps[list[Request]]:
    """The first `wanted` matching requests with their bodies, of those stored after `after`; fewer if there are no more
    within `timeout` seconds. All that was stored by then is looked at, however long that takes."""
    found: list[Request] = []
    until, latest = time.monotonic() + timeout, datetime.now(UTC) + timedelta(seconds=timeout)
    skipping, place = after is not None, 0
    while True:
        while place < len(seen.requests):
            request = seen.requests[place]
            place += 1
            if skipping:
                skipping = after is not None and request.id != after.id
            elif (matched := (yield from _matched(request, matchers))) is not None:
                found.append(matched)
                if len(found) == wanted:
                    return found
        left, position = until - time.monotonic(), seen.position
        waited = yield wait_call(seen.slug, "", position, left)
        seen.add(position, waited)
        if waited.request is None:
            if left <= 0 and place == len(seen.requests):
                return found
        elif waited.request.received_at > latest:
            return found


def _matched(request: Request, matchers: Matchers) -> Steps[Request | None]:
    """The request with its body, if it matches."""
    if not matchers.head_fits(request):
        return None
    try:
        whole = yield from with_body(request)
    except NotFoundError:  # deleted meanwhile
        return None
    return None if matchers.mismatches(whole) else whole
