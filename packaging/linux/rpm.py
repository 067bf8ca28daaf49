"""Makes `hookline-VERSION-1.x86_64.rpm` for Fedora, openSUSE and their relatives, from a ready tree."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from linux.share import UNIT, set_modes, sorted_version, stage_program, stage_unit
from linux.sonames import Needs
from project import DESCRIPTION, HOME, SUMMARY, run
from whole import made_whole

HERE = Path(__file__).parent
LIB, LICENCES, DOC = "usr/lib/hookline", "usr/share/licenses/hookline", "usr/share/doc/hookline"


def file_name(version: str) -> str:
    """What the package is to be called."""
    return f"hookline-{sorted_version(version)}-1.x86_64.rpm"


def stage(bundle: Path, share: Path, papers: Iterable[Path], tree: Path) -> None:
    """Lay out everything under `tree` as it is to lie on the system; `papers` become the licences."""
    stage_program(tree / "usr", bundle)
    stage_unit(tree / "usr")
    shutil.copytree(share, tree / "usr/share", symlinks=True)
    (tree / LICENCES).mkdir(parents=True)
    for paper in papers:
        shutil.copyfile(paper, tree / LICENCES / paper.name)
    set_modes(tree)


def file_list(tree: Path) -> str:
    """The lines of `%files`: the package owns its own folders, of those that others use too only its files."""
    lines = ["/usr/bin/hookline", f"/usr/lib/systemd/system/{UNIT.name}", f"/{LIB}", f"%license /{LICENCES}"]
    if (tree / DOC).is_dir():
        lines.append(f"%doc /{DOC}")
    for path in sorted((tree / "usr/share").rglob("*")):
        name = path.relative_to(tree)
        if not path.is_dir() and not name.is_relative_to(LICENCES) and not name.is_relative_to(DOC):
            lines.append(f'"/{name}"')
    return "\n".join(lines)


def relations(needs: Needs) -> str:
    """The lines of what the package asks for; by the libraries' names, which Fedora's and openSUSE's packages share."""
    lines = [f"Requires: libc.so.6(GLIBC_{needs.glibc})(64bit)"]
    lines += [f"Requires: {name}()(64bit)" for name in needs.required]
    lines += [f"Recommends: {name}()(64bit)" for name in needs.optional]
    return "\n".join(lines)


def spec(tree: Path, version: str, licence: str, needs: Needs) -> str:
    """The filled-in spec file; `licence` is an SPDX expression."""
    text = (HERE / "hookline.spec.in").read_text("utf-8")
    values = {
        "VERSION": sorted_version(version),
        "SUMMARY": SUMMARY,
        "LICENCE": licence,
        "HOME": HOME,
        "RELATIONS": relations(needs),
        "DESCRIPTION": DESCRIPTION,
        "TREE": str(tree),
        "FILES": file_list(tree),
    }
    return re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], text)


def make_rpm(
    bundle: Path,
    share: Path,
    papers: Iterable[Path],
    out: Path,
    *,
    version: str,
    epoch: int,
    licence: str,
    needs: Needs,
) -> Path:
    """Pack the onedir `bundle`, the `usr/share` tree and the `papers` (licences) as the file `out`, dated `epoch`.

    PackagingError when rpmbuild is missing or refuses.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-rpm-") as folder:
        top = Path(folder)
        tree = top / "tree"
        stage(bundle, share, papers, tree)
        (top / "hookline.spec").write_text(spec(tree, version, licence, needs), "utf-8")
        defines = (f"_topdir {top}", f"_tmppath {top}/tmp", f"_rpmdir {top}/made", "_rpmfilename hookline.rpm")
        options = [word for define in defines for word in ("--define", define)]
        # HOME: a packager's own ~/.rpmmacros would change what is made.
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch), "HOME": folder, "LC_ALL": "C.UTF-8"}
        build = ("rpmbuild", "-bb", "--quiet", "--target", "x86_64-linux")
        run(*build, *options, top / "hookline.spec", environment=environment)
        with made_whole(out) as part:
            shutil.copyfile(top / "made/hookline.rpm", part)
    return out
