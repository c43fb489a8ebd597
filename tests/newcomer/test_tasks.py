"""A newcomer's questions, by the command line and a notebook; tests/web/test_newcomer.py has the page."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from mooring import lab
from mooring.framework import NodeInfo, Pod
from tests.cli.commands import call
from tests.newcomer.cluster import RACK, Newcomer, newcomer
from tests.newcomer.tasks import MOST_STEPS, TASKS, Task


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    with newcomer(tmp_path_factory.mktemp("newcomer")) as running:
        yield running


each_task = pytest.mark.parametrize("task", [pytest.param(task, id=task.id) for task in TASKS])


@lab.filtering
def own_rack(pod: Pod, node: NodeInfo) -> bool | str:
    wanted = pod.metadata.annotations.get(RACK)
    return wanted in (None, node.labels.get(RACK)) or "node(s) were in another rack"


@each_task
def test_no_door_takes_more_steps(task: Task) -> None:
    assert max(map(len, (task.cli, task.lab, task.page))) <= MOST_STEPS


@each_task
def test_the_command_line_answers(
    met: Newcomer, task: Task, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shape = tmp_path / "pod.json"
    shape.write_text(json.dumps(lab.pod("more", cpu="100m", spec={"schedulerName": "mine"})))
    attempts = met.decisions("racked")
    known = {"server": met.server, "shape": shape, "first": attempts[0].seq, "last": attempts[-1].seq}
    for command in task.cli:
        result = call(capsys, *shlex.split(command.format(**known)), columns=200)
    assert re.search(task.told, result.out), result.out + result.err


@each_task
def test_a_notebook_answers(met: Newcomer, task: Task) -> None:
    known = {
        "lab": lab,
        "own_rack": own_rack,
        "kubeconfig": met.kubeconfig,
        "now": met.now,
        "address": met.server,
    }
    for line in task.lab[:-1]:
        exec(line, known)
    answer = eval(task.lab[-1], known)
    with pd.option_context("display.width", 1000, "display.max_columns", None, "display.max_colwidth", None):
        shown = f"{answer!r}\n{answer.frame if isinstance(answer, lab.AnswerTable) else ''}"
    assert re.search(task.shown, shown), shown
