"""Observations of a control plane from outside."""

import json
from pathlib import Path

from tests.laboratories.bench.observed import Bindings


def test_only_new_whole_lines_about_accepted_bindings_count(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(_audited(201, 1))
    bindings = Bindings(log)
    half = _audited(201, 4)
    with log.open("a") as file:
        file.write(_audited(201, 2) + _audited(409, 3) + _audited(201, 3, "") + half[:20])
    assert bindings.count() == 1
    with log.open("a") as file:
        file.write(half[20:])
    assert bindings.count() == 2
    assert bindings.times["pod-4"] - bindings.times["pod-2"] == 2.0
    assert bindings.last == bindings.times["pod-4"]


def test_without_a_log_nothing_is_bound(tmp_path: Path) -> None:
    assert Bindings(tmp_path / "audit.log").count() == 0


def _audited(code: int, second: int, subresource: str = "binding") -> str:
    event = {
        "responseStatus": {"code": code},
        "objectRef": {"name": f"pod-{second}", "subresource": subresource},
        "stageTimestamp": f"2026-01-01T00:00:{second:02}.000000Z",
    }
    return json.dumps(event) + "\n"
