"""Makes `hookline-VERSION-linux-x86_64.tar.gz`: unpack anywhere and start; the same bytes from the same input."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from linux.share import is_program
from whole import made_whole

HERE = Path(__file__).parent
Entry = tuple[str, Path]


def entries(bundle: Path, share: Path, papers: Iterable[Path]) -> Iterator[Entry]:
    """All files and links under their names below the top folder."""
    for prefix, folder in (("", bundle), ("share/", share)):
        for path in folder.rglob("*"):
            if path.is_symlink() or not path.is_dir():
                yield prefix + path.relative_to(folder).as_posix(), path
    for paper in papers:
        yield paper.name, paper
    yield "install.sh", HERE / "install.sh"


def header(name: str, path: Path, epoch: int) -> tarfile.TarInfo:
    """The entry without anything that depends on who makes it, and when."""
    info = tarfile.TarInfo(name)
    info.mtime = epoch
    info.uname = info.gname = "root"
    if path.is_symlink():
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
    else:
        info.size, info.mode = path.stat().st_size, 0o755 if is_program(path) else 0o644
    return info


def folders_of(names: Iterable[str]) -> list[str]:
    """Every folder that the names lie in, parents first."""
    return sorted({parent.as_posix() for name in names for parent in Path(name).parents} - {"."})


def make_tarball(
    bundle: Path, share: Path, papers: Iterable[Path], out: Path, *, version: str, epoch: int, glibc: str
) -> Path:
    """Pack the onedir `bundle`, the `usr/share` tree, the `papers` (licences) and `install.sh` under one top folder.

    `out` names the file and, without `.tar.gz`, the folder; everything is dated `epoch`, owned by root and sorted.
    `glibc` is the oldest version that will do, which the README.txt made here names.
    """
    top = out.name.removesuffix(".tar.gz")
    readme = (HERE / "README.txt").read_text("utf-8").replace("@VERSION@", version).replace("@GLIBC@", glibc).encode()
    # A paper that lies in the bundle too is the same one.
    found = dict(entries(bundle, share, papers))
    with (
        made_whole(out) as part,
        part.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=9, fileobj=raw, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for folder in [top, *(f"{top}/{name}" for name in folders_of(found))]:
            info = tarfile.TarInfo(folder)
            info.type, info.mode, info.mtime, info.uname, info.gname = tarfile.DIRTYPE, 0o755, epoch, "root", "root"
            archive.addfile(info)
        for name, path in sorted(found.items()):
            info = header(f"{top}/{name}", path, epoch)
            if info.issym():
                archive.addfile(info)
                continue
            with path.open("rb") as file:
                archive.addfile(info, file)
        info = header(f"{top}/README.txt", HERE / "README.txt", epoch)
        info.size = len(readme)
        archive.addfile(info, io.BytesIO(readme))
    return out
