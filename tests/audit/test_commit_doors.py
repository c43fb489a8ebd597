"""Each place that changes the cluster or a reservation is audited, and a new one must have a row here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "server/mooring").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")]
INSIDE = ("server/mooring/runtime/", "server/mooring/cluster/", "server/mooring/framework/")
"""Modules that act for a caller whose rights were already checked."""

CHANGES = frozenset(
    {
        *("bind_pod", "reserve_pod", "unreserve_pod", "unreserve", "place_pod", "place_reserved"),
        *("place_reserved_in_turn", "begin_placing", "begin_placing_in_turn", "begin_placing_member"),
        *("finish_binding", "end_binding", "begin_binding", "delete_pod", "carry_out", "place_group"),
        *("push_objects", "remove_source"),
    }
)
"""Methods that change reservations, pods or sources."""

DOORS = {
    "service/cluster.py": "PushObjects and RemoveSource: ClusterServicer._pushed",
    "service/scheduling/commits.py": "Bind, Reserve, Unreserve, UnreserveMany: _audited",
    "service/scheduling/committing.py": "Schedule: Committing._tell, and CommitAudit.record of a batch",
    "service/scheduling/group_commits.py": "ScheduleGroups: GroupCommits._tell",
    "scheduler/binding.py": "the second scheduler's bindings: Binders._tell",
    "scheduler/preemption.py": "its evictions, and proposed changes: evicting",
}
"""By module, the event of its changes."""

QUIET = {
    "app/bridge.py": "passes pushed objects to the source, for ClusterServicer",
    "scheduler/scheduler.py": "begins what scheduler/binding.py ends and tells",
    "scheduler/head_batch.py": "likewise",
    "scheduler/group_attempts.py": "likewise, and carries out by scheduler/preemption.py",
    "scheduler/changes.py": "its delete_pod is the queue's",
    "service/scheduling/servicer.py": "hands over to service/scheduling/commits.py",
}
"""By module, why its changes need no event of their own."""

PRIVATE = (
    "lab/",
    "sessions/",
    "replay/",
    "sweeps/",
    "plugin_check/",
    "conformance/",
    "client_check/",
    "testing/",
)
"""Rooms that decide over states of their own."""


def changing() -> Iterator[tuple[str, str]]:
    """Yield the modules that call one of ``CHANGES``, with its name."""
    for file in SOURCES:
        path = file.relative_to(ROOT).as_posix()
        name = path.removeprefix("server/mooring/")
        if path.startswith(INSIDE) or name.startswith(PRIVATE):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in CHANGES:
                yield name, node.attr


def test_each_door_is_audited() -> None:
    assert {name for name, _ in changing()} == DOORS.keys() | QUIET.keys()


def test_an_audited_door_records_events() -> None:
    for name in DOORS:
        text = (ROOT / "server/mooring" / name).read_text()
        assert "AuditEvent(" in text or "CommitAudit(" in text, name


def test_each_change_has_a_caller() -> None:
    """A name without a call would hide its successor."""
    everywhere = {
        node.attr
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
    }
    assert everywhere >= CHANGES
