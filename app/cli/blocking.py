"""Runs a command that makes one call of the running program after the other, without an event loop: loading asyncio and
httpx takes longer than all else that such a command does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hookline.calls import TIMEOUT_S, Call, Pages, Params, Steps, T
from hookline.running import ApiAddress
from hookline.transport import Transport


class BlockingTransport:
    """The calls of `AsyncTransport` over blocking connections: none waits for anything else."""

    def __init__(self, address: ApiAddress) -> None:
        self._api = Transport(address)

    async def aclose(self) -> None:
        self._api.close()

    async def run(self, steps: Call[T] | Steps[T]) -> T:
        """As `Transport.run`."""
        return self._api.run(steps)

    def items(self, pages: Pages[T], unexamined: Callable[[int], None] | None = None) -> AsyncIterator[T]:
        """As `Transport.items`."""
        return _each(self._api.items(pages, unexamined))

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        params: Params | None = None,
        *,
        timeout_s: float | None = TIMEOUT_S,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """As `Transport.stream`."""
        with self._api.stream(path, params, timeout_s=timeout_s, headers=headers) as pieces:
            yield _each(pieces)


async def _each(values: Iterable[T]) -> AsyncIterator[T]:
    for value in values:
        yield value


def run_blocking(command: Coroutine[Any, Any, T]) -> T:
    """The result of a command that waits for nothing but a `BlockingTransport`."""
    try:
        command.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    command.close()
    raise RuntimeError(f"{command} waits for an event loop")
