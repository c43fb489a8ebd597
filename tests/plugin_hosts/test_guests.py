"""Guests: their limits, their failures by name, and the errors about other modules."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import wasmtime
import yaml
from google.protobuf.message import Message

from mooring.config.types import PluginHostStanza
from mooring.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    PluginUnavailableError,
    UnavailableError,
)
from mooring.plugin_hosts import rules
from mooring.plugin_hosts.connection import HostConnection
from mooring.plugin_hosts.guests import MEMORY_BYTES
from mooring.plugin_hosts.hosts import close_connections
from mooring.testing import node_manifest, pod_manifest
from mooring_client.plugin_host.v1 import plugin_host_service_pb2 as pb
from mooring_client.v1.verdicts_pb2 import Verdict, VerdictCode
from tests.cli.commands import call
from tests.plugin_hosts.hosts import connected
from tests.process import until
from tests.runtime.pure.engines import Rules

RACKS = 5
QUESTION = 7
DESCRIBE, CONFIGURE, EVALUATE = 1, 2, 3
RACK = pb.PluginDescription(name="Rack", points=["filter", "score"], node_columns=["metadata.labels[rack]"])
PREFERS = pb.EvaluateResponse(host_id="guest", question=QUESTION, scores=bytes([0, 0, 100, 0, 0]))
CLOSED = pb.EvaluateResponse(
    host_id="guest",
    question=QUESTION,
    rejections=[Verdict(code=VerdictCode.VERDICT_CODE_UNSCHEDULABLE, reasons=["rack is closed"])],
    verdicts=b"\1" * RACKS,
    scores=bytes(RACKS),
)
ANSWERS: Mapping[int, Message] = {
    DESCRIBE: pb.DescribeResponse(host_id="guest", host_version="1", plugins=[RACK]),
    CONFIGURE: pb.ConfigureResponse(instance=1),
    EVALUATE: PREFERS,
}
ALLOC = '(func (export "mooring_alloc") (param i32) (result i32) (i32.const 65536))'
PAGES = 4


def guest(
    folder: Path, answers: Mapping[int, Message] | None = None, *, evaluating: str = "", more: str = ALLOC
) -> str:
    """Write a guest that gives the same answers always, and return its address.

    Args:
        folder: Its folder.
        answers: Those that differ from ``ANSWERS``.
        evaluating: Instructions that Evaluate executes before it answers.
        more: The rest of the module.
    """
    data, cases, at = "", "", 1024
    for method, answer in {**ANSWERS, **(answers or {})}.items():
        content = b"\0" + answer.SerializeToString()
        data += f'(data (i32.const {at}) "{escaped(content)}")\n'
        cases += f"""(if (i32.eq (local.get 0) (i32.const {method})) (then
            {evaluating if method == EVALUATE else ""}
            (return (i64.const {at << 32 | len(content)}))))\n"""
        at += len(content)
    text = f"""(module
        (func $open (import "wasi_snapshot_preview1" "path_open") (result i32))
        (func $args (import "wasi_snapshot_preview1" "args_sizes_get") (param i32 i32) (result i32))
        (func $clock (import "wasi_snapshot_preview1" "clock_time_get") (param i32 i64 i32) (result i32))
        (func $random (import "wasi_snapshot_preview1" "random_get") (param i32 i32) (result i32))
        (func $sleep (import "wasi_snapshot_preview1" "poll_oneoff") (param i32 i32 i32 i32) (result i32))
        (func $write (import "wasi_snapshot_preview1" "fd_write") (param i32 i32 i32 i32) (result i32))
        (memory (export "memory") {PAGES}) {data} {more}
        (func $again (call $again))
        (func (export "mooring_call") (param i32 i32 i32) (result i64) {cases} (unreachable)))"""
    return written(folder, wasmtime.wat2wasm(text))


def escaped(content: bytes) -> str:
    """Return bytes as the text format has them."""
    return "".join([f"\\{byte:02x}" for byte in content])


def written(folder: Path, content: bytes | bytearray) -> str:
    """Write a module."""
    (folder / "rack.wasm").write_bytes(content)
    return f"wasm:{folder}/rack.wasm"


@pytest.fixture(autouse=True)
def _one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_questions", itertools.repeat(QUESTION))


def test_a_guest_decides(tmp_path: Path) -> None:
    with connected(guest(tmp_path)) as hosted:
        version, digest = hosted.connection.described.host_version.split()
        assert (version, digest[:7], len(digest)) == ("1", "sha256:", 71)
        assert Rules(hosted.rule("Rack")).decide(place=False).tie_count == 4


ROOM = PAGES << 16
FAULTS: dict[str, tuple[str, str]] = {
    "a loop": ("(loop $l (br $l))", "did not answer in time"),
    "an endless fill": (
        f"(loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const {ROOM})) (br $l))",
        "did not answer in time",
    ),
    "endless recursion": ("(call $again)", "INTERNAL: wasm trap: call stack exhausted"),
    "4 GB": (
        "(drop (memory.grow (i32.const 65532))) (i32.store (i32.const -8) (i32.const 1))",
        "INTERNAL: .*out of bounds memory access",
    ),
    "a trap": ("(unreachable)", "INTERNAL: wasm trap: wasm `unreachable` instruction executed"),
    "an answer elsewhere": (
        f"(return (i64.const {ROOM << 32 | 9}))",
        f"INTERNAL: the answer would be 9 bytes at {ROOM}",
    ),
    "no answer": ("(return (i64.const 0))", "INTERNAL: the answer would be 0 bytes at 0"),
    "an answer of 10 MB": (f"(return (i64.const {10 << 20}))", "RESOURCE_EXHAUSTED: 10,485,760 bytes"),
    "no message": ("(return (i64.const 65537))", "INTERNAL: the answer to Evaluate can't be read"),
    "a code of gRPC": (
        f"(i32.store8 (i32.const 5) (i32.const 8)) (return (i64.const {5 << 32 | 1}))",
        "RESOURCE_EXHAUSTED",
    ),
    "a file": ("(drop (call $open))", "INTERNAL: unknown import: `wasi_snapshot_preview1::path_open`"),
}
SHORT = timedelta(milliseconds=20)
"""Fuel, not time: it is the same on each machine."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_decision_by_name(fault: str, tmp_path: Path) -> None:
    evaluating, said = FAULTS[fault]
    with connected(guest(tmp_path, evaluating=evaluating), evaluate_timeout=SHORT) as hosted:
        with pytest.raises(PluginUnavailableError, match=said) as failed:
            Rules(hosted.rule("Rack")).decide()
        assert failed.value.metadata["plugin"] == "Rack"
        assert failed.value.metadata["host"] == hosted.address
        until(lambda: not hosted.connection.down)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param({"verdicts": b"\0"}, "gave 1 verdicts about 5", id="verdicts"),
        pytest.param({"scores": b"\1" * 9}, "gave 9 scores of 5", id="scores"),
        pytest.param({"question": QUESTION + 1}, "answered question 8", id="question"),
        pytest.param({"host_id": "another"}, "was started again", id="start"),
    ],
)
def test_answers_are_checked_as_those_of_hosts(wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    fields = {"host_id": "guest", "question": QUESTION, "scores": bytes(5), **wrong}
    address = guest(tmp_path, {EVALUATE: pb.EvaluateResponse(**fields)})
    with connected(address) as hosted, pytest.raises(PluginUnavailableError, match=said):
        Rules(hosted.rule("Rack")).decide()


_NINES = "(i64.store (i32.const 0) (i64.const 999))"
SYSTEM = {
    "no arguments": (f"{_NINES} (call $args (i32.const 0) (i32.const 4))", 0, 0),
    "a clock that stands still": (f"{_NINES} (call $clock (i32.const 1) (i64.const 0) (i32.const 0))", 0, 1),
    "no randomness": (f"{_NINES} (call $random (i32.const 0) (i32.const 8))", 0, 0),
    "randomness nowhere": (f"{_NINES} (call $random (i32.const -8) (i32.const 99))", 21, 999),
    "randomness without end": (f"{_NINES} (call $random (i32.const 0) (i32.const -1))", 21, 999),
    "sleep that ends": (
        f"{_NINES} (call $sleep (i32.const 8) (i32.const 8) (i32.const 1) (i32.const 0))",
        0,
        0,
    ),
    "no output": (
        f"{_NINES} (call $write (i32.const 2) (i32.const 8) (i32.const 1) (i32.const 0))",
        8,
        999,
    ),
}
"""System calls, with their results and the number at 0 after them."""


@pytest.mark.parametrize("what", SYSTEM)
def test_the_system_of_a_guest_is_the_same_always(what: str, tmp_path: Path) -> None:
    calls, result, after = SYSTEM[what]
    wrong = f"(i32.ne (i32.const {result})) (i64.ne (i64.load (i32.const 0)) (i64.const {after})) (i32.or)"
    with connected(guest(tmp_path, evaluating=f"{calls} {wrong} (if (then (unreachable)))")) as hosted:
        assert Rules(hosted.rule("Rack")).decide(place=False).tie_count == 4


ONCE = """(if (i32.eqz (i32.load (i32.const 0))) (then
    (i32.store (i32.const 0) (memory.grow (i32.const 2100))) (unreachable)))"""


def test_a_failed_call_discards_its_instance(tmp_path: Path) -> None:
    with connected(guest(tmp_path, evaluating=ONCE)) as hosted:
        rules = Rules(hosted.rule("Rack"))
        for _ in range(2):
            with pytest.raises(PluginUnavailableError):
                rules.decide()
            until(lambda: not hosted.connection.down)


def test_an_instance_that_has_taken_much_memory_is_not_used_again(tmp_path: Path) -> None:
    pages = MEMORY_BYTES // 2 >> 16
    evaluating = f"(if (i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) (then (unreachable)))"
    with connected(guest(tmp_path, evaluating=evaluating)) as hosted:
        found = [Rules(hosted.rule("Rack")).decide(place=False).tie_count for _ in range(3)]
    assert found == [4, 4, 4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("(module", "is not a WebAssembly module", id="text"),
        pytest.param("(module)", r"does not export mooring_alloc: \(i32\) -> \(i32\)", id="nothing"),
        pytest.param(
            f"(module {ALLOC})", r"does not export mooring_call: \(i32 i32 i32\) -> \(i64\)", id="call"
        ),
        pytest.param(
            f'(module {ALLOC} (func (export "mooring_call") (param i32 i32) (result i64) (unreachable)))',
            "does not export mooring_call",
            id="signature",
        ),
        pytest.param(
            f'(module {ALLOC} (func (export "mooring_call") (param i32 i32 i32) (result i64) (unreachable)))',
            "does not export memory",
            id="memory",
        ),
    ],
)
def test_what_is_no_guest_is_told(text: str, said: str, tmp_path: Path) -> None:
    address = written(tmp_path, text.encode())
    with pytest.raises(InvalidArgumentError, match=said), connected(address):
        pass


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"none\.wasm: can't be read: No such file"):
        HostConnection(PluginHostStanza(f"wasm:{tmp_path}/none.wasm"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        pytest.param(
            '(func (export "mooring_alloc") (param i32) (result i32) (i32.const -1))', "index", id="room"
        ),
        pytest.param(f'{ALLOC} (func (export "_initialize") (unreachable))', "wasm trap", id="begin"),
        pytest.param(f"{ALLOC} (table 100000000 funcref)", "table", id="table"),
    ],
)
def test_a_guest_that_does_not_begin_is_told(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=f"does not answer: answered INTERNAL: .*{said}.*"):
        HostConnection(PluginHostStanza(guest(tmp_path, more=more))).open()


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        pytest.param({"points": ["reserve"]}, "points: 'reserve' needs a process", id="act"),
        pytest.param(
            {"measurements": [pb.MeasurementDescription(name="load")]},
            "measurements: 'load' needs a process",
            id="measure",
        ),
    ],
)
def test_what_no_guest_can_do_is_told(declared: dict[str, Any], said: str, tmp_path: Path) -> None:
    described = pb.PluginDescription(name="Rack", **{"points": ["filter"], **declared})
    address = guest(tmp_path, {DESCRIBE: pb.DescribeResponse(host_id="guest", plugins=[described])})
    with connected(address) as hosted, pytest.raises(InvalidArgumentError, match=said):
        hosted.rule("Rack")


