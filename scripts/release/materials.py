"""The software bill of materials, CycloneDX 1.6 as JSON: every locked package with its digests, and
the third-party parts of the archives themselves.

The same sources give the same bytes: its serial number comes from its content, its time from the
commit. The digests of a package are those of all its files, of which pip takes one. The properties
name the list that locks it.
"""

import hashlib
import re
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts.release.locks import Package, packages
from scripts.release.parts import PARTS, Part, has


def unlocked(document: dict[str, Any], root: Path) -> list[str]:
    """Return the contents of the lock files, read as plain text, that the document lacks."""
    stated = {(c["name"], c.get("version", "")): c for c in document["components"]}
    lines = []
    for file in (root / "locked.txt", *sorted((root / "locked-extras").glob("*.txt"))):
        for name, version in re.findall(
            r"(?m)^([\w.-]+)==([^ \n]+)", file.read_text(encoding="utf-8")
        ):
            if (name, version) not in stated:
                lines.append(f"{file.name}: {name} {version} is not in the bill of materials")
        digests = set(re.findall(r"sha256:([0-9a-f]{64})", file.read_text(encoding="utf-8")))
        known = {h["content"] for c in document["components"] for h in c.get("hashes", [])}
        if digests - known:
            lines.append(f"{file.name}: {len(digests - known)} digests are not in the bill")
    return lines


def bill(root: Path, wheel: Path, epoch: int, members: dict[str, bytes]) -> str:
    """Return the text of the document.

    Needs the extra release.

    members: the files of the wheel by their path in sampler_parity.
    """
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression
    from cyclonedx.output.json import JsonV1Dot6

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    whole = Component(
        type=ComponentType.APPLICATION,
        name=project["name"],
        version=project["version"],
        bom_ref=project["name"],
        licenses=[LicenseExpression(project["license"])],
        hashes=_hashes(f"sha256:{digest}"),
    )
    rows = packages(root)
    components = [_of_package(row) for row in rows]
    bom = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, digest),
        metadata=BomMetaData(component=whole, timestamp=datetime.fromtimestamp(epoch, UTC)),
        components=[*components, *(_of_part(part, members) for part in PARTS)],
    )
    direct = [c for row, c in zip(rows, components, strict=True) if row.needed == project["name"]]
    bom.register_dependency(whole, direct)
    return str(JsonV1Dot6(bom).output_as_string(indent=1)) + "\n"


def _of_package(row: Package) -> Any:
    from cyclonedx.model import Property
    from cyclonedx.model.component import Component, ComponentScope, ComponentType
    from packageurl import PackageURL

    values = {"locked": row.locked, "needed": row.needed, "condition": row.condition}
    return Component(
        type=ComponentType.LIBRARY,
        name=row.name,
        version=row.version,
        bom_ref=f"{row.locked}:{row.name}:{row.version}",
        scope=ComponentScope.OPTIONAL if row.needed.startswith("extra") else None,
        purl=PackageURL(row.kind, name=row.name, version=row.version),
        hashes=_hashes(*row.digests),
        properties=[Property(name=f"sampler-parity:{k}", value=v) for k, v in values.items() if v],
    )


def _of_part(part: Part, members: dict[str, bytes]) -> Any:
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression

    files = [
        Component(
            type=ComponentType.FILE,
            name=name,
            bom_ref=f"{part.name}:{name}",
            hashes=_hashes(f"sha256:{hashlib.sha256(content).hexdigest()}"),
        )
        for name, content in sorted(members.items())
        if has(part, name)
    ]
    return Component(
        type=ComponentType.FILE,
        name=part.name,
        version=part.version or None,
        bom_ref=f"in the archives:{part.name}",
        description=part.what,
        licenses=[LicenseExpression(part.licence)],
        components=files,
    )


def _hashes(*digests: str) -> list[Any]:
    from cyclonedx.model import HashType

    return [HashType.from_hashlib_alg(*digest.split(":")) for digest in digests]


def malformed(text: str) -> list[str]:
    """Return the errors that CycloneDX's own schema finds in it. Needs the extra release."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return [] if error is None else [f"bill of materials: {str(error.data)[:300]}"]
