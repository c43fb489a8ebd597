"""The real kube-scheduler's flags are those that `mooring scheduler` takes."""

import re
import subprocess

import pytest

from tests.cli.test_kube_scheduler_flags import FLAGS

from .build import kubernetes

pytestmark = pytest.mark.e2e


def test_kube_schedulers_help_lists_the_known_flags() -> None:
    shown = subprocess.run(
        [kubernetes("kube-scheduler"), "--help"], capture_output=True, text=True, check=True
    )
    assert set(re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", shown.stdout, re.MULTILINE)) == set(FLAGS)
