"""The endpoints in memory, with their targets: capturing reads one for each request."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from app.core.errors import NotFoundError
from app.core.model import Endpoint
from app.core.target import Target


class EndpointDirectory:
    """Every stored endpoint, in the user's order. Changes must be applied in the order of commits."""

    def __init__(self) -> None:
        self._by_id: dict[int, Endpoint] = {}
        self._by_slug: dict[str, Endpoint] = {}
        self._targets: dict[int, Target] = {}
        self._trashed: dict[str, Endpoint] = {}
        """The deleted endpoints that can still be restored, by slug."""
        self._stopped: set[int] = set()

    def all(self) -> tuple[Endpoint, ...]:
        return tuple(self._by_id.values())

    def by_slug(self, slug: str) -> Endpoint | None:
        return self._by_slug.get(slug)

    def capturing(self, slug: str) -> Endpoint | None:
        """The endpoint that answers senders: one that can still be restored is switched off."""
        endpoint = self._by_slug.get(slug) or self._trashed.get(slug)
        return replace(endpoint, active=False) if endpoint is not None and endpoint.id in self._stopped else endpoint

    def by_id(self, endpoint_id: int) -> Endpoint | None:
        return self._by_id.get(endpoint_id)

    def target(self, target_id: int | None) -> Target | None:
        """None if there is no such target, or none is named."""
        return None if target_id is None else self._targets.get(target_id)

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

    def stop_capturing(self, endpoint_id: int) -> None:
        """It is about to be deleted."""
        self._stopped.add(endpoint_id)

    def resume_capturing(self, endpoint_id: int) -> None:
        """It is not deleted, as far as is known."""
        if endpoint_id in self._by_id:
            self._stopped.discard(endpoint_id)

    def trash(self, endpoint: Endpoint) -> None:
        """It was deleted, and can be restored."""
        self._forget_targets(endpoint.id)
        del self._by_id[endpoint.id], self._by_slug[endpoint.slug]
        self._trashed[endpoint.slug] = endpoint
        self._stopped.add(endpoint.id)

    def restore(self, endpoint: Endpoint, order: Sequence[int]) -> None:
        """`order` is that of all ids."""
        self.forget(endpoint)
        self.keep(endpoint)
        self.reorder(order)

    def forget(self, endpoint: Endpoint) -> None:
        """It can no longer be restored."""
        self._stopped.discard(endpoint.id)
        self._trashed.pop(endpoint.slug, None)

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
