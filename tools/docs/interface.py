"""Lists what scripts, alerts and boards depend on: flags of all commands, and metrics with their labels.

``--check`` compares ``docs/interface.txt`` with the code; without it, the file is written.
"""

import argparse
import ast
import difflib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mooring.cli.main import _parser
from mooring.serving import grammar
from mooring_estimator.estimator import ADAPTER as ESTIMATOR
from mooring_expander.expander import ADAPTER as EXPANDER
from mooring_extender.cli import _parser as extender_parser

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "docs" / "interface.txt"
NAME = re.compile(r"(?:mooring|grpc_server|leader_election|rest_client)_[a-z_]+")
KINDS = {"count": "counter", "gauge": "gauge", "histogram": "histogram", "duration": "histogram"}
"""Types of metrics, by a part of their constructors' names."""


def flags() -> Iterator[str]:
    """Yield a line for each argument of each command."""
    for parser in (_parser(), extender_parser({}), ESTIMATOR.parser(), EXPANDER.parser()):
        yield from _arguments(parser)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in dict.fromkeys(action.choices.values()):
                yield from _arguments(below)
        elif action.help is not argparse.SUPPRESS:
            value = "" if action.nargs == 0 else "[=BOOL]" if action.type is grammar.boolean else "=VALUE"
            names = "|".join(action.option_strings)
            yield (
                f"{parser.prog} {names}{value}" if names else f"{parser.prog} {action.metavar or action.dest}"
            )


def metrics() -> Iterator[str]:
    """Yield each metric as Prometheus shows it, with its type and labels."""
    found = {}
    for folder in ("server", "adapters"):
        for file in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            constants = dict(_constants(tree))
            for call in ast.walk(tree):
                if isinstance(call, ast.Call) and (name := _metric(call)):
                    found[name] = _described(name, call, constants)
    yield from (found[name] for name in sorted(found))


def _constants(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the tuples that a module gives names to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _metric(call: ast.Call) -> str:
    """Return the name of the metric that a call makes; "" = it makes none."""
    name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    return name if isinstance(name, str) and NAME.fullmatch(name) and _kind(call) else ""


def _kind(call: ast.Call) -> str:
    made_by = ast.unparse(call.func).lower()
    return next((kind for part, kind in KINDS.items() if part in made_by), "")


def _described(name: str, call: ast.Call, constants: Mapping[str, ast.expr]) -> str:
    given = [word.value for word in call.keywords if word.arg in ("labels", "labelnames")] or call.args[2:3]
    labels = ", ".join(label for one in given for label in _labels(one, constants))
    kind = _kind(call)
    shown = f"{name.removesuffix('_total')}_total" if kind == "counter" else name
    return f"{kind} {shown}{{{labels}}}"


def _labels(given: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[str]:
    match given:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _labels(part, constants)
        case ast.Starred(value=value):
            yield from _labels(value, constants)
        case ast.Name(id=name) if name in constants:
            yield from _labels(constants[name], constants)
        case ast.Constant(value=str(label)):
            yield label


def lines() -> list[str]:
    """Return the list."""
    return [*flags(), *metrics()]


def check(path: Path = LIST) -> int:
    """Compare the list with the code and print what differs; the exit code."""
    listed, found = path.read_text(encoding="utf-8").splitlines(), lines()
    if listed == found:
        return 0
    print(*difflib.unified_diff(listed, found, "listed", "in the code", lineterm="", n=1), sep="\n")
    print(
        "Flags or metrics have changed. docs/run/compatibility.md has the promises. If the change is"
        " meant, run `make names`, and list what was renamed or removed under Breaking in CHANGELOG.md."
    )
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if something differs")
    if parser.parse_args(arguments).check:
        return check()
    LIST.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
