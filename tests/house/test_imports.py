"""What comes with an import, and what a plugin author is offered."""

import subprocess
import sys
from types import ModuleType

import pytest

import mooring.framework

# msgspec imports typing_extensions where it is installed.
OUTSIDE = """
import sys
before = set(sys.modules)
import {module}
new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(new - set(sys.stdlib_module_names)))
"""


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        pytest.param("mooring", {"mooring"}, id="the package alone"),
        pytest.param(
            "mooring.framework",
            {"mooring", "msgspec", "numpy", "typing_extensions"},
            id="a plugin author's import",
        ),
    ],
)
def test_an_import_brings_no_more_than(module: str, allowed: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTSIDE.format(module=module)], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= allowed


def test_the_framework_exports_what_it_defines() -> None:
    public = {
        name
        for name, value in vars(mooring.framework).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    exported = mooring.framework.__all__
    assert set(exported) == public
    assert len(exported) == len(set(exported))
