"""The corpus finds nothing, nor do a few fresh inputs; and each target finds a bug that is put in."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mooring import documents
from mooring.cluster.sources.kubernetes.lister import Lister
from mooring.cluster.sources.kubernetes.wire import Identity
from mooring.plugins.dynamic_resources.cel.patterns import Pattern
from mooring.recordings import playback
from mooring.service.scheduling.servicer import SchedulingServicer
from mooring.serving.http.protocol import GuardedProtocol
from mooring.serving.listeners import pages
from mooring.web import gateway
from mooring_estimator.estimator import Estimator
from mooring_extender import wire
from tests.laboratories import long_runs
from tests.laboratories.fuzz import __main__ as command
from tests.laboratories.fuzz import judging, mutating
from tests.laboratories.fuzz.judging import Finding, Target, timed, watched
from tests.laboratories.fuzz.rounds import (
    Played,
    corpus,
    drawn,
    inputs_of,
    play,
    read_note,
    tried,
    write_down,
)
from tests.laboratories.fuzz.targets import TARGETS

Patch = pytest.MonkeyPatch
COUNTS = {"adapters": 100, "manifests": 150, "configurations": 40, "recordings": 100}
"""Fresh inputs; of the others 600."""

CASES = [pytest.param(target, name, id=f"{target}-{name}") for target in TARGETS for name in corpus(target)]


@pytest.mark.parametrize(("target", "name"), CASES)
def test_a_case_finds_nothing_any_more(target: str, name: str) -> None:
    with TARGETS[target].judging() as judge, watched(judge) as watching:
        assert tried(watching, corpus(target)[name])[2] is None


@pytest.fixture(autouse=True)
def time_is_no_matter(monkeypatch: Patch) -> None:
    """How long an input takes is judged by ``make fuzz`` alone: others use the machine here."""
    monkeypatch.setattr(judging, "SECONDS", math.inf)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.id)
def test_seeds_and_fresh_inputs_find_nothing(target: Target) -> None:
    seeds = inputs_of(target)
    fresh = [drawn(target, seeds, 1, number) for number in range(COUNTS.get(target.id, 600))]
    taken = []
    with target.judging() as judge, watched(judge) as watching:
        for data in (*seeds, *fresh):
            was_taken, _, error = tried(watching, data)
            assert error is None, data
            taken.append(was_taken)
    assert sum(taken[: len(seeds)]) > len(seeds) / 2, "most seeds are right"
    assert 0 < sum(taken[len(seeds) :]) < len(fresh), "of the others some are"


def a_body_ends_where_it_should(patch: Patch) -> None:
    read = wire.read_binding_args

    def reads(body: bytes) -> Any:
        return read(body) if body.rindex(b"}") else None

    patch.setattr(wire, "read_binding_args", reads)


def asking_changes_something(patch: Patch) -> None:
    explain = SchedulingServicer.Explain

    def explains(self: SchedulingServicer, request: Any, context: Any) -> Any:
        response = explain(self, request, context)
        self._backend.engine.state.discard("u8")
        return response

    patch.setattr(SchedulingServicer, "Explain", explains)


def a_rejection_overtakes_answers(patch: Patch) -> None:
    """As uvicorn has it: what was carried out before it is never answered."""

    def reject(self: GuardedProtocol, msg: str) -> None:
        self._reject(msg.encode())

    patch.setattr(GuardedProtocol, "send_400_response", reject)


def numbers_of_enums_are_believed(patch: Patch) -> None:
    """As protobuf does it; ``Name`` raised for them."""
    patch.setattr(gateway, "_unknown_numbers", lambda *_: iter(()))


def what_is_accepted_is_complete(patch: Patch) -> None:
    negotiated = pages._negotiated

    def answers(accept: str, *args: Any) -> Any:
        return negotiated(accept, *args) if accept.partition(";as=")[2] != "Statusz" else args[5]

    patch.setattr(pages, "_negotiated", answers)


def each_cluster_has_a_name(patch: Patch) -> None:
    check = Estimator._check

    def checks(self: Estimator, cluster: str) -> None:
        check(self, cluster[0])

    patch.setattr(Estimator, "_check", checks)


def an_object_without_a_spec_is_a_defect(patch: Patch) -> None:
    decode = Lister.decode_told

    def reads(self: Lister, data: Any, identity: Identity) -> Any:
        if b'"spec"' not in (data if isinstance(data, bytes) else msgspec.json.encode(data)):
            raise KeyError("spec")
        return decode(self, data, identity)

    patch.setattr(Lister, "decode_told", reads)


def brackets_are_looked_behind(patch: Patch) -> None:
    found_in = Pattern.found_in

    def finds(self: Pattern, text: str, *args: Any) -> bool:
        if "y" in text:
            raise IndexError("string index out of range")
        return found_in(self, text, *args)

    patch.setattr(Pattern, "found_in", finds)


def tags_are_believed(patch: Patch) -> None:
    """`!!int z` ended the program."""
    scalar = documents._NodeReader._scalar

    def reads(self: Any, node: Any, path: str) -> Any:
        return int(node.value) if node.tag.endswith(":int") else scalar(self, node, path)

    patch.setattr(documents._NodeReader, "_scalar", reads)


def every_profile_has_a_name(patch: Patch) -> None:
    # The package has a function of the module's name.
    loading = sys.modules["mooring.config.load"]
    check = loading.check_profile

    def checks(profile: Any, *args: Any) -> Any:
        return check(profile, *args) if profile.scheduler_name.strip() else []

    patch.setattr(loading, "check_profile", checks)


def changes_fit(patch: Patch) -> None:
    patch.setattr(playback, "write", lambda state, change: state.write_entries((change.entry,)))


@pytest.mark.parametrize(
    ("bug", "target", "seen"),
    [
        pytest.param(a_body_ends_where_it_should, "extender", "ValueError", id="extender"),
        pytest.param(asking_changes_something, "rpcs", "Explain only asks", id="rpcs"),
        pytest.param(a_rejection_overtakes_answers, "http", "requests were taken", id="http"),
        pytest.param(numbers_of_enums_are_believed, "page", "ValueError", id="page"),
        pytest.param(what_is_accepted_is_complete, "pages", "IndexError", id="pages"),
        pytest.param(each_cluster_has_a_name, "adapters", "INTERNAL", id="adapters"),
        pytest.param(an_object_without_a_spec_is_a_defect, "watches", "KeyError", id="watches"),
        pytest.param(brackets_are_looked_behind, "selectors", "IndexError", id="selectors"),
        pytest.param(tags_are_believed, "manifests", "ValueError", id="manifests"),
        pytest.param(every_profile_has_a_name, "configurations", "AttributeError", id="configurations"),
        pytest.param(changes_fit, "recordings", "KeyError", id="recordings"),
    ],
)
def test_a_bug_that_is_put_in_is_found(
    bug: Callable[[Patch], None], target: str, seen: str, monkeypatch: Patch
) -> None:
    bug(monkeypatch)
    with TARGETS[target].judging() as judge, watched(judge) as watching:
        for data in inputs_of(TARGETS[target]):
            error = tried(watching, data)[2]
            if error is not None and seen in f"{error!r} {error.__cause__!r}":
                return
    played, _ = play(TARGETS[target], 1, 400, patience=60.0)
    assert seen in " ".join(played.findings)


def test_what_takes_too_long_is_found_and_what_is_slow_once_is_not(monkeypatch: Patch) -> None:
    now, times = 0.0, 0

    def clock() -> float:
        nonlocal now
        now += 0.001
        return now

    def slow(data: bytes) -> bool:
        nonlocal now, times
        times += 1
        if data == b"slow" or times == 1:
            now += 0.2
        return True

    monkeypatch.setattr(judging, "SECONDS", 0.1)
    monkeypatch.setattr(judging, "time", SimpleNamespace(perf_counter=clock, process_time=clock))
    assert timed(slow, b"slow once")[0]
    with pytest.raises(Finding, match=r"it takes 0\.2 s"):
        timed(slow, b"slow")


def test_what_is_found_is_made_smaller_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    brackets_are_looked_behind(monkeypatch)
    arguments = ["--target=selectors", f"--ledger={tmp_path / 'ledger.jsonl'}"]
    assert command.main([*arguments, "--seed=1"]) == 1
    assert "FOUND selectors indexerror" in capsys.readouterr().out
    [file] = (tmp_path / "found" / "selectors").iterdir()
    assert len(file.read_bytes()) <= len("pattern\n()")
    with pytest.raises(IndexError):
        command.main([*arguments, f"--input={file}"])
    monkeypatch.undo()
    assert command.main([*arguments, f"--input={file}"]) == 0


@pytest.mark.slow
def test_a_run_goes_on_from_its_ledger(
    tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "SEEDS", 1)
    file = tmp_path / "ledger.jsonl"
    for runs in (1, 2):
        assert command.main(["--target=selectors", "--minutes=0", f"--ledger={file}"]) == 0
        played = long_runs.read(file, Played)
        assert len(played) == runs
    assert len({one.seed for one in played}) == 2, "seeds are fresh"
    assert f"{sum(one.inputs for one in played):,}" in capsys.readouterr().out
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["found", "ledger.jsonl"]


def test_an_input_that_ends_the_process_is_kept(tmp_path: Path, monkeypatch: Patch) -> None:
    def killed(_module: str, arguments: list[Any], log: Path, _longest: float) -> tuple[list[bytes], int]:
        note = bytearray(mutating.LARGEST * 2)
        write_down(note, b"the last one")
        Path(arguments[1]).write_bytes(note)
        log.write_text("")
        return [], -11

    monkeypatch.setattr(long_runs, "lines_of", killed)
    [played] = command.rounds_of("rpcs", tmp_path)
    [finding] = played.findings
    name = finding.partition(":")[0]
    assert name.startswith("ended-with--11")
    assert (tmp_path / "found" / "rpcs" / name).read_bytes() == b"the last one"
    assert read_note(b"\x01" + bytes(7) + b"abc") == b"a"
