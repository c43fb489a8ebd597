"""Decisions to read: NAME.yaml has a cluster and the pod `asked`, NAME.txt the output of `mooring explain`.

A missing text is written, to be judged before it is committed; delete one to write it again.
tests/laboratories/e2e/test_manifests_in_a_cluster.py gives the same manifests to a real kube-scheduler.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.commands import call

HERE = Path(__file__).parent
DECISIONS = sorted(HERE.glob("*.yaml"))


@pytest.mark.parametrize("manifests", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_is_explained_as_it_is_written(
    manifests: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = call(capsys, "explain", "asked", "--manifests", manifests)
    codes = {"selected": 0, "unschedulable": 3, "will": 4}
    verdict = re.findall(rf"^({'|'.join(codes)})\b", found.out, re.MULTILINE)
    assert (found.code, found.err) == (codes[verdict[-1]], "")
    text = manifests.with_suffix(".txt")
    if not text.exists():
        text.write_text(found.out)
        pytest.fail(f"{text.name} is new: read it, and run the tests again")
    assert found.out == text.read_text()


def test_each_decision_says_what_it_is_about() -> None:
    assert len(DECISIONS) >= 20
    assert {file.stem for file in DECISIONS} == {file.stem for file in HERE.glob("*.txt")}
    for file in DECISIONS:
        assert file.read_text().startswith("# "), file
