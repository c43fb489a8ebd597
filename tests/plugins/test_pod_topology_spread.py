from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.framework import Code, CycleState, Node, NodeView, Pod, PreFilterResult, Status
from mooring.framework.objects import Object
from mooring.plugins.pod_topology_spread.args import Defaulting, PodTopologySpreadArgs
from mooring.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS
from mooring.plugins.pod_topology_spread.filtering import REASON, REASON_NO_LABEL
from mooring.plugins.pod_topology_spread.plugin import MATCH_LABEL_KEYS_GATE, PodTopologySpread
from mooring.plugins.pod_topology_spread.scoring import SoftCounts
from mooring.testing.builders import make_node, make_pod
from tests.examples import examples
from tests.plugins.harness import final_scores, make, pre_filter, raw_scores, reasons, verdicts

ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def constraint(**fields: Any) -> dict[str, Any]:
    usual = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return {**usual, "labelSelector": {"matchLabels": WEB}, **fields}


def spreading(*constraints: Mapping[str, Any], labels: Mapping[str, str] = WEB, **spec: Any) -> Pod:
    return make_pod("new", labels=labels, spec={"topologySpreadConstraints": list(constraints), **spec})


def node(name: str, zone: str | None, **fields: Any) -> Node:
    return make_node(name, labels={ZONE: zone} if zone is not None else {}, **fields)


def web(name: str, on: str, **fields: Any) -> Pod:
    return make_pod(name, **{"labels": WEB, **fields}, node=on)


def cluster(*objects: Object) -> NodeView:
    state = State()
    state.replace("test", objects)  # type: ignore[arg-type]  # Object is the base of all that it takes
    return NodeView(state.snapshot, state.snapshot.nodes.rows()[::-1].copy())


NODES = (node("a1", "a"), node("a2", "a"), node("b1", "b"))
TWO_IN_A = (*NODES, web("w1", "a1"), web("w2", "a2"))


@pytest.mark.parametrize(
    ("objects", "pod", "rejected"),
    [
        pytest.param(TWO_IN_A, spreading(constraint()), {"a1", "a2"}, id="the crowded zone"),
        pytest.param(TWO_IN_A, spreading(constraint(maxSkew=3)), set(), id="skew allowed"),
        pytest.param(TWO_IN_A, spreading(constraint(maxSkew=2)), {"a1", "a2"}, id="one too many"),
        pytest.param(
            TWO_IN_A, spreading(constraint(maxSkew=2), labels={}), set(), id="the pod itself doesn't match"
        ),
        pytest.param(TWO_IN_A, spreading(constraint(minDomains=3)), {"a1", "a2"}, id="too few domains"),
        pytest.param(
            (*TWO_IN_A, web("w3", "b1")),
            spreading(constraint(minDomains=3)),
            {"a1", "a2", "b1"},
            id="too few domains count as an empty one",
        ),
        pytest.param(
            (*NODES, web("w1", "a1", namespace="other")), spreading(constraint()), set(), id="other namespace"
        ),
        pytest.param(
            (*NODES, web("w1", "a1", metadata=DELETED)), spreading(constraint()), set(), id="terminating"
        ),
        pytest.param(TWO_IN_A, spreading(constraint(labelSelector={})), set(), id="empty selector"),
        pytest.param(TWO_IN_A, spreading(constraint(labelSelector=None)), set(), id="no selector"),
        pytest.param(
            TWO_IN_A,
            spreading(constraint(topologyKey="kubernetes.io/hostname")),
            {"a1", "a2"},
            id="hosts",
        ),
        pytest.param(
            TWO_IN_A,
            spreading(constraint(labelSelector={"matchLabels": {}, "matchExpressions": []})),
            set(),
            id="empty selector in full",
        ),
    ],
)
def test_uneven_domains_are_rejected(objects: Sequence[Object], pod: Pod, rejected: set[str]) -> None:
    found = verdicts(make(PodTopologySpread), pod, cluster(*objects))
    assert {name for name, status in found.items() if not status.ok} == rejected
    assert all(status == Status.unschedulable(REASON) for status in found.values() if not status.ok)


