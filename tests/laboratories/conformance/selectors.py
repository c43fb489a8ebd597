"""Device selectors that are expensive by design, with the results of Kubernetes' own compiler and cel-go.

python -m tests.laboratories.conformance.selectors  # needs Go; records testdata/selectors-1.37.jsonl.gz
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mooring.framework.objects.devices import Device, DeviceAttribute, DeviceCapacity
from mooring.plugins.dynamic_resources.cel import EvaluationError, compile_selector
from mooring.plugins.dynamic_resources.cel.device import device_scope
from tests.laboratories.conformance.families.draft import Manifest
from tests.laboratories.conformance.program import NEWEST, PROGRAMS, SOURCE
from tests.laboratories.conformance.recordings import recording, write

DRIVER = "gpu.example.com"
DEVICE = Device(
    name="d",
    attributes={
        "model": DeviceAttribute(string="a100"),
        "index": DeviceAttribute(int=7),
        "version": DeviceAttribute(version="1.2.3"),
    },
    capacity={"memory": DeviceCapacity(value="40Gi")},
)
"""The device that the Go program has, too."""

REPEATS = 5
"""The number of evaluations; the fastest counts, also in Go."""


def expressions() -> Iterator[str]:
    """Yield, for each kind, small ones and the largest that fit into the 10 KiB that the API allows, or
    nearly so.
    """
    yield f'device.attributes["{DRIVER}"].model == "a100"'
    yield f'device.capacity["{DRIVER}"].memory.compareTo(quantity("10Gi")) > 0'
    for levels, uses in ((3, 2), (12, 8), (20, 8)):
        binds = "".join(f"cel.bind(b{i + 1},{'+'.join([f'b{i}'] * uses)}," for i in range(levels))
        yield f"cel.bind(b0,1,{binds}b{levels}>0{')' * (levels + 1)}"
    for times in (3, 10, 20):
        binds = "".join(f"cel.bind(b{i + 1}, b{i} + b{i}, " for i in range(times))
        yield f"cel.bind(b0, '0123456789', {binds}b{times}.size() > 0{')' * (times + 1)}"
    for count in (2, 50, 900):
        for part in ("a?", "[a-z]?", "."):
            yield f"device.driver.matches('{part * count}b')"
            yield f"'{'a' * 60}'.matches('{part * count}b')"
        distinct = "".join(chr(0x4E00 + at) + "?" for at in range(count))
        yield f"device.driver.matches('{distinct}b')"
    for pattern in ("(a|b)*a(a|b){300}c", "((a*)*)*b", "(x+x+)+y", "(.*)(.*)(.*)(.*)z"):
        yield f"'{'a' * 200}'.matches('{pattern}')"
    for count in (2, 30, 300):
        yield " && ".join(["true"] * count)
        yield "[1]" + ".filter(x, true)" * min(count, 120) + ".size() == 1"
        items = [*range(min(count, 64))]  # A macro over more is rejected here.
        yield f"{items}.all(x, x >= 0)"
        yield f"{items}.exists(x, device.driver.contains(string(x)))"
        yield f"'{'a' * count}'.replace('a', 'bb').size() == {2 * count}"
        yield f"'{'a,' * count}'.split(',').size() > 0"
    for count in (3, 30, 60):
        letters = f"'{'a' * count}'.split('')"
        yield f"{letters}.all(x, {letters}.all(y, x == y))"
        yield f"{letters}.all(x, {letters}.exists(y, device.driver.matches('(a?){{20}}b')) || true)"


def ours(expression: str) -> Manifest:
    """Return mooring's result for the expression, in the Go program's form; without the estimate and the
    cost.

    Processor time is taken, which what else runs on the machine doesn't lengthen.
    """
    scope = device_scope(DRIVER, DEVICE)
    matches: bool | None = None
    compiling, evaluating = [], []
    for _ in range(REPEATS):
        compile_selector.cache_clear()
        began = time.thread_time_ns()
        selector = compile_selector(expression)
        compiling.append(time.thread_time_ns() - began)
    for _ in range(REPEATS):
        began = time.thread_time_ns()
        with suppress(EvaluationError):
            matches = selector.matches(scope)
        evaluating.append(time.thread_time_ns() - began)
    return {"matches": matches, "compiling": min(compiling), "evaluating": min(evaluating)}


def build() -> Path:
    """Compile the Go program around Kubernetes' compiler of selectors."""
    program = (PROGRAMS / f"selectors-{NEWEST}").absolute()
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-trimpath", "-o", program, "./selectors"], cwd=SOURCE, check=True)
    return program


def theirs(program: Path) -> list[Manifest]:
    """Return Kubernetes' results for the expressions."""
    asked = "\n".join(json.dumps({"expression": each}) for each in expressions())
    said = subprocess.run([program], input=asked, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def main() -> int:
    lasting = ("expression", "accepted", "estimate", "matches", "cost")
    lines = [json.dumps({key: answer[key] for key in lasting}) for answer in theirs(build())]
    return write(lines, recording("selectors", NEWEST), "selectors")


if __name__ == "__main__":
    sys.exit(main())
