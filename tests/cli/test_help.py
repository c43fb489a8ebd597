"""The help of commands: by purpose, short in its usage, and with examples that run."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cli import remote
from mooring.cli.main import COMMANDS, GROUPS, _parser
from mooring.testing.builders import node_manifest, pod_manifest
from tests.cli.commands import call, scoring, serving, write_config, write_manifests
from tests.cli.test_flags import leaves
from tests.fake_api_server import FakeApiServer

ONLY_PARSED = {"serve", "scheduler", "run", "web", "mcp", "record", "conformance", "replay", "push"}
"""Commands whose examples run on, or need what a test of their own has."""

ALLOWED = {"access": {0, 1}, "doctor": {0, 1}, "config": {0, 1}, "plugins": {0, 1}}
"""Codes of those that report faults by it; of others the pods fit, don't, or do once others are preempted."""


def examples() -> Iterator[str]:
    """Yield the command lines in all helps, each without what it is for."""
    seen = set()
    for parser in leaves(_parser()):
        for line in (parser.epilog or "").splitlines():
            words = re.split(r" {2,}", line.strip())[0]
            command = re.split(r"[|;] ", words)[-1]
            if command.startswith("mooring ") and command not in seen:
                seen.add(command)
                yield command


EXAMPLES = list(examples())


def test_every_command_has_an_example_and_none_is_too_wide() -> None:
    assert {command.split()[1] for command in EXAMPLES} == set(COMMANDS)
    assert not [command for command in EXAMPLES if len(command) > 90]


def test_the_commands_are_listed_by_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    text = call(capsys, "--help").out
    titles = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert titles[: len(GROUPS)] == list(GROUPS)
    for title, names in GROUPS.items():
        listed = text.split(f"{title}:\n")[1].split("\n\n")[0]
        assert tuple(re.findall(r"^  (\S+)", listed, re.MULTILINE)) == names


def test_a_usage_shows_arguments_and_leaves_the_flags_to_their_lists(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call(capsys, "what-if", "change", "--help").out.startswith(
        "usage: mooring what-if change POD [flags]\n"
    )
    for parser in leaves(_parser()):
        assert len(parser.format_usage().splitlines()) <= 2


RULE = '''
from mooring.framework import SUCCESS, FilterPlugin


class NAME(FilterPlugin[None]):
    """Any rack."""

    name = "NAME"

    def filter(self, state, pod, node):
        return SUCCESS
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the files that examples name, next to a server at its default address and a live cluster."""
    made = tmp_path_factory.mktemp("examples")
    owner = {"kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True, "apiVersion": "apps/v1"}
    more = {"labels": {"app": "web", "pod-template-hash": "1"}, "metadata": {"ownerReferences": [owner]}}
    pods = [pod_manifest(name, namespace="prod", **more) for name in ("web", "web-3")]  # type: ignore[arg-type]
    pods.append(pod_manifest("web", labels={"app": "web"}))
    objects = [node_manifest("worker-1"), node_manifest("worker-2"), *pods]
    write_manifests(made / "cluster.yaml", *objects)
    write_manifests(made / "pod.yaml", pod_manifest("one"))
    write_manifests(made / "groups.yaml", node_manifest("large"))
    for name, plugin in (("config", "NodeResourcesFit"), ("mine", "NodeAffinity"), ("new", "ImageLocality")):
        write_config(made / f"{name}.yaml", scoring((plugin, 1)))
    stanza = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter"}
    write_config(made / "kube-scheduler.yaml", {"schedulerName": "default-scheduler"}, extenders=[stanza])
    (made / "tls.crt").write_text("no certificate")
    (made / "audit.log").touch()
    (made / "policy.yaml").write_text("apiVersion: mooring.dev/v1\nkind: AccessPolicy\nrules: []\n")
    rules = {"rack_affinity": "RackAffinity", "my_rules": "Rack", "rack": "RackAffinity"}
    for module, name in rules.items():
        (made / f"{module}.py").write_text(RULE.replace("NAME", name))
    with FakeApiServer() as fake, serving("--source", f"files:{made / 'cluster.yaml'}") as server:
        fake.add(*objects)
        (made / ".kube").mkdir()
        fake.kubeconfig(made / ".kube" / "config")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(remote, "DEFAULT_SERVER", server.address("grpc"))
            yield made
    for module in rules:
        sys.modules.pop(module, None)


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_run(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("HOME", str(folder))
    words = [word.replace("~", str(folder)) for word in shlex.split(command)[1:]]
    if words[0] in ONLY_PARSED or {"--watch", "--compare"} & {*words} or words[:2] == ["plugins", "bench"]:
        _parser(words[:1]).parse_args(words)
        return
    words = [str(folder / "cluster.yaml") if word == "-" else word for word in words]
    result = call(capsys, *words)
    assert result.code in ALLOWED.get(words[0], {0, 3, 4}), result.err
