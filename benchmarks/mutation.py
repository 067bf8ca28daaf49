"""`python -m benchmarks.mutation`: how many faults, put into the code one at a time, the tests find.

`choose 300 --seed 1 > mutants.json` draws mutants of the code without a window (`FOLDERS`): a comparison turned, a
number off by one, a condition negated, a call left out. `run mutants.json` puts each into this checkout, runs the tests
that execute its line, shortest first, until one fails, and takes it out again; `results.json` gets a line for each. The
tests that execute a line are known from `.coverage`, as `pytest --cov --cov-context=test` writes it. A mutant whose
line another revision has not, neither there nor elsewhere, is *gone* in it; `compare` tells which were found before and
are not now.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[1]
FOLDERS = "app/core", "app/data_folder", "app/db", "app/server"
TESTS_MOST = 200
"""Tests tried on a mutant: a line that more execute is broken for nearly each of them."""
RUN_S, TEST_S = 240.0, 30
SURVIVED, KILLED, GONE, UNTESTED, FLAKY = "survived", "killed", "gone", "untested", "flaky"

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
Node = ast.expr | ast.stmt
Change = Callable[[Node], Node | None]
"""The changed node, or None where this change does not apply."""


@dataclass(frozen=True)
class Mutant:
    """One change of one expression or statement. `function` is qualified, `text` the source that changes, `nth` which
    of those in the function it is."""

    path: str
    function: str
    change: str
    text: str
    nth: int


# -- Changes ---------------------------------------------------------------------------------------------------------


def _comparison(node: Node) -> Node | None:
    if not isinstance(node, ast.Compare):
        return None
    return ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def _junction(node: Node) -> Node | None:
    if not isinstance(node, ast.BoolOp):
        return None
    return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _operator(node: Node) -> Node | None:
    if not isinstance(node, ast.BinOp) or type(node.op) not in OPERATORS or isinstance(node.left, ast.JoinedStr):
        return None
    return ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)


def _constant(node: Node) -> Node | None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int):
        return None
    return ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)


def _condition(node: Node) -> Node | None:
    if not isinstance(node, ast.If | ast.While | ast.IfExp):
        return None
    changed = copy.copy(node)
    changed.test = ast.UnaryOp(ast.Not(), node.test)
    return changed


def _no_call(node: Node) -> Node | None:
    if not isinstance(node, ast.Expr):
        return None
    call = node.value.value if isinstance(node.value, ast.Await) else node.value
    return ast.Pass() if isinstance(call, ast.Call) else None


def _no_result(node: Node) -> Node | None:
    if not isinstance(node, ast.Return) or node.value is None or isinstance(node.value, ast.Constant):
        return None
    return ast.Return(ast.Constant(None))


CHANGES: dict[str, Change] = {
    "other comparison": _comparison,
    "and for or": _junction,
    "other operator": _operator,
    "other constant": _constant,
    "opposite condition": _condition,
    "call left out": _no_call,
    "result left out": _no_result,
}


# -- Places ----------------------------------------------------------------------------------------------------------


def places(source: str, path: str) -> Iterator[tuple[Mutant, Node, Node]]:
    """Each mutant of a file, with the node and what replaces it."""
    yield from _in_scope(ast.parse(source), path, "", Counter())


def _in_scope(
    scope: ast.AST, path: str, name: str, seen: Counter[tuple[str, str, str]]
) -> Iterator[tuple[Mutant, Node, Node]]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}.{node.name}".lstrip(".")
            body = ast.Module(node.body, [])
            yield from _in_scope(body, path, inner if isinstance(node, ast.ClassDef) else f"{inner}()", seen)
        elif not isinstance(node, ast.AnnAssign | ast.arg) or (isinstance(node, ast.AnnAssign) and "()" in name):
            if "()" in name and isinstance(node, Node):
                for change, make in CHANGES.items():
                    if (changed := make(node)) is not None:
                        text = ast.unparse(node).splitlines()[0]
                        key = name, change, text
                        seen[key] += 1
                        yield Mutant(path, name, change, text, seen[key]), node, changed
            yield from _in_scope(node, path, name, seen)


def choose(count: int, seed: int) -> list[Mutant]:
    """Each file has as many chances as it has places."""
    every = [
        mutant
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for mutant, _, _ in places(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    ]
    return random.Random(seed).sample(every, count)


def find(mutant: Mutant) -> tuple[Path, str, int] | None:
    """The file of this revision that has the mutant's place, its mutated source and the line, or None."""
    own = ROOT / mutant.path
    others = [path for path in sorted((ROOT / "app").rglob("*.py")) if path != own]
    for path in [own, *others] if own.exists() else others:
        source = path.read_text("utf-8")
        if path is not own and mutant.function.rpartition(".")[2].removesuffix("()") not in source:
            continue
        for one, node, changed in places(source, mutant.path):
            if one == mutant:
                return path, replaced(source, node, changed), node.lineno
    return None


