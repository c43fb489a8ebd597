"""A server that does nothing: what an RPC costs before anybody works on it.

It runs as a process of its own, on the same library and with the same threads as mooring, without its layers.
"""

from __future__ import annotations

import signal
import sys

import grpc

from mooring.service.calls.threads import Threads
from mooring.service.server import SERVER_OPTIONS, Options
from mooring.v1.cluster_service_pb2 import GetClusterInfoRequest, GetClusterInfoResponse


def main() -> int:
    """Answer GetClusterInfo with an empty message until told to stop."""
    nothing = GetClusterInfoResponse()
    handler = grpc.unary_unary_rpc_method_handler(
        lambda _, __: nothing, GetClusterInfoRequest.FromString, GetClusterInfoResponse.SerializeToString
    )
    threads = Threads(Options.transport_threads, "grpc")
    server = grpc.server(threads, options=SERVER_OPTIONS)  # type: ignore[arg-type]  # any executor will do
    services = grpc.method_handlers_generic_handler("mooring.v1.ClusterService", {"GetClusterInfo": handler})
    server.add_generic_rpc_handlers((services,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"ready: grpc=127.0.0.1:{port}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop(None).wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
