"""How much memory this process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mooring.framework.memory import memory_bytes

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("texts", "size"),
    [
        pytest.param(["536870912\n", None], 512 << 20, id="a limit"),
        pytest.param([None, "1073741824\n"], 1 << 30, id="a limit in the first version's file"),
        pytest.param(["max\n", None], PHYSICAL, id="no limit"),
        pytest.param([None, "9223372036854771712\n"], PHYSICAL, id="no limit in the first version's file"),
        pytest.param([None, None], PHYSICAL, id="no file"),
    ],
)
def test_the_memory_is_what_the_container_may_use(texts: list[str | None], size: int, tmp_path: Path) -> None:
    files = (tmp_path / "new", tmp_path / "old")
    for file, text in zip(files, texts, strict=True):
        if text is not None:
            file.write_text(text)
    assert memory_bytes(files) == min(size, PHYSICAL)
