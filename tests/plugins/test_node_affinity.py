from typing import Any

import pytest

from mooring.framework import Code, CycleState, PreFilterResult, Status
from mooring.framework.node_selector import required_matches
from mooring.framework.objects import (
    NodeAffinityTerms,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
)
from mooring.plugins.node_affinity.args import NodeAffinityArgs
from mooring.plugins.node_affinity.plugin import NodeAffinity
from mooring.testing.builders import make_node, make_pod
from tests.counted_calls import calls_of
from tests.plugins.harness import cluster, final_scores, make, pre_filter, raw_scores, reasons

POD_REASON = ("node(s) didn't match Pod's node affinity/selector",)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def term(*expressions: dict[str, Any], names: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"matchExpressions": list(expressions), "matchFields": names or []}


def requiring(*terms: dict[str, Any], **spec: Any) -> Pod:
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}
    return make_pod(spec={"affinity": affinity, **spec})


def preferring(*weighted: tuple[int, dict[str, Any]]) -> Pod:
    terms = [{"weight": weight, "preference": preference} for weight, preference in weighted]
    return make_pod(spec={"affinity": {"nodeAffinity": {PREFERRED: terms}}})


def name_is(*values: str, operator: str = "In") -> list[dict[str, Any]]:
    return [expression("metadata.name", operator, *values)]


@pytest.mark.parametrize(
    ("labels", "terms", "passes"),
    [
        pytest.param({"zone": "a"}, [term(expression("zone", "In", "a", "b"))], True, id="In"),
        pytest.param({"zone": "c"}, [term(expression("zone", "In", "a", "b"))], False, id="not In"),
        pytest.param({}, [term(expression("zone", "In", "a"))], False, id="In without the label"),
        pytest.param({"zone": "a"}, [term(expression("zone", "NotIn", "a"))], False, id="NotIn"),
        pytest.param({}, [term(expression("zone", "NotIn", "a"))], True, id="NotIn without the label"),
        pytest.param({"zone": ""}, [term(expression("zone", "Exists"))], True, id="Exists, empty value"),
        pytest.param({}, [term(expression("zone", "DoesNotExist"))], True, id="DoesNotExist"),
        pytest.param({"size": "9"}, [term(expression("size", "Gt", "8"))], True, id="Gt"),
        pytest.param({"size": "8"}, [term(expression("size", "Gt", "8"))], False, id="Gt is strict"),
        pytest.param({"size": "-5"}, [term(expression("size", "Lt", "0"))], True, id="Lt, negative label"),
        pytest.param(
            {"size": "-5"}, [term(expression("size", "Lt", "-4"))], False, id="-4 is not a label value"
        ),
        pytest.param({"size": "10"}, [term(expression("size", "Lt", "9"))], False, id="Lt compares numbers"),
        pytest.param({"size": "big"}, [term(expression("size", "Gt", "8"))], False, id="Gt, label no number"),
        pytest.param(
            {"size": "9223372036854775808"},
            [term(expression("size", "Gt", "8"))],
            False,
            id="Gt, beyond int64",
        ),
        pytest.param({"size": "1_0"}, [term(expression("size", "Gt", "8"))], False, id="Gt, underscore"),
        pytest.param(
            {"zone": "a"},
            [term(expression("zone", "In", "a"), expression("disk", "Exists"))],
            False,
            id="expressions are ANDed",
        ),
        pytest.param(
            {"zone": "a"},
            [term(expression("disk", "Exists")), term(expression("zone", "In", "a"))],
            True,
            id="terms are ORed",
        ),
        pytest.param({"zone": "a"}, [term()], False, id="an empty term matches nothing"),
        pytest.param({"zone": "a"}, [], False, id="no terms match nothing"),
        pytest.param({"zone": "a"}, [term(expression("zone", "Near", "a"))], False, id="unknown operator"),
        pytest.param({"zone": "a"}, [term(expression("disk", "NotIn"))], False, id="NotIn without values"),
        pytest.param(
            {"zone": "a"}, [term(expression("zone", "Exists", "a"))], False, id="Exists with values"
        ),
        pytest.param({}, [term(expression("zone", "NotIn", "not a value!"))], False, id="malformed value"),
        pytest.param({}, [term(expression("/zone", "DoesNotExist"))], False, id="malformed key"),
        pytest.param({"size": "9"}, [term(expression("size", "Gt", "x"))], False, id="Gt, bound no number"),
        pytest.param({}, [term(names=name_is("n"))], True, id="by name"),
        pytest.param({}, [term(names=name_is("other"))], False, id="by another name"),
        pytest.param({}, [term(names=name_is("n", operator="NotIn"))], False, id="all but this name"),
        pytest.param({}, [term(names=name_is("gone", operator="NotIn"))], True, id="all but a name unknown"),
        pytest.param({}, [term(names=name_is("n", "m"))], False, id="two names are malformed"),
        pytest.param(
            {}, [term(names=name_is(operator="Exists"))], False, id="fields know In and NotIn alone"
        ),
        pytest.param(
            {"zone": "b"},
            [term(expression("zone", "In", "a"), names=name_is("n"))],
            False,
            id="name AND label",
        ),
        pytest.param(
            {}, [term(names=[expression("spec.x", "NotIn", "y")])], True, id="a field that is empty"
        ),
    ],
)
def test_required_terms(labels: dict[str, str], terms: list[dict[str, Any]], passes: bool) -> None:
    state, nodes, pod = CycleState(), cluster(make_node("n", labels=labels)), requiring(*terms)
    said = make(NodeAffinity).filter_nodes(state, pod, nodes).status(0)
    assert said.ok is passes
    if not passes:
        assert said == Status.unresolvable(*POD_REASON)


