"""The alerts of deploy/: promtool has each fire and stay quiet; each leads to a page that says what to do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.process import run

from .applying import DEPLOY
from .build import ROOT
from .prometheus import installed

pytestmark = pytest.mark.e2e

RULES = DEPLOY / "chart" / "monitoring" / "alerts.yaml"
GROUPS = {group["name"]: group["rules"] for group in yaml.safe_load(RULES.read_text())["groups"]}
EVERY = [rule for rules in GROUPS.values() for rule in rules]
MINUTES = 30
STEADY, ZERO, ONE, RISING = f"5+0x{MINUTES}", f"0+0x{MINUTES}", f"1+0x{MINUTES}", f"0+5x{MINUTES}"
NEW = f"{'_ ' * (MINUTES - 2)}1 1 1"
"""A counter that appears with its first event, three minutes before the end."""

ACTIVE = 'mooring_pending_pods{job="m",queue="active"}'
WAITING = 'mooring_pending_pods{job="m",queue="unschedulable"}'
BOUND = 'mooring_schedule_attempts_total{job="m",result="scheduled"}'
SCALED = "cluster_autoscaler_scaled_up_nodes_total"
LEADERS = 'leader_election_master_status{job="m",name="mooring",instance="%s"}'
OLDEST, EXPIRES = "mooring_oldest_active_pod_age_seconds", "mooring_certificate_expiration_timestamp_seconds"
DAY = 24 * 3_600
OVERRUNS = 'mooring_pod_scheduling_overruns_total{blame="%s"}'
CHECKS = 'mooring_self_checks_total{result="%s"}'


def slow(metric: str, seconds: float, labels: str = "") -> dict[str, str]:
    """Return a histogram all of whose observations take `seconds`."""
    return {
        f'{metric}_bucket{{job="m",{labels}le="{bound}"}}': RISING if bound >= seconds else ZERO
        for bound in (0.512, 1.024, 2.048, 4.096)
    } | {f'{metric}_bucket{{job="m",{labels}le="+Inf"}}': RISING}


ATTEMPT, REQUEST = "mooring_scheduling_attempt_duration_seconds", "mooring_extender_request_duration_seconds"
CASES: list[tuple[str, dict[str, str], int]] = [
    ("MooringDown", {}, 1),
    ("MooringDown", {"mooring_build_info": ONE}, 0),
    ("MooringNotSynced", {"mooring_source_synced": ZERO}, 1),
    ("MooringNotSynced", {"mooring_source_synced": ONE}, 0),
    ("MooringStateStale", {"mooring_source_staleness_seconds": f"9+60x{MINUTES}"}, 1),
    ("MooringStateStale", {"mooring_source_staleness_seconds": STEADY}, 0),
    ("MooringClusterWentBack", {"mooring_source_rollbacks_total": RISING}, 1),
    ("MooringClusterWentBack", {"mooring_source_rollbacks_total": STEADY}, 0),
    ("MooringNoLeader", {LEADERS % "a": ZERO, LEADERS % "b": ZERO}, 1),
    ("MooringNoLeader", {LEADERS % "a": ZERO, LEADERS % "b": ONE}, 0),
    ("MooringTwoLeaders", {LEADERS % "a": ONE, LEADERS % "b": ONE}, 1),
    ("MooringTwoLeaders", {LEADERS % "a": ONE, LEADERS % "b": ZERO}, 0),
    ("MooringBindsNothing", {ACTIVE: STEADY, BOUND: STEADY}, 1),
    ("MooringBindsNothing", {ACTIVE: STEADY}, 1),
    ("MooringBindsNothing", {ACTIVE: STEADY, BOUND: RISING}, 0),
    ("MooringBindsNothing", {ACTIVE: ZERO, BOUND: STEADY}, 0),
    ("MooringPodsUnschedulable", {WAITING: STEADY}, 1),
    ("MooringPodsUnschedulable", {WAITING: STEADY, SCALED: STEADY}, 1),
    ("MooringPodsUnschedulable", {WAITING: STEADY, SCALED: RISING}, 0),
    ("MooringPodsUnschedulable", {WAITING: ZERO}, 0),
    ("MooringReservationsUnknown", {'mooring_reservations{stage="unknown"}': ONE}, 1),
    ("MooringReservationsUnknown", {'mooring_reservations{stage="binding"}': ONE}, 0),
    ("MooringPluginErrors", {"mooring_plugin_errors_total": RISING}, 1),
    ("MooringPluginErrors", {"mooring_plugin_errors_total": NEW}, 1),
    ("MooringPluginErrors", {"mooring_plugin_errors_total": STEADY}, 0),
    ("MooringAttemptsSlow", slow(ATTEMPT, 2), 1),
    ("MooringAttemptsSlow", slow(ATTEMPT, 0.5), 0),
    ("MooringAttemptsOverrun", {OVERRUNS % "others": RISING}, 1),
    ("MooringAttemptsOverrun", {OVERRUNS % "unknown": NEW}, 1),
    ("MooringAttemptsOverrun", {OVERRUNS % "pod": RISING}, 0),
    ("MooringCallsShed", {"mooring_shed_calls_total": RISING}, 1),
    ("MooringCallsShed", {"mooring_shed_calls_total": STEADY}, 0),
    ("MooringExtenderSlow", slow(REQUEST, 2, 'verb="filter",'), 1),
    ("MooringExtenderSlow", slow(REQUEST, 0.5, 'verb="filter",'), 0),
    ("MooringConfigReloadFailed", {"mooring_config_reload_success": ZERO}, 1),
    ("MooringConfigReloadFailed", {"mooring_config_reload_success": ONE}, 0),
    ("MooringEventsDropped", {"mooring_dropped_events_total": RISING}, 1),
    ("MooringEventsDropped", {"mooring_dropped_events_total": STEADY}, 0),
    ("MooringPodWaitsToBeTried", {OLDEST: f"301+60x{MINUTES}"}, 1),
    ("MooringPodWaitsToBeTried", {OLDEST: STEADY}, 0),
    ("MooringCertificateExpires", {EXPIRES: f"{6 * DAY}+0x{MINUTES}"}, 1),
    ("MooringCertificateExpires", {EXPIRES: f"{8 * DAY}+0x{MINUTES}"}, 0),
    ("MooringSelfCheckFailed", {CHECKS % "different": NEW}, 1),
    ("MooringSelfCheckFailed", {CHECKS % "same": RISING}, 0),
]


def in_promtool(series: dict[str, str], expression: str, expected: list[dict[str, Any]]) -> dict[str, Any]:
    asked = {"expr": expression, "eval_time": f"{MINUTES}m", "exp_samples": expected}
    given = [{"series": name, "values": values} for name, values in series.items()]
    return {"interval": "1m", "input_series": given, "promql_expr_test": [asked]}


def check(directory: Path, tests: list[dict[str, Any]]) -> str:
    file = directory / "tests.json"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    return run(Path(installed()).with_name("promtool"), "test", "rules", file)


def test_the_rules_are_valid() -> None:
    said = run(Path(installed()).with_name("promtool"), "check", "rules", RULES)
    assert f"{len(EVERY)} rules found" in said


@pytest.mark.parametrize(
    ("alert", "series", "count"), CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)]
)
def test_it_fires_when_it_should(alert: str, series: dict[str, str], count: int, tmp_path: Path) -> None:
    firing = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    expected = [{"labels": "{}", "value": count}] if count else []
    assert "SUCCESS" in check(tmp_path, [in_promtool(series, firing, expected)])


def test_every_alert_fires_and_stays_quiet() -> None:
    """Those of objectives: see test_objectives.py."""
    names = {rule["alert"] for rule in GROUPS["mooring"]}
    assert {name for name, _, count in CASES if count} == names
    assert {name for name, _, count in CASES if not count} == names


def test_every_alert_leads_to_its_runbook() -> None:
    for rule in (rule for rule in EVERY if "alert" in rule):
        file, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        headings = re.findall(r"^## (\w+)$", (ROOT / file).read_text(), re.MULTILINE)
        assert rule["alert"] in headings
        assert anchor == rule["alert"].lower()
        assert rule["labels"]["severity"] in ("critical", "warning")
