"""Checks of the API server: that it answers, its version, and its clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from mooring.app.doctor.findings import Diagnosis, Health, Patient
from mooring.cluster.api import decoded
from mooring.framework.releases import NEWEST, OLDEST, KubeVersion

CLOSE_SECONDS = 2.0
"""The difference of clocks that is not worth a word: the server's header has whole seconds."""

FAR_SECONDS = 30.0
"""The difference from which on new certificates and tokens may be rejected."""


def check_api_server(patient: Patient) -> Iterator[Diagnosis]:
    """Yield the results about its version and its clock. Raises MooringError if it rejects the request, or
    does not answer.
    """
    began = time.time()
    response = patient.api.request("GET", "/version")
    version = decoded(response, "read /version")
    yield _version(patient, str(version.get("gitVersion", "")))
    yield _clock(response.headers.get("date", ""), (began + time.time()) / 2)


def _version(patient: Patient, version: str) -> Diagnosis:
    followed, said = patient.kube_version, f"the API server at {patient.api.address} has {version}"
    try:
        server = KubeVersion.parse(".".join(version.split(".")[:2]))
    except ValueError:
        do = "use a release of mooring that follows it"
        return Diagnosis("version", Health.FAULT, f"{said}, and mooring follows {OLDEST} to {NEWEST}", do)
    if server == followed:
        return Diagnosis("version", Health.OK, f"{said}; mooring follows {followed}")
    do = f"start mooring with --kube-version={server} (chart: extraArgs)"
    return Diagnosis("version", Health.WARNING, f"{said}, and mooring follows {followed}", do)


def _clock(header: str, here: float) -> Diagnosis:
    try:
        ahead = here - parsedate_to_datetime(header).timestamp()
    except ValueError:
        return Diagnosis("clock", Health.UNKNOWN, "the API server's answer has no date")
    if abs(ahead) <= CLOSE_SECONDS:
        return Diagnosis("clock", Health.OK, f"this clock and the API server's differ by {abs(ahead):.0f} s")
    said = f"this clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the API server's"
    do = "set both by NTP: ages, leases and certificates are read by these clocks"
    return Diagnosis("clock", Health.FAULT if abs(ahead) > FAR_SECONDS else Health.WARNING, said, do)