def test_a_node_without_a_key_is_rejected_and_does_not_count() -> None:
    lacking = make_node("lacking")
    pod = spreading(constraint(), constraint(topologyKey="rack"))
    racked = make_node("racked", labels={ZONE: "a", "rack": "1"})
    found = verdicts(make(PodTopologySpread), pod, cluster(lacking, racked, node("b1", "b"), web("w", "b1")))
    assert found["lacking"] == Status.unresolvable(REASON_NO_LABEL)
    assert found["b1"] == Status.unresolvable(REASON_NO_LABEL)
    assert found["racked"].ok


@pytest.mark.parametrize(
    ("policies", "spec", "allowed"),
    [
        pytest.param({}, {"nodeSelector": {ZONE: "a"}}, True, id="node selector, by default"),
        pytest.param(
            {"nodeAffinityPolicy": "Ignore"}, {"nodeSelector": {ZONE: "a"}}, False, id="node selector ignored"
        ),
        pytest.param({}, {}, False, id="taints, by default"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, {}, True, id="taints honoured"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"},
            {"tolerations": [{"operator": "Exists"}]},
            False,
            id="taints honoured but tolerated",
        ),
    ],
)
def test_policies_leave_domains_out(
    policies: Mapping[str, str], spec: Mapping[str, Any], allowed: bool
) -> None:
    nodes = cluster(node("a1", "a"), node("b1", "b", taints=[TAINT]), web("w", "a1"))
    pod = spreading(constraint(**policies), **spec)
    assert verdicts(make(PodTopologySpread), pod, nodes)["a1"].ok is allowed


def test_match_label_keys_add_the_pods_own_values() -> None:
    old, new = {**WEB, "version": "1"}, {**WEB, "version": "2"}
    nodes = cluster(*NODES, web("w1", "a1", labels=old), web("w2", "a1", labels=old))
    pod = spreading(constraint(matchLabelKeys=["version", "absent"]), labels=new)
    assert verdicts(make(PodTopologySpread), pod, nodes)["a1"].ok
    without = make(PodTopologySpread, gates={MATCH_LABEL_KEYS_GATE: False})
    assert not verdicts(without, pod, nodes)["a1"].ok


def test_all_nodes_count_whichever_are_asked_about() -> None:
    everything = cluster(*TWO_IN_A)
    part = everything.subset(everything.rows[everything.rows == everything.table.index["a1"]])
    assert reasons(make(PodTopologySpread), spreading(constraint()), part) == {"a1": (REASON,)}


def test_a_pod_without_hard_constraints_is_skipped() -> None:
    soft = spreading(constraint(whenUnsatisfiable="ScheduleAnyway"))
    answer = pre_filter(make(PodTopologySpread), soft, cluster(*NODES))
    assert isinstance(answer, Status)
    assert answer.code is Code.SKIP
    hard = make(PodTopologySpread).pre_score(CycleState(), spreading(constraint()), cluster(*NODES))
    assert hard.code is Code.SKIP


def test_a_bad_selector_is_an_error_that_names_it() -> None:
    bad = constraint(labelSelector={"matchExpressions": [{"key": "app", "operator": "Near"}]})
    answer = pre_filter(make(PodTopologySpread), spreading(bad), cluster(*NODES))
    assert not isinstance(answer, PreFilterResult)
    assert answer.code is Code.ERROR
    assert answer.message.startswith("spec.topologySpreadConstraints[0].labelSelector: 'Near'")


def soft(**fields: Any) -> dict[str, Any]:
    return constraint(whenUnsatisfiable="ScheduleAnyway", **fields)


def test_emptier_domains_score_higher() -> None:
    # Two zones: a pod is worth ln 4, so 2 and 0 pods are 2.77 and 0.
    assert raw_scores(make(PodTopologySpread), spreading(soft()), cluster(*TWO_IN_A)) == {
        "a1": 3,
        "a2": 3,
        "b1": 0,
    }
    assert final_scores(make(PodTopologySpread), spreading(soft()), cluster(*TWO_IN_A)) == {
        "a1": 0,
        "a2": 0,
        "b1": 100,
    }


