"""Writes deploy/monitoring/board.json, a dashboard for Grafana, from the table below.

``python tools/write_board.py`` writes it; with ``--check`` it says whether the file is what would be written.
"""

import json
import sys
from pathlib import Path
from typing import Any

BOARD = Path(__file__).resolve().parents[1] / "deploy" / "monitoring" / "board.json"

_Query = tuple[str, str]
"""What is asked, and how its series are called."""


def _rate(metric: str, label: str, *selected: str) -> _Query:
    series = ",".join(('job=~"$job"', *selected))
    return f"sum by ({label}) (rate({metric}{{{series}}}[$__rate_interval]))", f"{{{{{label}}}}}"


def _now(how: str, metric: str, label: str) -> _Query:
    return f'{how} by ({label}) ({metric}{{job=~"$job"}})', f"{{{{{label}}}}}"


def _p99(metric: str, label: str) -> _Query:
    buckets, legend = _rate(f"{metric}_bucket", label)
    return f"histogram_quantile(0.99, {buckets.replace(f'({label})', f'({label}, le)', 1)})", legend


ROWS: dict[str, list[tuple[str, _Query, str]]] = {
    "Is it deciding?": [
        ("Attempts", _rate("mooring_schedule_attempts_total", "result"), "ops"),
        ("Decisions without a commit", _rate("mooring_dry_runs_total", "result"), "ops"),
        ("Replicas with the lease", _now("sum", "leader_election_master_status", "name"), "none"),
        ("Last configuration accepted", _now("min", "mooring_config_reload_success", "instance"), "none"),
    ],
    "Why not?": [
        ("Waiting pods, by rejecting plugin", _now("sum", "mooring_unschedulable_pods", "plugin"), "none"),
        (
            "Plugin errors",
            ('sum(rate(mooring_plugin_errors_total{job=~"$job"}[$__rate_interval])) or vector(0)', "errors"),
            "ops",
        ),
    ],
    "How long does it take?": [
        ("p99 of an attempt", _p99("mooring_scheduling_attempt_duration_seconds", "result"), "s"),
        (
            "p99 by extension point",
            _p99("mooring_framework_extension_point_duration_seconds", "extension_point"),
            "s",
        ),
        ("p99 of gRPC calls", _p99("grpc_server_handling_seconds", "grpc_method"), "s"),
    ],
    "Plugins": [
        ("p99 by plugin", _p99("mooring_plugin_execution_duration_seconds", "plugin"), "s"),
        ("Time by plugin", _rate("mooring_plugin_execution_duration_seconds_sum", "plugin"), "s"),
        ("Calls of Pure plugins", _rate("mooring_plugin_answers_total", "plugin", 'result="miss"'), "ops"),
    ],
    "Queue": [
        ("Pending pods", _now("sum", "mooring_pending_pods", "queue"), "none"),
        ("Pods added", _rate("mooring_queue_incoming_pods_total", "event"), "ops"),
        ("p99 until bound", _p99("mooring_pod_scheduling_sli_duration_seconds", "attempts"), "s"),
    ],
    "State": [
        ("Age of the state", _now("max", "mooring_source_staleness_seconds", "instance"), "s"),
        ("Since the last event", _now("max", "mooring_source_last_event_age_seconds", "kind"), "s"),
        ("Objects", _now("max", "mooring_cache_size", "type"), "none"),
        ("Reservations", _now("sum", "mooring_reservations", "stage"), "none"),
    ],
    "API server": [
        ("Requests", _rate("rest_client_requests_total", "code"), "ops"),
        ("p99 of requests", _p99("rest_client_request_duration_seconds", "verb"), "s"),
    ],
    "Process": [
        ("Processors", _rate("process_cpu_seconds_total", "instance"), "none"),
        ("Memory", _now("max", "process_resident_memory_bytes", "instance"), "bytes"),
        ("Calls in flight", _now("sum", "mooring_inflight_calls", "instance"), "none"),
        ("Calls shed", _rate("mooring_shed_calls_total", "instance"), "ops"),
    ],
}
"""By row, its panels: title, query, unit."""

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS, _HEIGHT = 24, 8


def board() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    y = 0
    for row, contents in ROWS.items():
        place = {"x": 0, "y": y, "w": _COLUMNS, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": row, "gridPos": place, "panels": []})
        width = _COLUMNS // len(contents)
        for column, (title, (query, legend), unit) in enumerate(contents):
            panels.append(
                {
                    "id": len(panels) + 1,
                    "type": "timeseries",
                    "title": title,
                    "datasource": _SOURCE,
                    "gridPos": {"x": column * width, "y": y + 1, "w": width, "h": _HEIGHT},
                    "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                    "targets": [{"refId": "A", "datasource": _SOURCE, "expr": query, "legendFormat": legend}],
                }
            )
        y += 1 + _HEIGHT
    job = "label_values(mooring_build_info, job)"
    variables = [
        {"name": "datasource", "type": "datasource", "query": "prometheus"},
        {
            "name": "job",
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": job, "refId": "job"},
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".+",
            "current": {"text": "All", "value": "$__all"},
        },
    ]
    return {
        "uid": "mooring",
        "title": "mooring",
        "tags": ["scheduling"],
        "schemaVersion": 39,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": variables},
        "panels": panels,
    }


def main(arguments: list[str]) -> int:
    """Write or check the file; 1 = it is another."""
    text = json.dumps(board(), indent=1) + "\n"
    if arguments == ["--check"]:
        return int(BOARD.read_text() != text)
    BOARD.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
