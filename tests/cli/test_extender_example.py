"""The example behind kube-scheduler: its files load, and its README shows what is really answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import BIN, ROOT, call, fetch, program, serving_process

EXAMPLE = ROOT / "deploy" / "examples" / "extender"
README = (EXAMPLE / "README.md").read_text()
ANSWERS = re.findall(r"^\$ curl -s (http://\S+?)(/\S+) --json @(\S+)\n(.*)$", README, re.MULTILINE)
PLUGIN = "maintenance:Maintenance"


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """By kind, the URL of an adapter as the README starts it, the path prefix included."""
    folder = tmp_path_factory.mktemp("example")
    prefix = "/api/scheduler"
    inside = ("--extender-listen", "127.0.0.1:0", "--extender-path-prefix", prefix)
    server = (
        *("--config", EXAMPLE / "mooring.yaml", "--plugin", PLUGIN),
        *("--source", f"files:{EXAMPLE}/cluster.yaml"),
    )
    with ExitStack() as running:
        path = {"PYTHONPATH": str(EXAMPLE)}
        started = running.enter_context(serving_process(folder, *server, *inside, twins=path))
        address = ("--listen", "127.0.0.1:0", "--server", started.address("grpc"))
        outside = program(folder, BIN / "mooring-extender", *address, "--path-prefix", prefix)
        url = running.enter_context(outside).ready.split()[-1]
        yield {"in the server's process": started.address("extender"), "a process of its own": url}


@pytest.mark.parametrize("kind", ["in the server's process", "a process of its own"])
@pytest.mark.parametrize(
    ("path", "request_file", "answer"), [pytest.param(*case[1:], id=case[1]) for case in ANSWERS]
)
def test_the_answers_shown_are_the_real_ones(
    path: str, request_file: str, answer: str, kind: str, adapters: dict[str, str]
) -> None:
    status, body = fetch(adapters[kind] + path, (EXAMPLE / request_file).read_bytes())
    assert (status, json.loads(body)) == (200, json.loads(answer))


@pytest.mark.parametrize("verb", ["filter", "prioritize", "bind", "preempt"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="malformed"),
        pytest.param(b"{}", id="nothing in it"),
        pytest.param(json.dumps({"Pod": {}, "NodeNames": ["node-1"]}).encode(), id="a pod without a name"),
        pytest.param(
            json.dumps(
                {"PodName": "web", "PodNamespace": "default", "PodUID": "u", "Node": "node-9"}
            ).encode(),
            id="unknown node",
        ),
    ],
)
@pytest.mark.parametrize("profile", ["", "/profiles/maintenance", "/profiles/none"])
def test_both_adapters_answer_alike(verb: str, body: bytes, profile: str, adapters: dict[str, str]) -> None:
    inside, outside = (fetch(f"{url}{profile}/{verb}", body) for url in adapters.values())
    assert inside == outside


def test_every_verb_of_the_stanza_is_shown_at_its_address() -> None:
    stanza = yaml.safe_load((EXAMPLE / "scheduler.yaml").read_text())["extenders"][0]
    policy = json.loads((EXAMPLE / "policy.json").read_text())["extenders"][0]
    expected = {stanza["urlPrefix"] + "/" + stanza[verb] for verb in ("filterVerb", "prioritizeVerb")}
    expected.add(policy["urlPrefix"] + "/" + policy["filterVerb"])
    assert {host + path for host, path, _, _ in ANSWERS} == expected


@pytest.mark.parametrize("file", ["scheduler.yaml", "mooring.yaml"])
def test_the_configurations_are_valid(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    flags = ["--plugin", PLUGIN] if file == "mooring.yaml" else []
    result = call(capsys, "config", "check", "--strict", *flags, EXAMPLE / file)
    assert (result.code, result.out) == (0, "ok\n"), result.err


def test_the_profile_runs_what_kube_scheduler_does_not() -> None:
    plugins = yaml.safe_load((EXAMPLE / "mooring.yaml").read_text())["profiles"][0]["plugins"]
    assert plugins.pop("multiPoint") == {"disabled": [{"name": "*"}]}
    enabled = {plugin["name"] for section in plugins.values() for plugin in section["enabled"]}
    assert enabled == {"Maintenance", "PrioritySort", "DefaultBinder"}


def test_the_converted_policy_is_the_one_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.search(r"^\$ mooring config convert policy.json\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert shown
    monkeypatch.chdir(EXAMPLE)
    converted = call(capsys, "config", "convert", "policy.json")
    assert (converted.code, converted.out) == (0, shown[1])
    (tmp_path / "v1.yaml").write_text(converted.out)
    assert call(capsys, "config", "check", "--strict", tmp_path / "v1.yaml").out == "ok\n"
