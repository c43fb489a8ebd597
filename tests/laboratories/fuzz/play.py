"""Rounds of one target: ``python -m tests.laboratories.fuzz.play TARGET NOTE FOUND SEED...``."""

from __future__ import annotations

import mmap
import sys
import time
from pathlib import Path

import msgspec

from tests.laboratories.fuzz.mutating import LARGEST
from tests.laboratories.fuzz.rounds import play
from tests.laboratories.fuzz.targets import TARGETS

SECONDS = 30.0
"""After these no further seed is played: starting a process costs as much as a short round."""


def main() -> None:
    """Play each seed, and say what came of it in a line of JSON.

    Inputs with a finding are written to the folder FOUND; the current input is in the file NOTE, also if the
    process ends with it.
    """
    target, note, found, *seeds = sys.argv[1:]
    began = time.monotonic()
    with Path(note).open("w+b") as file:
        file.truncate(LARGEST * 2)
        with mmap.mmap(file.fileno(), 0) as written:
            for seed in seeds:
                played, kept = play(TARGETS[target], int(seed), note=written)
                for one in kept:
                    Path(found, one.name).write_bytes(one.data)
                print(msgspec.json.encode(played).decode(), flush=True)
                if time.monotonic() - began > SECONDS:
                    return


if __name__ == "__main__":
    main()
