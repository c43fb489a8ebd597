"""Binds every pod and decides nothing: no scheduler can bind faster.

    python -m tests.laboratories.bench.null_binder KUBECONFIG

The nodes get pods one after the other, over as many connections as `mooring scheduler` has for bindings.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from mooring.http_client.exchanges import CONNECTIONS
from tests.laboratories.bench.prepared_requests import Server, send
from tests.laboratories.e2e.api import Api


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kubeconfig", type=Path, help="with a token, as tests.laboratories.e2e writes it")
    server = Server.of(parser.parse_args().kubeconfig)
    api = Api(server.address, server.authority, server.token)
    names = [node["metadata"]["name"] for node in api.nodes()]
    pending = [pod["metadata"] for pod in api.pods() if not pod["spec"].get("nodeName")]
    requests = [binding(server, pod, names[at % len(names)]) for at, pod in enumerate(pending)]
    # An improvement that binds more pods a second for mooring does so here, too, since all nodes are known
    # before.
    send(server, requests, connections=CONNECTIONS)
    return 0


def binding(server: Server, pod: dict[str, Any], node: str) -> bytes:
    """Return the request that binds a pod with this metadata."""
    return server.post(
        f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}/binding",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {key: pod[key] for key in ("name", "namespace", "uid")},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        },
    )


if __name__ == "__main__":
    sys.exit(main())
