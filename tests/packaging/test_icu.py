"""Qt does with the smaller data of ICU what it does with all of them."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest

from linux.icu import UNUSED, smaller_data, smaller_library, without_unused_data
from project import PackagingError

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("objcopy") is None,
        reason="Qt brings ICU on Linux alone, where binutils read it",
    ),
]

LIBRARIES = Path(PySide6.__path__[0]) / "Qt" / "lib"
ASKED = ("u_strtolower", "u_strtoupper", "ucal", "ucnv", "ucol")

QT_ASKS_ICU = """
import sys
from PySide6.QtCore import QBuffer, QCollator, QDateTime, QLocale, QStringConverter, QTimeZone, QXmlStreamReader

words = ["z", "ä", "a", "ö", "Z", "日", "ch", "c", "h", "한", "i"]
for name in ("de", "sv", "cs", "tr", "ja", "zh", "ko"):
    collator = QCollator(QLocale(name))
    print(name, sorted(words, key=collator.sortKey), QLocale(name).toUpper("iß"), QLocale(name).toLower("IΣ"))
texts = {"Shift_JIS": "日本", "GB18030": "中文", "Big5": "繁", "EUC-KR": "한국", "KOI8-R": "Привет", "cp1252": "€"}
for name, text in texts.items():
    buffer = QBuffer()
    buffer.setData(f'<?xml version="1.0" encoding="{name}"?><a>{text}</a>'.encode(name))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    reader = QXmlStreamReader(buffer)
    assert reader.readNextStartElement()
    assert reader.readElementText() == text, name
print(QStringConverter.availableCodecs())
moments = [QDateTime.fromSecsSinceEpoch(seconds) for seconds in (1_700_000_000, 1_720_000_000)]
for zone in (b"Europe/Berlin", b"America/New_York", b"Asia/Tokyo", b"Pacific/Apia"):
    for name in ("en_GB", "de", "ja", "pt_BR", "zh_TW"):
        for form in QTimeZone.NameType:
            print(zone, name, [QTimeZone(zone).displayName(moment, form, QLocale(name)) for moment in moments])
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libicudata" in line}
print(*loaded, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def whole() -> Path:
    (library,) = LIBRARIES.glob("libicudata.so.*")
    return library


@pytest.fixture(scope="module")
def smaller(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smaller_library(whole, tmp_path_factory.mktemp("smaller"))


def items(content: bytes) -> list[tuple[str, bytes]]:
    """Names and contents in the order of the table, each content at a multiple of 16."""
    body = content[int.from_bytes(content[:2], "little") :]
    (count,) = struct.unpack_from("<I", body)
    numbers = struct.unpack_from(f"<{2 * count}I", body, 4)
    names = [body[at : body.index(b"\0", at)].decode() for at in numbers[::2]]
    starts = numbers[1::2]
    assert not [start for start in starts if start % 16]
    ends = (*starts[1:], len(body))
    return [(name, body[start:end]) for name, start, end in zip(names, starts, ends, strict=True)]


def data_of(library: Path, folder: Path) -> bytes:
    command = ["objcopy", "-O", "binary", "--only-section=.rodata", library, folder / "data"]
    subprocess.run(command, check=True)
    return (folder / "data").read_bytes()


def said_by_qt(library: Path) -> tuple[str, str]:
    """What Qt says with this library of data, and the path of the one that was loaded."""
    # Qt's libraries look into this folder before their own.
    environment = os.environ | {"LD_LIBRARY_PATH": str(library.parent), "PYTHONUTF8": "1", "TZ": "UTC"}
    command = [sys.executable, "-c", QT_ASKS_ICU]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.strip()


def test_qt_sorts_decodes_and_names_zones_as_with_all_data(whole: Path, smaller: Path) -> None:
    expected, _ = said_by_qt(whole)
    said, loaded = said_by_qt(smaller)
    assert loaded == str(smaller)
    assert said == expected
    assert smaller.stat().st_size < 0.6 * whole.stat().st_size


def test_qt_asks_for_nothing_else_of_icu(whole: Path) -> None:
    version = whole.suffix[1:]
    asked = set()
    for path in LIBRARIES.glob("libQt6*.so.6"):
        text = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
        asked |= set(re.findall(rf"\*UND\*.*\s(\w+)_{version}$", text, re.MULTILINE))
    assert asked
    assert not [name for name in asked if not name.lower().startswith(ASKED)]


def test_only_the_unused_folders_go(whole: Path, tmp_path: Path) -> None:
    content = data_of(whole, tmp_path)
    before, after = items(content), items(smaller_data(content))
    folders = {name.split("/")[1] for name, _ in before if name.count("/") == 2}
    assert folders >= UNUSED
    assert after == [(name, item) for name, item in before if name.split("/")[1] not in UNUSED]


def test_what_is_not_icus_data_is_an_error() -> None:
    with pytest.raises(PackagingError, match="do not begin as expected"):
        smaller_data(b"\x90\x00something else")


def test_only_the_library_of_data_is_made_anew(whole: Path, tmp_path: Path) -> None:
    name = f"PySide6/Qt/lib/{whole.name}"
    others = [("libicuuc.so.73", "/built/libicuuc.so.73", "BINARY"), (whole.name, name, "SYMLINK")]
    made = without_unused_data([(name, str(whole), "BINARY"), *others], tmp_path)
    assert made == [(name, str(tmp_path / whole.name), "BINARY"), *others]
