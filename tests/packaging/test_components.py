"""Licences and bill of materials: what is found in an environment and a bundle, what is written, what is an error."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cyclonedx.output.json import JsonV1Dot6

import components
import distributions
import libraries
import sbom
from components import Component
from distributions import Environment
from inventory import files_of, strangers
from licences import combined, licence_list, make_licences
from project import PackagingError
from sbom import make_sbom

pytestmark = pytest.mark.long

EPOCH = 1_700_000_000
Install = Callable[..., None]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment without packages, of a Python that has its licence."""
    site, base, standard_library = tmp_path / "site", tmp_path / "base", tmp_path / "base/lib/python3.11"
    site.mkdir()
    standard_library.mkdir(parents=True)
    (standard_library / "LICENSE.txt").write_text("Python's licence\n", "utf-8")
    return Environment(site, base, standard_library, "3.11.7")


@pytest.fixture
def install(environment: Environment) -> Install:
    """Installs a package as pip would: its metadata, its licence file, its record."""

    def made(name: str, metadata: str = "", licence: str | None = "text", requires: tuple[str, ...] = ()) -> None:
        info = environment.site / f"{name}-1.0.dist-info"
        (info / "licenses").mkdir(parents=True)
        lines = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {r}" for r in requires)]
        (info / "METADATA").write_text("\n".join([*lines, *([metadata] if metadata else []), ""]), "utf-8")
        record = [f"{name}/__init__.py,,", f"{info.name}/METADATA,,"]
        if licence is not None:
            (info / "licenses/LICENSE").write_text(licence, "utf-8")
            record.append(f"{info.name}/licenses/LICENSE,,")
        (info / "RECORD").write_text("\n".join(record), "utf-8")

    return made


def lock(tmp_path: Path, *names: str) -> Path:
    path = tmp_path / "run.txt"
    path.write_text("".join(f"{name}==1.0 \\\n    --hash=sha256:00\n" for name in names), "utf-8")
    return path


def found(environment: Environment, lock: Path, files: tuple[Path, ...] = ()) -> dict[str, Component]:
    return {each.name: each for each in distributions.python_components(environment, files, lock)}


def test_only_what_is_locked_to_run_ships(environment: Environment, install: Install, tmp_path: Path) -> None:
    install("alpha", "License-Expression: MIT", "alpha's licence", ("beta>=1", "absent; sys_platform == 'none'"))
    install("beta", "License: Apache 2.0", "beta's licence")
    install("setuptools", "License-Expression: MIT")
    install("pyinstaller", "License: GPL with an exception", "the exception")
    made = found(environment, lock(tmp_path, "alpha", "beta"))
    assert sorted(made) == ["Python", "alpha", "beta", "pyinstaller"]
    assert (made["alpha"].licence, made["alpha"].texts) == ("MIT", ("alpha's licence",))
    assert made["alpha"].needs == ("Python", "beta")
    assert made["beta"].licence == "Apache-2.0"
    assert made["alpha"].purl == "pkg:pypi/alpha@1.0"
    assert "Bootloader-exception" in made["pyinstaller"].licence
    assert made["Python"].texts == ("Python's licence\n",)


@pytest.mark.parametrize(
    ("metadata", "licence"), [("", "text"), ("License: no SPDX name at all", "text"), ("License-Expression: MIT", None)]
)
def test_a_component_without_licence_or_text_is_named(
    environment: Environment, install: Install, tmp_path: Path, metadata: str, licence: str | None
) -> None:
    install("alpha", metadata, licence)
    install("beta", "License-Expression: MIT")
    with pytest.raises(PackagingError, match=r"^No licence was found for alpha\.$"):
        components.checked(found(environment, lock(tmp_path, "alpha", "beta")).values())


def test_every_package_to_run_has_a_licence_and_its_text() -> None:
    packages = distributions.shipped(distributions.environment_of(Path(sys.executable)))
    assert {"peewee", "wcwidth"} <= {each.name for each in packages}
    assert [each.name for each in packages if not distributions.licence_of(each)] == []
    assert [each.name for each in packages if not any(distributions.texts_of(each))] == []


def test_qt_is_listed_with_the_lgpl_and_where_its_sources_are(
    environment: Environment, install: Install, tmp_path: Path
) -> None:
    install("PySide6_Essentials", "License: LGPL-3.0-only OR GPL-2.0-only", None)
    texts = "\n".join(found(environment, lock(tmp_path, "pyside6-essentials"))["PySide6_Essentials"].texts)
    for part in ("code.qt.io", "Replacing them", "GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE"):
        assert part in texts


def test_fonts_are_components_of_their_own_and_an_unknown_one_is_an_error(
    environment: Environment, tmp_path: Path
) -> None:
    fonts = (Path("fonts/phosphor-1.3.0.ttf"), Path("libicudata.so.73"))
    made = found(environment, lock(tmp_path), fonts)
    assert (made["Phosphor Icons"].version, made["Phosphor Icons"].licence) == ("1.3.0", "MIT")
    assert (made["ICU"].version, made["ICU"].licence) == ("73", "Unicode-DFS-2016")
    with pytest.raises(PackagingError, match=r"^other\.ttf has no known licence"):
        found(environment, lock(tmp_path), (Path("fonts/other.ttf"),))


def test_a_python_without_its_licence_is_an_error(environment: Environment) -> None:
    (environment.standard_library / "LICENSE.txt").unlink()
    with pytest.raises(PackagingError, match=r"^Python's licence was not found"):
        distributions.python_itself(environment)


debian = pytest.mark.skipif(
    not (sys.platform == "linux" and shutil.which("dpkg") and Path("/usr/share/doc/zlib1g/copyright").is_file()),
    reason="not a Debian with its packages' documents",
)


