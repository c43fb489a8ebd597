"""Terms about other pods are found alike, one by one or many at once, and few steps find them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework import pod_affinity
from mooring.framework.label_selector import LabelMatcher, LabelMatchers, Requirement
from mooring.framework.pod_affinity import AffinityTerm, Terms, affinity_terms
from mooring.testing.builders import make_pod
from tests.counted_calls import calls_of

KEYS, VALUES = st.sampled_from("abc"), st.sampled_from("uvw")
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.builds(
    Requirement, KEYS, st.sampled_from(("In", "NotIn")), st.frozensets(VALUES, min_size=1)
) | st.builds(Requirement, KEYS, st.sampled_from(("Exists", "DoesNotExist")))
SELECTORS = st.builds(LabelMatcher, st.lists(REQUIREMENTS, max_size=3).map(tuple), st.booleans())
TERMS = st.builds(AffinityTerm, SELECTORS, st.frozensets(VALUES), SELECTORS, KEYS, st.integers(1, 100))


@given(st.lists(SELECTORS, max_size=8), LABELS)
def test_many_selectors_match_as_each_does(selectors: list[LabelMatcher], labels: dict[str, str]) -> None:
    assert LabelMatchers(selectors).match(labels).tolist() == [each.matches(labels) for each in selectors]


@given(st.lists(TERMS, max_size=40), VALUES, LABELS, LABELS, st.frozensets(KEYS))
def test_terms_are_about_a_pod_as_each_is(
    terms: list[AffinityTerm],
    namespace: str,
    labels: dict[str, str],
    namespace_labels: dict[str, str],
    keys: frozenset[str],
) -> None:
    pod = namespace, labels, namespace_labels
    about = [term for term in terms if term.matches(*pod)]
    expected: dict[str, int] = {}
    for term in about:
        if term.topology_key in keys:
            expected[term.topology_key] = expected.get(term.topology_key, 0) + term.weight
    found: dict[str, int] = {}
    for key, weight in Terms(terms).weights_about(pod, keys):
        found[key] = found.get(key, 0) + weight
    assert found == expected
    assert Terms(terms).count_about(pod) == len(about)


@pytest.mark.parametrize(
    ("selector", "topology_key"),
    [
        pytest.param(
            lambda at: {"key": f"k{at}", "operator": "DoesNotExist"}, "zone", id="keys of their own"
        ),
        pytest.param(
            lambda at: {"key": "app", "operator": "NotIn", "values": [f"v{at}-{i}" for i in range(5)]},
            "zone",
            id="values of their own",
        ),
        pytest.param(
            lambda _: {"key": "app", "operator": "Exists"}, "zone-{}", id="topology keys of their own"
        ),
    ],
)
def test_what_terms_cost_does_not_grow_with_their_number(
    selector: Callable[[int], Mapping[str, Any]], topology_key: str
) -> None:
    def cost(number: int) -> int:
        made = [
            {
                "labelSelector": {"matchExpressions": [selector(at)]},
                "topologyKey": topology_key.format(at),
            }
            for at in range(number)
        ]
        terms = affinity_terms(having(made)).required_anti
        pod = "default", {"app": "web"}, {"team": "a"}
        keys = frozenset(("zone", "rack"))
        return calls_of(lambda: (list(terms.weights_about(pod, keys)), terms.count_about(pod)), in_c=True)

    assert cost(2_000) == cost(200)


def having(terms: list[dict[str, Any]]) -> Any:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return make_pod("pod", spec={"affinity": {"podAntiAffinity": required}})


def test_terms_are_made_once_while_somebody_keeps_them_and_then_forgotten() -> None:
    pod = having([{"labelSelector": {}, "topologyKey": "zone"}])
    terms = affinity_terms(pod)
    assert affinity_terms(pod) is terms
    gc.collect()
    before = len(pod_affinity._known)
    del terms
    gc.collect()
    assert len(pod_affinity._known) == before - 1
