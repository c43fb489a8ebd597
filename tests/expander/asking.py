"""An expander over a real service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from mooring_adapter.listener import serve
from mooring_adapter.mooring import Mooring
from mooring_expander.expander import Expander
from mooring_expander.wire.expander_service_pb2_grpc import ExpanderStub, add_ExpanderServicer_to_server
from tests.service.backends import listening, world


@contextmanager
def listener(*objects: Any) -> Iterator[str]:
    """The address of an expander over these objects."""
    with world(*objects) as w, listening(w.backend) as address:
        mooring = Mooring(address)
        answering = Expander(mooring)
        server, port = serve(
            "127.0.0.1", 0, mooring, lambda added: add_ExpanderServicer_to_server(answering, added), None
        )
        try:
            yield f"127.0.0.1:{port}"
            assert len(w.backend.sessions) == 0
        finally:
            server.stop(None).wait()


@contextmanager
def expander(*objects: Any) -> Iterator[ExpanderStub]:
    with listener(*objects) as address, grpc.insecure_channel(address) as channel:
        yield ExpanderStub(channel)
