"""Files that users get besides the code: lists of packages, licences, provenance, and builds that repeat."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.supply import build, licences, provenance, sbom
from tools.supply.locks import Locked, locked

ROOT = Path(__file__).parents[2]
BUILT = (
    "mooring-image-context-",
    "mooring-image.cdx.json",
    "mooring-wheel.cdx.json",
    "mooring.provenance.json",
    "mooring_client-",
    "mooring_client-",
    "mooring_scheduler-",
    "mooring_scheduler-",
)
Document = dict[str, Any]


@pytest.mark.parametrize("requirements", ["run", "fast"])
def test_the_images_list_is_what_is_locked(requirements: str) -> None:
    document = sbom.of_image("1.2.3", requirements)
    parts = {(part["name"], part["version"], part["purl"]) for part in document["components"]}
    assert parts == {(one.name, one.version, one.purl) for one in locked(requirements)}


def test_the_images_list_leads_from_mooring_to_every_package() -> None:
    document = sbom.of_image("1.2.3")
    needs = {row["ref"]: row["dependsOn"] for row in document["dependencies"]}
    reached, found = {document["metadata"]["component"]["bom-ref"]}, set[str]()
    while found != reached:
        found = set(reached)
        reached |= {ref for one in found for ref in needs[one]}
    assert reached == needs.keys()
    assert "pkg:pypi/yarl@" in str(needs[next(ref for ref in needs if "/aiohttp@" in ref)])


def test_the_wheels_list_has_what_the_page_contains() -> None:
    page = json.loads((ROOT / "web" / "package.json").read_text())
    notices = (ROOT / "server/mooring/web/static/licences.txt").read_text()
    found = {
        part["name"]: part["version"]
        for part in sbom.of_wheel("1.2.3")["components"]
        if part["purl"].startswith("pkg:npm/")
    }
    assert page["dependencies"].items() <= found.items()
    assert [name for name, version in found.items() if f"{name} {version}" not in notices] == []


def test_every_row_of_a_list_has_a_licence() -> None:
    for document in (sbom.of_image("1.2.3"), sbom.of_wheel("1.2.3")):
        refs = [part["bom-ref"] for part in document["components"]]
        assert len(refs) == len(set(refs))
        assert all(part["licenses"][0]["expression"] for part in document["components"])


def test_licences_are_listed_and_allowed() -> None:
    assert list(licences.faults(licences.read())) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(lambda all_: all_["packages"].pop("numpy"), "numpy: no row", id="no row"),
        pytest.param(
            lambda all_: all_["packages"].update(numpy="MIT"), "numpy: the row says MIT", id="another licence"
        ),
        pytest.param(
            lambda all_: all_["packages"].update(gone="MIT"), "gone: no lock file", id="nothing's row"
        ),
        pytest.param(
            lambda all_: all_["packages"].update(numba="GPL-3.0-only"),
            "numba: GPL-3.0-only",
            id="not for users",
        ),
        pytest.param(
            lambda all_: all_["page"].update(lit="AGPL-3.0-only"), "lit: AGPL-3.0-only", id="in the page"
        ),
    ],
)
def test_a_fault_in_the_licences_is_found(change: Callable[[Document], object], fault: str) -> None:
    listed = licences.read()
    change(listed)
    assert any(line.startswith(fault) for line in licences.faults(listed))


def test_a_lock_says_who_needs_a_package() -> None:
    by_name = {one.name: one for one in locked("run")}
    assert by_name["numpy"] == Locked("numpy", by_name["numpy"].version, frozenset({"mooring-scheduler"}))
    assert "aiohttp" in by_name["yarl"].needed_by


def test_the_statement_names_files_commit_and_inputs() -> None:
    said = provenance.statement({"a.whl": "0f"}, "c0ffee", changed=True, epoch=7)
    assert said["subject"] == [{"name": "a.whl", "digest": {"sha256": "0f"}}]
    definition = said["predicate"]["buildDefinition"]
    source, *inputs = definition["resolvedDependencies"]
    assert (source["digest"], source["annotations"]) == ({"gitCommit": "c0ffee"}, {"changed": True})
    assert {"requirements/build.txt", "requirements/fast.txt"} <= {one["name"] for one in inputs}
    assert definition["externalParameters"]["SOURCE_DATE_EPOCH"] == 7


def test_the_context_is_what_the_dockerfile_copies() -> None:
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    sources = {source for words in copied for source in words.split()} | {"Dockerfile", ".dockerignore"}
    files = build.context_files()
    assert {
        source for source in sources if any(f"{file}/".startswith(f"{source}/") for file in files)
    } == sources
    assert [file for file in files if not any(f"{file}/".startswith(f"{one}/") for one in sources)] == []


def test_a_file_that_differs_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = iter([{"same": "1", "other": "1"}, {"same": "1", "other": "2", "more": "3"}])
    monkeypatch.setattr(build, "built_elsewhere", lambda *_, **__: next(digests))
    assert build.build_twice() == 1
    said = capsys.readouterr().out.splitlines()
    assert said == ["DIFFERS: more: not built, then 3", "DIFFERS: other: 1, then 2", "1  same"]


@pytest.mark.packaging
def test_two_builds_of_a_commit_are_the_same_bytes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.supply.build", "--twice"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("  ") for line in done.stdout.splitlines()]
    assert [name[: len(start)] for (_, name), start in zip(rows, BUILT, strict=True)] == list(BUILT)
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256, _ in rows)
