"""Prints what CHANGELOG.md tells of the version in `app/__init__.py`, as the notes of its release.

`python packaging/release_notes.py --tag v1.2.0` also makes sure that the tag is that of this version.
"""

from __future__ import annotations

import argparse
import re
import sys

from project import ROOT, PackagingError, version

UNRELEASED = "Unreleased"


def section(changelog: str, version: str) -> str:
    """The text below `## VERSION` (a date may follow on that line), without the heading; PackagingError without one."""
    heading = re.compile(rf"^## \[?{re.escape(version)}\]?(?![^\s,:(])[^\n]*\n", re.MULTILINE)
    found = heading.search(changelog)
    text = re.split(r"^## ", changelog[found.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip() if found else ""
    if not text:
        raise PackagingError(f"CHANGELOG.md tells nothing of {version}. Give it a heading `## {version}` and text.")
    return text + "\n"


def notes(changelog: str, version: str, tag: str | None) -> str:
    """The notes of the release `tag`; without one, for a rehearsal, what is told of this version or is unreleased."""
    if tag is None:
        try:
            return section(changelog, version)
        except PackagingError:
            return section(changelog, UNRELEASED)
    if tag != f"v{version}":
        raise PackagingError(f"The tag is {tag}, but app/__init__.py says {version}. Tag v{version}, or change it.")
    return section(changelog, version)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag that is released; without it, this is a rehearsal")
    options = parser.parse_args()
    try:
        text = notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version(), options.tag)
    except PackagingError as error:
        print(f"release notes: {error}", file=sys.stderr)
        return 1
    # Windows would write the console's own encoding.
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
