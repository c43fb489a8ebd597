"""Rounds of one row, in a process: ``python -m tests.laboratories.soak.play ROW SIZE SEED...``."""

from __future__ import annotations

import dataclasses
import logging
import sys
import time

import msgspec

from tests.laboratories.soak.rounds import Round, play
from tests.laboratories.soak.rows import ROWS

SECONDS = 20.0
"""After these no further seed is played: starting a process costs as much as a short round."""


def main() -> None:
    """Play each seed, and say what came of it in a line of JSON; what is logged goes to standard error."""
    row, size, *seeds = sys.argv[1:]
    logging.basicConfig(format="%(asctime)s %(threadName)s %(name)s %(levelname)s %(message)s")
    began = time.monotonic()
    for seed in seeds:
        played = play(ROWS[row], Round(int(seed), float(size)))
        print(msgspec.json.encode(dataclasses.asdict(played)).decode(), flush=True)
        if played.violation or time.monotonic() - began > SECONDS:
            return


if __name__ == "__main__":
    main()
