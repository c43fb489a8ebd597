"""Writes deploy/chart/monitoring/board.json, a dashboard for Grafana, from the table below.

``python tools/write_board.py`` writes it; with ``--check`` it says whether the file is what would be written.
"""

import json
import sys
from pathlib import Path
from typing import Any

BOARD = Path(__file__).resolve().parents[1] / "deploy" / "chart" / "monitoring" / "board.json"

_Query = tuple[str, str]
"""A query, and the name of its series."""


def _rate(metric: str, label: str, *selected: str) -> _Query:
    series = ",".join(('job=~"$job"', *selected))
    return f"sum by ({label}) (rate({metric}{{{series}}}[$__rate_interval]))", f"{{{{{label}}}}}"


def _now(how: str, metric: str, label: str) -> _Query:
    return f'{how} by ({label}) ({metric}{{job=~"$job"}})', f"{{{{{label}}}}}"


def _p99(metric: str, label: str) -> _Query:
    buckets, legend = _rate(f"{metric}_bucket", label)
    return f"histogram_quantile(0.99, {buckets.replace(f'({label})', f'({label}, le)', 1)})", legend


def _slower(metric: str, bound: str, *selected: str) -> _Query:
    """Return the share of observations above a bucket's bound."""
    every = ",".join(('job=~"$job"', *selected))
    within = f'{metric}_bucket{{{every},le="{bound}"}}'
    shares = (
        f"sum by (job) (rate({one}[$__rate_interval]))" for one in (within, f"{metric}_count{{{every}}}")
    )
    return f"1 - {' / '.join(shares)}", "{{job}}"


def _p99_of_all(metric: str) -> str:
    buckets = f'rate({metric}_bucket{{job=~"$job"}}[$__rate_interval])'
    return f"histogram_quantile(0.99, sum by (le) ({buckets}))"


