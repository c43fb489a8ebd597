"""The effect of more nodes, as a document and as a table: for ``what-if node-groups``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from mooring.cli.console import print_line, print_table
from mooring.cli.removal import pod_key

if TYPE_CHECKING:
    from mooring_client.v1 import simulation_service_pb2 as pb

MOST_PREEMPTED = 10
"""How many preempted pods are named."""


def document(response: pb.PlanNodeGroupsResponse) -> dict[str, Any]:
    """Return the answer for programs."""
    return {
        "placed": response.placed_count,
        "unplaced": list(map(left_over, response.unplaced)),
        "preempted": list(map(pod_key, response.preempted)),
        "options": [
            {
                "group": each.group,
                "nodes": each.node_count,
                "price": each.price,
                "daemonPods": each.daemon_pod_count,
                "left": list(map(left_over, each.left_over)),
            }
            for each in response.options
        ],
        "together": _together(response.together) if response.HasField("together") else None,
        "lackingDomains": list(response.lacking_domains),
    }


def print_options(found: dict[str, Any]) -> None:
    """Print a row for each option of the document, the groups together first."""
    together = [found["together"]] if found["together"] else []
    rows = [
        (
            each["group"],
            str(each["nodes"]),
            f"{each['price']:g}",
            _left(each["left"]),
        )
        for each in (*together, *found["options"])
    ]
    print_table(("GROUP", "#NODES", "#PRICE", "LEFT OVER"), rows)
    for each in found["options"]:
        if each["daemonPods"]:
            print_line(f"DaemonSet pods that each node of {each['group']} gets first: {each['daemonPods']}")
    if found["lackingDomains"]:
        print_line(f"more nodes are needed in {', '.join(found['lackingDomains'])}, to spread the pods")
    stuck = {each["pod"] for each in found["unplaced"]}
    for each in (*together, *found["options"]):
        stuck &= {left["pod"] for left in each["left"]}
    needing = len(found["unplaced"]) - len(stuck)
    print_line(f"pending pods that need more nodes: {needing}, that don't: {found['placed']}")
    if stuck:
        print_line(f"pending pods that no number of these nodes would help: {len(stuck)}")
    print_preempted(found["preempted"])


def print_preempted(pods: list[str]) -> None:
    """Print which pods the pending pods preempted, if any."""
    if pods:
        more = f" and {len(pods) - MOST_PREEMPTED} more" if len(pods) > MOST_PREEMPTED else ""
        print_line(f"pods that they preempted: {', '.join(pods[:MOST_PREEMPTED])}{more}")


def left_over(left: pb.LeftOverPod) -> dict[str, str]:
    """Return a pod without a node as JSON."""
    return {"pod": pod_key(left.pod), "message": left.verdict.message}


def _together(found: pb.NodeGroupCombination) -> dict[str, Any]:
    counts = {each.group: each.node_count for each in found.groups}
    return {
        "group": " + ".join(f"{count} {name}" for name, count in counts.items()),
        "groups": counts,
        "nodes": sum(counts.values()),
        "price": found.price,
        "left": list(map(left_over, found.left_over)),
    }


def _left(left: list[dict[str, str]]) -> Text:
    if not left:
        return Text("none", "green")
    why = f": {left[0]['message']}" if left[0]["message"] else ""
    return Text(f"{len(left)}, such as {left[0]['pod']}{why}", "red")
