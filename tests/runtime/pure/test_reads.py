"""The recorded reads of a rule, and the parts of cluster and pod that its answers depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mooring.framework import (
    SUCCESS,
    Aspect,
    CycleState,
    FilterPlugin,
    NodeInfo,
    NodeView,
    Part,
    Pod,
    PreFilterPlugin,
    Pure,
    Status,
)
from mooring.framework.errors import PluginFailureError
from mooring.framework.objects import Measurement, Namespace, PriorityClass
from mooring.runtime.pure.reads import written
from tests.runtime.pure.engines import Rules

Reading = Callable[[Pod, NodeInfo], object]

CASES = [
    pytest.param(
        lambda _, n: n.labels.get("rack"), ["node.metadata.labels[rack]"], Part.NODES_BUT_IMAGES, id="label"
    ),
    pytest.param(
        lambda _, n: "rack" in n.labels,
        ["node.metadata.labels[rack]"],
        Part.NODES_BUT_IMAGES,
        id="label there",
    ),
    pytest.param(
        lambda _, n: sorted(n.labels), ["node.metadata.labels"], Part.NODES_BUT_IMAGES, id="all labels"
    ),
    pytest.param(
        lambda _, n: len(n.annotations),
        ["node.metadata.annotations"],
        Part.NODES_BUT_IMAGES,
        id="annotations",
    ),
    pytest.param(lambda _, n: n.taints, ["node.spec.taints"], Part.NODES_BUT_IMAGES, id="taints"),
    pytest.param(lambda _, n: n.name, ["node.metadata.name"], Part.NODES_BUT_IMAGES, id="name"),
    pytest.param(lambda _, n: n.node.status.images, ["node.status.images"], Part.NODES, id="images"),
    pytest.param(
        lambda _, n: n.allocatable["cpu"],
        ["allocatable[cpu]"],
        Part.RESOURCES | Part.NODES_BUT_IMAGES,
        id="offer",
    ),
    pytest.param(
        lambda _, n: n.requested.get("memory"),
        ["requested[memory]"],
        Part.RESOURCES | Part.NODES_BUT_IMAGES,
        id="requested",
    ),
    pytest.param(lambda _, n: n.pods, ["pods"], Part.PODS, id="pods"),
    pytest.param(
        lambda p, _: p.metadata.labels.get("app"), ["pod.metadata.labels[app]"], Part.NONE, id="pod label"
    ),
    pytest.param(lambda p, _: p.priority, ["pod.spec.priority"], Part.NONE, id="priority"),
    pytest.param(lambda p, _: p.spec.containers, ["pod.spec.containers"], Part.NONE, id="containers"),
    pytest.param(
        lambda p, _: p.spec.affinity and p.spec.affinity.pod_affinity,
        ["pod.spec.affinity", "pod.spec.affinity.pod_affinity"],
        Part.NONE,
        id="what may be absent",
    ),
]


def reading(read: Reading) -> type[FilterPlugin[Any]]:
    class Reader(FilterPlugin[None], Pure):
        name = "Reader"

        def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
            read(pod, node)
            return SUCCESS

    return Reader


@pytest.mark.parametrize(("read", "noted", "parts"), CASES)
def test_a_read_is_noted_by_its_path_and_as_a_part(read: Reading, noted: list[str], parts: Part) -> None:
    pod: dict[str, Any] = {"affinity": {"podAffinity": {}}}
    rules = Rules(reading(read))
    rules.decide(rules.pod(spec=pod, labels={"app": "a"}))
    assert [written(key) for key in rules.plugin.found] == noted
    found = rules.plugin.dependencies(rules.pod())
    assert (found.parts, rules.plugin.found.followed) == (parts, True)


ASPECTS = [
    pytest.param(
        lambda p: p.metadata.labels.get("app"), Aspect.SELECTED_LABELS, frozenset({"app"}), id="one label"
    ),
    pytest.param(lambda p: len(p.metadata.labels), Aspect.LABELS, frozenset(), id="all labels"),
    pytest.param(lambda p: p.metadata.annotations.get("a"), Aspect.NONE, frozenset(), id="annotation"),
    pytest.param(lambda p: p.spec.containers, Aspect.ALL, frozenset(), id="amounts"),
    pytest.param(lambda p: p.spec.volumes, Aspect.ALL, frozenset(), id="claims"),
    pytest.param(lambda p: p.group, Aspect.ALL, frozenset(), id="group"),
]


@pytest.mark.parametrize(("read", "aspects", "labels"), ASPECTS)
def test_what_is_read_of_a_pod_says_which_pods_are_alike(
    read: Callable[[Pod], object], aspects: Aspect, labels: frozenset[str]
) -> None:
    rules = Rules(reading(lambda pod, _: read(pod)))
    rules.decide()
    assert (rules.plugin.aspects, rules.plugin.labels) == (aspects, labels)


def test_values_that_a_rule_may_tell_apart_are_other_signatures() -> None:
    rules = Rules(reading(lambda pod, _: pod.metadata.annotations.get("a")))
    rules.decide()
    pods = [
        rules.pod(metadata={"annotations": annotations})
        for annotations in ({}, {"a": "1"}, {"a": "2"}, {"b": "1"})
    ]
    signatures = [rules.plugin.dependencies(pod).signature for pod in pods]
    assert len(set(signatures)) == 3
    assert signatures[0] == signatures[3]


class Looking(PreFilterPlugin[None], Pure):
    name = "Looking"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        self.look(nodes)
        return SUCCESS

    def look(self, nodes: NodeView) -> object:
        return None


OTHER_NODES = Part.OTHER_NODES | Part.NODES_BUT_IMAGES
EVERYTHING = Part.NODES | Part.RESOURCES | Part.PODS | Part.AFFINITIES
LOOKS = [
    pytest.param(
        lambda nodes: nodes.snapshot.objects.namespace_labels("x"), Part.OBJECTS, (Namespace,), id="namespace"
    ),
    pytest.param(
        lambda nodes: nodes.snapshot.objects.all(PriorityClass), Part.OBJECTS, (PriorityClass,), id="a kind"
    ),
    pytest.param(lambda nodes: nodes.snapshot.objects.kinds, Part.OBJECTS, None, id="any kind"),
    pytest.param(
        lambda nodes: [each.labels.get("a") for each in nodes.infos()], OTHER_NODES, (), id="labels"
    ),
    pytest.param(lambda nodes: [each.pods for each in nodes.infos()], OTHER_NODES | Part.PODS, (), id="pods"),
    pytest.param(lambda nodes: nodes.requested("cpu"), OTHER_NODES | Part.RESOURCES, (), id="a column"),
    pytest.param(lambda nodes: nodes.table.names, OTHER_NODES, (), id="a column of the table"),
    pytest.param(
        lambda nodes: nodes.table.nodes[0].metadata.labels.get("a"), OTHER_NODES, (), id="a node of the table"
    ),
    pytest.param(
        lambda nodes: nodes.take(nodes.table.image_set), OTHER_NODES | Part.IMAGES, (), id="sets of images"
    ),
    pytest.param(
        lambda nodes: nodes.snapshot.pods.groups, OTHER_NODES | EVERYTHING, (), id="any other column"
    ),
    pytest.param(
        lambda nodes: nodes.measured("load"),
        OTHER_NODES | Part.RESOURCES | Part.OBJECTS,
        (Measurement,),
        id="measured values",
    ),
    pytest.param(
        lambda nodes: nodes.snapshot.objects.versions((Namespace, PriorityClass)),
        Part.OBJECTS,
        (Namespace, PriorityClass),
        id="versions",
    ),
    pytest.param(len, OTHER_NODES, (), id="how many"),
    pytest.param(lambda _: 1, Part.NONE, (), id="nothing"),
]


@pytest.mark.parametrize(("look", "parts", "kinds"), LOOKS)
def test_what_pre_filter_looks_at_is_noted(
    look: Callable[[NodeView], object], parts: Part, kinds: tuple[type, ...] | None
) -> None:
    rules = Rules(type("Looking", (Looking,), {"look": staticmethod(look)}))
    rules.decide()
    found = rules.plugin.dependencies(rules.pod())
    assert (found.parts, found.kinds) == (parts, kinds)


CHANGES: tuple[Reading, ...] = (
    lambda p, _: p.metadata.labels.update(app="other"),  # type: ignore[attr-defined]
    lambda p, _: p.metadata.labels.pop("app"),  # type: ignore[attr-defined]
    lambda p, _: p.metadata.labels.__setitem__("app", "other"),  # type: ignore[index]
    lambda _, n: n.annotations.clear(),  # type: ignore[attr-defined]
)


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_rule_is_given_can_not_be_changed(change: Reading) -> None:
    rules = Rules(reading(change))
    before = dict(rules.pod().metadata.labels)
    with pytest.raises(PluginFailureError, match="is read-only"):
        rules.decide()
    assert (dict(rules.pod().metadata.labels), rules.plugin.found.followed) == (before, True)


NOT_FOLLOWED = [
    pytest.param(lambda p, _: p.metadata.name, "pod.metadata.name", id="the pod's own name"),
    pytest.param(lambda p, _: repr(p), "reads pod", id="all of the pod"),
    pytest.param(lambda p, _: msgspec.json.encode(p), "needs the objects themselves", id="code in C"),
    pytest.param(lambda _, n: list(n.measurements), "reads all measurements", id="measurements"),
    pytest.param(lambda _, n: n.node.metadata.resource_version, "resource_version", id="a version"),
    pytest.param(
        lambda _, n: [n.labels.get(f"key-{at}") for at in range(10_000)],
        "more than 256 entries",
        id="ten thousand labels",
    ),
]


@pytest.mark.parametrize(("read", "why"), NOT_FOLLOWED)
def test_what_can_not_be_followed_is_told_once_and_called_plainly(
    read: Reading, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    rules = Rules(reading(read))
    chosen = [rules.decide().node_name for _ in range(3)]
    (line,) = [record.getMessage() for record in caplog.records if "is not followed" in record.getMessage()]
    assert why in line
    assert "Reader" in line
    assert (None in chosen, rules.plugin.found.followed) == (False, False)
