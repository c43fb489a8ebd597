"""A Kubernetes release has a name that says what began with it, and the newest one stands in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SERVER = Path(__file__).parents[2] / "server" / "mooring"
RELEASES = SERVER / "framework" / "releases.py"
MAY_NAME_ONE = re.compile(r"NEWEST|KubeVersion|1\.3\d")
"""In the text of each file with a release: to parse a file takes a hundred times as long."""


def faults(file: Path) -> Iterator[str]:
    """Releases outside a constant ``..._SINCE``, and comparisons with the newest, which moves."""
    text = file.read_text()
    if not MAY_NAME_ONE.search(text):
        return
    tree = ast.parse(text)
    named = {
        id(node)
        for statement in tree.body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]).endswith("SINCE")
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Compare() if "NEWEST" in {getattr(each, "id", "") for each in ast.walk(node)}:
                pass
            case ast.Call(func=ast.Name("KubeVersion")) if id(node) not in named:
                pass
            case ast.Constant(str(text)) if re.fullmatch(r"v?1\.3\d(\.\d+)?", text):
                pass
            case _:
                continue
        yield f"{file.relative_to(SERVER)}:{node.lineno}: {ast.unparse(node)}"


def test_each_release_says_what_began_with_it_and_the_newest_stands_in_one_place() -> None:
    files = [file for file in SERVER.rglob("*.py") if file != RELEASES]
    assert [line for file in files for line in faults(file)] == []
