"""What the index has of a request."""

from __future__ import annotations

from app.db.search.candidate import NO_JSON, Candidate
from app.db.search.index.group import SIZE, IndexEntry, path_key
from app.db.search.index.terms import ColumnValues, JsonLeaves, find_json_leaves, terms_of
from app.db.search.index.trigrams import INDEXED, indexed_text


def entry(seq: int, received_at: int, size: int, request: Candidate, columns: ColumnValues) -> IndexEntry:
    """A request as it is indexed. `size`: bytes of the body. One whose body was not unpacked to its end is marked as
    having more, and is examined in every search."""
    known = JsonLeaves(more=not request.is_whole) if request.json is NO_JSON else find_json_leaves(request.json)
    numbers = [(path_key(path), value) for path, value in known.numbers]
    numbers += [(path_key(path, near=True), value) for path, value in known.near]
    # A request that is too long to be indexed completely is examined in every search anyway.
    readable = request.readable_texts(only_changed=True) if len(request.text) <= INDEXED else []
    return IndexEntry(
        seq=seq,
        received_at=received_at,
        text=indexed_text(request.text, readable, request.headers, whole=request.is_whole),
        terms=terms_of(columns, request.target, request.headers, known, "\n".join((request.text, *readable))),
        numbers=((SIZE, float(size)), *numbers),
    )
