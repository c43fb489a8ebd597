"""The evaluation cache stays a house that one can walk through: its modules, and the imports between them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import mooring.runtime.cache

ROOT = Path(mooring.runtime.cache.__file__).parent
PACKAGE = "mooring.runtime.cache"


def module_of(file: Path) -> str:
    return ".".join((PACKAGE, *file.relative_to(ROOT).with_suffix("").parts))


def imports() -> dict[str, set[str]]:
    """By module of the cache, the others that it imports."""
    files = {module_of(file): file for file in ROOT.rglob("*.py") if file.name != "__init__.py"}
    found = {}
    for module, file in files.items():
        imported = [
            node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)
        ]
        found[module] = {node.module for node in imported if node.module in files}
    return found


def test_it_has_few_modules_few_levels_and_few_imports() -> None:
    arrows = imports()

    @cache
    def level(module: str) -> int:
        return 1 + max(map(level, arrows[module]), default=0)

    assert len(arrows) <= 20
    assert max(map(level, arrows)) <= 6
    assert sum(map(len, arrows.values())) <= 45
