from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mooring.cluster.manifests import load_manifests, objects_from, pod_from_manifest
from mooring.cluster.manifests.defaults import MERGE_GATE
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.objects import LabelSelectorRequirement, ObjectMeta, PriorityClass
from mooring.framework.releases import Gates, KubeVersion
from mooring.plugins.pod_topology_spread.plugin import MATCH_LABEL_KEYS_GATE
from mooring.testing.builders import node_manifest, pod_manifest


@pytest.mark.parametrize(
    ("manifest", "path", "message"),
    [
        pytest.param({"kind": "Pod"}, "objects[0]: Pod : metadata.name", "name", id="no name"),
        pytest.param({"metadata": {"name": "x"}}, "objects[0]: kind", "missing", id="no kind"),
        pytest.param(
            pod_manifest("p", requests={"cpu": "-1"}),
            "objects[0]: Pod p: spec.containers[0].resources.requests[cpu]",
            "negative",
            id="negative quantity",
        ),
        pytest.param(
            pod_manifest("p", spec={"containers": [{"name": "c", "resources": {"limits": {"cpu": "x"}}}]}),
            "objects[0]: Pod p: spec.containers[0].resources.limits[cpu]",
            "not a quantity",
            id="malformed limit",
        ),
        pytest.param(
            pod_manifest("p", spec={"resources": {"limits": {"memory": "-1"}}}),
            "objects[0]: Pod p: spec.resources.limits[memory]",
            "negative",
            id="negative limit of the pod",
        ),
    ],
)
def test_an_unusable_manifest_is_named_with_its_field(
    manifest: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        objects_from([manifest])
    assert raised.value.violations[0].path == path
    assert message in raised.value.violations[0].message


def test_all_unusable_manifests_are_named_at_once() -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        objects_from(
            [{"kind": "Pod"}, {"kind": "Node"}, pod_manifest("p"), pod_manifest("p", labels={"a": "b"})]
        )
    assert [violation.path.partition(":")[0] for violation in raised.value.violations] == [
        "objects[3]",
        "objects[1]",
        "objects[0]",
    ]


def test_the_api_servers_defaults_are_filled_in() -> None:
    pod = pod_from_manifest(
        pod_manifest(
            labels={"app": "web", "rev": "2"},
            spec={
                "hostNetwork": True,
                "priorityClassName": "high",
                "containers": [
                    {
                        "ports": [
                            {"containerPort": 80},
                            {"containerPort": 81, "hostPort": 8081, "protocol": "UDP"},
                        ],
                        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
                    }
                ],
                "topologySpreadConstraints": [
                    {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["rev", "absent"]}
                ],
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "zone", "labelSelector": {}, "mismatchLabelKeys": ["app"]},
                            {"topologyKey": "zone", "matchLabelKeys": ["app"]},
                        ]
                    }
                },
            },
        ),
        [PriorityClass(metadata=ObjectMeta(name="high"), value=1000, preemption_policy="Never")],
    )
    container = pod.spec.containers[0]
    assert container.resources.requests == {"cpu": "1", "memory": "1Gi"}
    assert [(port.host_port, port.protocol) for port in container.ports] == [(80, "TCP"), (8081, "UDP")]
    assert (pod.spec.priority, pod.spec.preemption_policy) == (1000, "Never")
    spread = pod.spec.topology_spread_constraints[0].label_selector
    assert spread is not None
    assert spread.match_expressions == (LabelSelectorRequirement("rev", "In", ("2",)),)
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.pod_anti_affinity is not None
    terms = pod.spec.affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
    assert terms[0].label_selector is not None
    assert terms[0].label_selector.match_expressions == (LabelSelectorRequirement("app", "NotIn", ("web",)),)
    assert terms[1].label_selector is None


@pytest.mark.parametrize(
    ("name", "classes", "expected"),
    [
        pytest.param("", [], (0, ""), id="none"),
        pytest.param("", [{"value": 7, "globalDefault": True}], (7, "c"), id="the cluster's default"),
        pytest.param("", [{"value": 7}], (0, ""), id="no default"),
        pytest.param("c", [{"value": 7}], (7, "c"), id="named"),
        pytest.param("system-node-critical", [], (2_000_001_000, "system-node-critical"), id="built in"),
    ],
)
def test_the_priority_comes_from_the_class(
    name: str, classes: list[dict[str, Any]], expected: tuple[int, str]
) -> None:
    manifests = [{"kind": "PriorityClass", "metadata": {"name": "c"}, **fields} for fields in classes]
    pods = objects_from([*manifests, pod_manifest(spec={"priorityClassName": name})]).pods
    assert (pods[0].spec.priority, pods[0].spec.priority_class_name) == expected


