"""What is kept of a made-up bundle, by the rules of all systems, and that the lists name what there is."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import PySide6
import pytest
from PySide6.QtGui import QRawFont
from PySide6.QtWidgets import QApplication

import prune
from app.core.files import resource
from app.ui.theme import icons
from components import parts_of

pytestmark = pytest.mark.long

QT = "PySide6/Qt"
PLUGINS = f"{QT}/plugins"
OTHER_SYSTEMS = {"qcocoa", "qwindows"}
needs_objdump = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("objdump") is None, reason="needs Linux and objdump (binutils)"
)


def binary(name: str) -> prune.Entry:
    return (name, f"/built/{name}", "BINARY")


def extension(name: str) -> prune.Entry:
    return (name, f"/built/{name}", "EXTENSION")


def linked(links: dict[str, str]) -> Callable[[str], Iterable[str]]:
    """Which libraries each file needs, told by file names."""

    def needs(path: str) -> list[str]:
        return links.get(path.replace("\\", "/").rpartition("/")[2], "").lower().split()

    return needs


def names(entries: Iterable[prune.Entry]) -> set[str]:
    return {entry[0] for entry in entries}


def test_a_library_stays_when_something_that_stays_needs_it_however_far() -> None:
    entries = [
        extension("PySide6/QtWidgets.abi3.so"),
        binary(f"{QT}/lib/libQt6Widgets.so.6"),
        binary(f"{QT}/lib/libQt6Core.so.6"),
        binary(f"{QT}/lib/libQt6Pdf.so.6"),
        binary(f"{QT}/lib/libicuuc.so.73"),
    ]
    links = {
        "QtWidgets.abi3.so": "libQt6Widgets.so.6 libc.so.6",
        "libQt6Widgets.so.6": "libQt6Core.so.6",
        "libQt6Core.so.6": "libicuuc.so.73 libQt6Core.so.6",
    }
    kept = prune.kept_binaries(entries, linked(links))
    assert names(entries) - names(kept) == {f"{QT}/lib/libQt6Pdf.so.6"}
    assert len(kept) == len(names(kept))


def test_only_the_named_plugins_stay_and_no_library_that_another_wanted() -> None:
    entries = [
        binary(f"{PLUGINS}/platforms/libqxcb.so"),
        binary(f"{PLUGINS}/platforms/libqvnc.so"),
        binary(f"{PLUGINS}/sqldrivers/libqsqlite.so"),
        binary(f"{QT}/lib/libQt6XcbQpa.so.6"),
        binary(f"{QT}/lib/libQt6Sql.so.6"),
    ]
    links = {"libqxcb.so": "libQt6XcbQpa.so.6", "libqsqlite.so": "libQt6Sql.so.6", "libqvnc.so": "libQt6Sql.so.6"}
    kept = prune.kept_binaries(entries, linked(links))
    assert names(kept) == {f"{PLUGINS}/platforms/libqxcb.so", f"{QT}/lib/libQt6XcbQpa.so.6"}


def test_a_plugin_does_not_stay_in_another_folder_than_its_own() -> None:
    assert prune.kept_binaries([binary(f"{PLUGINS}/generic/libqxcb.so")], linked({})) == []


@pytest.mark.parametrize(
    "name", ["libpython3.11.so.1.0", "python311.dll", "python3.dll", "libpython3.13.dylib", "Python"]
)
def test_python_stays_though_nothing_is_linked_to_it(name: str) -> None:
    assert prune.kept_binaries([binary(name)], linked({})) == [binary(name)]


@pytest.mark.parametrize("name", ["libstdc++.so.6", "libX11.so.6", "libz.so.1", "libfontconfig.so.1"])
def test_what_goes_with_the_users_own_drivers_and_fonts_is_left_to_the_system(name: str) -> None:
    entries = [extension("a.so"), binary(name)]
    assert prune.kept_binaries(entries, linked({"a.so": name})) == [extension("a.so")]


@pytest.mark.parametrize("name", ["libzstd.so.1", "libX11-custom.so.6", "libxcb-cursor.so.0"])
def test_a_library_is_not_taken_for_one_of_the_system_by_the_beginning_of_its_name(name: str) -> None:
    entries = [extension("a.so"), binary(name)]
    assert prune.kept_binaries(entries, linked({"a.so": name})) == entries


def test_windows_names_are_understood_whatever_their_case_and_slashes() -> None:
    entries = [
        extension("PySide6\\QtCore.pyd"),
        binary("PySide6\\Qt6Core.dll"),
        binary("PySide6\\plugins\\platforms\\qwindows.dll"),
        binary("PySide6\\plugins\\platforms\\qminimal.dll"),
        binary("PySide6\\opengl32sw.dll"),
        binary("VCRUNTIME140.dll"),
        binary("PySide6\\VCRUNTIME140.dll"),
    ]
    links = {"QtCore.pyd": "qt6core.dll kernel32.dll", "Qt6Core.dll": "vcruntime140.dll"}
    kept = prune.kept_binaries(entries, linked(links))
    assert names(entries) - names(kept) == {"PySide6\\plugins\\platforms\\qminimal.dll", "PySide6\\opengl32sw.dll"}


def test_a_link_goes_with_what_it_leads_to() -> None:
    kept = [binary(f"{QT}/lib/libQt6Core.so.6")]
    links = [
        ("libQt6Core.so.6", f"{QT}/lib/libQt6Core.so.6", "SYMLINK"),
        ("data.pem", "certifi/data.pem", "SYMLINK"),
        ("certifi/data.pem", "/built/data.pem", "DATA"),
        ("libQt6Pdf.so.6", f"{QT}/lib/libQt6Pdf.so.6", "SYMLINK"),
    ]
    assert prune.kept_datas(links, kept) == links[:-1]


def test_a_framework_goes_whole_or_stays_whole() -> None:
    def framework(name: str) -> list[prune.Entry]:
        home = f"{QT}/lib/{name}.framework"
        return [
            (f"{home}/{name}", f"Versions/Current/{name}", "SYMLINK"),
            (f"{home}/Versions/Current", "A", "SYMLINK"),
            (f"{home}/Versions/A/Resources/Info.plist", "/built/Info.plist", "DATA"),
        ]

    kept = [binary(f"{QT}/lib/QtCore.framework/Versions/A/QtCore")]
    assert prune.kept_datas(framework("QtCore") + framework("QtPdf"), kept) == framework("QtCore")


def test_data_stays_but_records_of_pip_and_translations() -> None:
    def data(name: str) -> prune.Entry:
        return (name, f"/built/{name}", "DATA")

    kept = [data("app/resources/icons/hookline.svg"), data("certifi/cacert.pem"), data("base_library.zip")]
    kept += [data(f"app/resources/{icons.FONT}"), data(f"app/resources/{icons.ICONS}")]
    kept += [data("httpx-0.28.1.dist-info/METADATA"), data("httpx-0.28.1.dist-info/licenses/LICENSE.md")]
    gone = [data("httpx-0.28.1.dist-info/RECORD"), data("httpx-0.28.1.dist-info/direct_url.json")]
    gone += [data(f"{QT}/translations/qtbase_de.qm")]
    assert prune.kept_datas(kept + gone, []) == kept


def test_every_plugin_that_is_named_is_there() -> None:
    folders = [path for path in Path(PySide6.__path__[0]).rglob("plugins") if path.is_dir()]
    installed = {(file.parent.name, file.stem.removeprefix("lib")) for home in folders for file in home.glob("*/*")}
    if not sys.platform.startswith("linux"):
        pytest.skip("most plugins named are those of Linux")
    named = {(folder, name) for folder, stems in prune.PLUGINS.items() for name in stems - OTHER_SYSTEMS}
    assert named <= installed


def test_the_icon_font_has_every_icon_and_one_known_licence(qapp: QApplication) -> None:
    font = QRawFont(str(resource(icons.FONT)), 16)
    assert all(font.supportsCharacter(ord(character)) for character in icons.characters().values())
    assert [part.name for part in parts_of([resource(icons.FONT)])] == ["Phosphor Icons"]


def test_no_module_of_hookline_asks_for_one_that_is_excluded() -> None:
    root = Path(__file__).parents[2]
    wanted = ("import {}\n", "import {}.", "from {} import", "from {}.")
    text = "\n".join(path.read_text("utf-8") for path in (root / "app").rglob("*.py"))
    assert not [name for name in prune.EXCLUDES for form in wanted if form.format(name) in text]


def test_what_only_linux_has_a_use_for_is_asked_for_in_one_module() -> None:
    root = Path(__file__).parents[2]
    asking = [path.name for path in (root / "app").rglob("*.py") if "PySide6.QtDBus" in path.read_text("utf-8")]
    assert prune.LINUX_ONLY == ["PySide6.QtDBus"]
    assert asking == ["freedesktop.py"]


def is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its package is not
        return False


def test_every_excluded_module_is_one_that_could_get_in() -> None:
    elsewhere = {"distutils", "setuptools"}  # the first is setuptools's since Python 3.12
    elsewhere |= {"_pydatetime"}  # since Python 3.12
    elsewhere |= {name for name in prune.EXCLUDES if name.startswith("backports.")}  # not needed since 3.14
    elsewhere |= {"wcwidth._wcwidth_c"}  # not built for every system
    unknown = [name for name in prune.EXCLUDES if name not in sys.stdlib_module_names and not is_installed(name)]
    assert set(unknown) <= elsewhere


WITHOUT_THE_EXCLUDED = """
import sys
import prune

