"""Checks of other schedulers: who holds the lease, and who else binds pods of the same name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from mooring.app.doctor.findings import SCHEDULER, Diagnosis, Health, Patient
from mooring.cluster.api import RESOURCES
from mooring.config.defaults import KUBE_SCHEDULER_LEASE

DEFAULT = "default-scheduler"
MOST_EVENTS = 500

INTERLEAVED = 3
"""Turns of instances from which on they bind side by side; a change of the leader makes two."""


def check_schedulers(patient: Patient) -> Iterator[Diagnosis]:
    """Yield what the leases and the latest bindings show. Raises MooringError if the API server does not
    say.
    """
    if patient.mode == SCHEDULER:
        yield from _lease(patient)
    yield from _rivals(patient)


def _lease(patient: Patient) -> Iterator[Diagnosis]:
    election = patient.configuration.document.leader_election
    if election.leader_elect:
        name = f"{election.resource_namespace}/{election.resource_name}"
        holder, age = _holder(patient, election.resource_namespace, election.resource_name)
        do = "see the alert MooringNoLeader; before the first start this is as it should be"
        if not holder:
            yield Diagnosis("lease", Health.WARNING, f"no replica holds the lease {name}", do)
        elif age > election.lease_duration.total_seconds():
            said = f"{holder} holds the lease {name} and has not renewed it for {age:.0f} s"
            yield Diagnosis("lease", Health.WARNING, said, do)
        else:
            yield Diagnosis("lease", Health.OK, f"{holder} holds the lease {name}")
    if DEFAULT not in patient.profiles or election.resource_name == KUBE_SCHEDULER_LEASE:
        return
    holder, age = _holder(patient, "kube-system", KUBE_SCHEDULER_LEASE)
    if holder and age < election.lease_duration.total_seconds():
        said = f"kube-scheduler ({holder}) runs, and a profile of mooring is called {DEFAULT} too"
        do = "give the profile another schedulerName, or take kube-scheduler's place with --replace-default"
        yield Diagnosis("schedulers", Health.FAULT, said, do)


def _holder(patient: Patient, namespace: str, name: str) -> tuple[str, float]:
    """Return the holder of a lease, "" = none, and the seconds since it was renewed."""
    lease = patient.get(RESOURCES["Lease"].item(namespace, name)) or {}
    spec: dict[str, Any] = lease.get("spec") or {}
    return str(spec.get("holderIdentity") or ""), time.time() - _moment(spec.get("renewTime"))


def _rivals(patient: Patient) -> Iterator[Diagnosis]:
    """Yield the profiles whose pods several instances bind by turns."""
    listed = patient.items(RESOURCES["Event"].collection(), limit=str(MOST_EVENTS))
    bound = [event for event in listed if event.get("reason") == "Scheduled"]
    bound.sort(key=lambda event: _moment(event.get("eventTime")))
    alone = True
    for profile in patient.profiles:
        own = [event for event in bound if event.get("reportingController") == profile]
        turns = [instance for instance, _ in groupby(str(event.get("reportingInstance")) for event in own)]
        if len(turns) >= INTERLEAVED:
            alone = False
            said = f"several schedulers bind pods of {profile} by turns: {', '.join(sorted({*turns}))}"
            do = "let one of them schedule: another schedulerName, or one lease for all replicas"
            yield Diagnosis("schedulers", Health.FAULT, said, do)
    if alone:
        names = ", ".join(patient.profiles)
        yield Diagnosis("schedulers", Health.OK, f"no two schedulers bind pods of {names} side by side")


def _moment(text: str | None) -> float:
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return 0.0
