"""The one node that a pod names by its required node affinity, as pods of a DaemonSet do."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.framework.node_selector import NAME_FIELD
from mooring.framework.objects import Affinity, NodeAffinityTerms, NodeSelector, NodeSelectorTerm, Pod


def named_node(pod: Pod) -> str:
    """Return the name of the only node that can match, if one term says so in one condition; "" otherwise."""
    terms = _required(pod)
    if len(terms) != 1 or len(terms[0].match_fields) != 1:
        return ""
    [field] = terms[0].match_fields
    named = field.key == NAME_FIELD and field.operator == "In" and len(field.values) == 1
    return field.values[0] if named else ""


def without_named_node(pod: Pod) -> Pod:
    """``pod``, which has a ``named_node``, as if it named none: what else it requires is left."""
    affinity = pod.spec.affinity or Affinity()
    node_affinity = affinity.node_affinity or NodeAffinityTerms()
    left = tuple(replace(term, match_fields=()) for term in _required(pod) if term.match_expressions)
    required = NodeSelector(left) if left else None
    terms = replace(node_affinity, required_during_scheduling_ignored_during_execution=required)
    affinity = replace(affinity, node_affinity=None if terms == NodeAffinityTerms() else terms)
    return replace(pod, spec=replace(pod.spec, affinity=None if affinity == Affinity() else affinity))


def _required(pod: Pod) -> tuple[NodeSelectorTerm, ...]:
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return ()
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return () if required is None else required.node_selector_terms
