"""An expander over a real service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from mooring_adapter.listener import AdapterListener
from mooring_adapter.mooring import Mooring
from mooring_expander.expander import Expander, offered
from mooring_expander.wire.expander_service_pb2_grpc import ExpanderStub
from tests.service.backends import listening, world


@contextmanager
def listener(*objects: Any) -> Iterator[str]:
    """Yield the address of an expander over these objects."""
    with world(*objects) as w, listening(w.backend) as address:
        mooring = Mooring(address)
        answering = Expander(mooring)
        listener = AdapterListener("127.0.0.1:0", offered(answering), mooring)
        listener.start()
        try:
            yield listener.address
            assert len(w.backend.sessions) == 0
        finally:
            listener.stop(None)


@contextmanager
def expander(*objects: Any) -> Iterator[ExpanderStub]:
    with listener(*objects) as address, grpc.insecure_channel(address) as channel:
        yield ExpanderStub(channel)
