"""The clients in other languages, built once."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENTS = sorted(driver.parent.name for driver in ROOT.glob("clients/*/driver"))

GUESTS = {
    "go": "build/rules.wasm",
    "rust": "target/wasm32-unknown-unknown/release/examples/guest.wasm",
}
"""The rules of ``tests/plugin_hosts`` as a guest, by client."""


@cache
def built(client: str) -> Path:
    """Build and test a client by its own ``check``, and return its folder.

    Tests that call it are in the xdist group of that name, so that no two processes build it.
    """
    folder = ROOT / "clients" / client
    done = subprocess.run([folder / "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return folder