MERGED = (LabelSelectorRequirement("rev", "In", ("2",)),)


@pytest.mark.parametrize(
    ("release", "off", "merged"),
    [
        pytest.param("1.34", (), MERGED, id="merged"),
        pytest.param("1.37", (MERGE_GATE, MATCH_LABEL_KEYS_GATE), (), id="not with the gates off"),
    ],
)
def test_match_label_keys_of_spread_constraints_are_merged_as_in_the_release(
    release: str, off: tuple[str, ...], merged: tuple[LabelSelectorRequirement, ...]
) -> None:
    constraint = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["rev"]}
    manifest = pod_manifest(labels={"rev": "2"}, spec={"topologySpreadConstraints": [constraint]})
    gates = Gates(KubeVersion.parse(release), dict.fromkeys(off, False))
    selector = pod_from_manifest(manifest, gates=gates).spec.topology_spread_constraints[0].label_selector
    assert selector is not None
    assert selector.match_expressions == merged


def test_a_node_without_allocatable_offers_its_capacity() -> None:
    manifest = node_manifest(status={"capacity": {"cpu": "3"}, "allocatable": None})
    assert objects_from([manifest]).nodes[0].status.allocatable == {"cpu": "3"}


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(dedent(text))
    return folder


def test_files_hold_documents_lists_and_folders(tmp_path: Path) -> None:
    written(
        tmp_path,
        a="""
        apiVersion: v1
        kind: Pod
        metadata: {name: one, labels: {"on": "yes", version: "1.10"}}
        ---
        ---
        kind: List
        items:
        - kind: Pod
          metadata: {name: two}
        - kind: PodList
          items:
          - metadata: {name: three}
        """,
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.json").write_text('{"kind": "Node", "metadata": {"name": "n"}}')
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / ".hidden.yaml").write_text("{")
    loaded = load_manifests([tmp_path])
    assert [pod.metadata.name for pod in loaded.pods] == ["one", "two", "three"]
    assert loaded.pods[0].metadata.labels == {"on": "yes", "version": "1.10"}
    assert [node.metadata.name for node in loaded.nodes] == ["n"]


def test_kinds_that_nobody_reads_are_counted(tmp_path: Path) -> None:
    written(tmp_path, a="{kind: Secret, metadata: {name: s}}", b="{kind: Secret, metadata: {name: t}}")
    assert load_manifests([tmp_path]).skipped == {"Secret": 2}


MULTIPLYING = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdef")
)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param("kind: Pod\nkind: Node\n", ":2: kind", "given twice", id="key given twice"),
        pytest.param('{"kind": "Pod",\n"kind": "Node"}', ":2: kind", "given twice", id="twice in JSON"),
        pytest.param('{"kind": "Pod",\n', ":2", "not YAML", id="half of a JSON file"),
        pytest.param('{"kind": ' * 1001, ":1", "nested more than 1000", id="nested JSON"),
        pytest.param("kind: [\n", ":2", "not YAML", id="no YAML"),
        pytest.param("- a\n", ":1", "a manifest is expected", id="a list"),
        pytest.param("kind: Pod\nspec: {? [a] : b}\n", ":2", "plain word", id="key that is not a word"),
        pytest.param("a: &a [*a]\n", "", "an alias stands within", id="refers to itself"),
        pytest.param("a: 1\nb: !!int 'z'\n", ":2", "'z' can't be read as", id="a tag that doesn't fit"),
        pytest.param(MULTIPLYING, "", "do its aliases multiply?", id="aliases that multiply"),
        pytest.param("a: !!float z\n", ":1", "'z' can't be read as", id="a tagged word"),
        pytest.param("a:\n " + "[" * 1001 + "]" * 1001, ":2", "nested more than 1000", id="brackets"),
        pytest.param("- " * 1001 + "a\n", ":1", "nested more than 1000", id="dashes"),
        pytest.param("\n\nkind: Pod\nmetadata: {name: 3}\n", ":3", "Expected str, got int", id="wrong type"),
    ],
)
def test_an_error_names_file_and_line(text: str, line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InvalidArgumentError) as raised:
        load_manifests([file])
    assert raised.value.violations[0].path.startswith(f"{file}{line}")
    assert message in raised.value.violations[0].message


def test_standard_input_is_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("kind: Node\nmetadata: {name: a}\n"))
    assert [node.metadata.name for node in load_manifests(["-"]).nodes] == ["a"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"absent\.yaml: can't be read"):
        load_manifests([tmp_path / "absent.yaml"])
