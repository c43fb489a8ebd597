"""The server and the adapter as processes of their own, ended by their ids."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from tests.laboratories.bench.cluster import node_manifests, write_manifests

LOOPBACK = "127.0.0.1:0"
STOP_SECONDS = 20.0
LOOK_SECONDS = 0.05
_CPU = re.compile(r"^\w*process_cpu_seconds_total (\S+)$", re.MULTILINE)


@contextmanager
def started(module: str, *arguments: str, settled: str = "") -> Iterator[str]:
    """Run ``python -m module arguments``; yields the line with which it says that it is ready.

    Args:
        settled: The text that its log must also have before it is measured; "" = nothing.

    Raises:
        RuntimeError: It ended before; carries what it said.
    """
    command = [sys.executable, "-m", module, *arguments]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if "ready" not in line:
                process.wait(STOP_SECONDS)
                raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {_said(errors)}")
            while settled not in _said(errors):
                if process.poll() is not None:
                    raise RuntimeError(
                        f"{' '.join(command)} ended with {process.returncode}: {_said(errors)}"
                    )
                time.sleep(LOOK_SECONDS)
            yield line
        finally:
            _end(process)


def _said(errors: TextIO) -> str:
    """Return a process's output so far; it shares the position in the file, which stays."""
    return os.pread(errors.fileno(), os.fstat(errors.fileno()).st_size, 0).decode()


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def serve_arguments(
    source: str, listen: str = LOOPBACK, more: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return arguments of ``mooring`` for a server that takes free ports and ends at once, with ``more``
    flags.
    """
    flags = {
        "--source": source,
        "--listen": listen,
        "--health-listen": LOOPBACK,
        "--metrics-listen": LOOPBACK,
        "--extender-listen": LOOPBACK,
        "--drain-delay": "0",
        "--stop-grace": "1",
        **more,
    }
    return ["serve", *(f"{name}={value}" for name, value in flags.items())]


def start_server(
    running: ExitStack,
    nodes: int,
    *,
    over_unix: bool = False,
    extra_labels: int = 0,
    images: int = 0,
    racks: int = 0,
    flags: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return a server with the nodes of ``node_manifests``, started with further ``flags``.

    Returns:
        The addresses of its ready line, such as ``grpc`` and ``extender``.
    """
    folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="mooring-bench-")))
    listen = f"unix:{folder}/mooring.sock" if over_unix else LOOPBACK
    manifests = node_manifests(nodes, extra_labels=extra_labels, images=images, racks=racks)
    source = f"files:{write_manifests(folder, manifests)}"
    # While its loops are compiled everything takes several times as long.
    line = running.enter_context(
        started("mooring", *serve_arguments(source, listen, flags), settled="warmed up for")
    )
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def start_adapter(running: ExitStack, server: str) -> str:
    """Return an adapter in front of the server at ``server``; its URL."""
    line = running.enter_context(started("mooring_extender", "--listen", LOOPBACK, "--server", server))
    return line.split()[-1]


def processor_seconds(metrics: str) -> float:
    """Return the processor time that a server has used so far; ``metrics`` is the address of its metrics."""
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as answer:
        found = _CPU.search(answer.read().decode())
    if found is None:
        raise RuntimeError("the server's metrics have no processor time")
    return float(found[1])
