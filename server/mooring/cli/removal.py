"""Which nodes could go, as documents and as a table: for ``what-if removal``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from mooring.cli.console import print_table

if TYPE_CHECKING:
    from mooring_client.v1 import objects_pb2
    from mooring_client.v1 import simulation_service_pb2 as pb


def pod_key(pod: objects_pb2.PodReference) -> str:
    """Return NAMESPACE/NAME."""
    return f"{pod.namespace}/{pod.name}"


def document(found: pb.NodeRemoval) -> dict[str, Any]:
    """Return the answer about a node as JSON."""
    return {
        "node": found.node,
        "removable": found.removable,
        "ending": found.ending_pod_count,
        "landings": [
            {
                "pod": pod_key(one.pod),
                "node": one.node,
                "message": one.verdict.message,
                "waits": one.waits,
            }
            for one in found.landings
        ],
        "alone": list(map(pod_key, found.alone)),
        "exhaustedBudgets": list(found.exhausted_budgets),
        "localData": list(map(pod_key, found.local_data)),
    }


def disruption(found: dict[str, Any]) -> tuple[bool, bool, int, int, int, str]:
    """Order documents: nodes that can go come first, and among these the least disruptive drains."""
    stays = not found["removable"]
    lost = len(found["localData"])
    return stays, stays and not _waiting(found), _moved(found), len(found["alone"]), lost, found["node"]


def print_nodes(found: list[dict[str, Any]]) -> None:
    """Print a row for each document."""
    rows = [(each["node"], _verdict(each), str(_moved(each)), _why(each), _mind(each)) for each in found]
    print_table(("NODE", "VERDICT", "#MOVED", "WHY", "MIND"), rows)


def _moved(found: dict[str, Any]) -> int:
    return sum(bool(landing["node"]) for landing in found["landings"])


def _waiting(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [landing for landing in found["landings"] if landing["waits"]]


def _verdict(found: dict[str, Any]) -> Text:
    can = found["removable"]
    return Text("can go" if can else "waits" if _waiting(found) else "stays", "green" if can else "red")


def _why(found: dict[str, Any]) -> str:
    if found["removable"]:
        return ""
    if waiting := _waiting(found):
        first, more = waiting[0], len(waiting) - 1
        others = f" and {more} more wait" if more else " waits"
        return f"{first['pod']}{others} until the Node object is deleted: {first['message']}"
    last = found["landings"][-1]
    return f"{last['pod']}: {last['message']}"


def _mind(found: dict[str, Any]) -> str:
    """Return what to mind before the node is removed."""
    said = [f"PodDisruptionBudget {budget} allows no disruption" for budget in found["exhaustedBudgets"]]
    if alone := found["alone"]:
        said.append(f"single replica: {_some(alone)}")
    if local := found["localData"]:
        said.append(f"emptyDir data is lost (kubectl drain --delete-emptydir-data): {_some(local)}")
    return "; ".join(said)


def _some(pods: list[str]) -> str:
    return pods[0] if len(pods) == 1 else f"{pods[0]} and {len(pods) - 1} more"
