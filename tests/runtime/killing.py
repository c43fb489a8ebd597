"""Kills processes that bind, over an API server that loses answers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.fake_api_server import Answer, Call, FakeApiServer

from .committing import manifest
from .killed import NODES

ROOT = Path(__file__).resolve().parents[2]


def kill_at(points: Sequence[str], each: int = 10, timeout: float = 900.0) -> int:
    """Bind, dying at each of the points one after the other; every pod is bound once, no node has more than
    it takes.

    Args:
        points: Some of ``killed.POINTS``.
        each: The pods that a node takes; there are enough pods for each point.
        timeout: Seconds for all of it, after which it counts as hanging.

    Returns:
        How many pods were bound.
    """
    with FakeApiServer() as fake:
        fake.add(*(manifest(f"p{at}") for at in range(NODES * each)))
        # Answers are lost and the first read of the pod fails: outcomes stay unknown for a while.
        looked: set[str] = set()

        def first_look(call: Call) -> bool:
            known = call.path in looked
            looked.add(call.path)
            return not known

        fake.faults.on("POST", "[37]/binding$", Answer(503, after=True))
        fake.faults.on("GET", "[37]$", Answer(503), when=first_look)
        ended = subprocess.run(
            [sys.executable, "-m", "tests.runtime.killed", fake.url, *points],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        accepted = list(fake.history.accepted_bindings())
        assert len(accepted) == len({uid for uid, _, _ in accepted}) == NODES * each
        assert set(Counter(node for _, node, _ in accepted).values()) == {each}
        return len(accepted)
