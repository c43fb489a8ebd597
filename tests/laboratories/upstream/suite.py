"""One pass of e2e.test, and what came of its cases."""

from __future__ import annotations

import re
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.laboratories.e2e.build import kubernetes
from tests.process import environment

FOCUS = r"\[sig-scheduling\]"
_FINISHED = re.compile(r"^(?:•|S \[SKIPPED\])", re.MULTILINE)
_LABELS = re.compile(r" \[[^]]*\]$")
"""Labels that ginkgo appends to a case's name, which contains them already."""
_SELECTED = re.compile(r"^Will run (\d+) of", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case.

    Attributes:
        result: ``passed``, ``failed``, or ``skipped`` by the case itself.
        seconds: How long it took.
        message: Why it failed or was skipped, in a line; "" = it passed.
    """

    result: str
    seconds: float
    message: str = ""


def play(
    kubeconfig: Path, directory: Path, focus: str, progress: Callable[[int, int], None]
) -> dict[str, Outcome]:
    """Run the cases that match ``focus`` against a cluster.

    Args:
        kubeconfig: How to reach the cluster.
        directory: For the log and the report.
        focus: A regular expression.
        progress: Gets how many cases are done, and of how many.

    Returns:
        By the case's whole name. A case that the focus or the cluster's kind leaves out is not there.

    Raises:
        RuntimeError: e2e.test could not run.
    """
    report, log = directory / "report.xml", directory / "e2e.test.log"
    command: list[str | Path] = [
        kubernetes("e2e.test"),
        *(f"--kubeconfig={kubeconfig}", "--provider=skeleton"),
        *(f"--ginkgo.focus={focus}", "--ginkgo.no-color", "--ginkgo.v", f"--ginkgo.junit-report={report}"),
        *("--ginkgo.timeout=2h", "--allowed-not-ready-nodes=0", "--minStartupPods=0"),
    ]
    with log.open("wb") as output:
        running = subprocess.Popen(
            command, cwd=directory, env=environment(), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while running.poll() is None:
                said = log.read_text(errors="replace")
                selected = _SELECTED.search(said)
                progress(len(_FINISHED.findall(said)), int(selected[1]) if selected else 0)
                time.sleep(1.0)
        finally:
            running.terminate()
            running.wait()
    if not report.exists():
        raise RuntimeError(f"e2e.test ended without a report:\n{log.read_text(errors='replace')[-4000:]}")
    return outcomes(report)


def outcomes(report: Path) -> dict[str, Outcome]:
    """Return the outcomes of the selected cases in a JUnit report of ginkgo."""
    found = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        name, status = case.get("name", ""), case.get("status", "")
        if not name.startswith("[It]"):
            continue
        message = next(
            (said.get("message", "") for said in case if said.tag in ("failure", "skipped", "error")), ""
        )
        if status == "skipped" and message in ("", "skipped"):
            continue
        line = " ".join(message.split())[:200]
        result = status if status in ("passed", "skipped") else "failed"
        found[_LABELS.sub("", name.removeprefix("[It] "))] = Outcome(result, float(case.get("time", 0)), line)
    return found
