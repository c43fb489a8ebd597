"""CycloneDX documents: the packages in the image, and those that the wheel contains and needs."""

import json
import tomllib
from typing import Any

from packaging.requirements import Requirement

from tools.supply.licences import read
from tools.supply.locks import ROOT, Locked, locked

NAME = "mooring-scheduler"
Document = dict[str, Any]


def of_image(version: str, requirements: str = "fast") -> Document:
    """Return the Python packages of the image.

    Args:
        version: mooring's.
        requirements: The lock file that the image is built from: the Dockerfile's argument of that name.
    """
    found = list(locked(requirements))
    licences = read()["packages"]
    parts = [_component(one.name, licences[one.name], one.purl, version=one.version) for one in found]
    return _document("application", version, parts, _dependencies(version, found))


def of_wheel(version: str) -> Document:
    """Return the npm packages inside the wheel, and the packages that it asks an installer for."""
    listed = read()
    page = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))
    numbers: dict[str, str] = page["overrides"] | page["dependencies"]
    inside = [
        _component(name, row, f"pkg:npm/{name.replace('@', '%40')}@{numbers[name]}", version=numbers[name])
        for name, row in listed["page"].items()
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return _document("library", version, [*inside, *map(_needed, project["dependencies"])], [])


def _needed(text: str) -> Document:
    """Return a package outside the wheel: with the versions that it may have, not the one that it has."""
    wanted = Requirement(text)
    name = wanted.name.lower()
    licence = read()["packages"].get(name, "Apache-2.0")  # The client of this repository is in no lock.
    return _component(name, licence, f"pkg:pypi/{name}", properties=[{"name": "requirement", "value": text}])


def _component(name: str, licence: str, purl: str, **more: Any) -> Document:
    expression = [{"expression": licence}]
    return {"type": "library", "bom-ref": purl, "name": name, "purl": purl, "licenses": expression, **more}


def _own(version: str) -> str:
    return f"pkg:pypi/{NAME}@{version}"


def _dependencies(version: str, found: list[Locked]) -> list[Document]:
    """Return the packages that each one needs; if two versions of one are locked, both count."""
    refs = {NAME: [_own(version)]}
    for one in found:
        refs.setdefault(one.name, []).append(one.purl)
    needs = {name: [one.purl for one in found if name in one.needed_by] for name in refs}
    return [{"ref": ref, "dependsOn": needs[name]} for name, same in refs.items() for ref in same]


def _document(kind: str, version: str, parts: list[Document], dependencies: list[Document]) -> Document:
    own = _component(NAME, "Apache-2.0", _own(version), version=version) | {"type": kind}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": own}}
    return document | {"components": parts} | ({"dependencies": dependencies} if dependencies else {})