def test_without_the_extra_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = guest(tmp_path)
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    monkeypatch.delitem(sys.modules, "mooring.plugin_hosts.guests")
    with pytest.raises(FailedPreconditionError, match=re.escape("pip install '.[wasm]'")):
        HostConnection(PluginHostStanza(address))


def test_threads_have_an_instance_each(tmp_path: Path) -> None:
    with connected(guest(tmp_path)) as hosted:
        rules = [Rules(hosted.rule("Rack")) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda each: each.decide(place=False).tie_count, rules * 4))
    assert found == [4] * 16


def test_commands_take_a_guest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = guest(tmp_path, {EVALUATE: CLOSED})
    nodes = [node_manifest(f"n{at}", labels={"rack": f"r{at}"}) for at in range(RACKS)]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([*nodes, pod_manifest("web")]))
    enabled = {"multiPoint": {"enabled": [{"name": "Rack", "weight": 10}]}}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "pluginHosts": [{"address": address}],
        "profiles": [{"plugins": enabled}],
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(configuration))
    files = "--manifests", tmp_path / "cluster.yaml", "--config", tmp_path / "config.yaml"
    try:
        assert "5 rack is closed" in call(capsys, "explain", "web", *files).out
        listed = call(capsys, "plugins", "--plugin-host", address, "-o", "json").document
    finally:
        close_connections()
    assert [each["source"] for each in listed if each["name"] == "Rack"] == [f"plugin host {address}"]
