"""Writes `THIRD-PARTY-LICENCES.txt`: what a bundle contains of others, a list first, then the texts of all licences."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from cyclonedx.spdx import is_expression

from components import Component
from inventory import made_bundle, take_stock
from project import DIST, told, version
from whole import made_whole

NAME = "THIRD-PARTY-LICENCES.txt"
WIDTH = 100
RULE = "=" * WIDTH
HEAD = """\
What Hookline {version} is built on
{line}

Hookline itself is under the MIT licence (the file LICENSE). The packaged program also contains the
works of others that are listed here: name, version, licence. The texts of the licences follow.

"""


def row(component: Component, width: int) -> str:
    """One line of the list; a long licence or a remark goes on below it."""
    hang = " " * (width + 2)
    lines = textwrap.wrap(component.licence, WIDTH - len(hang), break_on_hyphens=False)
    lines += textwrap.wrap(component.remark, WIDTH - len(hang))
    lines[0] = f"{f'{component.name} {component.version}':{width}}  {lines[0]}"
    return f"\n{hang}".join(lines)


def licence_list(components: Iterable[Component], version: str) -> str:
    """The whole file. A text that several components share is printed once, under all their names."""
    found = list(components)
    width = max(len(f"{component.name} {component.version}") for component in found)
    owners: dict[str, list[str]] = {}
    for component in found:
        for text in component.texts:
            names = owners.setdefault("\n".join(line.rstrip() for line in text.strip("\n").splitlines()), [])
            if component.name not in names:
                names.append(component.name)
    title = HEAD.format(version=version, line="=" * len(f"What Hookline {version} is built on"))
    listed = "\n".join(row(component, width) for component in found)
    texts = "".join(
        f"\n\n{RULE}\n{textwrap.fill(', '.join(names), WIDTH, break_on_hyphens=False)}\n{RULE}\n\n{text}\n"
        for text, names in owners.items()
    )
    return f"{title}{listed}\n{texts}"


def combined(components: Iterable[Component]) -> str:
    """One SPDX expression for a package of Hookline with all these, as .rpm's licence field wants it."""
    known = (component.licence for component in components if is_expression(component.licence))
    terms = {f"({term})" if " OR " in term else term for licence in known for term in licence.split(" AND ")}
    return " AND ".join(["MIT", *sorted(terms - {"MIT"})])


def make_licences(components: Iterable[Component], out: Path, version: str) -> Path:
    """Write the list as `out`."""
    with made_whole(out) as part:
        part.write_text(licence_list(components, version), "utf-8", newline="\n")
    return out


def main() -> int:
    def make() -> Path:
        bundle, _, python = made_bundle()
        return make_licences(take_stock(bundle, python), DIST / NAME, version())

    return told("licences", make)


if __name__ == "__main__":
    sys.exit(main())
