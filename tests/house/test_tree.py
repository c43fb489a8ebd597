"""Rules for every file: no machine and no registry named, links that lead somewhere, sizes."""

import ast
import re
import subprocess
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split("\n")
GENERATED = (
    "adapters/mooring_estimator/wire/",
    "adapters/mooring_expander/wire/",
    "clients/go/mooringv1/",
    "clients/go/pluginhostv1/",
    "clients/python/mooring_client/plugin_host/v1/",
    "clients/python/mooring_client/v1/",
    "server/mooring/kubernetes/",
)
FILES = [
    ROOT / name for name in TRACKED if name and not name.startswith(GENERATED) and (ROOT / name).is_file()
]
SOURCES = [
    file
    for file in FILES
    if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in {"server", "adapters", "clients"}
]
LONG_MODULE = 400
"""Lines from which a module is named in the summary of the tests; a long one is seldom a defect."""
SHORT_MODULE = 30
"""Lines below which a module that a single other one imports is a fragment of that one."""
FUNCTION_LINES = 40
ENTRIES = {"__init__.py", "__main__.py"}

# The patterns are spelt so that they do not match their own spelling.
FORBIDDEN = {
    "a package registry": r"pypi\.(?:org|io)|files\.pythonhosted|registry\.npm|(?:proxy|sum)\.golang\.",
    "a path of one machine": r"(?<![\w.])/(?:root|work|tmp|Users)/",
    "unfinished work": r"\b(?:TO{1}DO|FIX{1}ME)\b|raise NotImplemented{1}Error",
}


MEASURED = {"bench", "e2e"}
"""Folders of tests where times are measured; `make test` runs while the machine does other work."""
CLOCKS = {
    *("time", "monotonic", "perf_counter", "process_time", "thread_time"),
    *("time_ns", "monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns", "timeit"),
    "percentile",
}
"""Names that read a clock; the last is a result of the calls of `tests/good_client.py`."""


def text_of(file: Path) -> str:
    return file.read_bytes().decode(errors="replace")


@pytest.mark.parametrize(("what", "pattern"), FORBIDDEN.items(), ids=FORBIDDEN)
def test_no_file_names(what: str, pattern: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in FILES
        if file.suffix != ".gz"
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


def leads_somewhere(file: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = (file.parent / path).resolve() if path else file
    return found.exists() and (not anchor or anchor in anchors(found))


def test_markdown_links_lead_somewhere() -> None:
    found = list(links())
    assert found
    assert [f"{file.relative_to(ROOT)}: {to}" for file, to in found if not leads_somewhere(file, to)] == []


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1


def test_functions_stay_readable() -> None:
    assert [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}: {code_lines(node)} lines"
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and code_lines(node) > FUNCTION_LINES
    ] == []


@pytest.mark.filterwarnings("default:long modules")
def test_long_modules_are_named() -> None:
    long = [f"{module_of(file)} ({count})" for file in SOURCES if (count := lines_in(file)) >= LONG_MODULE]
    if long:
        warnings.warn(f"long modules: {', '.join(long)}", stacklevel=1)


def test_no_short_module_has_a_single_importer() -> None:
    modules = {module_of(file): file for file in SOURCES}
    importers: dict[str, set[str]] = defaultdict(set)
    for importer, file in modules.items():
        for name in imported_by(file):
            importers[name].add(importer)
    assert [
        f"{module}: merge it into {', '.join(importers[module]) or 'whatever uses it'}"
        for module, file in modules.items()
        if lines_in(file) < SHORT_MODULE
        and len(importers[module]) <= 1
        and file.name not in ENTRIES
        and not is_part_of_a_plugin(file)
        and not is_public(file)
    ] == []


def lines_in(file: Path) -> int:
    return len(file.read_text().splitlines())


def module_of(file: Path) -> str:
    """Return the dotted name: ``server`` and ``adapters`` are roots."""
    names = file.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imported_by(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def is_part_of_a_plugin(file: Path) -> bool:
    """A plugin's folder has the same files as all others, however short they are."""
    return "plugins" in file.parts and file.name in {"plugin.py", "args.py", "hints.py"}


def is_public(file: Path) -> bool:
    """Its names are re-exported by its package, under which everybody else imports them."""
    return module_of(file) in set(imported_by(file.parent / "__init__.py"))


def reads_a_clock(node: ast.AST) -> bool:
    called = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    names = {func.attr if isinstance(func, ast.Attribute) else ast.unparse(func) for func in called}
    return not names.isdisjoint(CLOCKS)


def judged_times(function: ast.AST) -> Iterator[int]:
    """Yield the lines that assert something about a clock reading, except in rounds of full size."""
    full = {
        inner
        for node in ast.walk(function)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith(".size == 1.0")
        for inner in ast.walk(node)
    }
    times: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and reads_a_clock(node.value):
            for target in node.targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                times |= {part.id for part in parts if isinstance(part, ast.Name)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and node not in full:
            named = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            if reads_a_clock(node) or times & named:
                yield node.lineno


def may_read_a_clock(file: Path) -> bool:
    """Return whether its text has a call of a clock at all: to parse a file takes a hundred times as long."""
    return re.search(rf"\b(?:{'|'.join(CLOCKS)})\(", text_of(file)) is not None


def test_no_test_is_decided_by_a_time() -> None:
    """Speeds are judged in tests/laboratories/bench/gate.py, which compares both sides alternately."""
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in FILES
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] == "tests"
        if MEASURED.isdisjoint(file.relative_to(ROOT).parts) and may_read_a_clock(file)
        for function in ast.walk(ast.parse(text_of(file)))
        if isinstance(function, ast.FunctionDef)
        for line in judged_times(function)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        pytest.param("began = time.monotonic()\nassert time.monotonic() - began < 1", True, id="a time"),
        pytest.param("took = perf_counter() - began\nassert took < 2 * other", True, id="a ratio"),
        pytest.param("took = timeit(f)\nif size == 1.0:\n assert took < 1", True, id="another condition"),
        pytest.param("took = timeit(f)\nif round_.size == 1.0:\n assert took < 1", False, id="a full round"),
        pytest.param("end = time.monotonic() + 1\nassert event.wait(1)", False, id="waiting"),
    ],
)
def test_a_judged_time_is_seen(said: str, judged: bool) -> None:
    assert bool(list(judged_times(ast.parse(said)))) == judged