def replaced(source: str, node: Node, changed: Node) -> str:
    """The source with one node written anew; all other lines stay as they are."""
    lines = source.encode().splitlines(keepends=True)
    assert node.end_lineno is not None  # as of all that was parsed
    first, last = node.lineno - 1, node.end_lineno - 1
    before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    ast.fix_missing_locations(changed)
    if isinstance(node, ast.If | ast.While) and isinstance(
        changed, type(node)
    ):  # its condition alone: what it holds may have any size
        return replaced(source, node.test, changed.test)
    text = ast.unparse(changed)
    if isinstance(node, ast.expr):
        text = f"({text})"
    return b"".join([*lines[:first], before + text.encode() + after, *lines[last + 1 :]]).decode()


# -- Runs ------------------------------------------------------------------------------------------------------------


def seconds_of(durations: str) -> dict[str, float]:
    """Of each test, from what `pytest --durations=0` printed."""
    found: defaultdict[str, float] = defaultdict(float)
    for seconds, test in re.findall(r"^([\d.]+)s (?:call|setup|teardown) +(\S.*)$", durations, re.MULTILINE):
        found[test.strip()] += float(seconds)
    return dict(found)


class Runner:
    """Runs mutants in this checkout. `seconds` tells how long each test takes."""

    def __init__(self, data: Path, seconds: dict[str, float]) -> None:
        self._data = coverage.CoverageData(str(data))
        self._data.read()
        self._measured = {Path(name).resolve(): name for name in self._data.measured_files()}
        self._seconds = seconds

    def run(self, mutant: Mutant) -> tuple[str, str]:
        """What became of it, and the test that found it."""
        if (found := find(mutant)) is None:
            return GONE, ""
        path, source, line = found
        tests = self._tests(path, line)
        if not tests:
            return UNTESTED, ""
        original = path.read_bytes()
        try:
            path.write_bytes(source.encode())
            failed = first_failed(tests)
        finally:
            path.write_bytes(original)
        if failed is None:
            return SURVIVED, ""
        return (FLAKY if first_failed([failed] if failed else tests) is not None else KILLED), failed

    def _tests(self, path: Path, line: int) -> list[str]:
        name = self._measured.get(path.resolve())
        contexts = self._data.contexts_by_lineno(name).get(line, []) if name else []
        tests = {context.rpartition("|")[0] for context in contexts if context}
        return sorted(tests, key=lambda test: (self._seconds.get(test, 0.0), test))[:TESTS_MOST]


def first_failed(tests: list[str]) -> str | None:
    """The first of these tests that fails, "" when the run ended otherwise, None when all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-rfE"]
    try:
        done = subprocess.run(
            [*command, f"--timeout={TEST_S}", *tests],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (tests/\S+?\.py::.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return failed.group(1) if failed and failed.group(1) in tests else ""


def compare(before: Path, after: Path) -> list[str]:
    """Mutants that were killed before and survive now, and the numbers of both."""
    results = [{json.dumps(row["mutant"]): row for row in map(json.loads, path.open())} for path in (before, after)]
    worse = [
        f"{row['mutant']['path']} {row['mutant']['function']}: {row['mutant']['change']}: {row['mutant']['text']}"
        for key, row in results[1].items()
        if row["outcome"] in (SURVIVED, UNTESTED) and results[0].get(key, {}).get("outcome") == KILLED
    ]
    return [*(str(dict(Counter(row["outcome"] for row in rows.values()))) for rows in results), *worse]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    choosing = commands.add_parser("choose")
    choosing.add_argument("count", type=int)
    choosing.add_argument("--seed", type=int, default=1)
    running = commands.add_parser("run")
    running.add_argument("mutants", type=Path)
    running.add_argument("results", type=Path)
    running.add_argument("--coverage", type=Path, default=ROOT / ".coverage")
    running.add_argument("--durations", type=Path, help="what pytest --durations=0 printed")
    running.add_argument("--part", default="1/1", help="2/3 runs every third mutant, from the second on")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "choose":
        print(json.dumps([asdict(mutant) for mutant in choose(options.count, options.seed)], indent=1))
    elif options.command == "run":
        durations = options.durations.read_text("utf-8") if options.durations else ""
        runner = Runner(options.coverage, seconds_of(durations))
        part, parts = map(int, options.part.split("/"))
        for row in json.loads(options.mutants.read_text("utf-8"))[part - 1 :: parts]:
            outcome, test = runner.run(Mutant(**row))
            with options.results.open("a", encoding="utf-8") as results:
                results.write(json.dumps({"mutant": row, "outcome": outcome, "test": test}) + "\n")
    else:
        print("\n".join(compare(options.before, options.after)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