def test_a_pod_is_worth_less_where_fewer_domains_have_a_feasible_node() -> None:
    # One zone: a pod is worth ln 3, so 2 pods are 2.2.
    everything = cluster(*TWO_IN_A)
    part = everything.subset(everything.rows[everything.rows != everything.table.index["b1"]])
    assert raw_scores(make(PodTopologySpread), spreading(soft()), part) == {"a1": 2, "a2": 2}


def test_hosts_are_counted_one_by_one() -> None:
    # Three hosts: a pod is worth ln 5, and maxSkew 2 adds one.
    pod = spreading(soft(topologyKey="kubernetes.io/hostname", maxSkew=2))
    assert raw_scores(make(PodTopologySpread), pod, cluster(*TWO_IN_A)) == {"a1": 3, "a2": 3, "b1": 1}


def test_a_node_without_the_key_scores_nothing() -> None:
    nodes = cluster(*TWO_IN_A, make_node("lacking"))
    assert final_scores(make(PodTopologySpread), spreading(soft()), nodes)["lacking"] == 0


def test_nothing_anywhere_scores_everybody_full() -> None:
    assert set(final_scores(make(PodTopologySpread), spreading(soft()), cluster(*NODES)).values()) == {100}


def service(name: str, selector: Mapping[str, str] | None, namespace: str = "default") -> Object:
    spec = {} if selector is None else {"selector": dict(selector)}
    metadata = {"name": name, "namespace": namespace}
    return from_manifest({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def controller(version: str, kind: str, selector: Mapping[str, Any]) -> Object:
    metadata = {"name": "owner", "namespace": "default"}
    spec = {"selector": dict(selector)}
    return from_manifest({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def owned(version: str, kind: str, *, controls: bool = True) -> Pod:
    owner = {"apiVersion": version, "kind": kind, "name": "owner", "uid": "u", "controller": controls}
    return make_pod("new", labels=WEB, metadata={"ownerReferences": [owner]})


PLAIN = make_pod("new", labels=WEB)
LABELS = {"matchLabels": WEB}


@pytest.mark.parametrize(
    ("pod", "objects", "spreads"),
    [
        pytest.param(PLAIN, (), False, id="neither service nor owner"),
        pytest.param(PLAIN, (service("s", WEB),), True, id="service"),
        pytest.param(PLAIN, (service("s", {"app": "db"}),), False, id="service of others"),
        pytest.param(PLAIN, (service("s", None),), False, id="service without selector"),
        pytest.param(PLAIN, (service("s", WEB, "other"),), False, id="service elsewhere"),
        pytest.param(
            owned("v1", "ReplicationController"),
            (controller("v1", "ReplicationController", WEB),),
            True,
            id="replication controller",
        ),
        pytest.param(
            owned("apps/v1", "ReplicaSet"),
            (controller("apps/v1", "ReplicaSet", LABELS),),
            True,
            id="replica set",
        ),
        pytest.param(
            owned("apps/v1", "StatefulSet"),
            (controller("apps/v1", "StatefulSet", LABELS),),
            True,
            id="stateful set",
        ),
        pytest.param(owned("apps/v1", "ReplicaSet"), (), False, id="owner gone"),
        pytest.param(owned("batch/v1", "Job"), (), False, id="owner of another kind"),
        pytest.param(
            owned("apps/v1", "ReplicaSet", controls=False),
            (controller("apps/v1", "ReplicaSet", LABELS),),
            False,
            id="owner that doesn't control",
        ),
        pytest.param(
            owned("apps/v1", "ReplicaSet"),
            (controller("apps/v1", "ReplicaSet", {"matchLabels": {"app": "db"}}), service("s", WEB)),
            False,
            id="service and owner select nothing together",
        ),
    ],
)
def test_default_constraints_follow_services_and_controllers(
    pod: Pod, objects: Sequence[Object], spreads: bool
) -> None:
    rule = SYSTEM_DEFAULTS[1]
    nodes = cluster(*TWO_IN_A, *objects)
    args = PodTopologySpreadArgs((rule,), Defaulting.LIST)
    for plugin in (make(PodTopologySpread), make(PodTopologySpread, args)):
        state = CycleState()
        status = plugin.pre_score(state, pod, nodes)
        uneven = status.ok and len(set(plugin.score_nodes(state, pod, nodes).tolist())) > 1
        assert uneven is spreads


def test_system_defaults_do_not_need_all_keys() -> None:
    nodes = cluster(*TWO_IN_A, make_node("lacking"), service("s", WEB))
    assert final_scores(make(PodTopologySpread), PLAIN, nodes)["lacking"] > 0
    listed = make(PodTopologySpread, PodTopologySpreadArgs(SYSTEM_DEFAULTS, Defaulting.LIST))
    assert final_scores(listed, PLAIN, nodes)["lacking"] == 0


ZONES = st.sampled_from(["a", "b", "c", "", None])
PLACED = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["web", "db"]),
        st.sampled_from(["default", "other"]),
        st.booleans(),
    ),
    max_size=8,
)


def plain_verdict(zone: str | None, counts: Mapping[str, int], skew: int, least: int) -> Status:
    if zone is None:
        return Status.unresolvable(REASON_NO_LABEL)
    lowest = min(counts.values()) if len(counts) >= least else 0
    return Status.unschedulable(REASON) if counts[zone] + 1 - lowest > skew else Status()


@examples(60)
@given(
    zones=st.lists(ZONES, min_size=1, max_size=6),
    placed=PLACED,
    skew=st.integers(1, 3),
    least=st.integers(1, 4),
    moves=st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=3),
)
def test_verdicts_are_those_of_counting_pod_by_pod(
    zones: list[str | None],
    placed: list[tuple[int, str, str, bool]],
    skew: int,
    least: int,
    moves: list[tuple[int, bool]],
) -> None:
    names = [f"n{at}" for at in range(len(zones))]
    pods = [
        make_pod(
            f"p{i}",
            namespace=namespace,
            labels={"app": app},
            node=names[at % len(names)],
            metadata=DELETED if deleted else {},
        )
        for i, (at, app, namespace, deleted) in enumerate(placed)
    ]
    nodes = cluster(*(node(name, zone) for name, zone in zip(names, zones, strict=True)), *pods)
    counts = {zone: 0 for zone in zones if zone is not None}
    for at, app, namespace, deleted in placed:
        zone = zones[at % len(names)]
        if zone is not None and (app, namespace, deleted) == ("web", "default", False):
            counts[zone] += 1
    plugin, state = make(PodTopologySpread), CycleState()
    pod = spreading(constraint(maxSkew=skew, minDomains=least))
    assert plugin.pre_filter(state, pod, nodes) == Status()
    later = state.clone()
    for at, comes in moves:
        info = nodes.info(nodes.table.index[names[at % len(names)]])
        change = plugin.add_pod if comes else plugin.remove_pod
        assert change(later, pod, make_pod("guest", labels=WEB), info).ok
    said = plugin.filter_nodes(state, pod, nodes)
    expected = {n: plain_verdict(z, counts, skew, least) for n, z in zip(names, zones, strict=True)}
    assert {name: said.status(at) for at, name in enumerate(nodes.names)} == expected
    for at, comes in moves:
        zone = zones[at % len(names)]
        if zone is not None:
            counts[zone] += 1 if comes else -1
    said = plugin.filter_nodes(later, pod, nodes)
    expected = {n: plain_verdict(z, counts, skew, least) for n, z in zip(names, zones, strict=True)}
    assert {name: said.status(at) for at, name in enumerate(nodes.names)} == expected


def test_constraints_over_keys_that_no_node_has_share_their_arrays() -> None:
    nodes, plugin, state = cluster(*TWO_IN_A), make(PodTopologySpread), CycleState()
    soft = [constraint(topologyKey=f"key-{at}", whenUnsatisfiable="ScheduleAnyway") for at in range(20)]
    assert plugin.pre_score(state, spreading(*soft), nodes).ok
    constraints = state.read(SoftCounts, SoftCounts).constraints
    arrays = {(id(one.ids), id(one.pods.topology.ids), id(one.pods.counting)) for one in constraints}
    assert (len(constraints), len(arrays)) == (20, 1)