def test_a_node_selector_that_no_node_matches_is_read_to_its_first_missing_label() -> None:
    nodes = cluster(make_node("n0"), make_node("n1"))

    def calls(labels: int) -> int:
        pod = make_pod("p", spec={"nodeSelector": {f"key-{at}": "v" for at in range(labels)}})
        return calls_of(lambda: required_matches(pod, nodes))

    assert calls(2_000) <= calls(20) + 20


def test_node_selector_and_affinity_must_both_match() -> None:
    nodes = cluster(
        make_node("both", labels={"zone": "a", "disk": "ssd"}),
        make_node("one", labels={"zone": "a"}),
        make_node("other", labels={"zone": "a", "disk": "hdd"}),
    )
    pod = requiring(term(expression("zone", "In", "a")), nodeSelector={"disk": "ssd"})
    assert reasons(make(NodeAffinity), pod, nodes) == {"both": (), "one": POD_REASON, "other": POD_REASON}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod(), Status.skip(), id="nothing asked"),
        pytest.param(make_pod(spec={"nodeSelector": {"a": "b"}}), PreFilterResult(), id="selector alone"),
        pytest.param(requiring(), PreFilterResult(), id="no terms"),
        pytest.param(requiring(term(names=name_is("a"))), PreFilterResult(frozenset("a")), id="one name"),
        pytest.param(
            requiring(term(names=name_is("a")), term(names=name_is("b"))),
            PreFilterResult(frozenset("ab")),
            id="names of terms unite",
        ),
        pytest.param(
            requiring(term(names=name_is("a")), term(expression("zone", "Exists"))),
            PreFilterResult(),
            id="a term without a name",
        ),
        pytest.param(
            requiring(term(names=name_is("a", operator="NotIn"))),
            PreFilterResult(),
            id="NotIn limits nothing",
        ),
        pytest.param(
            requiring(term(names=[*name_is("a"), *name_is("b")])),
            Status.unresolvable("pod affinity terms conflict"),
            id="names that exclude each other",
        ),
        pytest.param(
            requiring(term(names=[*name_is("a"), *name_is("b")]), term(names=name_is("c"))),
            PreFilterResult(frozenset("c")),
            id="one term conflicts, the other doesn't",
        ),
    ],
)
def test_pre_filter(pod: Pod, expected: PreFilterResult | Status) -> None:
    assert pre_filter(make(NodeAffinity), pod, cluster(make_node("a"))) == expected


def added(required: str = "", preferred: int = 0) -> NodeAffinityArgs:
    """Return an added affinity to ``zone``: a required value, and a weight for zone b."""

    def in_zone(value: str) -> NodeSelectorTerm:
        return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("zone", "In", (value,)),))

    return NodeAffinityArgs(
        NodeAffinityTerms(
            NodeSelector((in_zone(required),)) if required else None,
            (PreferredSchedulingTerm(preferred, in_zone("b")),) if preferred else (),
        )
    )


def test_added_affinity_is_asked_first_and_has_a_reason_of_its_own() -> None:
    nodes = cluster(make_node("a", labels={"zone": "a"}), make_node("b", labels={"zone": "b"}))
    plugin = make(NodeAffinity, added(required="b"))
    enforced = ("node(s) didn't match scheduler-enforced node affinity",)
    assert reasons(plugin, make_pod(), nodes) == {"a": enforced, "b": ()}
    pod = requiring(term(expression("disk", "Exists")))
    assert reasons(plugin, pod, nodes) == {"a": enforced, "b": POD_REASON}


def test_preferred_terms_add_their_weights() -> None:
    nodes = cluster(
        make_node("x", labels={"zone": "a", "disk": "ssd"}),
        make_node("y", labels={"zone": "a"}),
        make_node("z", labels={"zone": "b"}),
    )
    pod = preferring(
        (30, term(expression("zone", "In", "a"))),
        (60, term(expression("disk", "Exists"))),
        (50, term()),
        (0, term(expression("zone", "Near", "a"))),
    )
    assert raw_scores(make(NodeAffinity), pod, nodes) == {"x": 90, "y": 30, "z": 0}
    assert final_scores(make(NodeAffinity), pod, nodes) == {"x": 100, "y": 33, "z": 0}
    plugin = make(NodeAffinity, added(preferred=45))
    assert raw_scores(plugin, pod, nodes) == {"x": 90, "y": 30, "z": 45}


def test_no_match_anywhere_leaves_all_at_zero() -> None:
    nodes = cluster(make_node("a"), make_node("b"))
    assert set(
        final_scores(make(NodeAffinity), preferring((5, term(expression("x", "Exists")))), nodes).values()
    ) == {0}


def test_pre_score() -> None:
    nodes = cluster(make_node("a"))
    assert make(NodeAffinity).pre_score(CycleState(), make_pod(), nodes).code is Code.SKIP
    assert make(NodeAffinity, added(preferred=1)).pre_score(CycleState(), make_pod(), nodes).ok
    malformed = preferring((1, term(expression("zone", "Near", "a"))))
    said = make(NodeAffinity).pre_score(CycleState(), malformed, nodes)
    assert said.code is Code.ERROR
    assert f"{PREFERRED}[0].preference.matchExpressions[0].operator" in said.message
