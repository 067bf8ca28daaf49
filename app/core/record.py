"""What all records share. They are frozen: a change makes a new record.

Times are whole microseconds since 1970-01-01 UTC. Headers are ordered `(name, value)` pairs as sent, each byte as one
Latin-1 character.
"""

from __future__ import annotations

import msgspec

Headers = tuple[tuple[str, str], ...]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Base of the frozen records. They are values, so none is part of a cycle: looking for garbage among thousands of
    them took a tenth of the processor time of a capture."""
