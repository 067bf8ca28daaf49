"""Says whether a captured request is the one that a test waits for, and if not, why: of those that arrived instead, the
most similar first."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from textwrap import indent
from typing import Any, TypedDict

from hookline.calls import Steps
from hookline.client.requests import with_body
from hookline.errors import NotFoundError
from hookline.records import Refusal, Request

_STEP = re.compile(r"""\.?(?P<name>[^.\[\]"]+)|\[(?P<index>[0-9]+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]""")


class _Missing:
    def __repr__(self) -> str:
        return "nothing there"


MISSING = _Missing()
"""Stands for a value that is not there."""


def steps_of(path: str) -> tuple[str | int, ...]:
    """The names and indexes in a path; ValueError if it is none. `$` is the whole value."""
    steps: list[str | int] = []
    rest = path.removeprefix("$")
    while rest:
        found = _STEP.match(rest)
        if found is None:
            text = f'{path!r} is no JSON path. Write names and indexes, such as data.items[0].id or data["odd name"].'
            raise ValueError(text)
        if found["index"]:
            steps.append(int(found["index"]))
        else:
            steps.append(json.loads(found["quoted"]) if found["quoted"] else found["name"])
        rest = rest[found.end() :]
    return tuple(steps)


def value_at(value: Any, path: str) -> Any:
    """The value at `path`, `MISSING` if there is none."""
    for step in steps_of(path):
        if isinstance(value, dict) and isinstance(step, str) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch("[0-9]{1,9}", str(step)) and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


Expected = str | re.Pattern[str] | Callable[[str], bool]
"""A text, a pattern that is searched for in it, or a function that says whether it fits."""
Predicate = Callable[[Request], object]

SHOWN = 500
"""Characters of a value, or of a line, in a message."""
AROUND, DIFFERENCE_LINES = 2, 500
"""Lines of JSON: shown around a difference, and compared at most, from the first that differs."""


class MatcherArguments(TypedDict, total=False):
    """What a request has to be; all that are given must fit.

    `method`. `path`: below the endpoint's URL, as sent; the query too, if it contains a `?`. `header`: by name, in any
    letter case. `json_path`: values in the JSON body by their paths, such as `{"data.items[0].id": 7}`. `json`: the
    whole JSON body. `body`: the bytes of the body. `predicate`: a function that gets the request; an exception of it
    means no. Texts may also be patterns, searched for, or functions; values in `json_path` too.
    """

    method: str
    path: Expected
    header: Mapping[str, Expected]
    json_path: Mapping[str, Any]
    json: Any
    body: bytes
    predicate: Predicate


class WaitArguments(MatcherArguments, total=False):
    """What to wait for, how many seconds, and after which request; see `HooklineEndpoint.wait_for`."""

    timeout: float
    after: Request | None


@dataclass(frozen=True)
class Mismatch:
    """One thing that does not fit: a value that differs."""

    what: str
    expected: Any
    actual: Any

    def lines(self) -> list[str]:
        """The difference, to be read."""
        return [f"expected: {shown(self.expected)}", f"actual:   {shown(self.actual)}"]

    def distance(self) -> float:
        """1 for what has nothing in common, and less for what is similar."""
        if not (isinstance(self.expected, str) and isinstance(self.actual, str)):
            return 1.0
        return 1.0 - difflib.SequenceMatcher(None, self.expected[:SHOWN], self.actual[:SHOWN]).quick_ratio() / 2


class JsonMismatch(Mismatch):
    """JSON values of which some lines differ."""

    def lines(self) -> list[str]:
        """The lines that differ, with some around them."""
        first, second = _json_lines(self.expected), _json_lines(self.actual)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
        part = slice(max(0, same - AROUND), same + DIFFERENCE_LINES)
        lines = difflib.unified_diff(first[part], second[part], "expected", "actual", n=AROUND, lineterm="")
        return [cut(line) for line in lines]

    def distance(self) -> float:
        changed = sum(line.startswith(("+", "-")) for line in self.lines()) - len(("---", "+++"))
        return changed / (len(_json_lines(self.expected)) + len(_json_lines(self.actual)))


class Unusable(Mismatch):
    """A value that cannot be compared; `actual` says why."""

    def lines(self) -> list[str]:
        return [str(self.actual)]


class Matchers:
    """The matchers of one call. ValueError or TypeError for one that is no matcher."""

    def __init__(self, given: MatcherArguments) -> None:
        unknown = set(given) - set(MatcherArguments.__annotations__)
        if unknown:
            known = ", ".join(MatcherArguments.__annotations__)
            raise TypeError(f"There is no matcher {', '.join(sorted(unknown))}. Use {known}.")
        self._given = given
        for path in given.get("json_path", {}):
            steps_of(path)

    def __str__(self) -> str:
        """All of them in one line."""
        given = self._given
        parts = [f"{name} {shown(given[name])}" for name in ("method", "path") if name in given]
        parts += [f"header {name} {shown(value)}" for name, value in given.get("header", {}).items()]
        parts += [f"json {path} {shown(value)}" for path, value in given.get("json_path", {}).items()]
        parts += [f"{name} {shown(given[name])}" for name in ("json", "body", "predicate") if name in given]
        return ", ".join(parts) or "any request"

    @property
    def count(self) -> int:
        """The number of things that have to fit."""
        given = self._given
        several = len(given.get("header", {})) + len(given.get("json_path", {}))
        return several + len(given.keys() - {"header", "json_path"})

    def head_fits(self, request: Request) -> bool:
        """Whether the request may match, as far as can be said without the body."""
        return next(self._check_head(request), None) is None

    def head_mismatches(self, request: Request) -> list[Mismatch]:
        """What does not fit, of what can be said without the body."""
        return list(self._check_head(request))

    def mismatches(self, request: Request) -> list[Mismatch]:
        """What does not fit; empty if the request matches."""
        return [*self._check_head(request), *self._check_body(request)]

    def _check_head(self, request: Request) -> Iterator[Mismatch]:
        given = self._given
        if "method" in given and given["method"].upper() != request.method:
            yield Mismatch("method", given["method"].upper(), request.method)
        if "path" in given:
            expected = given["path"]
            with_query = isinstance(expected, str) and "?" in expected
            actual = request.target_below if with_query else request.path
            if not fits(expected, actual):
                yield Mismatch("path", expected, actual)
        for name, wanted in given.get("header", {}).items():
            value = request.headers.get(name, MISSING)
            if value is MISSING or not fits(wanted, value):
                yield Mismatch(f"header {name}", wanted, value)

    def _check_body(self, request: Request) -> Iterator[Mismatch]:
        given = self._given
        if "json_path" in given or "json" in given:
            yield from self._check_json(request)
        if "body" in given and given["body"] != request.body:
            yield Mismatch("body", given["body"], request.body)
        if "predicate" in given:
            try:
                said = given["predicate"](request)
            except Exception as error:
                text = str(error).partition("\n")[0]
                yield Unusable("predicate", None, cut(f"raised {type(error).__name__}: {text}"))
            else:
                if not said:
                    yield Unusable("predicate", None, f"{shown(given['predicate'])} returned {shown(said)}")

    def _check_json(self, request: Request) -> Iterator[Mismatch]:
        given = self._given
        try:
            value = request.json()
        except (ValueError, RecursionError) as error:
            yield Unusable("json", None, f"the body is no JSON ({error}): {shown(request.text)}")
            return
        for path, wanted in given.get("json_path", {}).items():
            actual = value_at(value, path)
            if actual is MISSING or not fits(wanted, actual):
                yield Mismatch(f"json {path}", wanted, actual)
        if "json" in given and not _equal(given["json"], value):
            yield JsonMismatch("json", given["json"], value)


def fits(expected: Any, actual: Any) -> bool:
    """Whether a value is what a matcher expects."""
    if isinstance(expected, re.Pattern):
        return isinstance(actual, str) and expected.search(actual) is not None
    if callable(expected):
        try:
            return bool(expected(actual))
        except Exception:  # such as a comparison with a value of another type
            return False
    return _equal(expected, actual)


def _equal(expected: Any, actual: Any) -> bool:
    """Whether two JSON values are equal: to Python, `True` is `1`."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(_equal(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_equal, expected, actual))
    if isinstance(expected, int | float) and isinstance(expected, bool) != isinstance(actual, bool):
        return False
    return bool(expected == actual)


def shown(value: Any) -> str:
    """A value in a message: patterns as /…/, functions by their names."""
    if isinstance(value, re.Pattern):
        return cut(f"/{value.pattern}/")
    if callable(value):
        return cut(getattr(value, "__name__", "") or repr(value))
    return cut(repr(value))


def cut(text: str, most: int = SHOWN) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"


def _json_lines(value: Any) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=repr).split("\n")


NEAREST = 3
LINES, MISMATCHES = 40, 10
"""Of one difference, and of one request."""
WHOLE = 10_000
"""Characters of a message."""


def read_nearest(seen: Sequence[Request], matchers: Matchers) -> Steps[list[Request]]:
    """The calls for the requests that are most like what was expected, with their bodies, the nearest first."""
    newest_first = seen[::-1]
    by_head = sorted(newest_first, key=lambda request: _distance(matchers.head_mismatches(request)))
    nearest = []
    for request in by_head[:NEAREST]:
        try:
            nearest.append((yield from with_body(request)))
        except NotFoundError:  # deleted meanwhile
            continue
    return sorted(nearest, key=lambda request: _distance(matchers.mismatches(request)))


def miss_message(
    url: str, *, matchers: Matchers, arrived: int, nearest: Sequence[Request], refused: Sequence[Refusal], waited: str
) -> str:
    """`arrived` requests came to `url`, `nearest` are the most similar of them; `waited` says for how long, and for how
    many."""
    lines = [f"{waited} at {url}:", f"  {cut(str(matchers), 4 * SHOWN)}"]
    if not arrived:
        lines.append("No request arrived there.")
    else:
        which = "" if arrived == len(nearest) else " The nearest:"
        lines.append(f"{arrived:,} {'request' if arrived == 1 else 'requests'} arrived.{which}")
    for place, request in enumerate(nearest, 1):
        lines += ["", f"{place}. {title(request)}", *_mismatch_lines(request, matchers)]
    if refused:
        lines += ["", "Hookline refused, from this test or one that ran at the same time:"]
        lines += [f"  {one.status} {one.method} {cut(one.target)}: {cut(one.reason)}" for one in refused]
    return cut("\n".join(lines), WHOLE)


def unwanted_message(url: str, matchers: Matchers, request: Request) -> str:
    """`request` came to `url` and should not have."""
    lines = [f"A request came to {url} that should not:", f"  {cut(str(matchers), 4 * SHOWN)}"]
    return cut("\n".join([*lines, title(request), request.text]), WHOLE)


def title(request: Request) -> str:
    """A request in one line."""
    kind = cut(request.content_type) or "no content type"
    end = "" if request.complete else ", the sender disconnected"
    size = "1 byte" if request.size == 1 else f"{request.size:,} bytes"
    return f"{cut(request.method)} {cut(request.target_below)} ({kind}, {size}{end})"


def _distance(mismatches: Sequence[Mismatch]) -> float:
    return sum(one.distance() for one in mismatches)


def _mismatch_lines(request: Request, matchers: Matchers) -> list[str]:
    wrong = matchers.mismatches(request)
    if not wrong:
        return ["   matches"]
    lines = [f"   {matchers.count - len(wrong)} of {matchers.count} match"] if matchers.count > 1 else []
    for mismatch in wrong[:MISMATCHES]:
        said = mismatch.lines()
        more = [f"… {len(said) - LINES} more lines"] if len(said) > LINES else []
        lines += [f"   {cut(mismatch.what)}", indent("\n".join([*said[:LINES], *more]), "     ")]
    if len(wrong) > MISMATCHES:
        lines.append(f"   … {len(wrong) - MISMATCHES} more differences")
    return lines