left_out = [*prune.EXCLUDES, *([] if sys.platform == "win32" else prune.WINDOWS_ONLY)]
sys.modules |= dict.fromkeys(left_out)  # to import one of them is an error now
from app.__main__ import main
from filelock import FileLock, SoftFileLock
import wcwidth

for kind in (FileLock, SoftFileLock):  # the second where a file system cannot lock
    with kind(f"{sys.argv[1]}/{kind.__name__}"):
        pass
assert wcwidth.width("日本", control_codes="ignore") == 4
assert list(wcwidth.iter_graphemes("e\u0301日")) == ["e\u0301", "日"]
sys.exit(main(["selftest", "--headless"]))
"""


def test_the_program_does_without_what_is_excluded(tmp_path: Path) -> None:
    root = Path(prune.__file__).parent.parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "packaging")])}
    command = [sys.executable, "-c", WITHOUT_THE_EXCLUDED, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_objdump
def test_every_library_left_to_the_system_is_one_that_qt_needs() -> None:
    qt = Path(PySide6.__path__[0]) / "Qt"
    libraries = [qt / "lib" / f"libQt6{name}.so.6" for name in ("Core", "Gui", "DBus", "XcbQpa")]
    needed = {name.partition(".so")[0] for path in libraries for name in prune.libraries_of(str(path))}
    assert {name.removesuffix(".so").lower() for name in prune.SYSTEM} <= needed


@needs_objdump
def test_what_is_no_library_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no library")
    with pytest.raises(subprocess.CalledProcessError, match="objdump"):
        prune.libraries_of(str(tmp_path / "text"))


WITHOUT_THE_REST = """
import sys
import prune
from app.ui.theme import icons
from app.core.bodies.formats.code import LANGUAGES
from app.core.bodies.formats.code import lexer_of, token_runs

gone = prune.unused_lexers()
assert {"pygments.lexers.perl", "pygments.formatters.html", "pygments.styles.vim"} <= set(gone)
sys.modules |= dict.fromkeys(gone)  # to import one of them is an error now
for language in LANGUAGES:
    assert language.lexer.rpartition(".")[0] in prune.lexers()
    assert list(token_runs(lexer_of(language.lexer), "a = 1"))
"""


def test_of_pygments_only_what_colours_bodies_goes_in() -> None:
    """In a process of its own: in this one others have loaded more of it."""
    root = Path(prune.__file__).parent.parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "packaging")])}
    subprocess.run([sys.executable, "-c", WITHOUT_THE_REST], check=True, env=environment)
