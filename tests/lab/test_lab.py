"""The lab: clusters that never change, decisions and comparisons as columns, rules written as functions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring import lab
from mooring.app.offline import engine_over, explain_in
from mooring.app.options import EngineOptions
from mooring.framework import NodeInfo, Pod
from mooring.framework.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from mooring.testing.builders import node_manifest, pod_manifest
from mooring_client.errors import CallFailedError
from tests.fake_api_server import FakeApiServer
from tests.recordings.recorded import record_churn

PACK = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": "cpu", "weight": 1}],
                        }
                    },
                }
            ],
        }
    ],
}


def node(name: str, **fields: Any) -> dict[str, Any]:
    return node_manifest(name, allocatable={"cpu": "4", "memory": "16Gi", "pods": "110"}, **fields)


def pods(count: int, cpu: str = "1") -> list[dict[str, Any]]:
    return [pod_manifest(f"p{at}", requests={"cpu": cpu}) for at in range(count)]


def cluster(*objects: dict[str, Any], **fields: Any) -> lab.Cluster:
    nodes = [node("n1", labels={"disk": "ssd"}), node("n2", labels={"disk": "hdd", "load": "90"})]
    return lab.load(objects=[*nodes, *objects], **fields)


class TestLoading:
    def test_says_what_there_is(self) -> None:
        running = pod_manifest("there", spec={"nodeName": "n1"})
        found = cluster(*pods(2), running)
        assert found.nodes == ["n1", "n2"]
        assert found.pending == ["default/p0", "default/p1"]
        assert repr(found) == "2 nodes, 3 pods, 2 of them pending"

    def test_files_and_dicts_are_one_cluster(self, tmp_path: Path) -> None:
        file = tmp_path / "cluster.json"
        file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [node("n1")]}))
        assert lab.load(file, objects=[node("n2")]).nodes == ["n1", "n2"]

    def test_faults_are_named(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"metadata\.name"):
            lab.load(objects=[{"kind": "Node", "apiVersion": "v1", "metadata": {}}])


class TestExplaining:
    def test_is_what_the_command_line_says(self, tmp_path: Path) -> None:
        file = tmp_path / "cluster.json"
        items = [node("n1"), node("n2"), *pods(1)]
        file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
        engine, manifests = engine_over(EngineOptions(), [file])
        told = explain_in(engine, manifests.pods, "p0").document()
        found = lab.load(file).explain("p0")
        assert found.node == told["selected"]
        assert found.ties == told["ties"]

    def test_frame_has_a_row_for_each_node_and_plugin(self) -> None:
        frame = cluster(*pods(1), node("full", spec={"unschedulable": True})).explain("p0").frame
        scored = frame[frame.plugin == "NodeResourcesFit"].set_index("node")
        assert list(scored.weighted) == list(scored.normalized * scored.weight)
        rejected = frame[frame.code != "Success"].set_index("node")
        assert list(rejected.index) == ["full"]
        assert rejected.loc["full", "reason"] == "node(s) were unschedulable"

    def test_why_not(self) -> None:
        found = cluster(*pods(1, cpu="64")).explain("p0")
        assert found.node is None
        assert found.why_not("n1") == ["NodeResourcesFit: Insufficient cpu"]
        assert "0/2 nodes are available" in repr(found)

    def test_two_nodes_compared(self) -> None:
        running = pod_manifest("there", requests={"cpu": "2"}, spec={"nodeName": "n1"})
        found = cluster(*pods(1), running).explain("p0")
        ahead = found.compare("n1")
        assert found.node == "n2"
        assert ahead["NodeResourcesFit"] < 0
        assert ahead["total"] == sum(points for plugin, points in ahead.items() if plugin != "total")

    @pytest.mark.parametrize("ask", ["why_not", "compare"])
    def test_an_unknown_node(self, ask: str) -> None:
        with pytest.raises(NotFoundError, match="no node 'nope'"):
            getattr(cluster(*pods(1)).explain("p0"), ask)("nope")

    def test_names_are_text_in_a_notebook(self) -> None:
        said = "<script>alert(1)</script>"

        @lab.filtering
        def named(_pod: Pod, _node: NodeInfo) -> str:
            return said

        html = cluster(*pods(1)).with_rules(named).explain("p0")._repr_html_()
        assert said not in html
        assert "&lt;script&gt;" in html


class TestOverlays:
    def test_a_cluster_never_changes(self) -> None:
        before = cluster(
            *pods(1, cpu="3"), pod_manifest("there", requests={"cpu": "2"}, spec={"nodeName": "n1"})
        )
        after = before.add_nodes(2, like="n1").without(nodes="n2", pods="default/there")
        assert after.nodes == ["n1", "n1-1", "n1-2"]
        assert after.pods == ["default/p0"]
        assert before.nodes == ["n1", "n2"]
        assert before.explain("p0").why_not("n1") == ["NodeResourcesFit: Insufficient cpu"]
        assert after.explain("p0").why_not("n1") == []

    def test_pods_of_a_node_that_goes_are_pending(self) -> None:
        running = pod_manifest("there", requests={"cpu": "1"}, spec={"nodeName": "n1"})
        left = cluster(running).without(nodes="n1")
        assert left.pending == ["default/there"]
        assert left.place().nodes == ["n2"]

    def test_new_nodes_have_hostnames_of_their_own(self) -> None:
        key = "kubernetes.io/hostname"
        apart = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "a"}}}
                ]
            }
        }
        items = [pod_manifest(f"p{at}", labels={"app": "a"}, spec={"affinity": apart}) for at in range(3)]
        one = lab.load(objects=[node("n", labels={key: "n"}), *items])
        assert one.place().nodes.count(None) == 2
        assert one.add_nodes(2, like="n").place().nodes.count(None) == 0

    def test_no_such_model(self) -> None:
        with pytest.raises(NotFoundError, match="no node 'nope'"):
            cluster().add_nodes(1, like="nope")


class TestComparing:
    def test_packing_beside_spreading(self) -> None:
        compared = cluster(*pods(4)).compare({"spread": None, "pack": PACK}, progress=False)
        frame = compared.frame.set_index("config")
        assert frame.loc["spread", "stdev cpu"] == 0
        assert frame.loc["pack", "stdev cpu"] == 50
        assert frame.loc["pack", "empty nodes"] == 1
        assert set(compared.changed) <= {f"default/p{at}" for at in range(4)}
        assert compared.changed

    def test_equal_configurations_change_nothing(self) -> None:
        compared = cluster(*pods(4)).compare({"a": None, "b": None}, seeds=(0, 7), progress=False)
        assert compared.changed == {}
        assert len(compared.frame) == 4

    def test_unplaced_pods_are_counted_with_their_reasons(self) -> None:
        placed = cluster(*pods(3, cpu="3")).place()
        assert lab.unplaced().of(placed) == 1
        assert [message != "" for message in placed.messages].count(True) == 1

    def test_more_important_pods_preempt_others(self) -> None:
        running = [pod_manifest(f"there-{at}", node=f"n{at}", requests={"cpu": "4"}) for at in (1, 2)]
        important = pod_manifest("important", requests={"cpu": "4"}, spec={"priority": 7})
        found = cluster(*running, important)
        placed = found.place()
        ((victim, there),) = zip(placed.preempted, placed.nodes, strict=True)
        assert victim == f"default/there-{there[1:] if there else None}"
        assert repr(placed) == "1 of 1 pods placed on 1 of 2 nodes, 1 preempted"
        assert found.compare({"a": None, "b": PACK}, progress=False).changed.keys() <= {"default/important"}

    def test_a_sweep_finds_the_weight_that_balances(self) -> None:
        even = cluster(*pods(4))
        found = even.with_config(PACK).sweep(
            {"NodeResourcesFit": [0, 1], "NodeResourcesBalancedAllocation": [1]},
            lab.stdev("cpu"),
            progress=False,
        )
        assert found.best == {"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 1}
        assert list(found.frame.columns[:2]) == ["NodeResourcesFit", "NodeResourcesBalancedAllocation"]

    def test_a_plot_counts_each_node_once(self) -> None:
        chart = cluster(*pods(4)).compare({"spread": None, "pack": PACK}, progress=False).balance("cpu")
        (rows,) = chart.to_dict()["datasets"].values()
        assert sorted(row["percent"] for row in rows) == [0, 50, 50, 100]

    def test_an_unknown_resource(self) -> None:
        with pytest.raises(InvalidArgumentError, match="'gpu' is not one of cpu"):
            cluster().place().used("gpu")

    def test_a_cluster_without_nodes(self) -> None:
        empty = lab.load(objects=pods(1)).place()
        assert [
            measure.of(empty) for measure in (lab.unplaced(), lab.stdev("cpu"), lab.most_used("cpu"))
        ] == [1, 0, 0]


@lab.scoring(weight=100)
def prefer_quiet(_pod: Pod, node: NodeInfo) -> float:
    """Prefer nodes that are not busy."""
    return 100 - int(node.labels.get("load", "0"))


@lab.filtering
def only_hdd(_pod: Pod, node: NodeInfo) -> bool | str:
    return node.labels.get("disk") == "hdd" or "node(s) had no spinning disk"


class TestRules:
    def test_scores(self) -> None:
        found = cluster(*pods(1)).with_rules(prefer_quiet).explain("p0")
        scores = found.document["nodes"]["n2"]["scores"]["PreferQuiet"]
        assert (scores["raw"], scores["weighted"]) == (10, 1000)
        assert found.node == "n1"

    def test_filters(self) -> None:
        found = cluster(*pods(1)).with_rules(only_hdd).explain("p0")
        assert found.why_not("n1") == ["OnlyHdd: node(s) had no spinning disk"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("rule", "selected"),
        [pytest.param(prefer_quiet, "n1", id="score"), pytest.param(only_hdd, "n2", id="filter")],
    )
    def test_an_exported_rule_decides_alike(self, rule: lab.Rule, selected: str, tmp_path: Path) -> None:
        folder = lab.export(rule, tmp_path / "package")
        items = [
            node("n1", labels={"disk": "ssd"}),
            node("n2", labels={"disk": "hdd", "load": "90"}),
            *pods(1),
        ]
        (tmp_path / "cluster.json").write_text(
            json.dumps({"kind": "List", "apiVersion": "v1", "items": items})
        )
        program = [
            sys.executable,
            "-m",
            "mooring",
            "explain",
            "p0",
            "--manifests",
            str(tmp_path / "cluster.json"),
        ]
        reference = f"{rule.function.__name__}:{rule.name}"
        config = ["--config", str(folder / "config.yaml"), "--plugin", reference, "-o", "json"]
        done = subprocess.run([*program, *config], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["selected"] == selected

    def test_an_export_overwrites_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(FailedPreconditionError, match="exists"):
            lab.export(only_hdd, tmp_path)


def test_without_pandas_the_columns_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = cluster(*pods(1)).explain("p0")
    assert len(found.columns["node"]) == len(found.columns["reason"]) > 0
    with pytest.raises(FailedPreconditionError, match=r"pandas is not installed: pip install"):
        _ = found.frame


def test_a_live_cluster_is_read_once(tmp_path: Path) -> None:
    with FakeApiServer() as api:
        api.add(node_manifest("a"), pod_manifest("web"))
        cluster = lab.load(kubeconfig=api.kubeconfig(tmp_path / "kubeconfig"))
    assert cluster.explain("web").node == "a"


def test_a_recorded_cluster_at_some_time(tmp_path: Path) -> None:
    record_churn(tmp_path, 3, seed=1)
    assert len(lab.load(recording=tmp_path).nodes) > 1
    with pytest.raises(InvalidArgumentError, match="nothing is known of 2020-01-01"):
        lab.load(recording=tmp_path, at="2020-01-01")
    with pytest.raises(InvalidArgumentError, match="'yesterday' is not a time"):
        lab.load(recording=tmp_path, at="yesterday")


def test_the_view_of_the_page_has_all_and_loads_nothing() -> None:
    decision = lab.load(objects=[node_manifest("<script>"), pod_manifest("web")]).explain("web")
    html = decision.show().html
    assert html.count("</script>") == 2
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert decision.show()._repr_html_().startswith('<iframe sandbox="allow-scripts" ')


class TestFutures:
    def test_more_pods_of_a_shape(self) -> None:
        found = cluster(*pods(2)).capacity(lab.pod("big", cpu="3"), lab.pod("small", cpu="500m"))
        assert dict(zip(found.columns["shape"], found.columns["more"], strict=True)) == {
            "big": 2,
            "small": 12,
        }
        assert "Insufficient cpu" in found.columns["then"][0]

    def test_the_best_node_to_drain_comes_first(self) -> None:
        running = [lab.pod(f"p{at}", on="n1", cpu="1") for at in range(3)]
        found = cluster(*running, lab.pod("alone", on="n2", cpu="3")).removal(by="deletion")
        assert list(found.columns["node"]) == ["n1", "n2"] or not any(found.columns["removable"])
        assert repr(found).endswith("nodes could go by deletion")

    def test_nodes_that_pending_pods_need(self) -> None:
        found = cluster(*pods(3, cpu="4")).node_groups(lab.node("large", cpu="16"), prices={"large": 3.0})
        assert [found.columns[name] for name in ("group", "nodes", "price", "left over")] == [
            ["large"],
            [1],
            [3.0],
            [0],
        ]

    def test_what_a_pod_lacks(self) -> None:
        gpu: dict[str, Any] = {"nvidia.com/gpu": "1"}
        tainted = lab.node("gpu", taints=("nvidia.com/gpu=true:NoSchedule",), **gpu)
        waiting = lab.pod("train", **gpu)
        found = lab.load(objects=[lab.node("plain"), tainted, waiting]).explain("train").what_would_it_take()
        assert found.columns["change"][0] == "tolerate nvidia.com/gpu=true:NoSchedule"
        assert (found.columns["node"][0], found.columns["kind"][0]) == ("gpu", "toleration")

    def test_what_is_in_the_way(self) -> None:
        found = cluster(*pods(1, cpu="64")).explain("p0").findings("n1")
        assert repr(found) == "1 thing is in the way of default/p0"
        [row] = found.frame.itertuples()
        assert (row.plugin, row.code, row.subject, row.asked) == (
            "NodeResourcesFit",
            "NodeTooSmall",
            "cpu",
            64e3,
        )

    def test_what_is_to_blame(self) -> None:
        found = cluster(*pods(1, cpu="64")).explain("p0").blame()
        assert repr(found) == "default/p0: without rule NodeResourcesFit it would come out otherwise"
        [row] = found.frame.itertuples(index=False)
        assert row == (1, "rule", "NodeResourcesFit", "", "n1, n2", 2)

    def test_how_full_nodes_are(self) -> None:
        found = cluster(pod_manifest("there", requests={"cpu": "4"}, spec={"nodeName": "n1"})).usage()
        assert repr(found) == "1 of 2 nodes are full"
        assert tuple(found.frame.iloc[0]) == ("n1", "cpu", 4000, 4000, 100.0)

    def test_where_more_pods_fit(self) -> None:
        found = cluster().capacity(lab.pod("web", cpu="1"), by_node=True, limit=6)
        assert found.frame.more.sum() == 6
        assert set(found.frame.node) == {"n1", "n2"}

    @pytest.mark.parametrize(
        "empty",
        [
            pytest.param(lambda: cluster().capacity(lab.pod("w", cpu="99"), by_node=True), id="capacity"),
            pytest.param(lambda: cluster(*pods(1)).change("p0"), id="change"),
            pytest.param(lambda: cluster(*pods(1)).explain("p0").findings(), id="findings"),
            pytest.param(lambda: lab.load().usage(), id="usage"),
        ],
    )
    def test_empty_answers_have_the_dtypes_of_others(self, empty: Callable[[], lab.AnswerTable]) -> None:
        found = empty()
        assert dict(found.frame.dtypes.astype(str)) == dict(found.dtypes)

    def test_a_server_that_does_not_answer(self) -> None:
        with pytest.raises(CallFailedError, match="UNAVAILABLE"):
            lab.RunningServer("127.0.0.1:1").history("web")

    def test_a_plot_has_the_points_of_the_best_nodes_or_the_rejected_ones(self, tmp_path: Path) -> None:
        points = cluster(*pods(1)).explain("p0").plot(most=1)
        assert {row["node"] for row in next(iter(points.to_dict()["datasets"].values()))} == {"n1"}
        rejected = cluster(*pods(1, cpu="64")).explain("p0").plot()
        [row] = next(iter(rejected.to_dict()["datasets"].values()))
        assert row == {"plugin": "NodeResourcesFit", "nodes": 2}
        pytest.importorskip("vl_convert", reason="vl-convert is not installed")
        points.save(tmp_path / "points.svg")
        assert (tmp_path / "points.svg").read_text().startswith("<svg")

    def test_figures_are_numbers_where_all_are_rejected_too(self) -> None:
        frame = cluster(lab.pod("huge", cpu="99")).explain("huge").frame
        assert {str(frame[name].dtype) for name in ("raw", "normalized", "weight", "weighted")} == {"float64"}

    def test_the_sample_has_pods_to_explain(self) -> None:
        assert lab.sample().explain(lab.sample().pending[0]).columns["node"]

    def test_a_plot_over_time(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"time": [0.0, 3600.0], "cpu allocated %": [10.0, 20.0]})
        shown = lab.plot_series({"now": frame}, "cpu allocated %").to_dict()
        (rows,) = shown["datasets"].values()
        assert [row["hours"] for row in rows] == [0.0, 1.0]
        with pytest.raises(InvalidArgumentError, match="cpu allocated"):
            lab.plot_series({"now": frame}, "gpu")
