"""The installed packages as a software bill of materials: CycloneDX 1.6, JSON."""

from __future__ import annotations

import json
from importlib.metadata import distributions
from typing import Any

from sm_ops.release import clock


def packages(release: str, time: str) -> dict[str, Any]:
    """What is installed where a release is built, by name and version; `time` is when (UTC).

    The bill has no serial number, so that equal packages at one time give equal bytes.
    """
    from cyclonedx.model import bom, component
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    kinds, make, told = component.ComponentType, _any(component.Component), _any(bom.BomMetaData)
    components = [
        make(name=name, version=version, type=kinds.LIBRARY, bom_ref=purl.to_string(), purl=purl)
        for name, version in _installed()
        for purl in [PackageURL("pypi", name=name, version=version)]
    ]
    subject = make(name=release, type=kinds.DATA, bom_ref=release)
    metadata = told(component=subject, timestamp=clock.read(time), tools=[])
    bill = _any(bom.Bom)(components=components, metadata=metadata)
    bill.register_dependency(subject, components)
    text = JsonV1Dot6(bill).output_as_string()
    return {key: value for key, value in json.loads(text).items() if key != "serialNumber"}


def _any(made: Any) -> Any:
    """A class whose decorator hides its parameters from type checkers."""
    return made


def _installed() -> list[tuple[str, str]]:
    """Distinct names, as the package index writes them, and versions; the first on the path is the one imported."""
    found: dict[str, str] = {}
    for each in distributions():
        if name := each.metadata["Name"]:
            found.setdefault(name.lower().replace("_", "-").replace(".", "-"), each.version)
    return sorted(found.items())
