"""Each fault of a configuration has its line in the file, however the configuration stands there."""

import json

import pytest

from mooring.config import ConfigError, lines_of, load
from mooring.runtime.profiles.registry import new_in_tree_registry

PLAIN = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 0
profiles:
- schedulerName: a
  plugins:
    score:
      enabled:
      - name: Nope
- schedulerName: a
"""
WRAPPED = "kind: ConfigMap\ndata:\n  run.sh: |\n    a: b: c\n  config.yaml: |\n" + "".join(
    f"    {line}\n" for line in PLAIN.splitlines()
)
LISTED = "kind: List\nitems:\n- " + WRAPPED.replace("\n", "\n  ")
IN_A_RESOURCE = "kind: SchedulerConfiguration\nspec:\n  other: 1\n" + WRAPPED[WRAPPED.index("  run.sh") :]
LINES = {"parallelism": 3, "profiles[0].plugins.score.enabled[0]": 9, "profiles[1].schedulerName": 10}


@pytest.mark.parametrize(
    ("text", "before"),
    [
        pytest.param(PLAIN, 0, id="plain"),
        pytest.param(f"---\nkind: Deployment\n---\n{PLAIN}", 3, id="one of several documents"),
        pytest.param(WRAPPED, 5, id="in a ConfigMap"),
        pytest.param(LISTED, 7, id="in a ConfigMap in a List"),
        pytest.param(IN_A_RESOURCE, 6, id="in another resource"),
        pytest.param(
            "a:\n  b:\n" + "".join(f"    {line}\n" for line in PLAIN.splitlines()), 2, id="an object"
        ),
    ],
)
def test_every_fault_has_its_line(text: str, before: int) -> None:
    with pytest.raises(ConfigError) as failed:
        load(text, new_in_tree_registry().catalog())
    assert failed.value.lines == {path: line + before for path, line in LINES.items()}
    assert f"c.yaml:{3 + before}: parallelism: " in failed.value.text("c.yaml")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param("profiles[1].plugins.score", 10, id="missing field: the line of its object"),
        pytest.param("profiles[7]", 4, id="missing item"),
        pytest.param("nowhere.at.all", None, id="another version's"),
        pytest.param("", None, id="the whole"),
    ],
)
def test_paths_that_the_file_does_not_have(path: str, line: int | None) -> None:
    assert lines_of(PLAIN, [path]).get(path) == line


def test_a_text_whose_line_breaks_are_not_those_of_the_file_has_no_lines() -> None:
    assert lines_of(json.dumps({"kind": "ConfigMap", "data": {"a": PLAIN}}), LINES) == {}
