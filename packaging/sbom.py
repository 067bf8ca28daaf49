"""Writes `hookline-VERSION.cdx.json`: a bundle's bill of materials in CycloneDX's form, checked against its schema."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component as Entry
from cyclonedx.model.component import ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from packageurl import PackageURL

from checksums import sha256
from components import Component
from inventory import made_bundle, take_stock
from project import DIST, HOME, SUMMARY, PackagingError, epoch, told, version
from whole import made_whole


def file_name(version: str) -> str:
    return f"hookline-{version}.cdx.json"


def entry_of(component: Component) -> Entry:
    """The component as CycloneDX has it; its purl is also what others refer to it by."""
    return Entry(
        name=component.name,
        version=component.version,
        type=ComponentType.LIBRARY,
        bom_ref=component.purl,
        purl=PackageURL.from_string(component.purl),
        licenses=[LicenseFactory().make_from_string(component.licence)],
        description=component.remark or None,
    )


def program_entry(program: Path, version: str) -> Entry:
    """Hookline itself, with the hash of the file that is started."""
    purl = f"pkg:generic/hookline@{version}"
    return Entry(
        name="hookline",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=purl,
        purl=PackageURL.from_string(purl),
        licenses=[LicenseFactory().make_from_string("MIT")],
        description=SUMMARY,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256(program))],
    )


def bill(components: Iterable[Component], program: Path, version: str, epoch: int) -> Bom:
    """All components, who stands on whom, and Hookline on top, which stands on what nothing else needs as well."""
    found = list(components)
    entries = {component.name: entry_of(component) for component in found}
    top = program_entry(program, version)
    bom = Bom(
        components=entries.values(),
        # The same for the same program, so that two makings of it can be compared.
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{HOME}/{version}/{epoch}/{sha256(program)}"),
    )
    bom.metadata.component = top
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    for component in found:
        bom.register_dependency(entries[component.name], [entries[name] for name in component.needs])
    needed = {name for component in found for name in component.needs}
    bom.register_dependency(top, [entry for name, entry in entries.items() if name not in needed or name == "Python"])
    return bom


def make_sbom(components: Iterable[Component], program: Path, out: Path, version: str, epoch: int) -> Path:
    """Write the bill of materials as `out`; PackagingError when it does not keep to CycloneDX's schema."""
    # Its import alone takes two seconds, which would hold up the steps that need no SBOM.
    from cyclonedx.validation.json import JsonStrictValidator

    written = JsonV1Dot6(bill(components, program, version, epoch)).output_as_string(indent=2) + "\n"
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(written)
    if error is not None:
        raise PackagingError(f"The SBOM does not keep to CycloneDX's schema: {str(error).splitlines()[0]}")
    with made_whole(out) as part:
        part.write_text(written, "utf-8", newline="\n")
    return out


def main() -> int:
    def make() -> Path:
        bundle, program, python = made_bundle()
        return make_sbom(take_stock(bundle, python), program, DIST / file_name(version()), version(), epoch())

    return told("sbom", make)


if __name__ == "__main__":
    sys.exit(main())
