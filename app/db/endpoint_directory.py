"""The endpoints in memory, with their targets: capturing reads one for each request."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.errors import NotFoundError
from app.core.model import Endpoint
from app.core.target import Target


class EndpointDirectory:
    """Every stored endpoint, in the user's order. Changes must be applied in the order of commits."""

    def __init__(self) -> None:
        self._by_id: dict[int, Endpoint] = {}
        self._by_slug: dict[str, Endpoint] = {}
        self._targets: dict[int, Target] = {}

    def all(self) -> tuple[Endpoint, ...]:
        return tuple(self._by_id.values())

    def by_slug(self, slug: str) -> Endpoint | None:
        return self._by_slug.get(slug)

    def by_id(self, endpoint_id: int) -> Endpoint | None:
        return self._by_id.get(endpoint_id)

    def target(self, target_id: int) -> Target | None:
        return self._targets.get(target_id)

    def require(self, endpoint_id: int) -> Endpoint:
        """Raises NotFoundError."""
        endpoint = self._by_id.get(endpoint_id)
        if endpoint is None:
            raise endpoint_not_found()
        return endpoint

    def keep(self, endpoint: Endpoint) -> None:
        """Add it, or put it in the place of its old version."""
        self._forget_targets(endpoint.id)
        self._by_id[endpoint.id] = self._by_slug[endpoint.slug] = endpoint
        self._targets |= {target.id: target for target in endpoint.targets}

    def remove(self, endpoint: Endpoint) -> None:
        self._forget_targets(endpoint.id)
        del self._by_id[endpoint.id], self._by_slug[endpoint.slug]

    def reorder(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Bring the endpoints into this order; those not named come last. Returns all ids in the new order."""
        known = self._by_id
        order = [number for number in ids if number in known]
        order += [number for number in known if number not in ids]
        self._by_id = {number: known[number] for number in order}
        return tuple(order)

    def _forget_targets(self, endpoint_id: int) -> None:
        old = self._by_id.get(endpoint_id)
        for target in old.targets if old is not None else ():
            self._targets.pop(target.id, None)


def endpoint_not_found() -> NotFoundError:
    return NotFoundError("This endpoint no longer exists.")
