"""Loops are compiled in the background, and kept on disk."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.kernels import compile as loops
from mooring.kernels.compile import (
    FEWEST_CALLS,
    FEWEST_NODES,
    compile_ahead,
    loop,
    nothing_compiled,
    wait_for_compiler,
)
from tests.compiled_loops import compiled_loops, loops_as_written, loops_compiled_by_calls

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="the extra fast isn't installed"
)


def test_a_numba_that_is_of_no_use_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> object:
        raise ImportError(f"{name} needs an older numpy")

    monkeypatch.setattr(loops, "import_module", fails)
    same = loop("(int64,)")(abs)
    with loops_compiled_by_calls():
        for _ in range(FEWEST_CALLS):
            same.for_rows(FEWEST_NODES)
        wait_for_compiler()
        assert same.for_rows(FEWEST_NODES) is None


def test_a_loop_that_cannot_be_compiled_says_so_and_numpy_answers(caplog: pytest.LogCaptureFixture) -> None:
    def adds(number: int) -> int:
        return number + None  # type: ignore[operator]

    same: loops.Loop[int] = loop("(int64,)")(adds)
    with loops_compiled_by_calls():
        same.begin_compiling()
        wait_for_compiler()
        assert same.for_rows(FEWEST_NODES) is None
    assert "adds can't be compiled, so numpy is used: " in caplog.text


def test_nobody_waits_for_the_compiler_and_it_works_only_for_who_asks_often() -> None:
    same: loops.Loop[int] = loop("(int64,)")(lambda number: number)
    with loops_compiled_by_calls():
        assert [same.for_rows(FEWEST_NODES) for _ in range(FEWEST_CALLS - 1)] == [None] * (FEWEST_CALLS - 1)
        wait_for_compiler()
        assert same.for_rows(FEWEST_NODES) is None
        wait_for_compiler()
        compiled = same.for_rows(1, FEWEST_NODES)
        assert compiled is not None
        assert compiled(7) == 7
        assert same.for_rows(0, FEWEST_NODES) is None


def test_work_that_is_soon_done_has_nothing_compiled() -> None:
    same: loops.Loop[int] = loop("(int64,)")(lambda number: number)
    with loops_compiled_by_calls():
        with nothing_compiled():
            for _ in range(2 * FEWEST_CALLS):
                same.for_rows(FEWEST_NODES)
        wait_for_compiler()
        assert same.for_rows(FEWEST_NODES) is None
        for _ in range(FEWEST_CALLS):
            same.for_rows(FEWEST_NODES)
        wait_for_compiler()
        assert same.for_rows(FEWEST_NODES) is not None


def test_a_test_meets_compiled_loops_only_where_it_asks_for_them() -> None:
    same: loops.Loop[int] = loop("(int64,)")(lambda number: number)
    assert same.compile() is not None
    assert same.for_rows(1) is None
    with compiled_loops():
        assert same.for_rows(1) is not None
        with loops_as_written():
            assert same.for_rows(1) is None


@pytest.mark.slow
def test_who_decides_all_day_has_them_compiled_before() -> None:
    same: loops.Loop[int] = loop("(int64,)")(lambda number: number)
    with loops_compiled_by_calls():
        compile_ahead(FEWEST_NODES - 1)
        assert same.for_rows(FEWEST_NODES) is None
        compile_ahead(FEWEST_NODES)
        compiled = same.for_rows(FEWEST_NODES)
    assert compiled is not None
    assert compiled(7) == 7


USER = "from {constants} import STEP\nfrom mooring.kernels.compile import loop\n\n{inner}\n\n"


STEPPED = USER + "@loop('(int64,)')\ndef stepped(number: int) -> int:\n    return {used}\n"


INNER = "@loop('(int64,)')\ndef inner(number: int) -> int:\n    return number + STEP"


@pytest.mark.parametrize(
    ("inner", "used"),
    [("", "number + STEP"), (INNER, "inner(number)")],
    ids=["constant", "in a loop it calls"],
)
def test_a_compiled_loop_is_kept_on_disk_until_what_it_is_made_of_changes(
    inner: str, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    constants, module = (f"{name}_{len(inner)}" for name in ("constants", "stepped"))
    (tmp_path / f"{module}.py").write_text(STEPPED.format(constants=constants, inner=inner, used=used))

    def compiled(step: int) -> tuple[int, int]:
        """Return the result for 7 in a process that starts now, and the number of compiled
        files afterwards.
        """
        (tmp_path / f"{constants}.py").write_text(f"STEP = {step}\n")
        for name in (constants, module):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        made = importlib.import_module(module).stepped.compile()
        return made(7), len(list(tmp_path.rglob("*.nbc")))

    assert compiled(10) == (17, count := compiled(10)[1])
    assert compiled(10) == (17, count)
    assert compiled(2000) == (2007, 2 * count)
    monkeypatch.setitem(loops._OPTIONS, "nogil", True)
    assert compiled(2000) == (2007, 3 * count), "nor is it taken for one that was compiled in another way"


def test_where_nothing_can_be_kept_a_loop_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.dispatcher.Dispatcher.enable_caching", _refuse)
    same: loops.Loop[int] = loop("(int64,)")(lambda number: number)
    compiled = same.compile()
    assert compiled is not None
    assert compiled(7) == 7


def _refuse(_dispatcher: object) -> None:
    raise RuntimeError("cannot cache function: no locator available")


BUILT = """
import numba.core.caching as caching
from mooring.kernels.select import find_leaders
def unwritable(self):
    raise PermissionError
if {read_only}:
    caching.InTreeCacheLocator.ensure_cache_path = unwritable
    caching.UserWideCacheLocator.ensure_cache_path = unwritable
compiled = find_leaders.compile()
print(sum(compiled.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_loops_that_an_image_was_built_with_are_read_from_its_read_only_root() -> None:
    def hits(*, read_only: bool) -> int:
        command = [sys.executable, "-c", BUILT.format(read_only=read_only)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    hits(read_only=False)
    assert hits(read_only=True) == 2
