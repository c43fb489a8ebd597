"""A large cluster at a real API server, and how long mooring takes to know all of it.

    python -m tests.laboratories.bench.stored_cluster --nodes 5000 --pods 150000

The objects are written into etcd before the API server starts, which takes a minute where creating them
would take ten. Needs the programs of tests/laboratories/e2e.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from mooring.cluster.api import ApiServer
from tests.laboratories.bench.api_server import THEN, Manifest, made_nodes, made_pods
from tests.laboratories.bench.first_list import TARGETS, elsewhere
from tests.laboratories.bench.report import FOLDER, publish
from tests.laboratories.bench.workload import figures
from tests.laboratories.e2e.control_plane import ControlPlane

PUTS = 100
"""Objects written at once; etcd takes 128, and 1.5 MB."""


class FullControlPlane(ControlPlane):
    """A control plane that has nodes and running pods from the start.

    Args:
        directory: Where it keeps its files.
        nodes: The number of nodes.
        pods: The number of pods, spread over the nodes.
    """

    def __init__(self, directory: Path, nodes: int, pods: int) -> None:
        super().__init__(directory)
        self._nodes = nodes
        self._pods = pods

    def _start_apiserver(self) -> None:
        store(
            self._etcd_address, itertools.chain(made_nodes(self._nodes), made_pods(self._pods, self._nodes))
        )
        super()._start_apiserver()


def store(address: str, manifests: Iterator[Manifest]) -> None:
    """Write the objects where kube-apiserver looks for them, which reads JSON as well as its own protobuf.

    Raises:
        RuntimeError: etcd rejected some of them.
    """
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    for number in itertools.count():
        puts = [_put(at, item) for at, item in enumerate(itertools.islice(manifests, PUTS), number * PUTS)]
        if not puts:
            break
        connection.request("POST", "/v3/kv/txn", json.dumps({"success": puts}))
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"etcd: HTTP {answer.status}: {answer.read().decode()}")
        answer.read()
    connection.close()


def _put(number: int, item: Manifest) -> Manifest:
    meta = {**item["metadata"], "uid": f"00000000-0000-0000-0000-{number:012}", "creationTimestamp": THEN}
    whole = {"apiVersion": "v1", **item, "metadata": meta}
    folder = "minions" if item["kind"] == "Node" else f"pods/{meta['namespace']}"
    key, value = f"/registry/{folder}/{meta['name']}", json.dumps(whole, separators=(",", ":"))
    return {"requestPut": {"key": _base64(key), "value": _base64(value)}}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--record", action="store_true", help="write the tables into docs/figures, too")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        FullControlPlane(Path(folder), arguments.nodes, arguments.pods) as plane,
    ):
        connect = partial(ApiServer.from_kubeconfig, plane.kubeconfig("mooring"))
        samples = [elsewhere(connect, arguments.pods) for _ in range(arguments.runs)]
    name = f"first-list/{arguments.nodes}Nodes{arguments.pods}Pods/KubeApiServer"
    title = "The first list of a cluster from a real API server"
    publish(
        title,
        figures(name, samples, TARGETS, {}),
        FOLDER / "stored-cluster",
        "bench-list" if arguments.record else "",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
