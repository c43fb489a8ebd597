from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster.decoding import from_manifest
from mooring.cluster.state import State
from mooring.framework import Code, CycleState, NodeView, Pod, PreFilterResult, Status
from mooring.framework.objects import Object
from mooring.plugins.inter_pod_affinity.args import InterPodAffinityArgs
from mooring.plugins.inter_pod_affinity.filtering import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING,
)
from mooring.plugins.inter_pod_affinity.plugin import InterPodAffinity
from mooring.testing.builders import make_node, make_pod
from tests.examples import examples
from tests.plugins.harness import final_scores, make, pre_filter, raw_scores, verdicts

ZONE = "zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

NEAR = Status.unresolvable(REASON_AFFINITY)
APART = Status.unschedulable(REASON_ANTI_AFFINITY)
OPPOSED = Status.unschedulable(REASON_EXISTING)
FINE = Status()


def term(app: str | None = "web", **fields: Any) -> dict[str, Any]:
    selector = {} if app is None else {"labelSelector": {"matchLabels": {"app": app}}}
    return {"topologyKey": ZONE, **selector, **fields}


def near(*terms: Mapping[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Mapping[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def likes(weight: int, wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": wanted}]}}


def dislikes(weight: int, unwanted: Mapping[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": unwanted}]}}


def pod(
    name: str = "new",
    app: str = "web",
    on: str = "",
    *,
    namespace: str = "default",
    affinity: Mapping[str, Any] | None = None,
) -> Pod:
    spec = {"affinity": dict(affinity)} if affinity else {}
    return make_pod(name, labels={"app": app}, node=on, namespace=namespace, spec=spec)


def namespace(name: str, **labels: str) -> Object:
    return from_manifest(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )


def cluster(*objects: Object) -> NodeView:
    state = State()
    state.replace("test", objects)  # type: ignore[arg-type]  # Object is the base of all that it takes
    return NodeView(state.snapshot, state.snapshot.nodes.rows()[::-1].copy())


A, B, NOWHERE = make_node("a", labels={ZONE: "a"}), make_node("b", labels={ZONE: "b"}), make_node("nowhere")
WEB_IN_A = (A, B, NOWHERE, pod("web", on="a"))


@pytest.mark.parametrize(
    ("objects", "asked", "expected"),
    [
        pytest.param(WEB_IN_A, pod(affinity=near(term())), {"b": NEAR, "nowhere": NEAR}, id="near"),
        pytest.param(WEB_IN_A, pod(affinity=apart(term())), {"a": APART}, id="apart"),
        pytest.param(
            WEB_IN_A,
            pod(affinity=near(term(), term("db"))),
            {"a": NEAR, "b": NEAR, "nowhere": NEAR},
            id="one pod must match all terms",
        ),
        pytest.param((A, B, NOWHERE), pod(affinity=near(term())), {"nowhere": NEAR}, id="first of its group"),
        pytest.param(
            (A, B),
            pod(app="db", affinity=near(term())),
            {"a": NEAR, "b": NEAR},
            id="first, but wants others near",
        ),
        pytest.param(
            (A, B, NOWHERE, pod("web", on="nowhere")),
            pod(affinity=near(term())),
            {"nowhere": NEAR},
            id="pods outside all domains count as none",
        ),
        pytest.param(WEB_IN_A, pod(affinity=apart(term(None))), {}, id="no selector matches nothing"),
        pytest.param(
            WEB_IN_A, pod(affinity=apart(term(labelSelector={}))), {"a": APART}, id="an empty one everything"
        ),
        pytest.param(
            (A, B, pod("web", on="a", affinity=apart(term()))), pod(), {"a": OPPOSED}, id="existing pods'"
        ),
        pytest.param(
            (A, B, pod("web", on="a", affinity=apart(term("db")))), pod(), {}, id="existing pods', of others"
        ),
        pytest.param(
            (A, pod("web", on="a", affinity=apart(term()))),
            pod(affinity=apart(term())),
            {"a": APART},
            id="own anti-affinity is told before existing pods'",
        ),
    ],
)
def test_verdicts(objects: Sequence[Object], asked: Pod, expected: Mapping[str, Status]) -> None:
    found = verdicts(make(InterPodAffinity), asked, cluster(*objects))
    assert {name: status for name, status in found.items() if not status.ok} == expected


PROD = {"matchLabels": {"env": "prod"}}
NOT_DEV = {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev"]}]}


@pytest.mark.parametrize(
    ("fields", "there", "meant"),
    [
        pytest.param({}, "default", True, id="own namespace"),
        pytest.param({}, "team", False, id="other namespace"),
        pytest.param({"namespaces": ["team"]}, "team", True, id="named"),
        pytest.param({"namespaces": ["team"]}, "default", False, id="own one not named"),
        pytest.param({"namespaceSelector": {}}, "unknown", True, id="all namespaces"),
        pytest.param({"namespaceSelector": PROD}, "team", True, id="selected"),
        pytest.param({"namespaceSelector": PROD}, "default", False, id="not selected"),
        pytest.param({"namespaceSelector": PROD, "namespaces": ["lab"]}, "lab", True, id="named or selected"),
        pytest.param({"namespaceSelector": PROD}, "unknown", False, id="unknown ones have no labels"),
    ],
)
def test_namespaces_of_a_term(fields: Mapping[str, Any], there: str, meant: bool) -> None:
    spaces = (namespace("default"), namespace("team", env="prod"), namespace("lab", env="dev"))
    unwanted = apart(term(**fields))
    own = cluster(A, *spaces, pod("other", on="a", namespace=there))
    assert verdicts(make(InterPodAffinity), pod(affinity=unwanted), own)["a"].ok is not meant
    # The same term on the other side: the pod in that namespace comes, the one with the term is there.
    theirs = cluster(A, *spaces, pod("other", on="a", affinity=unwanted))
    assert verdicts(make(InterPodAffinity), pod(namespace=there), theirs)["a"].ok is not meant


@pytest.mark.parametrize(
    ("version", "everywhere"),
    [
        pytest.param("1.34", True, id="1.34"),
        pytest.param("1.36", True, id="1.36"),
        pytest.param("1.37", False, id="1.37"),
    ],
)
def test_a_negative_namespace_selector_lets_in_every_namespace_up_to_1_36(
    version: str, everywhere: bool
) -> None:
    """The case notin-namespace."""
    nodes = cluster(A, namespace("lab", env="dev"), pod("other", on="a", namespace="lab"))
    asked = pod(affinity=apart(term(namespaceSelector=NOT_DEV)))
    assert verdicts(make(InterPodAffinity, kube=version), asked, nodes)["a"].ok is not everywhere


def test_pods_that_are_being_deleted_still_count() -> None:
    going = make_pod(
        "web", labels={"app": "web"}, node="a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
    )
    assert verdicts(make(InterPodAffinity), pod(affinity=apart(term())), cluster(A, B, going))["a"] == APART


def test_all_nodes_count_whichever_are_asked_about() -> None:
    other = make_node("other", labels={ZONE: "a"})
    everything = cluster(*WEB_IN_A, other)
    part = everything.subset(everything.rows[everything.rows == everything.table.index["other"]])
    assert verdicts(make(InterPodAffinity), pod(affinity=apart(term())), part) == {"other": APART}


@pytest.mark.parametrize(
    ("objects", "asked"),
    [
        pytest.param(WEB_IN_A, pod(), id="no terms"),
        pytest.param(WEB_IN_A, pod(affinity=likes(1, term())), id="only preferences"),
        pytest.param(
            (A, pod("web", on="a", affinity=near(term()))), pod(), id="existing pods only want near"
        ),
    ],
)
def test_without_terms_to_break_it_is_skipped(objects: Sequence[Object], asked: Pod) -> None:
    answer = pre_filter(make(InterPodAffinity), asked, cluster(*objects))
    assert not isinstance(answer, PreFilterResult)
    assert answer.code is Code.SKIP


def test_a_term_that_can_not_be_used_rejects_the_pod_and_is_ignored_on_others() -> None:
    bad = apart(term(labelSelector={"matchExpressions": [{"key": "app", "operator": "Near"}]}))
    answer = pre_filter(make(InterPodAffinity), pod(affinity=bad), cluster(*WEB_IN_A))
    assert not isinstance(answer, PreFilterResult)
    assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert "'Near' is not an operator" in answer.message
    status = make(InterPodAffinity).pre_score(CycleState(), pod(affinity=bad), cluster(*WEB_IN_A))
    assert status.code is Code.ERROR
    assert verdicts(make(InterPodAffinity), pod(), cluster(A, pod("web", on="a", affinity=bad)))["a"].ok


@pytest.mark.parametrize(
    ("objects", "asked", "scores"),
    [
        pytest.param(WEB_IN_A, pod(affinity=likes(5, term())), {"a": 5, "b": 0, "nowhere": 0}, id="likes"),
        pytest.param(
            WEB_IN_A, pod(affinity=dislikes(5, term())), {"a": -5, "b": 0, "nowhere": 0}, id="dislikes"
        ),
        pytest.param(
            (A, B, pod("w1", on="a"), pod("w2", on="a"), pod("w3", on="b")),
            pod(affinity=likes(5, term())),
            {"a": 10, "b": 5},
            id="each pod counts",
        ),
        pytest.param(
            (A, B, pod("w", on="a", affinity=likes(7, term()))), pod(), {"a": 7, "b": 0}, id="is liked"
        ),
        pytest.param(
            (A, B, pod("w", on="a", affinity=dislikes(7, term()))), pod(), {"a": -7, "b": 0}, id="is disliked"
        ),
        pytest.param(
            (A, B, pod("w", on="a", affinity=near(term()))), pod(), {"a": 3, "b": 0}, id="is needed"
        ),
    ],
)
def test_raw_scores(objects: Sequence[Object], asked: Pod, scores: Mapping[str, int]) -> None:
    plugin = make(InterPodAffinity, InterPodAffinityArgs(hard_pod_affinity_weight=3))
    assert raw_scores(plugin, asked, cluster(*objects)) == scores


def test_scores_are_stretched_between_the_lowest_and_the_highest() -> None:
    c = make_node("c", labels={ZONE: "c"})
    nodes = cluster(A, B, c, pod("w1", on="a"), pod("w2", on="a"), pod("w3", on="a"), pod("w4", on="b"))
    assert final_scores(make(InterPodAffinity), pod(affinity=likes(1, term())), nodes) == {
        "a": 100,
        "b": 33,
        "c": 0,
    }


@pytest.mark.parametrize(
    ("affinity", "args", "skips"),
    [
        pytest.param(None, InterPodAffinityArgs(), False, id="existing pods' preference"),
        pytest.param(
            None,
            InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True),
            True,
            id="which is ignored",
        ),
        pytest.param(
            likes(1, term("nobody")),
            InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True),
            False,
            id="unless the pod has preferences",
        ),
    ],
)
def test_when_scoring_is_skipped(
    affinity: Mapping[str, Any] | None, args: InterPodAffinityArgs, skips: bool
) -> None:
    nodes = cluster(A, B, pod("w", on="a", affinity=likes(7, term())))
    status = make(InterPodAffinity, args).pre_score(CycleState(), pod(affinity=affinity), nodes)
    assert (status.code is Code.SKIP) is skips


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param((A, B), id="no pods"),
        pytest.param((A, B, NOWHERE, pod("web", on="nowhere")), id="pods outside all domains"),
        pytest.param((A, B, pod("db", "db", on="a")), id="pods of others"),
    ],
)
def test_without_matches_scoring_is_skipped(objects: Sequence[Object]) -> None:
    asked = pod(affinity=likes(1, term()))
    assert make(InterPodAffinity).pre_score(CycleState(), asked, cluster(*objects)).code is Code.SKIP


KINDS: dict[str, Mapping[str, Any] | None] = {
    "plain": None,
    "near": near(term()),
    "apart": apart(term()),
    "from db": apart(term("db")),
}
PODS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["web", "db"]), st.sampled_from(sorted(KINDS))), max_size=6
)


