"""Checks of mooring's processes: whether their pods are ready, and who collects their metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.app.doctor.certificates import monitors
from mooring.app.doctor.findings import SCHEDULER, Diagnosis, Health, Patient
from mooring.app.doctor.rights import may
from mooring.framework.errors import MooringError

_COLLECT = "docs/metrics.md, Collect them"


def check_processes(patient: Patient) -> Iterator[Diagnosis]:
    """Yield which pods are not ready, and why. Raises MooringError if the API server does not list them."""
    pods = patient.pods()
    if not pods:
        said = f"there is no pod of mooring in {patient.namespace}"
        yield Diagnosis("processes", Health.WARNING, said, "install it, or name another namespace with -n")
    for pod in pods:
        name = pod["metadata"]["name"]
        conditions = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or ()}
        if conditions.get("Ready", {}).get("status") == "True":
            yield Diagnosis("processes", Health.OK, f"pod {name} is ready")
        else:
            said = _why(patient, name) or conditions.get("Ready", {}).get("message") or "see kubectl describe"
            do = "docs/operation.md, Probes"
            yield Diagnosis("processes", Health.FAULT, f"pod {name} is not ready: {said}", do)


def _why(patient: Patient, pod: str) -> str:
    """Return what the second scheduler's readiness page says, by the API server's proxy; "" = nothing."""
    if patient.mode != SCHEDULER:
        return ""
    path = f"/api/v1/namespaces/{patient.namespace}/pods/https:{pod}:10259/proxy/readyz"
    try:
        return patient.api.request("GET", path).body[:200].decode(errors="replace").strip()
    except MooringError:
        return ""


def check_scraping(patient: Patient) -> Iterator[Diagnosis]:
    """Yield whether the metrics of the second scheduler can be collected. Raises MooringError if the API
    server does not say.
    """
    if patient.mode != SCHEDULER:
        return
    found = monitors(patient)
    if not found:
        said = "no PodMonitor of the Prometheus operator selects mooring's pods"
        do = f"set podMonitor.enabled=true of the chart, or write a scrape configuration: {_COLLECT}"
        yield Diagnosis("metrics", Health.WARNING, said, do)
    for monitor in found:
        for endpoint in monitor["spec"].get("podMetricsEndpoints") or ():
            yield _scraped(patient, monitor["metadata"]["name"], endpoint)


def _scraped(patient: Patient, monitor: str, endpoint: dict[str, Any]) -> Diagnosis:
    credentials = (endpoint.get("authorization") or {}).get("credentials") or {}
    secret = credentials.get("name", "")
    found = patient.get(f"/api/v1/namespaces/{patient.namespace}/secrets/{secret}") if secret else None
    if found is None:
        said = f"the PodMonitor {monitor} sends no token, or one of a Secret {secret!r} that isn't there"
        return Diagnosis("metrics", Health.FAULT, said, f"create the Secret: {_COLLECT}")
    account = (found["metadata"].get("annotations") or {}).get("kubernetes.io/service-account.name", "")
    user = f"system:serviceaccount:{patient.namespace}:{account}"
    if not may(patient, {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, user):
        do = "bind the ClusterRole metrics-reader to it: docs/run/rights.md"
        return Diagnosis("metrics", Health.FAULT, f"{user} may not get /metrics", do)
    return Diagnosis(
        "metrics", Health.OK, f"the PodMonitor {monitor} collects as {user}, who may get /metrics"
    )
