"""Whatever listens does so by mooring.serving, and is attacked by a row of the soak."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.laboratories.soak.doors import DOORS

ROOT = Path(__file__).parents[2]
SERVING = ROOT / "server" / "mooring" / "serving"
CLIENT_CHECK = ROOT / "server" / "mooring" / "client_check"
"""Plays a server, on loopback and while it runs, for the client that it tries."""
HOSTING = ROOT / "clients/python/mooring_client/plugin_host/hosting.py"
"""Serves plugins in a process of its own, on a socket that only its user may write to."""
SOURCES = [
    file for folder in ("server", "adapters", "clients/python") for file in (ROOT / folder).rglob("*.py")
]
OPENERS = {"CallListener", "HealthListener", "PageListener", "HttpServer"}
"""The functions of `mooring.serving` that open a listener."""
LISTENS = re.compile(
    r"grpc\.(?:aio\.)?server\(|\buvicorn\b|\bsocketserver\b|(?<!serving\.)http\.server|aiohttp\.web|\bcreate_server\b|\bstart_server\("
    r"|\bstart_unix_server\b|\.listen\(\d*\)|streamable[-_]http|\bsse_app\b|start_http_server"
)
"""How Python code listens otherwise."""


def module_of(file: Path) -> str:
    (folder,) = [each for each in ("server", "adapters", "clients/python") if (ROOT / each) in file.parents]
    return ".".join(file.relative_to(ROOT / folder).with_suffix("").parts)


def opened() -> Iterator[tuple[str, str]]:
    """Yield the module and the class of each listener that is opened."""
    for file in SOURCES:
        text = file.read_text()
        if not any(f"{name}(" in text for name in OPENERS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OPENERS:
                yield module_of(file), node.func.id


def test_nothing_listens_but_by_serving() -> None:
    code = [file for file in SOURCES if not {SERVING, CLIENT_CHECK, HOSTING} & {file, *file.parents}]
    assert [module_of(file) for file in code if LISTENS.search(file.read_text())] == []


def test_each_listener_has_a_row() -> None:
    assert {*opened()} == {door.opens for door in DOORS}
