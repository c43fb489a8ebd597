"""Manifests as people keep them in files, and the state that they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random

import yaml

from mooring.cluster.manifests import _objects
from mooring.cluster.manifests.documents import read_text
from mooring.cluster.state import State
from mooring.framework.errors import InvalidArgumentError
from mooring.framework.releases import NEWEST_GATES
from tests.laboratories.fuzz.judging import Judge, Target, check, check_text
from tests.laboratories.fuzz.mutating import changed_bytes, changed_value
from tests.laboratories.fuzz.serving import OBJECTS, kind_of

ROOT = Path(__file__).parents[3]


@cache
def seeds() -> tuple[bytes, ...]:
    """Return the deployed manifests and examples, and an object of each kind."""
    files = sorted((ROOT / "deploy").rglob("*.yaml"))
    found = [file.read_bytes() for file in files if file.stat().st_size < 4_000]
    found += [b"kind: %s\n" % kind_of(file).encode() + _body(file) for file in sorted(OBJECTS.glob("*.json"))]
    return tuple(found)


def _body(file: Path) -> bytes:
    return yaml.safe_dump(yaml.safe_load(file.read_bytes()), default_flow_style=None).encode()


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return the same with other values, or with faults in its YAML."""
    if dice.random() < 0.4:
        return changed_bytes(dice, data, others)
    try:
        documents = list(yaml.load_all(data, LOADER))
        at = dice.randrange(len(documents))
        for _ in range(dice.choice((1, 1, 2, 4))):
            documents[at] = changed_value(dice, documents[at])
        dumped = yaml.dump_all(documents, Dumper=DUMPER, default_flow_style=dice.choice((None, True, False)))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return changed_bytes(dice, data, others)
    return str(dumped).encode()


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield a state that replaces its content with each file, if it can be read."""
    state = State()

    def judge(data: bytes) -> bool:
        version = state.version
        try:
            state.replace(
                "files", _objects(read_text(data.decode(), "file.yaml"), NEWEST_GATES, settled=True).objects
            )
        except UnicodeDecodeError:
            return False
        except InvalidArgumentError as error:
            check(len(error.violations) > 0, "rejected without a reason")
            for violation in error.violations[:100]:
                check_text(f"{violation.path}: {violation.message}")
            check(state.version == version, "rejected, but the state has changed")
            return False
        return True

    yield judge


TARGET = Target("manifests", "manifests", seeds, change, judging)
