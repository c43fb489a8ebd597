"""A selector that Kubernetes accepts takes no more than some times what it takes there."""

import pytest

from tests.laboratories.conformance.selectors import build, ours, theirs

pytestmark = pytest.mark.e2e

MAX_RATIO = 100
"""The highest ratio to the time of Kubernetes' own compiler and cel-go, in the same run on the
same machine.
"""


def test_what_kubernetes_accepts_is_evaluated_in_some_times_its_time() -> None:
    answers = [answer for answer in theirs(build()) if answer["accepted"]]
    assert len(answers) > 40
    times = [(answer, ours(answer["expression"])) for answer in answers]
    assert [found["matches"] for _, found in times] == [answer["matches"] for answer in answers]
    slow = [
        (step, found[step] / answer[step], answer["expression"])
        for answer, found in times
        for step in ("compiling", "evaluating")
        if found[step] > MAX_RATIO * answer[step]
    ]
    assert slow == []
