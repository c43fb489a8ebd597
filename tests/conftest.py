"""Settings and hooks for all tests."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest

from mooring.cli.main import SharedWriter
from tests.compiled_loops import loops_as_written
from tests.examples import register_profile

register_profile()
gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the objects that exist now from garbage collection: scanning them costs a tenth of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def no_test_meets_what_another_compiled() -> Iterator[None]:
    """A test that wants ``compiled_loops()`` says so."""
    with loops_as_written():
        yield


@pytest.fixture(autouse=True)
def no_test_leaves_a_log_that_is_closed() -> Iterator[None]:
    """Commands in this process log to the test's standard error, and servers of other tests would, too."""
    yield
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if not isinstance(handler, SharedWriter)]
