"""Which capture URLs the user copied under which public URL, and which of them no longer work."""

from __future__ import annotations

from app.core.clock import now_us
from app.core.own_urls import CAPTURE_PATH
from app.core.repositories import EndpointRepository, TunnelRepository
from app.core.tunnel.tunnel import OutdatedUrl, TunnelCopy


class CopiedUrls:
    """As stored, and in memory. `base` is the tunnel's public URL. Raises StorageUnavailableError."""

    def __init__(self, repository: TunnelRepository, endpoints: EndpointRepository) -> None:
        self._repository, self._endpoints = repository, endpoints
        self._copies: list[TunnelCopy] = []

    async def load(self) -> None:
        self._copies = await self._repository.copies()

    async def copied(self, endpoint_id: int, base: str) -> None:
        """The user copied the endpoint's capture URL."""
        at = now_us()
        await self._repository.copied(endpoint_id, base, at)
        kept = [one for one in self._copies if (one.endpoint_id, one.base) != (endpoint_id, base)]
        self._copies = [*kept, TunnelCopy(endpoint_id=endpoint_id, base=base, copied_at=at)]

    async def updated(self, endpoint_id: int, base: str) -> None:
        """The provider has the endpoint's capture URL, and no older one."""
        at = now_us()
        await self._repository.updated(endpoint_id, base, at)
        self.forget(endpoint_id)
        self._copies.append(TunnelCopy(endpoint_id=endpoint_id, base=base, copied_at=at))

    def forget(self, endpoint_id: int) -> None:
        """The endpoint was deleted."""
        self._copies = [one for one in self._copies if one.endpoint_id != endpoint_id]

    def outdated(self, base: str | None) -> tuple[OutdatedUrl, ...]:
        """Of each endpoint the last URL that was copied under another public URL than `base`."""
        found: dict[int, OutdatedUrl] = {}
        for copy in sorted(self._copies, key=lambda one: one.copied_at):
            endpoint = self._endpoints.by_id(copy.endpoint_id)
            if endpoint is not None and copy.base != base:
                url = f"{copy.base}{CAPTURE_PATH}{endpoint.slug}"
                found[endpoint.id] = OutdatedUrl(endpoint_id=endpoint.id, url=url, copied_at=copy.copied_at)
        return tuple(found.values())
