"""`make package-test`: tries what `make package` made on a bare system without Python, checks and measures it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

# Started as a file, it finds only its own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from linux import deb, rpm
from project import BUILD, DIST, version
from trial import measures, others, validators
from trial.installing import Installing
from trial.report import Report
from trial.room import Room, TrialError, enter_namespace, make_base, unpack
from windows import trial as windows_trial

VERSION = version()
WORK = BUILD / "trial"
DEB = DIST / deb.file_name(VERSION)
RPM = DIST / rpm.file_name(VERSION)
TARBALL = DIST / f"hookline-{VERSION}-linux-x86_64.tar.gz"
ONEFILE = DIST / f"hookline-{VERSION}-linux-x86_64"
APPDIR = DIST / "Hookline.AppDir"


def main() -> int:
    """All trials; the exit code."""
    try:
        enter_namespace([sys.executable, *sys.argv])
        missing = [path.name for path in (DEB, RPM, TARBALL, ONEFILE, APPDIR) if not path.exists()]
        if missing:
            raise TrialError(f"dist/ lacks {', '.join(missing)}. Run make package first.")
        WORK.mkdir(parents=True, exist_ok=True)
        base = WORK / "base.tar"
        if not base.is_file():
            print("making the bare system (once)", flush=True)
            make_base(base)
        room = unpack(base, WORK / "room")
    except TrialError as error:
        print(f"package-test: {error}", file=sys.stderr)
        return 1
    report = Report()
    check(report)
    try_forms(report, room)
    measure(report)
    report.trial("the Windows installer installs, upgrades and uninstalls under wine", windows_trial.try_installer)
    return report.close()


def check(report: Report) -> None:
    """What needs no system to try it on."""
    report.trial("desktop-file-validate", validators.desktop_entry)
    report.trial("appstreamcli validate --no-net", validators.metainfo)
    report.trial("manual page", partial(validators.manual, APPDIR / "usr/share/man/man1/hookline.1.gz"))
    report.trial("lintian", partial(validators.lintian, DEB))
    report.trial("check-jsonschema on every workflow", validators.workflows)


def try_forms(report: Report, room: Room) -> None:
    """Every package on the bare system, in an order in which each finds what it is to find there."""
    installing = Installing(room, DEB, WORK)
    onefile, appdir = room.bring(ONEFILE), room.bring(APPDIR)
    unpacked = others.unpack_tarball(room, TARBALL)
    report.trial("the system is bare", installing.no_python)
    report.trial("a missing library is named in words", partial(others.names_missing_library, room, onefile))
    report.trial("without libraries it serves", partial(others.serves_without_libraries, room, unpacked))
    if report.trial("the .deb installs", installing.install):
        report.trial("selftest as a user, elsewhere, with an empty environment", installing.selftest)
        report.trial("the window under Xvfb, and a link", installing.window)
        report.trial("an upgrade over the running program", installing.upgrade_while_running)
        report.trial("selftest after the upgrade", installing.selftest)
        report.trial("purge", installing.purge)
    report.trial("the onefile program's selftest", partial(others.selftest, room, onefile))
    report.trial("the AppDir's selftest", partial(others.appdir_selftest, room, appdir))
    report.trial("the archive's selftest", partial(others.selftest, room, unpacked))
    for name, program in (("one-file program", onefile), ("archive", unpacked)):
        report.trial(f"the {name} serves without Qt", partial(others.serves_without_qt, room, program))
        tunnel = partial(others.tunnel_ends_with_hookline, room, program)
        report.trial(f"the {name} starts a tunnel program, which ends with it", tunnel)
    report.trial("portable mode", partial(others.portable, room, unpacked))
    report.trial("the .rpm comes and goes", partial(others.rpm_comes_and_goes, room, RPM))


def measure(report: Report) -> None:
    """The numbers to hold."""
    report.trial("sizes", partial(measures.sizes, DIST / "hookline", DEB, ONEFILE))
    report.trial("first paint", partial(measures.first_paints, DIST / "hookline" / "hookline", ONEFILE))


if __name__ == "__main__":
    sys.exit(main())
