"""The gallery of docs/lab: every notebook runs from top to bottom, and its outputs are those of this code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

GALLERY = Path(__file__).parents[2] / "docs" / "lab"
NOTEBOOKS = sorted(GALLERY.glob("*.ipynb"))


def opened(file: Path) -> Any:
    return nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]  # it has types for a part


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the kernel's client, which is not ours
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebook_runs(file: Path) -> None:
    shown, run = opened(file), opened(file)
    NotebookClient(run, timeout=600, kernel_name="python3").execute()
    assert _texts(run) == _texts(shown), f"execute {file.name} again: jupyter execute --inplace"


def _texts(book: Any) -> list[list[str]]:
    """Return what the cells print: pictures and tables have ids that differ each time.

    How much of a stream comes at a time is a matter of chance, so its parts are one text.
    """
    found = []
    for cell in book.cells:
        if cell.cell_type == "code":
            printed = "".join(output.get("text", "") for output in cell.outputs)
            shown = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
            found.append([printed, *filter(None, shown)])
    return found
