"""Makes the Windows installer from a bundle, with NSIS, on Windows or Linux.

`python packaging/windows/installer.py [--payload FOLDER] [--out FOLDER]` writes `hookline-VERSION-setup.exe`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

# Started as a file, it finds only its own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from icons import make_icons
from licences import NAME as LICENCES
from project import DIST, ROOT, PackagingError, told, version
from windows.pictures import make_pictures
from windows.version_info import numbers

SCRIPT = Path(__file__).with_name("hookline.nsi")
PROGRAMS = ("hookline.exe", "hooklinew.exe")
# The installer writes these two itself.
RESERVED = {"uninstall.exe", "uninst.exe"}


def make_installer(payload: Path, out: Path, version: str, papers: Sequence[Path] = ()) -> Path:
    """Write `out/hookline-VERSION-setup.exe`, which installs what is in `payload`, with `papers` beside the program.

    PackagingError says what is missing.
    """
    files = files_to_install(payload, papers)
    makensis = find_makensis()
    out.mkdir(parents=True, exist_ok=True)
    made = out.resolve() / f"hookline-{version}-setup.exe"
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        make_icons(folder)
        side, header = make_pictures(folder, folder)
        lists = folder / "files.nsh", folder / "removal.nsh"
        lists[0].write_text(installing(files), "utf-8-sig")
        lists[1].write_text(removing(files), "utf-8-sig")
        defines = {
            "VERSION": version,
            "VERSION4": ".".join(map(str, numbers(version))),
            "OUTPUT": made,
            "SIZE": sum(source.stat().st_size for source in files.values()) // 1024 + 1,
            "FILES": lists[0],
            "REMOVAL": lists[1],
            "ICON": folder / "hookline.ico",
            "SIDE": side,
            "HEADER": header,
        }
        compile_script(makensis, defines)
    return made


def files_to_install(payload: Path, papers: Sequence[Path] = ()) -> dict[PurePosixPath, Path]:
    """Each file's place in the install folder, sorted, and where it comes from; PackagingError when one is missing."""
    missing = [str(path) for path in (*(payload / name for name in PROGRAMS), *papers) if not path.is_file()]
    if missing:
        raise PackagingError(
            f"{' and '.join(missing)} missing. Make them first, on Windows: packaging/bundle.py, packaging/licences.py"
        )
    found = {PurePosixPath(path.relative_to(payload).as_posix()): path for path in payload.rglob("*") if path.is_file()}
    found |= {PurePosixPath(paper.name).with_suffix(".txt"): paper for paper in papers}
    taken = RESERVED.intersection(map(str, found))
    if taken:
        raise PackagingError(f"{payload} holds {taken.pop()}, which is the name of the installer's own file.")
    return {place: found[place].resolve() for place in sorted(found)}


def folders(files: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """The folders that hold `files`, each before those inside it; not the top one."""
    return sorted({parent for file in files for parent in file.parents if parent.name})


def installing(files: Mapping[PurePosixPath, Path]) -> str:
    """NSIS lines that install `files`."""
    lines = []
    for folder in (PurePosixPath(), *folders(files)):
        lines.append(f'SetOutPath "{installed(folder)}"')
        # The source is taken as it stands; only names of the target are NSIS strings.
        lines += [
            f'File "/oname={escaped(place.name)}" "{source}"'
            for place, source in files.items()
            if place.parent == folder
        ]
    return "\n".join(lines) + "\n"


def removing(files: Iterable[PurePosixPath]) -> str:
    """NSIS lines that remove `files`, and the folders that are empty then."""
    lines = [f'Delete "{installed(file)}"' for file in files]
    lines += [f'RMDir "{installed(folder)}"' for folder in reversed(folders(files))]
    return "\n".join(lines) + "\n"


def installed(place: PurePosixPath) -> str:
    """The path of an installed file or folder, as NSIS writes it."""
    return "\\".join(["$INSTDIR", *map(escaped, place.parts)])


def escaped(name: str) -> str:
    """In NSIS's strings `$` begins a name."""
    return name.replace("$", "$$")


def find_makensis() -> Path:
    """The compiler: on PATH, or where its own installer puts it."""
    found = shutil.which("makensis")
    if found:
        return Path(found)
    for variable in ("ProgramFiles(x86)", "ProgramFiles"):
        program = Path(os.environ.get(variable, "")) / "NSIS" / "makensis.exe"
        if program.is_absolute() and program.is_file():
            return program
    raise PackagingError(
        "makensis is missing, which compiles the Windows installer. On Debian and Ubuntu: sudo apt-get install nsis;"
        " on Windows install NSIS 3 or put the folder of makensis.exe on PATH."
    )


def compile_script(makensis: Path, defines: dict[str, object], script: Path = SCRIPT) -> None:
    """Run the compiler; a warning is a failure too."""
    words = [f"-D{name}={value}" for name, value in defines.items()]
    command = [str(makensis), "-V2", "-WX", "-INPUTCHARSET", "UTF8", *words, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise PackagingError(f"makensis failed ({done.returncode}):\n{said}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--payload", type=Path, default=DIST / "hookline", help="the bundle (dist/hookline)")
    parser.add_argument("--out", type=Path, default=DIST, help="where the installer goes (dist)")
    options = parser.parse_args()
    papers = (ROOT / "LICENSE", DIST / LICENCES)
    return told("installer", lambda: make_installer(options.payload, options.out, version(), papers))


if __name__ == "__main__":
    sys.exit(main())
