"""The oracle's process: a Go program around kube-scheduler's own plugin code (see oracle/)."""

from __future__ import annotations

import json
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Self

from tests.laboratories.conformance.families.draft import Manifest

SOURCE = Path(__file__).parent / "oracle"
PROGRAMS = Path(".cache/conformance")
VERSIONS = ("1.34", "1.35", "1.36", "1.37")
NEWEST = VERSIONS[-1]


def build(version: str) -> Path:
    """Compile a release's oracle; some 6 minutes and 2 GB of cache when Go has compiled nothing before."""
    program = (PROGRAMS / f"oracle-{version}").absolute()
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["go", "build", "-trimpath", *of_release(version), "-o", program, "."], cwd=SOURCE, check=True
    )
    return program


def of_release(version: str) -> list[str]:
    """Return the options with which Go builds a program around that release; the newest needs none."""
    if version == NEWEST:
        return []
    return [f"-modfile=go-{version}.mod", f"-tags=v{version.replace('.', '_')}"]


def answers(program: Path, scenarios: Iterable[Manifest]) -> Iterator[tuple[Manifest, Manifest]]:
    """Yield each scenario with the oracle's answer: `{"id", "document"}` or `{"id", "error"}`, in order."""
    asked: deque[Manifest] = deque()
    with (
        subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
        ThreadPoolExecutor(1) as threads,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        written = threads.submit(_write, process.stdin, scenarios, asked)
        for line in process.stdout:
            yield asked.popleft(), json.loads(line)
        # A generator that fails ends the run, not only the questions.
        written.result()
    if process.returncode != 0:
        raise RuntimeError(f"the oracle {program} ended with exit code {process.returncode}")


def _write(pipe: IO[str], scenarios: Iterable[Manifest], asked: deque[Manifest]) -> None:
    with pipe:
        for scenario in scenarios:
            asked.append(scenario)
            pipe.write(json.dumps(scenario) + "\n")


class Oracle:
    """One running oracle that answers scenario by scenario, for shrinking."""

    def __init__(self, program: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([program], stdin=pipe, stdout=pipe, text=True)

    def ask(self, scenario: Manifest) -> Manifest:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(scenario) + "\n")
        self._process.stdin.flush()
        answer: Manifest = json.loads(self._process.stdout.readline())
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
