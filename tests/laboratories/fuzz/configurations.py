"""KubeSchedulerConfigurations, and the engines that they make."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random

from mooring.cluster.state import State
from mooring.config import ConfigError, load
from mooring.framework.errors import MooringError
from mooring.runtime.assembly import build_engine
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing.question import NoBinder
from tests.laboratories.fuzz import manifests
from tests.laboratories.fuzz.judging import Judge, Target, check, check_text

ROOT = Path(__file__).parents[3]


@cache
def seeds() -> tuple[bytes, ...]:
    """Configurations of the tests and of the examples."""
    files = [*(ROOT / "tests" / "config" / "testdata").rglob("*.*"), *(ROOT / "deploy").rglob("*.yaml")]
    wanted = (b"KubeSchedulerConfiguration", b"kind: Policy", b'"Policy"')
    found = [file.read_bytes() for file in sorted(files) if file.suffix in (".yaml", ".json")]
    return tuple(data for data in found if len(data) < 6_000 and any(word in data for word in wanted))


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """As a manifest's."""
    return manifests.change(dice, data, others)


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield the plugins in the tree."""
    registry = new_in_tree_registry()
    catalog, state = registry.catalog(), State()

    def judge(data: bytes) -> bool:
        try:
            loaded = load(data.decode(), catalog)
        except UnicodeDecodeError:
            return False
        except ConfigError as error:
            check(len(error.errors) > 0, "rejected without a reason")
            for fault in error.errors[:100]:
                check_text(f"{fault.path}: {fault.message}")
            return False
        if zlib.crc32(data) % 8 == 0:
            try:
                build_engine(loaded, registry, state, NoBinder())
            except (MooringError, ConfigError) as error:
                check_text(str(error))
        return True

    yield judge


TARGET = Target("configurations", "configurations", seeds, change, judging)
