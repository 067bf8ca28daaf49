"""The manifests for package managers: they name the release's files with their checksums, keep to the forms that those
managers read, and install what the files contain."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import manifests
from checksums import sha256
from linux.tarball import make_tarball
from project import HOME, ROOT, PackagingError

RELEASES = "https://releases.example/download"
VERSION = "1.2.0"
TEXT = {"type": "string", "minLength": 1}
URL = {"type": "string", "pattern": "^https://[^ ]+$"}
WINGET = {
    "PackageIdentifier": {"pattern": r"^[^\.\s\\/:*?\"<>|]{1,32}(\.[^\.\s\\/:*?\"<>|]{1,32}){1,7}$"},
    "PackageVersion": {"type": "string", "pattern": r"^[^\\/:*?\"<>|]{1,128}$"},
    "ManifestVersion": {"const": "1.10.0"},
}
WINGET_TYPES: dict[str, dict[str, Any]] = {
    "version": {"DefaultLocale": {"const": "en-US"}},
    "defaultLocale": {
        "PackageLocale": {"const": "en-US"},
        "Publisher": TEXT,
        "PublisherUrl": URL,
        "PackageName": TEXT,
        "PackageUrl": URL,
        "License": TEXT,
        "ShortDescription": {"type": "string", "minLength": 3, "maxLength": 256},
        "Moniker": {"type": "string", "pattern": "^[^ ]{1,40}$"},
        "Tags": {"type": "array", "maxItems": 16, "uniqueItems": True, "items": {"maxLength": 40}},
    },
    "installer": {
        "InstallerType": {"enum": ["nullsoft"]},
        "Scope": {"enum": ["user", "machine"]},
        "InstallModes": {"items": {"enum": ["interactive", "silent", "silentWithProgress"]}},
        "InstallerSwitches": {"propertyNames": {"enum": ["Silent", "SilentWithProgress", "InstallLocation"]}},
        "ExpectedReturnCodes": {
            "items": {
                "required": ["InstallerReturnCode", "ReturnResponse"],
                "properties": {
                    "InstallerReturnCode": {"type": "integer", "not": {"const": 0}},
                    "ReturnResponse": {"enum": ["cancelledByUser", "packageInUse", "systemNotSupported"]},
                },
            }
        },
        "UpgradeBehavior": {"enum": ["install", "uninstallPrevious", "deny"]},
        "Commands": {"items": {"type": "string", "maxLength": 40}},
        "Protocols": {"items": {"type": "string", "maxLength": 39}},
        "AppsAndFeaturesEntries": {"items": {"propertyNames": {"enum": ["ProductCode", "DisplayName"]}}},
        "Installers": {
            "minItems": 1,
            "items": {
                "required": ["Architecture", "InstallerUrl", "InstallerSha256"],
                "properties": {
                    "Architecture": {"enum": ["x64", "arm64"]},
                    "InstallerUrl": URL,
                    "InstallerSha256": {"pattern": "^[A-F0-9]{64}$"},
                },
                "additionalProperties": False,
            },
        },
    },
}
"""What winget's schemas ask of the fields that are used here, by type of manifest."""
FLATPAK = {
    "required": ["id", "runtime", "runtime-version", "sdk", "command", "finish-args", "modules"],
    "properties": {
        "id": {"pattern": r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*){2,}$"},
        "runtime-version": {"type": "string"},
        "finish-args": {"items": {"pattern": r"^--(share|socket|device|talk-name)=[\w.-]+$"}},
        "modules": {
            "items": {
                "required": ["name", "buildsystem", "build-commands", "sources"],
                "properties": {
                    "buildsystem": {"enum": ["simple"]},
                    "build-commands": {"items": {"type": "string"}},
                    "sources": {
                        "items": {
                            "required": ["type", "url", "sha256"],
                            "properties": {"type": {"const": "archive"}, "sha256": {"pattern": "^[0-9a-f]{64}$"}},
                        }
                    },
                },
            }
        },
    },
    "propertyNames": {
        "pattern": "^(id|runtime|runtime-version|sdk|command|rename-desktop-file|rename-icon|finish-args|modules)$"
    },
}
needs_bash = pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="no bash here")


