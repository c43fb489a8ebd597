"""``python -m tests.plugin_hosts``: random histories, in which hosts are compared with rules in process."""

from __future__ import annotations

import argparse
import tempfile
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.laboratories.histories import configurations
from tests.laboratories.histories.forms import FORMS
from tests.laboratories.histories.rounds import play
from tests.plugin_hosts.hosts import hosting
from tests.plugin_hosts.twins import EVERY, twin


def main() -> int:
    """Play until enough was compared; the exit code is 1 after a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.plugin_hosts", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=2000, help="decisions and answers to compare (2000)")
    parser.add_argument("--seed", type=int, default=100, help="of the first history (100)")
    args = parser.parse_args()
    compared = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        hosting(Path(folder), *[each for _, each in EVERY.values()]) as host,
    ):
        rules = tuple(twin(host, name) for name in EVERY)
        changed: dict[str, Any] = {"RULES": rules, "FAULTY_RULES": (), "FAULTY_IN": 0.0, "RULES_IN": 1.0}
        with patch.multiple(configurations, **changed):
            configurations.registry.cache_clear()
            for seed in count(args.seed):
                for form in ("process", "stuck", "sessions"):
                    played = play(FORMS[form], seed, range(20))
                    compared += played.decisions + played.comparisons
                    print(f"{form} {seed}: {compared:,} compared {played.mismatch}", flush=True)
                    if played.mismatch:
                        return 1
                if compared >= args.scenarios:
                    return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
