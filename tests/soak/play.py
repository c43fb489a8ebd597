"""One round in a process of its own: ``python -m tests.soak.play ROW SEED SIZE`` prints what it came to."""

from __future__ import annotations

import dataclasses
import logging
import sys

import msgspec

from tests.soak.rounds import Round, play
from tests.soak.rows import ROWS


def main() -> None:
    """Play, then say so in one line of JSON; what is logged goes to standard error."""
    row, seed, size = sys.argv[1:]
    logging.basicConfig(format="%(asctime)s %(threadName)s %(name)s %(levelname)s %(message)s")
    played = play(ROWS[row], Round(int(seed), float(size)))
    print(msgspec.json.encode(dataclasses.asdict(played)).decode(), flush=True)


if __name__ == "__main__":
    main()
