"""Counts what came of the deliveries of a replay."""

from __future__ import annotations

from collections import Counter


class DeliveryCounts:
    """`results` counts them by `short_result`; without those from before an interruption, whose results are not
    known."""

    def __init__(self) -> None:
        self._by_url: dict[str, Counter[bool]] = {}
        self.results = Counter[str]()

    @property
    def delivered(self) -> int:
        return sum(counts[True] for counts in self._by_url.values())

    @property
    def failed(self) -> int:
        return sum(counts[False] for counts in self._by_url.values())

    @property
    def by_target(self) -> dict[str, tuple[int, int]]:
        """How many were delivered and how many failed, by the URL of the target."""
        return {url: (counts[True], counts[False]) for url, counts in self._by_url.items() if url}

    def add(self, url: str, *, delivered: bool, result: str | None = None) -> None:
        """`url` is the target's, empty if it is not known which target a request would have gone to."""
        self._by_url.setdefault(url, Counter())[delivered] += 1
        if result is not None:
            self.results[result] += 1
