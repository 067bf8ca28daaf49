"""Cases: what one connection sends, in which packets, and how it ends. Seed and number alone decide all of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from random import Random

from benchmarks.fuzz.mutations import mutated
from benchmarks.fuzz.strict_reader import Reading, read_strictly
from benchmarks.fuzz.valid_requests import Fate, ValidRequest, valid_request


class Ending(Enum):
    """What the sender does once its last packet is sent."""

    HALF_CLOSE = "closes its side and reads to the end"
    WAIT = "reads the response to each request, then closes"
    CLOSE = "closes at once"
    RESET = "resets the connection"


@dataclass(frozen=True)
class Packet:
    """Bytes sent at once, after a pause in seconds."""

    data: bytes
    pause_s: float = 0.0


@dataclass(frozen=True)
class Case:
    """`requests` are those that a valid case consists of; none when it was mutated."""

    number: int
    packets: tuple[Packet, ...]
    ending: Ending
    requests: tuple[ValidRequest, ...] = ()

    @property
    def sent(self) -> bytes:
        """All bytes."""
        return b"".join(packet.data for packet in self.packets)

    @property
    def reading(self) -> Reading:
        """What a strict reader makes of these bytes."""
        return read_strictly(self.sent)

    @property
    def weight(self) -> int:
        """How many requests it counts as."""
        return max(1, len(self.requests))

    @property
    def certain(self) -> int:
        """How many of its first requests have to be stored and acknowledged, whatever the rest is.

        A refused one may end the connection, and so may a chunked one with more behind it.
        """
        count = 0
        for valid in self.requests:
            if valid.fate is not Fate.STORED:
                return count
            count += 1
            if valid.request.chunked:
                return count
        return count


def make_case(seed: int, number: int) -> Case:
    """The case of that number."""
    random = Random(f"{seed}:{number}")
    valid = _sequence(random, number)
    wire = b"".join(one.wire for one in valid)
    if random.random() < 0.45:
        ending = random.choices((Ending.HALF_CLOSE, Ending.WAIT, Ending.CLOSE), (50, 45, 5))[0]
        return Case(number, _packets(random, wire), ending, tuple(valid))
    other = b"".join(one.wire for one in _sequence(random, number))
    packets = _packets(random, mutated(random, wire, other))
    ending = random.choices((Ending.HALF_CLOSE, Ending.CLOSE, Ending.RESET), (75, 15, 10))[0]
    if ending is not Ending.HALF_CLOSE and random.random() < 0.5:
        packets = packets[: random.randrange(1, len(packets) + 1)]
    return Case(number, packets, ending)


def _sequence(random: Random, number: int) -> list[ValidRequest]:
    count = random.choices((1, 2, 3, 6, 12), (40, 25, 20, 10, 5))[0]
    return [valid_request(random, f"~{number}-{index}", last=index == count - 1) for index in range(count)]


def _packets(random: Random, data: bytes) -> tuple[Packet, ...]:
    """Mostly a few packets; sometimes each byte of the beginning in one of its own, or a cut at each line's end."""
    at = random.random()
    if at < 0.4 or len(data) < 2:
        cuts: list[int] = []
    elif at < 0.8:
        cuts = [random.randrange(1, len(data)) for _ in range(random.choice((1, 2, 3, 8)))]
    elif at < 0.9:
        cuts = [end + random.choice((0, 1, 2)) for end in _line_ends(data)][:60]
    else:
        first = random.randrange(len(data))
        cuts = list(range(first, min(first + 40, len(data))))
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[begin:end] for begin, end in pairwise(places)]
    slow = random.random() < 0.15
    return tuple(Packet(piece, random.choice((0.0, 0.002, 0.01)) if slow else 0.0) for piece in pieces)


def _line_ends(data: bytes) -> list[int]:
    found: list[int] = []
    at = data.find(b"\r\n")
    while at >= 0 and len(found) < 60:
        found.append(at)
        at = data.find(b"\r\n", at + 2)
    return found
