"""The cheapest set of changes with which a pod fits, and what stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import EngineOptions
from mooring.app.sessions import LiveState
from mooring.framework import Pod
from mooring.framework.objects.node import HOSTNAME
from mooring.framework.pod_requests import pod_usage
from mooring.runtime.cycle.plugin_calls import NoDeadline
from mooring.sessions.change import elsewhere
from mooring.sessions.change.labels import MissingLabels
from mooring.sessions.change.search import ALL_KINDS, ChangeSearch
from mooring.sessions.change.steps import (
    AddNode,
    End,
    Kind,
    LowerRequest,
    Move,
    NeededChanges,
    Relabel,
    Step,
    Tolerate,
    lowered,
)
from mooring.sessions.change.trial import ChangeTrial
from mooring.sessions.work_trees import Work
from mooring.testing import make_node, make_pod

OPTIONS = EngineOptions()
REGISTRY = registry_of(OPTIONS)
CONFIGURATION = configuration_of(OPTIONS, REGISTRY)
TAINT = {"key": "team", "value": "db", "effect": "NoSchedule"}
GONE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
SMALL: dict[str, Any] = {"cpu": "2", "memory": "4Gi", "pods": 10}
OWNED = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]
STAYS = "karpenter.sh/do-not-disrupt"
PORT = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}


def work_on(*objects: Any) -> Work:
    core = build_core(OPTIONS, REGISTRY, CONFIGURATION)
    core.state.replace("test", objects)
    return LiveState(core, OPTIONS).work()


def changes(
    pod: Pod, *objects: Any, kinds: frozenset[Kind] = ALL_KINDS, only: tuple[str, ...] = ()
) -> NeededChanges:
    work = work_on(*objects)
    profile = work.engine.profile("", pod)
    search = ChangeSearch(work, pod, profile, lambda _: profile, only=only, progress=NoDeadline())
    found = search.run(kinds)
    assert not work.tree.take_changes(), "the tree is what it was"
    return found


def said(found: NeededChanges) -> list[str]:
    return ["; ".join(map(_word, option.steps)) + f" on {option.node_name}" for option in found.options]


def _word(step: Step) -> str:
    match step:
        case Tolerate(taint):
            return f"tolerates {taint.key}"
        case Relabel(_, key, value):
            return f"{key}={value}"
        case LowerRequest(resource, amount, _):
            return f"{resource} {amount}"
        case Move(pod, node):
            return f"{pod.metadata.name} to {node}"
        case AddNode(_, like):
            return f"like {like}"
        case End(pod):
            return f"{pod.metadata.name} ends"


def pod(**fields: Any) -> Pod:
    return make_pod("p", metadata={"uid": "p"}, **fields)


def there(name: str, node: str, **fields: Any) -> Pod:
    """Return a pod that its controller would create again."""
    return make_pod(name, metadata={"uid": name, "ownerReferences": OWNED}, node=node, **fields)


def node(name: str, cpu: str = "2", **fields: Any) -> Any:
    return make_node(name, allocatable={**SMALL, "cpu": cpu}, **fields)


def asking(name: str, cpu: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}}


def requiring(*expressions: dict[str, Any]) -> dict[str, Any]:
    return requiring_one_of({"matchExpressions": list(expressions)})


def requiring_one_of(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def on(operator: str, *values: str, key: str = HOSTNAME) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("asked", "objects", "expected"),
    [
        pytest.param(pod(), [node("a")], [], id="it fits"),
        pytest.param(pod(), [node("a", spec={"taints": [TAINT]})], ["tolerates team on a"], id="a taint"),
        pytest.param(
            pod(),
            [node("a", spec={"taints": [GONE], "unschedulable": True})],
            ["like a on a-1"],
            id="zone-outage-advice, a new node has no taints of a state and nobody is to tolerate one",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}),
            [node("a", cpu="1"), make_pod("bare", node="a", requests={"cpu": "1"})],
            ["like a on a-1"],
            id="nominated-room, preemption-simple, a request of nothing is no help",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}),
            [node("a", cpu="1"), make_pod("bare", node="a", requests={"cpu": "900m"})],
            ["cpu 100 on a", "like a on a-1"],
            id="a request of something is",
        ),
        pytest.param(
            pod(spec={"nodeSelector": {"disk": "ssd"}}), [node("a")], ["disk=ssd on a"], id="a selected label"
        ),
        pytest.param(
            pod(
                spec=requiring(
                    {"key": "age", "operator": "Lt", "values": ["3"]},
                    {"key": "old", "operator": "DoesNotExist"},
                    {"key": "zone", "operator": "In", "values": ["y", "x"]},
                )
            ),
            [node("a", labels={"old": "1", "zone": "x"})],
            ["age=2; old=None on a"],
            id="required labels, those alone that are not so",
        ),
        pytest.param(
            pod(spec=requiring(on("Lt", "1", key="age"))), [node("a")], ["age=0 on a"], id="the least number"
        ),
        pytest.param(
            pod(spec=requiring(on("Lt", "0", key="age"))), [node("a")], [], id="no label has a lesser value"
        ),
        pytest.param(
            pod(spec=requiring(on("Exists", key="age"), on("NotIn", "true", "false", key="age"))),
            [node("a", labels={"age": "true"})],
            ["age=true-1 on a"],
            id="a word that is not ruled out",
        ),
        pytest.param(
            pod(spec=requiring(on("Gt", "3", key="age"), on("NotIn", "4", "5", key="age"))),
            [node("a", labels={"age": "4"})],
            ["age=6 on a"],
            id="a number that is not ruled out",
        ),
        pytest.param(
            pod(spec=requiring(on("Gt", "3", key="age"), on("Gt", "12", key="age"))),
            [node("a")],
            ["age=13 on a"],
            id="a number past both limits",
        ),
        pytest.param(
            pod(
                spec=requiring(
                    on("Gt", "3", key="age"), on("Lt", "6", key="age"), on("NotIn", "4", "5", key="age")
                )
            ),
            [node("a")],
            [],
            id="no number is left",
        ),
        pytest.param(
            pod(spec={"nodeSelector": {"age": "-1"}}), [node("a")], [], id="no label has the selected value"
        ),
        pytest.param(
            pod(spec=requiring(on("NotIn", "a"), on("Lt", "1", key="age"))),
            [node("a")],
            ["age=0; like a on a-1"],
            id="a new node has a hostname of its own",
        ),
        pytest.param(
            pod(
                spec=requiring_one_of(
                    {"matchFields": [on("NotIn", "a", key="metadata.name")]},
                    {"matchExpressions": [on("In", "a"), on("Exists", key="age")]},
                )
            ),
            [node("a")],
            ["age=true on a", "like a on a-1"],
            id="a new node has a name of its own",
        ),
        pytest.param(
            pod(
                requests={"cpu": "1"},
                spec=requiring_one_of(
                    {"matchExpressions": [on("In", "a")]}, {"matchExpressions": [on("Exists", key="age")]}
                ),
            ),
            [node("a"), there("x", "a", requests={"cpu": "1500m"})],
            ["cpu 500 on a", "age=true; like a on a-1"],
            id="a new node lacks what the name made up for",
        ),
        pytest.param(
            pod(requests={"cpu": "3"}),
            [node("a"), node("b", "2500m")],
            ["cpu 2500 on b"],
            id="the least share of a request",
        ),
        pytest.param(
            pod(requests={"cpu": "1"}),
            [
                node("a"),
                node("b"),
                node("c"),
                there("x", "a", requests={"cpu": "1500m"}),
                there("y", "b", requests={"cpu": "1200m"}),
                there("z", "c", requests={"cpu": "1"}),
                there("w", "c", requests={"cpu": "500m"}),
            ],
            ["cpu 800 on b", "w to b on c", "like a on a-1"],
            id="each without the last kind of the one before",
        ),
        pytest.param(
            pod(spec=PORT),
            [
                node("a"),
                node("b", spec={"taints": [TAINT]}),
                there("x", "a", spec=PORT),
                there("y", "a"),
                there("z", "a", spec=PORT),
            ],
            ["tolerates team on b", "like a on a-1"],
            id="what other plugins say is tried",
        ),
    ],
)
def test_options(asked: Pod, objects: list[Any], expected: list[str]) -> None:
    found = changes(asked, *objects)
    assert said(found) == expected
    assert found.complete


@pytest.mark.parametrize(
    "requirement",
    [
        pytest.param(requiring(on("In", "a", "5")), id="In"),
        pytest.param(requiring(on("NotIn", "a")), id="NotIn"),
        pytest.param(requiring(on("Gt", "4")), id="Gt"),
        pytest.param(requiring(on("Lt", "6")), id="Lt"),
        pytest.param(
            requiring_one_of({"matchFields": [on("In", "b", key="metadata.name")]}),
            id="the field of the name",
        ),
        pytest.param({"nodeSelector": {HOSTNAME: "a"}}, id="selected"),
    ],
)
def test_what_one_node_lacks_is_not_said_of_others(requirement: dict[str, Any]) -> None:
    asked = pod(spec=requirement)
    nodes = [node(name) for name in ("x", "a", "5", "y", "7", "b")]
    together = MissingLabels(asked)
    assert [together.ways(each) for each in nodes] == [MissingLabels(asked).ways(each) for each in nodes]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"ownerReferences": OWNED}, ["x to b on a"], id="made anew"),
        pytest.param({}, [], id="nobody would make it anew"),
        pytest.param({"ownerReferences": OWNED, "annotations": {STAYS: "true"}}, [], id="it stays"),
    ],
)
def test_pods_that_may_not_be_evicted_do_not_move(metadata: dict[str, Any], expected: list[str]) -> None:
    taken = make_pod("x", metadata={"uid": "x", **metadata}, node="a", spec=PORT)
    found = changes(
        pod(spec={**PORT, "nodeSelector": {"kubernetes.io/hostname": "a"}}),
        node("a"),
        node("b"),
        taken,
        kinds=frozenset((Kind.MOVE,)),
    )
    assert said(found) == expected


def test_a_pod_that_finds_no_other_node_does_not_move() -> None:
    full = there("x", "a", requests={"cpu": "1500m"})
    asked = pod(requests={"cpu": "1"})
    assert said(changes(asked, node("a"), full, kinds=frozenset((Kind.MOVE,)))) == []


@pytest.mark.parametrize(
    "pinned",
    [
        pytest.param({"spec": {"nodeSelector": {"on": "no other node"}}}, id="it selects its node"),
        pytest.param(
            {"spec": {"containers": [{**asking("c", "1"), **PORT["containers"][0]}]}},
            id="its port is taken elsewhere",
        ),
    ],
)
def test_of_pods_of_one_size_one_that_finds_a_node_moves(pinned: dict[str, Any]) -> None:
    asked = pod(requests={"cpu": "1"}, spec={"nodeSelector": {HOSTNAME: "a"}})
    same = there("x", "a", **{"requests": {"cpu": "1"}, **pinned}), there("y", "a", requests={"cpu": "1"})
    taken = there("z", "b", spec=PORT)
    found = changes(asked, node("a"), node("b"), *same, taken, kinds=frozenset((Kind.MOVE,)))
    assert said(found) == ["y to b on a"]


def test_no_pod_leaves_for_which_no_node_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[Any]()
    monkeypatch.setattr(ChangeTrial, "steps", lambda _, *args, **_kind: tried.append(args))
    full = [there(f"{name}{at}", name, requests={"cpu": "1"}) for name in "abc" for at in range(2)]
    found = changes(
        pod(requests={"cpu": "1"}), *map(node, "abc"), *full, kinds=frozenset((Kind.MOVE, Kind.TOLERATION))
    )
    assert (found.options, found.complete, tried) == ([], True, [])


def test_of_pods_that_no_node_takes_one_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """``e`` has room, but takes none of them: once that is known, none of the other three nodes is tried."""
    tried, steps = list[Any](), ChangeTrial.steps

    def noting(*args: Any, **kind: Any) -> Any:
        tried.append(args)
        return steps(*args, **kind)

    monkeypatch.setattr(ChangeTrial, "steps", noting)
    full = [there(f"{name}{at}", name, requests={"cpu": "1"}) for name in "abcd" for at in range(2)]
    nodes = [*map(node, "abcd"), node("e", spec={"taints": [TAINT]})]
    found = changes(pod(requests={"cpu": "2"}), *nodes, *full, kinds=frozenset((Kind.MOVE,)))
    assert (found.options, found.complete, len(tried)) == ([], True, 1)


ZONE = "topology.kubernetes.io/zone"
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}}
APART = {
    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ZONE, **WEB}]}
}
EVEN = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **WEB}
PINNED = {"nodeSelector": {"on": "no other node"}}
SPREAD = [{**EVEN, "nodeAffinityPolicy": "Ignore"}]


@pytest.mark.parametrize(
    ("mine", "theirs", "open_", "expected"),
    [
        pytest.param({"affinity": APART}, {}, True, ["x to c on a"], id="the pod stays away from it"),
        pytest.param({}, {"affinity": APART}, True, ["x to c on a"], id="it stays away from the pod"),
        pytest.param(
            {"topologySpreadConstraints": SPREAD}, {}, True, ["x to c on a"], id="there is one too many"
        ),
        pytest.param({"topologySpreadConstraints": SPREAD}, {}, False, [], id="it could only go back"),
        pytest.param({"affinity": APART}, {"nodeName": "c"}, True, [""], id="it is in another zone"),
    ],
)
def test_a_pod_of_another_node_moves_where_its_zone_matters(
    mine: dict[str, Any], theirs: dict[str, Any], open_: bool, expected: list[str]
) -> None:
    nodes = [
        node("a", "1", labels={ZONE: "1"}),
        node("b", labels={ZONE: "1"}),
        node("c", labels={ZONE: "2"}, spec={} if open_ else {"taints": [TAINT]}),
    ]
    there_ = there("x", "b", labels={"app": "web"}, requests={"cpu": "1500m"}, spec=theirs)
    asked = pod(labels={"app": "web"}, requests={"cpu": "1"}, spec={**mine, "nodeSelector": {ZONE: "1"}})
    found = changes(asked, *nodes, there_, kinds=frozenset((Kind.MOVE,)))
    if expected == [""]:
        assert found.status.ok
    else:
        assert said(found) == expected


@pytest.mark.parametrize(
    ("there_already", "tried"),
    [
        pytest.param(1, ["far", "w0"], id="one is too many"),
        pytest.param(6, ["far"], id="more than may move are too many"),
    ],
)
def test_for_spreading_those_alone_move_that_may_be_enough(
    monkeypatch: pytest.MonkeyPatch, there_already: int, tried: list[str]
) -> None:
    """``far`` would make room in a zone that takes the pod; ``o`` does not affect the verdict on its zone."""
    moved = list[str]()
    steps = ChangeTrial.steps

    def noting(trial: ChangeTrial, *args: Any, **kind: Any) -> Any:
        moved.extend(record.name for record in args[3] if len(args[3]) == 1)
        return steps(trial, *args, **kind)

    monkeypatch.setattr(ChangeTrial, "steps", noting)
    web = [
        there(f"w{at}", "ab"[at % 2], labels={"app": "web"}, requests={"cpu": "1500m"}, spec=PINNED)
        for at in range(there_already)
    ]
    others = [
        there("o", "a", requests={"cpu": "100m"}),
        there("far", "c", requests={"cpu": "2"}, spec=PINNED),
    ]
    nodes = [node(name, labels={ZONE: zone}) for name, zone in (("a", "1"), ("b", "1"), ("c", "2"))]
    nodes.append(node("d", labels={ZONE: "2"}, spec={"taints": [TAINT]}))
    asked = pod(labels={"app": "web"}, requests={"cpu": "100m"}, spec={"topologySpreadConstraints": [EVEN]})
    found = changes(asked, *nodes, *web, *others, kinds=frozenset({Kind.MOVE}))
    assert (found.options, found.complete) == ([], True)
    assert sorted(set(moved)) == tried


def test_no_other_node_is_looked_at_for_pods_that_give_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at, movable = set[int](), ChangeTrial.movable

    def noting(trial: ChangeTrial, row: int, **kind: Any) -> Any:
        looked_at.add(row)
        return movable(trial, row, **kind)

    monkeypatch.setattr(ChangeTrial, "movable", noting)
    full = [there(f"x-{name}", name, requests={"cpu": "2"}) for name in "abc"]
    small = [there(f"y-{name}", name) for name in "abc"]
    found = changes(
        pod(requests={"cpu": "1"}), *map(node, "abc"), *full, *small, kinds=frozenset({Kind.MOVE})
    )
    assert (found.options, len(looked_at)) == ([], 1)


def test_of_many_nodes_in_the_same_domain_the_first_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    web = [there(f"w-{name}", name, labels={"app": "web"}, spec=PINNED) for name in "bc"]
    nodes = [node(name, labels={ZONE: "1"}) for name in "abc"]
    asked = pod(labels={"app": "web"}, spec={"affinity": APART})

    def complete() -> bool:
        return changes(asked, *nodes, *web, kinds=frozenset({Kind.MOVE})).complete

    assert complete()
    monkeypatch.setattr(elsewhere, "MOST_NEAR", 1)
    assert not complete()


def test_what_was_read_of_nodes_holds_after_a_new_one_was_tried() -> None:
    """The new node makes the table larger, between the zones that one and that two pods have to leave."""
    web = [
        there(f"w{at}", name, labels={"app": "web"}, requests={"cpu": "100m"}, spec=PINNED)
        for at, name in enumerate("abb")
    ]
    nodes = [
        node(name, labels={ZONE: zone}) for name, zone in (("a", "1"), ("b", "2"), ("c", "3"), ("d", "3"))
    ]
    full = [there(f"o-{name}", name, requests={"cpu": "2"}, spec=PINNED) for name in "cd"]
    asked = pod(labels={"app": "web"}, requests={"cpu": "1"}, spec={"topologySpreadConstraints": [EVEN]})
    found = changes(asked, *nodes, *web, *full, kinds=frozenset({Kind.MOVE, Kind.NODE}))
    assert (said(found), found.complete) == (["like c on c-1"], True)


def test_no_label_is_taken_away_that_the_node_does_not_lack() -> None:
    """Without its zone ``a`` would conflict with no pod, and a term would hold: that is not a
    useful change.
    """
    asked = pod(
        labels={"app": "web"},
        spec=requiring_one_of(
            {"matchExpressions": [on("In", "1", key=ZONE)]},
            {"matchExpressions": [on("DoesNotExist", key=ZONE)]},
        ),
    )
    web = there("w", "a", labels={"app": "web"}, spec={"affinity": APART})
    found = changes(asked, node("a", labels={ZONE: "1"}), web, kinds=frozenset({Kind.LABEL}))
    assert (found.options, found.complete) == ([], True)


def test_more_sets_of_labels_than_are_looked_at_are_told() -> None:
    keys = ("age", "size", "zone")
    several = pod(spec=requiring(*(on("In", "1", "2", "3", key=key) for key in keys)))
    found = changes(several, node("a"))
    assert said(found) == ["age=1; size=1; zone=1 on a"]
    assert not found.complete


def test_only_the_nodes_in_question_take_the_pod() -> None:
    nodes = [node("a"), node("b", spec={"taints": [TAINT]}), node("c", "100m")]
    asked = pod(requests={"cpu": "1"})
    assert said(changes(asked, *nodes, only=("b", "c"))) == ["tolerates team on b", "cpu 100 on c"]
    assert said(changes(asked, *nodes, only=("a",))) == [" on a"]


@pytest.mark.parametrize(
    ("spec", "total"),
    [
        pytest.param({"containers": [asking("a", "3")]}, 2000, id="one"),
        pytest.param(
            {
                "containers": [asking("a", "3"), asking("b", "1")],
                "initContainers": [{**asking("s", "500m"), "restartPolicy": "Always"}, asking("i", "6")],
                "overhead": {"cpu": "250m"},
            },
            2000,
            id="several, one before the others, and overhead",
        ),
        pytest.param(
            {
                "containers": [asking("a", "1")],
                "resources": {"requests": {"cpu": "3"}},
            },
            800,
            id="the pod's own",
        ),
    ],
)
def test_a_lowered_request_is_what_it_was_lowered_to(spec: dict[str, Any], total: int) -> None:
    less = lowered(make_pod("p", spec=spec), "cpu", total)
    assert pod_usage(less).request("cpu") == total
    assert lowered(less, "cpu", total + 1) == less
