"""The program as a process is stopped and killed by signals; Windows has none of them."""

from __future__ import annotations

import sys

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []
