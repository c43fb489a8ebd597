"""Docstrings: the attributes and arguments that they list exist, and code has double backticks."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = [
    file
    for folder in ("server/mooring", "adapters", "clients", "tools")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if "v1" not in file.parts
]
SINGLE = re.compile(r"(?<!`)`[^`]+`(?!`)")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def listed(node: ast.AST, section: str) -> set[str]:
    """Return the names in a section of the docstring; one line may list several."""
    assert isinstance(node, ast.ClassDef | FUNCTION)
    found = re.search(rf"^{section}:\n((?: {{4}}.*\n?|\n)+)", ast.get_docstring(node) or "", re.MULTILINE)
    lines = re.findall(r"^ {4}(\w[\w, ]*?):", found.group(1), re.MULTILINE) if found else ()
    return {name for line in lines for name in line.split(", ")}


def arguments(function: FUNCTION) -> set[str]:
    given = function.args
    several = [one for one in (given.vararg, given.kwarg) if one is not None]
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *several)}


def members(node: ast.ClassDef) -> set[str]:
    """Everything that is assigned or defined in the class, and what its methods set on ``self``."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    set_later = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return names | set_later | {one.name for one in node.body if isinstance(one, FUNCTION)}


def unknown(node: ast.AST) -> set[str]:
    if isinstance(node, FUNCTION):
        return listed(node, "Args") - arguments(node)
    if isinstance(node, ast.ClassDef):
        made = [arguments(one) for one in node.body if isinstance(one, FUNCTION) and one.name == "__init__"]
        return (listed(node, "Attributes") | listed(node, "Args")) - members(node) - set().union(*made)
    return set()


def test_what_a_docstring_lists_exists() -> None:
    assert FILES
    assert [
        f"{file.relative_to(ROOT)}:{getattr(node, 'name', '')}: {names}"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if (names := sorted(unknown(node)))
    ] == []


def test_code_has_double_backticks() -> None:
    assert [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in FILES
        # To parse a file takes a hundred times as long as to search it.
        if SINGLE.search(text := file.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and SINGLE.search(str(node.value.value))
    ] == []
