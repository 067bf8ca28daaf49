"""`python -m benchmarks.fuzz_api`: schemathesis against a Hookline of its own, for some minutes or (`--quick`) just as
the test does. Ends with 1 when a check failed, and prints its report."""

from __future__ import annotations

import argparse
import random
import sys

from benchmarks.fuzz_api.run import QUICK, run
from benchmarks.programs import fresh_folder


def main(arguments: list[str] | None = None) -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="make fuzz-api", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, help="repeats the run of that seed")
    parser.add_argument("--quick", action="store_true", help="the short run of the tests, always the same")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    long = ("--seed", str(seed), "--max-time", str(max(1, round(options.minutes * 60))))
    with fresh_folder("hookline-fuzz-api-") as folder:
        code, report = run(folder, QUICK if options.quick else long)
    print(report)
    return min(code, 1)


if __name__ == "__main__":
    sys.exit(main())
