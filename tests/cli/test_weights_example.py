"""Weights decide between two preferences: 100 points times 100 are 10000, in the answer and in the log."""

from __future__ import annotations

import pytest

from tests.cli.commands import ROOT, call

EXAMPLE = ROOT / "deploy" / "examples" / "systems" / "s2-weights"
MANIFESTS = ("--manifests", EXAMPLE / "cluster.yaml", EXAMPLE / "test.yaml")
POD = "default/test-6d95565f7-0"


@pytest.mark.parametrize(
    ("config", "winner", "plugin"),
    [
        pytest.param("pod-affinity-first.yaml", "k8s-0002", "InterPodAffinity", id="podAffinity 100"),
        pytest.param("node-affinity-first.yaml", "k8s-0001", "NodeAffinity", id="nodeAffinity 100"),
    ],
)
def test_the_heavier_plugin_decides(
    config: str, winner: str, plugin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = (*MANIFESTS, "--config", EXAMPLE / config)
    explained = call(capsys, "explain", POD, *flags, "-o", "json", "-v", "10")
    score = explained.document["nodes"][winner]["scores"][plugin]
    assert explained.document["selected"] == winner
    assert (score["normalized"], score["weight"], score["weighted"]) == (100, 100, 10000)
    line = f'pod="{POD}" plugin="{plugin}" node="{winner}" raw=1 score=100 weight=100 weighted=10000'
    assert next(shown for shown in explained.complaints if "weighted=10000" in shown).endswith(line)
    table = call(capsys, "explain", POD, *flags).out
    assert "1 → 100 × 100 = 10000" in table
    assert f"selected: {winner}" in table


@pytest.mark.parametrize("config", ["pod-affinity-first.yaml", "node-affinity-first.yaml"])
def test_no_score_is_logged_below_10(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = call(capsys, "explain", POD, *MANIFESTS, "--config", EXAMPLE / config, "-v", "9")
    assert "weighted=" not in shown.err
