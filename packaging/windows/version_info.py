"""What Windows shows of `hookline.exe` under Properties, Details."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PyInstaller.utils.win32.versioninfo import VSVersionInfo

ENGLISH, UNICODE = 0x0409, 0x04B0


def numbers(version: str) -> tuple[int, int, int, int]:
    """Windows's four numbers for a version: `1.2.0rc1` is 1, 2, 0, 0."""
    found = [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version)[0])]
    first, second, third, fourth = (*found, 0, 0, 0, 0)[:4]
    return first, second, third, fourth


def version_resource(version: str, summary: str) -> VSVersionInfo:
    """The resource PyInstaller puts into the programs; to be called on Windows alone."""
    from PyInstaller.utils.win32 import versioninfo as info  # not importable elsewhere

    texts = {
        "CompanyName": "The Hookline authors",
        "FileDescription": summary,
        "FileVersion": version,
        "InternalName": "hookline",
        "ProductName": "Hookline",
        "ProductVersion": version,
    }
    table = info.StringTable(f"{ENGLISH:04x}{UNICODE:04x}", [info.StringStruct(*text) for text in texts.items()])
    return info.VSVersionInfo(
        ffi=info.FixedFileInfo(filevers=numbers(version), prodvers=numbers(version)),
        kids=[
            info.StringFileInfo([table]),
            info.VarFileInfo([info.VarStruct("Translation", [ENGLISH, UNICODE])]),
        ],
    )
