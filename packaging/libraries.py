"""The shared libraries of the build system that the bundle brings along, as components: Debian's packages of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from components import Component
from project import PackagingError, run

DOC, COMMON = Path("/usr/share/doc"), Path("/usr/share/common-licenses")
MULTIARCH = re.compile(r":[a-z0-9]+$")
# By source package: Debian's own names of licences are not SPDX's.
LICENCES = {
    "brotli": "MIT",
    "bzip2": "bzip2-1.0.6",
    "dbus": "AFL-2.1 OR GPL-2.0-or-later",
    "e2fsprogs": "MIT",
    "expat": "MIT",
    "glib2.0": "LGPL-2.1-or-later",
    "keyutils": "LGPL-2.0-or-later",
    "krb5": "MIT",
    "libbsd": "BSD-3-Clause",
    "libffi": "MIT",
    "libmd": "BSD-3-Clause",
    "libpng1.6": "libpng-2.0",
    "libxau": "MIT",
    "libxcb": "MIT",
    "libxcrypt": "LGPL-2.1-or-later",
    "libxdmcp": "MIT",
    "libxkbcommon": "MIT",
    "libzstd": "BSD-3-Clause",
    "mpdecimal": "BSD-2-Clause",
    "ncurses": "X11-distribute-modifications-variant",
    "openssl": "Apache-2.0",
    "pcre2": "BSD-3-Clause",
    "pcre3": "BSD-3-Clause",
    "sqlite3": "blessing",
    "util-linux": "BSD-3-Clause",
    "wayland": "MIT",
    "xcb-util": "MIT",
    "xcb-util-cursor": "MIT",
    "xcb-util-image": "MIT",
    "xcb-util-keysyms": "MIT",
    "xcb-util-renderutil": "MIT",
    "xcb-util-wm": "MIT",
    "xz-utils": "0BSD",
    "zlib": "Zlib",
}
REMARK = "{system}'s build of {source} {version}."


def known_libraries() -> dict[str, Path]:
    """The system's shared libraries by the name that programs ask for."""
    # Debian has /sbin on the PATH of administrators only.
    rows = re.findall(r"^\s*(\S+) \(.*x86-64.*\) => (\S+)$", run("/sbin/ldconfig", "-p"), re.MULTILINE)
    return {name: Path(path) for name, path in reversed(rows)}


def package_of(library: Path) -> str:
    """The Debian package that the file came with; PackagingError when none did."""
    # Debian 12 lists some files below /lib that lie below /usr/lib.
    real = library.resolve()
    spellings = dict.fromkeys((str(real), str(real).removeprefix("/usr"), str(library), f"/usr{library}"))
    for spelling in spellings:
        try:
            return run("dpkg", "-S", spelling).split(": ")[0].split(",")[0]
        except PackagingError:
            continue
    raise PackagingError(f"{library} came with no Debian package, so its licence is not known.")


def system_name() -> str:
    """Debian, Ubuntu, …: whose packages these are."""
    found = re.search(r'^NAME="?([A-Za-z]+)', Path("/etc/os-release").read_text("utf-8"), re.MULTILINE)
    return found[1] if found else "Debian"


def copyright_texts(package: str) -> tuple[str, ...]:
    """The package's own copyright file, then every common licence that it refers to."""
    paper = DOC / package / "copyright"
    if not paper.is_file():
        return ()
    told = paper.read_text("utf-8", errors="replace")
    named = sorted({name.rstrip(".") for name in re.findall(rf"{COMMON}/([A-Za-z0-9.-]+)", told)})
    return told, *((COMMON / name).read_text("utf-8") for name in named if (COMMON / name).is_file())


def licence_of(source: str, told: str) -> str:
    """SPDX's expression where it is known, else the names of the licences in Debian's words."""
    names = sorted(set(re.findall(r"^License:\s*(\S.*)$", told, re.MULTILINE)))
    return LICENCES.get(source) or ", ".join(names)


def library_components(names: Iterable[str]) -> list[Component]:
    """One component for each Debian package that brings any of these libraries."""
    known, system = known_libraries(), system_name()
    missing = sorted(name for name in set(names) if name not in known)
    if missing:
        raise PackagingError(f"{', '.join(missing)} in the bundle belongs to no known component.")
    made = {}
    for package in sorted({package_of(known[name]) for name in names}):
        ask = "${source:Package} ${source:Version} ${Version}"
        source, source_version, version = run("dpkg-query", "-W", "-f", ask, package).split()
        name, texts = MULTIARCH.sub("", package), copyright_texts(MULTIARCH.sub("", package))
        made[name] = Component(
            name,
            version,
            licence_of(source, texts[0]) if texts else "",
            f"pkg:deb/{system.lower()}/{name}@{version.replace(':', '%3A').replace('+', '%2B')}?arch=amd64",
            texts,
            remark=REMARK.format(system=system, source=source, version=source_version),
        )
    return list(made.values())