def plain_verdict(asked: str, zone: str | None, there: Sequence[tuple[str | None, str, str]]) -> Status:
    """For a web pod, walking over the pods: ``there`` says zone, app and kind of each."""
    webs = [z for z, app, _ in there if app == "web" and z is not None]
    if asked == "near" and (zone is None or (webs and zone not in webs)):
        return NEAR
    if asked == "apart" and zone in webs:
        return APART
    opposing = [z for z, _, kind in there if kind == "apart" and z is not None]
    return OPPOSED if zone in opposing else FINE


@examples(80)
@given(
    zones=st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=5),
    placed=PODS,
    coming=PODS,
    asked=st.sampled_from(["near", "apart"]),
)
def test_verdicts_are_those_of_walking_over_the_pods(
    zones: list[str | None],
    placed: list[tuple[int, str, str]],
    coming: list[tuple[int, str, str]],
    asked: str,
) -> None:
    names = [f"n{at}" for at in range(len(zones))]
    labelled = [
        make_node(name, labels={ZONE: zone} if zone else {}) for name, zone in zip(names, zones, strict=True)
    ]
    pods = [
        pod(f"p{i}", app, names[at % len(names)], affinity=KINDS[kind])
        for i, (at, app, kind) in enumerate(placed)
    ]
    nodes = cluster(*labelled, *pods)
    plugin, state, new = make(InterPodAffinity), CycleState(), pod(affinity=KINDS[asked])

    def check(notes: CycleState, present: Sequence[tuple[int, str, str]]) -> None:
        there = [(zones[at % len(zones)], app, kind) for at, app, kind in present]
        expected = {name: plain_verdict(asked, zone, there) for name, zone in zip(names, zones, strict=True)}
        said = plugin.filter_nodes(notes, new, nodes)
        assert {name: said.status(at) for at, name in enumerate(nodes.names)} == expected

    assert plugin.pre_filter(state, new, nodes) == FINE
    check(state, placed)
    later = state.clone()
    guests = [
        (nodes.info(nodes.table.index[names[at % len(names)]]), pod("guest", app, affinity=KINDS[kind]))
        for at, app, kind in coming
    ]
    for info, guest in guests:
        assert plugin.add_pod(later, new, guest, info).ok
    check(later, [*placed, *coming])
    check(state, placed)
    for info, guest in guests:
        assert plugin.remove_pod(later, new, guest, info).ok
    check(later, placed)
