"""A server that does nothing: the cost of an RPC before any work on it.

It runs as a process of its own, on the same library and with the same threads as mooring, without its layers.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import grpc

from mooring.service.server import Options
from mooring.serving.calls.listener import SERVER_OPTIONS
from mooring.serving.calls.threads import Threads


class Answering(grpc.GenericRpcHandler):
    """Answers every call, whatever it says, with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(
            lambda _, __: answer
        )

    def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        return self._handler


def main() -> int:
    """Answer with the content of the named file until a signal."""
    threads = Threads(Options.transport_threads, "grpc")
    server = grpc.server(threads, options=SERVER_OPTIONS)  # type: ignore[arg-type]  # any executor will do
    server.add_generic_rpc_handlers((Answering(Path(sys.argv[1]).read_bytes()),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"ready: grpc=127.0.0.1:{port}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop(None).wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
