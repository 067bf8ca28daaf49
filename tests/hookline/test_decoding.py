"""Types are decoded by several threads: the first time, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOGETHER = """
import sys
import threading
from types import ModuleType

import msgspec

from hookline.decoding import convert, decode_json

CLASSES = '''
import msgspec

class Inner(msgspec.Struct):
    number: int
    lists: "dict[str, list[int]] | None" = None
    words: "tuple[str, ...]" = ()

class Outer(msgspec.Struct):
    one: Inner
    several: "tuple[Inner, ...]" = ()
    named: "dict[str, Inner] | None" = None
'''
GIVEN = {"one": {"number": 1}, "several": [{"number": 2}], "named": {"a": {"number": 3}}}
sys.setswitchinterval(1e-6)
for number in range(100):  # each time with classes that nobody has used
    module = sys.modules[f"classes{number}"] = ModuleType(f"classes{number}")
    exec(CLASSES, module.__dict__)
    together = threading.Barrier(4)

    def decode(outer, inner):
        together.wait()
        assert decode_json(msgspec.json.encode(GIVEN), outer) == convert(GIVEN, outer)
        assert convert({"number": 4}, inner).number == 4

    threads = [threading.Thread(target=decode, args=(module.Outer, module.Inner)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("all decoded")
"""


def test_threads_may_use_a_type_for_the_first_time_together() -> None:
    """msgspec 0.22 alone ends such a process by a segmentation fault, within a few classes."""
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "all decoded\n", "")
