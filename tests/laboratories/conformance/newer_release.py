"""A pytest plugin: one release more than the newest is followed, as on the day when support for it begins.

    python -m pytest -p tests.laboratories.conformance.newer_release tests/laboratories/conformance -k 1.36

It makes `mooring.framework.releases` before anything else of mooring is imported, with `NEWEST` moved on.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

NAME = "mooring.framework.releases"
SOURCE = Path(__file__).parents[3] / "server" / "mooring" / "framework" / "releases.py"


def _import_with_a_newer_release() -> None:
    text, moved = re.subn(
        r"^NEWEST = KubeVersion\(1, (\d+)\)$",
        lambda found: f"NEWEST = KubeVersion(1, {int(found[1]) + 1})",
        SOURCE.read_text(),
        flags=re.MULTILINE,
    )
    assert moved == 1, f"{SOURCE} has no line that sets NEWEST"
    assert NAME not in sys.modules, "mooring was imported before its releases could be changed"
    spec = importlib.util.spec_from_file_location(NAME, SOURCE)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    exec(compile(text, SOURCE, "exec"), module.__dict__)


_import_with_a_newer_release()