ROWS: dict[str, list[tuple[str, _Query, str, str]]] = {
    "Now": [
        (
            "Pods bound in an hour",
            ('sum(increase(mooring_schedule_attempts_total{job=~"$job",result="scheduled"}[1h]))', "bound"),
            "none",
            "Pods that got a node in the last hour.",
        ),
        (
            "Pods that wait",
            ('sum(mooring_pending_pods{job=~"$job"})', "waiting"),
            "none",
            "Pods without a node in all sub-queues. mooring why-pending gives the reasons.",
        ),
        (
            "p99 of all attempts",
            (_p99_of_all("mooring_scheduling_attempt_duration_seconds"), "p99"),
            "s",
            "99 of 100 attempts take less. Above a second, see the alert MooringAttemptsSlow.",
        ),
        (
            "Oldest state",
            ('max(mooring_source_staleness_seconds{job=~"$job"})', "age"),
            "s",
            "Nothing is committed on a state older than --max-staleness, 8 s by default.",
        ),
    ],
    "Is it deciding?": [
        (
            "Attempts",
            _rate("mooring_schedule_attempts_total", "result"),
            "ops",
            "Attempts that reserve or bind. error: a plugin or the API server failed.",
        ),
        (
            "Decisions without a commit",
            _rate("mooring_dry_runs_total", "result"),
            "ops",
            "Answers to questions of kube-scheduler, clients and people. They change nothing.",
        ),
        (
            "Replicas with the lease",
            _now("sum", "leader_election_master_status", "name"),
            "none",
            "1 for each lease. 0: no replica commits. 2: two replicas hinder each other.",
        ),
        (
            "Last configuration accepted",
            _now("min", "mooring_config_reload_success", "instance"),
            "none",
            "0: the file has a fault, and the last good one stays in force. The log names the fault.",
        ),
    ],
    "Why not?": [
        (
            "Waiting pods, by rejecting plugin",
            _now("sum", "mooring_unschedulable_pods", "plugin"),
            "none",
            "A pod counts for each plugin that rejected it in its last attempt.",
        ),
        (
            "Waiting pods, by reason code",
            _now("sum", "mooring_unschedulable_pod_causes", "code"),
            "none",
            "A pod counts for each reason code of its last attempt. docs/reason-codes.md has their meanings.",
        ),
        (
            "Plugin errors",
            ('sum(rate(mooring_plugin_errors_total{job=~"$job"}[$__rate_interval])) or vector(0)', "errors"),
            "ops",
            "Exceptions in plugins. The log has each traceback once.",
        ),
    ],
    "How long does it take?": [
        (
            "p99 of an attempt",
            _p99("mooring_scheduling_attempt_duration_seconds", "result"),
            "s",
            "Including the commit, by result.",
        ),
        (
            "p99 by extension point",
            _p99("mooring_framework_extension_point_duration_seconds", "extension_point"),
            "s",
            "All plugins of an extension point together.",
        ),
        (
            "p99 of gRPC calls",
            _p99("grpc_server_handling_seconds", "grpc_method"),
            "s",
            "From a call's arrival to its answer. A method appears with its first call.",
        ),
    ],
    "Objectives": [
        (
            "Decisions slower than 0.256 s",
            _slower("mooring_scheduling_algorithm_duration_seconds", "0.256"),
            "percentunit",
            "At most 0.1 % in 30 days. Filtering and scoring for one pod.",
        ),
        (
            "Pods bound later than 5.12 s",
            _slower("mooring_pod_scheduling_sli_duration_seconds", "5.12", 'attempts="1"'),
            "percentunit",
            "At most 1 % in 30 days, of pods that are bound at their first attempt.",
        ),
        (
            "Processes with an old state",
            ('avg by (job) (mooring_source_staleness_seconds{job=~"$job"} > bool 8)', "{{job}}"),
            "percentunit",
            "At most 0.1 % of the time in 30 days. Old: beyond --max-staleness, 8 s by default.",
        ),
    ],
    "Plugins": [
        (
            "p99 by plugin",
            _p99("mooring_plugin_execution_duration_seconds", "plugin"),
            "s",
            "One decision in ten is measured.",
        ),
        (
            "Time by plugin",
            _rate("mooring_plugin_execution_duration_seconds_sum", "plugin"),
            "s",
            "Seconds per second in the measured decisions: the share of a processor, divided by ten.",
        ),
        (
            "Calls of Pure plugins",
            _rate("mooring_plugin_answers_total", "plugin", 'result="miss"'),
            "ops",
            "Calls for which no answer was remembered.",
        ),
    ],
    "Queue": [
        (
            "Pending pods",
            _now("sum", "mooring_pending_pods", "queue"),
            "none",
            "active: next to be tried. backoff: soon. unschedulable: waits for an event. gated: held back.",
        ),
        (
            "Pods added",
            _rate("mooring_queue_incoming_pods_total", "event"),
            "ops",
            "Pods that enter a sub-queue, by the event that moved them.",
        ),
        (
            "p99 until bound",
            _p99("mooring_pod_scheduling_sli_duration_seconds", "attempts"),
            "s",
            "From the moment a pod could be scheduled until it was bound, by number of attempts.",
        ),
    ],
    "State": [
        (
            "Age of the state",
            _now("max", "mooring_source_staleness_seconds", "instance"),
            "s",
            "Time since the API server last confirmed that nothing is missing.",
        ),
        (
            "Since the last event",
            _now("max", "mooring_source_last_event_age_seconds", "kind"),
            "s",
            "A quiet kind is normal. All kinds at once: the connection is down.",
        ),
        ("Objects", _now("max", "mooring_cache_size", "type"), "none", "Nodes and pods that are known."),
        (
            "Reservations",
            _now("sum", "mooring_reservations", "stage"),
            "none",
            "Pods that have room on a node and are not bound yet. unknown: the answer got lost.",
        ),
    ],
    "API server": [
        (
            "Requests",
            _rate("rest_client_requests_total", "code"),
            "ops",
            "By HTTP status. 429: the API server asks for patience. 403: a right is missing.",
        ),
        (
            "p99 of requests",
            _p99("rest_client_request_duration_seconds", "verb"),
            "s",
            "Bindings wait for these.",
        ),
    ],
    "Process": [
        ("Processors", _rate("process_cpu_seconds_total", "instance"), "none", "Processors in use."),
        ("Memory", _now("max", "process_resident_memory_bytes", "instance"), "bytes", "Resident memory."),
        (
            "Calls in flight",
            _now("sum", "mooring_inflight_calls", "instance"),
            "none",
            "Calls whose request has arrived and that have no answer yet.",
        ),
        (
            "Calls shed",
            _rate("mooring_shed_calls_total", "instance"),
            "ops",
            "Calls rejected because --max-concurrent-calls were in flight.",
        ),
    ],
}
"""By row, its panels: title, query, unit, description. The first row shows single figures."""

FIGURES = "Now"

PAGE = "http://localhost:50054"
"""The page's address unless a person changes the variable, as ``kubectl port-forward`` gives it."""

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS = 24


def board() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    y = 0
    for row, contents in ROWS.items():
        place = {"x": 0, "y": y, "w": _COLUMNS, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": row, "gridPos": place, "panels": []})
        kind, height = ("stat", 4) if row == FIGURES else ("timeseries", 8)
        width = _COLUMNS // len(contents)
        for column, (title, (query, legend), unit, text) in enumerate(contents):
            panels.append(
                {
                    "id": len(panels) + 1,
                    "type": kind,
                    "title": title,
                    "description": text,
                    "datasource": _SOURCE,
                    "gridPos": {"x": column * width, "y": y + 1, "w": width, "h": height},
                    "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                    "targets": [{"refId": "A", "datasource": _SOURCE, "expr": query, "legendFormat": legend}],
                }
            )
        y += 1 + height
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
        {
            "name": "page",
            "label": "mooring's page",
            "type": "textbox",
            "query": PAGE,
            "current": {"text": PAGE, "value": PAGE},
        },
    ]
    return {
        "uid": "mooring",
        "title": "mooring",
        "description": "Decisions of mooring: results, durations, and the state of its process.",
        "links": [{"type": "link", "title": "Decisions and why", "url": "${page}", "targetBlank": True}],
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