@pytest.fixture
def dist(tmp_path: Path, bundle: Path, share: Path, papers: list[Path]) -> Path:
    """A folder with the release's files; the archive for Linux is a real one."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for file in manifests.FILES.values():
        (folder / file.format(VERSION)).write_text(f"{file}\n", "utf-8")
    archive = folder / manifests.FILES["SHA256_LINUX"].format(VERSION)
    make_tarball(bundle, share, papers, archive, version=VERSION, epoch=1, glibc="2.36")
    return folder


@pytest.fixture
def made(dist: Path) -> dict[str, str]:
    """The manifests by their paths."""
    with tarfile.open(manifests.make_manifests(dist, VERSION, RELEASES, 1)) as archive:
        return {one.name: archive.extractfile(one).read().decode() for one in archive}  # type: ignore[union-attr]


def find(made: dict[str, str], end: str) -> str:
    (text,) = [text for name, text in made.items() if name.endswith(end)]
    return text


def read_yaml(text: str) -> Any:
    return YAML(typ="safe").load(text)


def check(schema: dict[str, Any], manifest: object) -> None:
    from jsonschema import Draft202012Validator  # takes two seconds, which only the process that runs this should spend

    Draft202012Validator(schema).validate(manifest)


def test_each_file_of_the_release_is_named_with_its_checksum(made: dict[str, str], dist: Path) -> None:
    named = {one.lower() for text in made.values() for one in re.findall(r"\b[0-9a-fA-F]{64}\b", text)}
    assert named == {sha256(dist / file.format(VERSION)) for file in manifests.FILES.values()}
    urls = {url for text in made.values() for url in re.findall(r"https://[^\s\"'<>)]+", text)}
    assert {url for url in urls if not url.startswith((RELEASES, HOME))} == set()
    wanted = {
        f"{RELEASES}/v{VERSION}/{file.format(VERSION)}" for file in manifests.FILES.values() if ".dmg" not in file
    }
    assert wanted <= urls
    assert not re.search(r"@[A-Z0-9_]+@", "".join(made.values()))


def test_a_file_that_is_missing_is_named(dist: Path) -> None:
    (dist / f"hookline-{VERSION}-setup.exe").unlink()
    with pytest.raises(PackagingError, match=r"lacks hookline-1\.2\.0-setup\.exe\. Put all files"):
        manifests.make_manifests(dist, VERSION, RELEASES, 1)


def test_the_same_files_give_the_same_bytes(dist: Path) -> None:
    first = manifests.make_manifests(dist, VERSION, RELEASES, 1).read_bytes()
    assert manifests.make_manifests(dist, VERSION, RELEASES, 1).read_bytes() == first


def test_the_names_are_those_that_the_packages_are_made_with() -> None:
    """By the scripts that make them."""
    made = {
        "packaging/package.py": "-linux-x86_64.tar.gz",
        "packaging/macos/disk_image.py": "-macos-{platform.machine()}.dmg",
        "packaging/windows/installer.py": "-setup.exe",
    }
    for script, end in made.items():
        assert re.search(r"hookline-\{(version|VERSION)\}" + re.escape(end), (ROOT / script).read_text("utf-8")), script


@pytest.mark.slow
@pytest.mark.parametrize("kind", WINGET_TYPES)
def test_winget_reads_its_manifests(made: dict[str, str], kind: str) -> None:
    found = [read_yaml(text) for name, text in made.items() if name.startswith("winget/")]
    (manifest,) = [one for one in found if one["ManifestType"] == kind]
    fields = {**WINGET, **WINGET_TYPES[kind], "ManifestType": {"const": kind}}
    check({"properties": fields, "required": list(fields), "additionalProperties": False}, manifest)
    assert (manifest["PackageIdentifier"], manifest["PackageVersion"]) == ("Hookline.Hookline", VERSION)


def test_winget_knows_what_the_installer_ends_with(made: dict[str, str]) -> None:
    text = (ROOT / "packaging/windows/hookline.nsi").read_text("utf-8")
    defined = dict(re.findall(r"^!define (CANNOT_RUN|IN_USE) (\d+)$", text, re.MULTILINE))
    codes = read_yaml(find(made, "installer.yaml"))["ExpectedReturnCodes"]
    by_response = {one["ReturnResponse"]: str(one["InstallerReturnCode"]) for one in codes}
    assert (by_response["systemNotSupported"], by_response["packageInUse"]) == (
        defined["CANNOT_RUN"],
        defined["IN_USE"],
    )


def test_flatpak_builder_reads_its_manifest(made: dict[str, str]) -> None:
    manifest = read_yaml(find(made, "io.hookline.Hookline.yml"))
    check(FLATPAK, manifest)
    metainfo = (ROOT / "packaging/linux" / f"{manifest['id']}.metainfo.xml").read_text("utf-8")
    assert f">{manifest['rename-desktop-file']}<" in metainfo
    assert (ROOT / "packaging/linux" / manifest["rename-desktop-file"]).is_file()


@needs_bash
def test_flatpak_installs_what_is_in_the_archive(made: dict[str, str], dist: Path, tmp_path: Path) -> None:
    (module,) = read_yaml(find(made, "io.hookline.Hookline.yml"))["modules"]
    source, app = unpacked(dist, tmp_path), tmp_path / "app"
    metainfo = source / "share/metainfo/io.hookline.Hookline.metainfo.xml"
    metainfo.parent.mkdir()
    metainfo.write_text("<launchable>hookline.desktop</launchable>", "utf-8")
    for command in module["build-commands"]:
        subprocess.run(["bash", "-ec", command.replace("/app", str(app))], cwd=source, check=True)
    check_installed(app)
    installed = app / metainfo.relative_to(source)
    assert installed.read_text("utf-8") == "<launchable>io.hookline.Hookline.desktop</launchable>"


@needs_bash
def test_the_pkgbuild_installs_what_is_in_the_archive(made: dict[str, str], dist: Path, tmp_path: Path) -> None:
    pkgbuild = tmp_path / "PKGBUILD"
    pkgbuild.write_text(find(made, "/PKGBUILD"), "utf-8")
    source, target = unpacked(dist, tmp_path), tmp_path / "target"
    script = f"set -eu; srcdir='{source.parent}'; pkgdir='{target}'; . '{pkgbuild}'; package"
    subprocess.run(["bash", "-c", script], check=True)
    check_installed(target / "usr")
    assert (target / "usr/share/licenses/hookline-bin/LICENSE").is_file()


@needs_bash
def test_the_list_of_the_pkgbuild_says_the_same(made: dict[str, str], tmp_path: Path) -> None:
    names = "pkgdesc pkgver pkgrel url arch license depends optdepends provides conflicts options source sha256sums"
    script = find(made, "/PKGBUILD") + (
        f'for name in {names}; do declare -n values=$name; for value in "${{values[@]}}"; do'
        " printf '\\t%s = %s\\n' $name \"$value\"; done; done"
    )
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    assert find(made, "/.SRCINFO") == f"pkgbase = hookline-bin\n{said}\npkgname = hookline-bin\n"


@pytest.mark.parametrize(
    ("program", "options", "end"),
    [
        ("shellcheck", ["--shell=bash", "--exclude=SC2034,SC2154"], "/PKGBUILD"),
        ("ruby", ["-c"], "/hookline.rb"),
    ],
)
def test_linters_find_nothing(made: dict[str, str], tmp_path: Path, program: str, options: list[str], end: str) -> None:
    """SC2034 and SC2154: makepkg reads what a PKGBUILD sets, and sets what it reads."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    path = tmp_path / end[1:]
    path.write_text(find(made, end), "utf-8")
    done = subprocess.run([program, *options, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_cask_names_the_app_as_it_is_made(made: dict[str, str]) -> None:
    cask = find(made, "/hookline.rb")
    spec = (ROOT / "build.spec").read_text("utf-8")
    (identifier,) = re.findall(r'uninstall quit: "([^"]+)"', cask)
    assert f'"{identifier}"' in spec
    assert 'app "Hookline.app"' in cask
    assert "Hookline.app" in spec
    assert cask.count("do\n") == cask.count("end\n")


def unpacked(dist: Path, tmp_path: Path) -> Path:
    name = manifests.FILES["SHA256_LINUX"].format(VERSION)
    with tarfile.open(dist / name) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    return tmp_path / "source" / name.removesuffix(".tar.gz")


def check_installed(usr: Path) -> None:
    done = subprocess.run([usr / "bin/hookline", "one", "two"], capture_output=True, text=True, check=True)
    assert done.stdout == "one\ntwo\n"
    for name in (
        "lib/hookline/_internal/libpart.so.1",
        "share/applications/hookline.desktop",
        "share/man/man1/hookline.1.gz",
    ):
        assert (usr / name).is_file(), name
