"""Findings about a taint that a pod does not tolerate."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mooring.framework import Finding, ReasonCode, Taint, Toleration
from mooring.framework.taints import comparison_fault, is_of_condition


def taint_finding(taint: Taint, tolerations: Collection[Toleration], *, comparing: bool) -> Finding:
    """Return the finding about ``taint``, with why tolerations of its key don't help."""
    named = written(taint)
    why = "; ".join(dict.fromkeys(_misses(taint, tolerations, comparing=comparing)))
    # A pod that tolerates such a taint would go to a node that is dead or about to go.
    lasting = not is_of_condition(taint)
    return Finding(
        ReasonCode.TAINT_NOT_TOLERATED,
        named,
        f"taint {named} is not tolerated{f': {why}' if why else ''}",
        asked=", ".join(_toleration(each) for each in tolerations if each.key == taint.key),
        present=named,
        pod_change=f"tolerate {named}" if lasting else "",
        node_change=f"remove the taint {named}" if lasting else "repair the node; a controller set the taint",
    )


def written(taint: Taint) -> str:
    """Return a taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _misses(taint: Taint, tolerations: Collection[Toleration], *, comparing: bool) -> Iterator[str]:
    """Yield why tolerations of this key don't bear the taint."""
    for each in tolerations:
        if each.key != taint.key:
            continue
        if each.effect not in ("", taint.effect):
            yield f"the toleration is for {each.effect}"
        elif each.operator in ("Gt", "Lt"):
            if not comparing:
                gate = "TaintTolerationComparisonOperators"
                yield f"operator {each.operator} has no effect while the feature gate {gate} is off"
            else:
                yield comparison_fault(each, taint)
        elif each.operator in ("", "Equal"):
            yield f'the toleration is for the value "{each.value}"'


def _toleration(each: Toleration) -> str:
    operator = each.operator or "Equal"
    value = "" if operator == "Exists" else f" {each.value}"
    return f"{each.key} {operator}{value}{f':{each.effect}' if each.effect else ''}"
