"""The `json:` filter: a path into a body and, optionally, a condition on its values."""

from __future__ import annotations

from app.core.search.query import JsonTest, Operator, QueryError
from app.core.search.tokens import Text

_SIGNS = "=!<>~"
_TWO: dict[str, Operator] = {"!=": "!=", "<=": "<=", ">=": ">="}
_ONE: dict[str, Operator] = {"=": "=", "<": "<", ">": ">", "~": "~"}
MAX_STEPS = 50


def read_json(value: Text) -> JsonTest:
    """`data.items[0].id`, `data.amount>1000`, `items.*.sku=A-1`; quoted keys can contain dots. QueryError otherwise."""
    at = value.find(_SIGNS)
    if at < 0:
        colon = value.find(":")
        if colon >= 0:
            meant = f"json:{value.characters[:colon]}={value.characters[colon + 1 :]}"
            message = f'“:” is not a comparison. Write {meant}; quote a key with a colon, as in json:"a:b".'
            raise QueryError(message, value.places[colon], value.places[colon] + 1, "=")
        return JsonTest(path=_path(value), operator="exists")
    signs = value.characters[at : at + 2]
    operator = _TWO.get(signs) or _ONE.get(signs[:1])
    if operator is None:
        raise QueryError("“!” must be followed by “=”, as in json:state!=done.", value.places[at], value.places[at] + 1)
    rest = at + len(operator)
    if value.find(_SIGNS, rest) == rest:
        wrong = value.characters[at : rest + 1]
        message = (
            f"“{wrong}” is not a comparison. Use =, !=, <, <=, >, >= or ~; quote a value that begins with one of them,"
            f' as in json:a{operator}"{value.characters[rest]}x".'
        )
        raise QueryError(message, value.places[at], value.places[rest] + 1, operator)
    return JsonTest(path=_path(value.part(0, at)), operator=operator, value=value.characters[rest:])


def _path(text: Text) -> tuple[str | None, ...]:
    if text.characters.startswith("$.") and not text.quoted[0]:
        text = text.part(2)
    steps: list[str | None] = []
    begin = 0
    while True:
        end = text.find(".[", begin)
        steps.append(_step(text, begin, len(text.characters) if end < 0 else end))
        while end >= 0 and text.characters[end] == "[":
            close = text.find("]", end)
            if close < 0:
                raise QueryError("This bracket is not closed.", text.places[end], text.end)
            steps.append(_item(text, end, close))
            end = close + 1 if close + 1 < len(text.characters) else -1
            if end >= 0 and (text.characters[end] not in ".[" or text.quoted[end]):
                raise QueryError("Write a dot between the steps of a path.", text.places[end], text.end)
        if len(steps) > MAX_STEPS:
            raise QueryError(f"A path can have at most {MAX_STEPS} steps.", text.start, text.end)
        if end < 0:
            return tuple(steps)
        begin = end + 1


def _step(text: Text, begin: int, end: int) -> str | None:
    if begin == end:
        place = text.places[begin] if begin < len(text.places) else text.end
        message = "A step of the path is missing: write it as in json:data.object.amount>1000."
        raise QueryError(message, min(place, text.end), text.end)
    characters = text.characters[begin:end]
    return None if characters == "*" and not text.quoted[begin] else characters


def _item(text: Text, opening: int, close: int) -> str | None:
    inner = text.characters[opening + 1 : close]
    if inner in ("", "*"):
        return None
    if not (inner.isascii() and inner.isdigit()):
        message = "Brackets must contain the number of an item, or * for any."
        raise QueryError(message, text.places[opening], text.places[close] + 1)
    return str(int(inner)) if len(inner) < 12 else inner
