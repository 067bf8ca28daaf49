"""The fonts that the tests run with, whatever else the machine has: sizes depend on them.

DejaVu Sans is wide, and the only font of many a fresh machine; Yanone Kaffeesatz has six tenths of its width.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from xml.sax.saxutils import escape

WIDE, NARROW = "wide", "narrow"
FILES = {
    WIDE: ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"),
    NARROW: ("YanoneKaffeesatz-*.otf",),
}
"""File names of each choice, with wildcards."""

CONFIGURATION = "<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>"


def font_files(choice: str) -> list[Path]:
    """The installed files of `choice`, which is a key of `FILES` or a file name with wildcards."""
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "fonts"
    folders = (home, Path("/usr/local/share/fonts"), Path("/usr/share/fonts"))
    found = (file for folder in folders for name in FILES.get(choice, (choice,)) for file in folder.rglob(name))
    return list({file.name: file for file in found}.values())


def configuration(choice: str, folder: Path) -> Path | None:
    """Write to `folder` what FONTCONFIG_FILE has to name for programs to find the files of `choice` only. Its cache is
    there too. None if no such font is installed, or programs ask something else for fonts.
    """
    files = font_files(choice) if sys.platform.startswith("linux") else []
    if not files:
        return None
    fonts = folder / "fonts"
    fonts.mkdir(parents=True)
    for file in files:
        (fonts / file.name).symlink_to(file)
    written = folder / "fonts.conf"
    written.write_text(CONFIGURATION.format(fonts=escape(str(fonts)), cache=escape(str(folder / "cache"))), "utf-8")
    return written
