"""``python -m tests.plugin_hosts.child ADDRESS VERSION LOG``: a host in a process of its own."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

from mooring_client.plugin_host.hosting import HostedPlugin, Values, serve
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb

VERSION, LOG = sys.argv[2:4] if __name__ == "__main__" else ("", "")
LIAR = "liar"
WANTED = "metadata.labels[wanted]"


def note(point: str, pod: pb.ActRequest) -> None:
    """Write down what is done."""
    with Path(LOG).open("a") as log:
        log.write(f"{point} {pod.name} {pod.node}\n")


class Only(HostedPlugin):
    """Takes the nodes alone that its version names, and keeps places by the pod's name."""

    pod_fields = (WANTED,)
    node_columns = ("metadata.name",)
    measurements = (pb.MeasurementDescription(name="quiet"),)

    def filter(self, pod: Values, node: Values) -> str | None:
        return (
            None
            if str(node["metadata.name"]).startswith(VERSION) or VERSION == LIAR
            else "of another version"
        )

    def score(self, pod: Values, node: Values) -> int:
        return 200 if VERSION == LIAR else 50

    def reserve(self, pod: pb.ActRequest) -> str | None:
        note("reserve", pod)
        return "no licence left" if pod.name == "unlicensed" else None

    def unreserve(self, pod: pb.ActRequest) -> None:
        note("unreserve", pod)

    def permit(self, pod: pb.ActRequest) -> str | None:
        note("permit", pod)
        return "not permitted" if pod.name == "forbidden" else None

    def pre_bind(self, pod: pb.ActRequest) -> str | None:
        note("preBind", pod)
        return "no volume" if pod.name == "homeless" else None

    def post_bind(self, pod: pb.ActRequest) -> None:
        note("postBind", pod)

    def measure(self, name: str) -> Mapping[str, int]:
        return {"v1-a": 7, "v1-b": 3}


def mixed(version: str, wanted: str, node: str) -> int:
    """Return a number that depends on all of them."""
    return zlib.crc32(f"{version} {wanted} {node}".encode())


def passes(version: str, wanted: str, node: str) -> bool:
    """Return whether ``Mixed`` of this version takes a node for a pod."""
    return mixed(version, wanted, node) % 5 != 0


def rated(version: str, wanted: str, node: str) -> int:
    """Return the score that it gives."""
    return mixed(version, wanted, node) % 101


class Mixed(HostedPlugin):
    """Says something else in each version, for each pod and each node."""

    pod_fields = (WANTED,)
    node_columns = ("metadata.name",)

    def filter(self, pod: Values, node: Values) -> str | None:
        return None if passes(VERSION, str(pod[WANTED]), str(node["metadata.name"])) else "mixed out"

    def score(self, pod: Values, node: Values) -> int:
        return 200 if VERSION == LIAR else rated(VERSION, str(pod[WANTED]), str(node["metadata.name"]))


class Quiet(HostedPlugin):
    """Prefers nodes by the measurements of the other plugin."""

    normalizer = pb.NORMALIZER_BY_MAX_REVERSED
    node_columns = ("measured[quiet]",)

    def score(self, pod: Values, node: Values) -> int:
        return int(node["measured[quiet]"] or 0)


if __name__ == "__main__":
    serve([Only, Mixed, Quiet], sys.argv[1], version=VERSION).wait_for_termination()
