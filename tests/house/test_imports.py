"""Modules that an import loads, and names that plugin authors get."""

import subprocess
import sys
from types import ModuleType

import pytest

import mooring.framework

# msgspec imports typing_extensions where it is installed.
OUTSIDE = """
import sys
before = set(sys.modules)
{statement}
new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(new - set(sys.stdlib_module_names)))
"""
HELP = """
import contextlib
from mooring.cli import main
with contextlib.suppress(SystemExit):
    main(argv=["--help"])
"""
FRAMEWORK = {"mooring", "msgspec", "numpy", "typing_extensions"}


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        pytest.param("import mooring", {"mooring"}, id="the package alone"),
        pytest.param("import mooring.framework", FRAMEWORK, id="a plugin author's import"),
        pytest.param(HELP, {*FRAMEWORK, "mooring_extender", "rich"}, id="the help of all commands"),
    ],
)
def test_an_import_brings_no_more_than(statement: str, allowed: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDE.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.splitlines()[-1].split()) <= allowed


def test_the_framework_exports_what_it_defines() -> None:
    public = {
        name
        for name, value in vars(mooring.framework).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    exported = mooring.framework.__all__
    assert set(exported) == public
    assert len(exported) == len(set(exported))
