"""Findings about the conditions on labels that a node does not meet."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.framework import Finding, NodeInfo, Pod, ReasonCode
from mooring.framework.node_selector import NAME_FIELD, unmet
from mooring.framework.objects import Node, NodeSelector, NodeSelectorRequirement


def mismatches(pod: Pod, required: NodeSelector | None, node: NodeInfo) -> Iterator[Finding]:
    """Yield what ``node`` lacks of the pod's node selector and of its ``required`` affinity."""
    for key, value in pod.spec.node_selector.items():
        if node.labels.get(key) != value:
            yield Finding(
                ReasonCode.NODE_SELECTOR_MISMATCH,
                f"{key}={value}",
                f"the node selector asks for {key}={value}, but {_has(key, node.node)}",
                asked=f"{key}={value}",
                present=_present(key, node.node),
                pod_change=f"remove {key} from the node selector",
                node_change=f"label the node {key}={value}",
            )
    if required is not None:
        code = ReasonCode.NODE_AFFINITY_MISMATCH
        yield from affinity_mismatch(code, "the pod's node affinity", required, node.node)


def affinity_mismatch(code: ReasonCode, whose: str, required: NodeSelector, node: Node) -> Iterator[Finding]:
    """Yield what ``node`` lacks for the term of ``required`` that is nearest to hold; nothing if one does."""
    terms = [unmet(term, node) for term in required.node_selector_terms]
    given = [(*term.match_expressions, *term.match_fields) for term in required.node_selector_terms]
    if any(conditions and not lacking for conditions, lacking in zip(given, terms, strict=True)):
        return
    # A term without conditions matches no node.
    nearest = min(filter(None, terms), key=len, default=[])
    asked = " and ".join(condition_text(each) for each in nearest)
    keys = dict.fromkeys(each.key for each in nearest)
    which = whose if len(terms) == 1 else f"the closest of the {len(terms)} terms of {whose}"
    wanted = " and ".join(map(_wanted, nearest))
    there = " and ".join(_has(key, node) for key in keys)
    yield Finding(
        code,
        asked,
        f"{which} asks for {wanted}, but {there}"
        if nearest
        else f"{whose} has no condition, so it matches no node",
        asked=asked,
        present=", ".join(_present(key, node) for key in keys),
        pod_change="" if code is ReasonCode.ENFORCED_AFFINITY_MISMATCH else f"don't require {asked}",
        node_change=_label_change(nearest),
    )


def conflict(required: NodeSelector) -> Finding:
    """Return the finding about affinity that no node can meet, since it names different ones at once."""
    named = [
        " and ".join(condition_text(each) for each in term.match_fields if each.key == NAME_FIELD)
        for term in required.node_selector_terms
    ]
    subject = "; or ".join(named)
    return Finding(
        ReasonCode.NODE_AFFINITY_CONFLICT,
        subject,
        f"no node can meet {subject} at once",
        asked=subject,
        pod_change="let each term name the nodes once",
    )


def condition_text(each: NodeSelectorRequirement) -> str:
    """Return a condition on a label as people write it."""
    if each.operator in ("Exists", "DoesNotExist"):
        return f"{each.key} {each.operator}"
    if len(each.values) == 1:
        value = each.values[0]
        return f"{each.key}={value}" if each.operator == "In" else f"{each.key} {each.operator} {value}"
    return f"{each.key} {each.operator} [{', '.join(each.values)}]"


def _wanted(each: NodeSelectorRequirement) -> str:
    """Return a condition in words."""
    if each.key == NAME_FIELD and each.operator == "In":
        return f"the node {' or '.join(each.values)}"
    match each.operator:
        case "Exists":
            return f"the label {each.key}"
        case "DoesNotExist":
            return f"no label {each.key}"
        case "In":
            return f"{each.key}={' or '.join(each.values)}"
        case "NotIn":
            return f"another {each.key} than {' and '.join(each.values)}"
        case _:
            return f"{each.key} {'above' if each.operator == 'Gt' else 'below'} {', '.join(each.values)}"


def _has(key: str, node: Node) -> str:
    if key == NAME_FIELD:
        return f"this is {node.metadata.name}"
    present = _present(key, node)
    return f"the node has {present}" if present else f"the node lacks the label {key}"


def _present(key: str, node: Node) -> str:
    value = node.metadata.name if key == NAME_FIELD else node.metadata.labels.get(key)
    return "" if value is None else f"{key}={value}"


def _label_change(conditions: list[NodeSelectorRequirement]) -> str:
    """Return the labels that make all ``conditions`` hold; "" if labels alone can't be named for it."""
    wanted = [f"{each.key}={each.values[0]}" for each in conditions if each.operator == "In"]
    named = any(each.key == NAME_FIELD for each in conditions)
    return f"label the node {', '.join(wanted)}" if len(wanted) == len(conditions) > 0 and not named else ""
