"""Decisions of a release stay the same once a newer one is followed, which is the default from then on."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from mooring.cli.flags import Flags, Parser, add_release
from mooring.config import default, load
from mooring.framework import Handle
from mooring.framework.releases import NEWEST
from mooring.runtime.assembly import build_engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import explain
from tests.laboratories.conformance import program


def with_a_newer_release(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a process of its own, since modules may read the newest release when they
    are imported.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-p", "tests.laboratories.conformance.newer_release", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_where_no_release_is_named_the_newest_is_followed() -> None:
    parser = Parser()
    add_release(Flags(parser))
    found = {
        "--kube-version": parser.parse_args([]).kube_version,
        "Handle": str(inspect.signature(Handle).parameters["kube_version"].default),
        "explain": inspect.signature(explain).parameters["version"].default,
    }
    for function in (default, build_engine):
        found[function.__name__] = inspect.signature(function).parameters["kube_version"].default
    assert found == dict.fromkeys(found, str(NEWEST))
    text, catalog = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        new_in_tree_registry().catalog(),
    )
    assert load(text, catalog).hash == load(text, catalog, kube_version=str(NEWEST)).hash


@pytest.mark.slow
@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(["test_newer_release.py", "-k", "no_release_is_named"], id="the default"),
        pytest.param(
            ["test_vectors.py", "-k", f"{program.NEWEST} and (devices-everything or named_case)"],
            id="decisions",
        ),
        pytest.param(["test_hints.py", "-k", "recorded_changes and not older"], id="hints"),
    ],
)
def test_answers_stay_when_a_newer_release_is_followed(tests: list[str]) -> None:
    file, *chosen = tests
    done = with_a_newer_release(f"tests/laboratories/conformance/{file}", *chosen)
    assert done.returncode == 0, done.stdout + done.stderr
