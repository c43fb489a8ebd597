"""The first work of a long-running process: ``mooring scheduler`` and ``mooring serve``."""

from __future__ import annotations

import gc
import logging
import threading
import time

from mooring.cluster.sources import Source
from mooring.cluster.state import State
from mooring.kernels.compile import begin_compiling

log = logging.getLogger("mooring.start")

YOUNG_OBJECTS = 10_000
"""How many more objects there are when the garbage collector looks for cycles; a pod leaves some fifty."""

LOOK_SECONDS = 0.05
"""Between two looks whether the state is complete."""


def warm_up(source: Source, state: State, stop: threading.Event) -> bool:
    """Do what would slow down decisions later, as soon as ``state`` is complete; return when it is done.

    Listed objects are frozen for the garbage collector, since most of them live as long as the process. Loops
    are compiled in the background; numpy answers until then. ``stop`` ends the wait for the first full load.

    Returns:
        Whether it was done; False when it was time to stop.
    """
    while not source.synced:
        if stop.wait(LOOK_SECONDS):
            return False
    began, nodes = time.monotonic(), len(state.snapshot.nodes)
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    begin_compiling(nodes)
    log.info("warmed up for %d nodes in %.1f s", nodes, time.monotonic() - began)
    return True
