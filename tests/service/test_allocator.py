"""Memory that was freed between pieces that are still used goes back to the system."""

import subprocess
import sys

RETURNING = """
import time
from pathlib import Path
from mooring.serving.allocator import return_freed_memory

def resident():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) << 10

pieces = [b"x" * (100_000 + at) for at in range(1_000)]
for at in range(0, 1_000, 2):
    pieces[at] = b""
before = resident()
return_freed_memory(0.01)
while resident() > before - 30_000_000:
    time.sleep(0.01)
"""


def test_freed_memory_goes_back() -> None:
    subprocess.run([sys.executable, "-c", RETURNING], check=True, timeout=60)
