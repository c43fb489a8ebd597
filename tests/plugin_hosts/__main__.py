"""``python -m tests.plugin_hosts``: random histories, in which hosts are compared with rules in process.

They decide one by one, in batches, in sessions and over gRPC, preempt, and explain.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.laboratories.histories import configurations
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import play
from tests.plugin_hosts.hosts import Hosted, connected, hosting
from tests.plugin_hosts.rules import PAIRS
from tests.plugin_hosts.twins import EVERY, compared, twin


@contextmanager
def _host(address: str, folder: Path) -> Iterator[tuple[Hosted, Iterable[str]]]:
    """Yield the host, and the names of its plugins."""
    if address:
        with connected(address) as host:
            yield host, PAIRS
    else:
        with hosting(folder, *[each for _, each in EVERY.values()]) as host:
            yield host, EVERY


def main() -> int:
    """Play until enough was compared; the exit code is 1 after a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.plugin_hosts", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=2000, help="evaluations in full of each rule (2000)")
    parser.add_argument("--seed", type=int, default=100, help="of the first history (100)")
    parser.add_argument(
        "--host", default="", help="a host with the rules of rules.py; default: one in Python"
    )
    args = parser.parse_args()
    results = 0
    with tempfile.TemporaryDirectory() as folder, _host(args.host, Path(folder)) as (host, names):
        rules = tuple(twin(host, name) for name in names)
        changed: dict[str, Any] = {"RULES": rules, "FAULTY_RULES": (), "FAULTY_IN": 0.0, "RULES_IN": 1.0}
        with patch.multiple(configurations, **changed):
            configurations.registry.cache_clear()
            for seed in count(args.seed):
                for form in ("process", "stuck", "sessions", "grpc"):
                    played = play(FORMS[form], seed, range(20))
                    results += played.decisions + played.comparisons
                    least = min(compared[name] for name in names)
                    print(
                        f"{form} {seed}: {results:,} answers, each rule in {least:,} {played.mismatch}",
                        flush=True,
                    )
                    if played.mismatch:
                        return 1
                if least >= args.scenarios:
                    print(*(f"{name}: {compared[name]:,}" for name in names), sep="\n")
                    return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
