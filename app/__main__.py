"""`hookline`: prints its version at once, and otherwise starts what the command line asks for."""

from __future__ import annotations

import sys

from app import __version__

TYPE_CHECKING = False  # typing takes as long to load as all else that the version needs
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the process's exit code."""
    given = sys.argv[1:] if argv is None else list(argv)
    if given == ["--version"] and sys.stdout is not None:
        print(f"hookline {__version__}", flush=True)
        return 0
    _load_msgspec()
    from app.start import start  # start-up time: the version needs nothing else

    return start(given)


def _load_msgspec() -> None:
    """Without typing_extensions, of which it needs nothing since Python 3.11: with inspect and ast that would take as
    long to load as msgspec itself."""
    hidden = sys.modules.setdefault("typing_extensions", None) is None  # type: ignore[arg-type]
    import msgspec  # noqa: F401  # start-up time, as above

    if hidden:
        del sys.modules["typing_extensions"]


if __name__ == "__main__":
    sys.exit(main())
