"""Rules for every file: no machine and no registry named, links that lead somewhere, modest sizes."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("\n")
GENERATED = ("server/mooring/v1/", "server/mooring/kubernetes/", "deploy/examples/clients/go/gen/")
FILES = [
    ROOT / name for name in TRACKED if name and not name.startswith(GENERATED) and (ROOT / name).is_file()
]
SOURCES = [
    file
    for file in FILES
    if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in {"server", "adapters"}
]
MODULE_LINES = 400
FUNCTION_LINES = 40

# The patterns are spelt so that they do not match their own spelling.
FORBIDDEN = {
    "a package registry": r"pypi\.(?:org|io)|files\.pythonhosted|registry\.npm|(?:proxy|sum)\.golang\.",
    "a path of one machine": r"(?<![\w.])/(?:root|work|tmp|Users)/",
    "unfinished work": r"\b(?:TO{1}DO|FIX{1}ME)\b|raise NotImplemented{1}Error",
}


def text_of(file: Path) -> str:
    return file.read_bytes().decode(errors="replace")


@pytest.mark.parametrize(("what", "pattern"), FORBIDDEN.items(), ids=FORBIDDEN)
def test_no_file_names(what: str, pattern: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in FILES
        for match in re.finditer(pattern, text_of(file))
    ]
    assert found == [], what


def anchors(file: Path) -> set[str]:
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, str]]:
    for file in FILES:
        if file.suffix == ".md":
            prose = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
            for target in re.findall(r"\]\(([^)\s]+)\)", prose):
                if not target.startswith(("http://", "https://")):
                    yield file, target


@pytest.mark.parametrize(
    ("file", "target"), list(links()), ids=lambda value: str(value).removeprefix(f"{ROOT}/")
)
def test_markdown_link_leads_somewhere(file: Path, target: str) -> None:
    path, _, anchor = target.partition("#")
    found = (file.parent / path).resolve() if path else file
    assert found.exists()
    if anchor:
        assert anchor in anchors(found)


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_module_and_its_functions_stay_readable(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= MODULE_LINES
    functions = (
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert [node.name for node in functions if code_lines(node) > FUNCTION_LINES] == []