@debian
def test_a_systems_library_is_known_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # an ordinary user's
    [made] = libraries.library_components(["libz.so.1"])
    assert (made.name, made.licence) == ("zlib1g", "Zlib")
    assert made.purl.startswith("pkg:deb/")
    assert "Jean-loup Gailly" in made.texts[0]


@debian
def test_a_library_of_nobody_is_named() -> None:
    with pytest.raises(PackagingError, match=r"^libnobody\.so\.9 in the bundle belongs to no known component\.$"):
        libraries.library_components(["libz.so.1", "libnobody.so.9"])


def test_debians_words_for_a_licence_do_where_spdx_is_not_known() -> None:
    told = "Files: *\nLicense: Expat\n Permission\n\nFiles: debian/*\nLicense: GPL-2+\n"
    assert libraries.licence_of("some-source", told) == "Expat, GPL-2+"
    assert libraries.licence_of("zlib", told) == "Zlib"


def test_links_and_hooklines_own_files_need_no_licence(bundle: Path) -> None:
    own = bundle / "_internal/app/resources/icon.svg"
    own.parent.mkdir(parents=True)
    own.touch()
    assert [path.name for path in files_of(bundle)] == ["libpart.so.1.2", "hookline"]


def test_whoever_is_not_known_by_name_is_a_stranger() -> None:
    names = ("hookline.exe", "Python", "VCRUNTIME140.dll", "QtCore.pyd", "libother.so.2", "Info.plist")
    files = [Path("_internal") / name for name in names]
    assert strangers(files, {"qtcore.pyd"}) == {"libother.so.2"}


def test_openssl_is_listed_where_python_brings_it(environment: Environment, tmp_path: Path) -> None:
    for name in ("libcrypto-3.dll", "libcrypto.3.dylib"):
        made = found(environment, lock(tmp_path), (Path(name),))["OpenSSL"]
        assert (made.version, made.licence) == ("3", "Apache-2.0")
    assert "OpenSSL" not in found(environment, lock(tmp_path), (Path("libcrypto.so.3"),))


ALPHA = Component("alpha", "1.0", "MIT OR Apache-2.0", "pkg:pypi/alpha@1.0", ("same text\n", "alpha's own"), ("beta",))
BETA = Component("beta", "2.0", "MPL-2.0", "pkg:pypi/beta@2.0", ("\nsame text  \n",), remark="A remark.")
WORDS = Component("gamma", "3", "Some licence, another", "pkg:deb/debian/gamma@3?arch=amd64", ("gamma's",))


def test_the_list_comes_first_and_a_shared_text_only_once(tmp_path: Path) -> None:
    text = make_licences([ALPHA, BETA, WORDS], tmp_path / "out.txt", "1.2.3").read_text("utf-8")
    head, _, texts = text.partition("=" * 100)
    assert "What Hookline 1.2.3 is built on" in head
    assert "alpha 1.0  MIT OR Apache-2.0\nbeta 2.0   MPL-2.0\n           A remark.\ngamma 3" in head
    assert texts.count("same text") == 1
    assert "alpha, beta\n" in texts
    assert text == licence_list([ALPHA, BETA, WORDS], "1.2.3")


def test_one_expression_for_all() -> None:
    assert combined([ALPHA, BETA, WORDS]) == "MIT AND (MIT OR Apache-2.0) AND MPL-2.0"


def test_the_bill_keeps_to_the_schema_and_is_the_same_each_time(tmp_path: Path, bundle: Path) -> None:
    first, second = (
        make_sbom([ALPHA, BETA, WORDS], bundle / "hookline", tmp_path / f"{n}.json", "1.2.3", EPOCH) for n in (1, 2)
    )
    assert first.read_bytes() == second.read_bytes()
    told = json.loads(first.read_text("utf-8"))
    assert told["metadata"]["component"]["hashes"][0]["alg"] == "SHA-256"
    licences = {each["name"]: each["licenses"][0] for each in told["components"]}
    assert licences["alpha"] == {"expression": "MIT OR Apache-2.0"}
    assert licences["beta"] == {"license": {"id": "MPL-2.0"}}
    assert licences["gamma"] == {"license": {"name": "Some licence, another"}}
    needs = {each["ref"]: each.get("dependsOn", []) for each in told["dependencies"]}
    assert needs["pkg:pypi/alpha@1.0"] == ["pkg:pypi/beta@2.0"]
    assert needs["pkg:generic/hookline@1.2.3"] == ["pkg:deb/debian/gamma@3?arch=amd64", "pkg:pypi/alpha@1.0"]


def test_a_bill_that_does_not_keep_to_the_schema_is_refused(
    tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a newer version of the library might write: a field that the schema does not know."""

    class Newer(JsonV1Dot6):
        def output_as_string(self, **options: object) -> str:
            return super().output_as_string().replace('"bomFormat"', '"bomShape"')

    monkeypatch.setattr(sbom, "JsonV1Dot6", Newer)
    with pytest.raises(PackagingError, match="does not keep to CycloneDX's schema"):
        sbom.make_sbom([BETA], bundle / "hookline", tmp_path / "out.json", "1.2.3", EPOCH)
    assert not (tmp_path / "out.json").exists()


def test_another_program_makes_another_bill(tmp_path: Path, bundle: Path) -> None:
    first = make_sbom([BETA], bundle / "hookline", tmp_path / "1.json", "1.2.3", EPOCH).read_text("utf-8")
    (bundle / "hookline").write_text("other", "utf-8")
    second = make_sbom([BETA], bundle / "hookline", tmp_path / "2.json", "1.2.3", EPOCH).read_text("utf-8")
    assert json.loads(first)["serialNumber"] != json.loads(second)["serialNumber"]
