"""The server that rows E and F attack: `mooring serve` on the sample cluster, a process with both doors."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.cli.commands import Started, serving_process
from tests.good_client import good_client
from tests.laboratories.soak.rounds import AT_END, Round

log = logging.getLogger(__name__)

MIB = 1 << 20
SLOWER = 5.0
"""The factor of the calm median that a good call may take during an attack on a machine with other work."""


@dataclass(frozen=True)
class Attacked:
    """The process.

    Attributes:
        started: The processes.
        address: The address of the gRPC door, HOST:PORT.
        extender: The address of the extender's door, HOST:PORT.
    """

    started: Started
    address: str
    extender: str


@cache
def attacked() -> Attacked:
    """Return one for all rows that are played in this process; it ends with it."""
    folder = Path(AT_END.enter_context(tempfile.TemporaryDirectory()))
    started = AT_END.enter_context(
        serving_process(folder, "--extender-listen", "127.0.0.1:0", "--reflection")
    )
    assert started.ready, started.log.read_text()
    return Attacked(started, started.address("grpc"), started.address("extender").removeprefix("http://"))


@contextmanager
def unharmed(round_: Round, growth: int = 64 * MIB, slower: float = SLOWER) -> Iterator[Attacked]:
    """Yield the server for an attack in the block: it stays alive, and a good client gets all answers
    meanwhile.

    Args:
        round_: Counts the attack.
        growth: Bytes by which the process may have grown afterwards.
        slower: How many times as long the median good call may take.
    """
    target = attacked()
    with good_client(target.address, target.extender) as client:
        client.calls()
        calm, before = client.calls(), target.started.memory()
        yield target
        beside, grown = client.calls(), target.started.memory() - before
        log.info(
            "good calls: p50 %.1f -> %.1f ms, p99 %.1f -> %.1f ms; %+.1f MiB",
            *(calls.percentile(share) * 1e3 for share in (0.5, 0.99) for calls in (calm, beside)),
            grown / MIB,
        )
    round_.faults += 1
    assert target.started.process.poll() is None, "the server has ended"
    assert calm.failed == []
    assert beside.failed == []
    if round_.size == 1.0:
        assert beside.percentile(0.5) <= slower * calm.percentile(0.5)
    assert grown <= growth, f"{grown / MIB:.0f} MiB more"
