"""Checks of certificates: when they expire, and which names they have."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509

from mooring.app.doctor.findings import Diagnosis, Health, Patient
from mooring.files import read_file
from mooring.framework.errors import MooringError

SOON_DAYS = 14.0
"""The days before its end from which on a certificate is worth a word."""

_RENEW = "renew it: docs/run/certificates.md"


def check_files(files: Iterable[str]) -> Iterator[Diagnosis]:
    """Yield the expiry of each certificate file."""
    for file in files:
        try:
            text = read_file(Path(file))
        except OSError as error:
            yield Diagnosis("certificates", Health.FAULT, f"{file}: {error.strerror}", "correct the path")
            continue
        yield judged(file, text, ())


def check_secrets(patient: Patient) -> Iterator[Diagnosis]:
    """Yield the expiry and the names of the certificates that mooring's pods show. Raises MooringError if the
    API server does not list the pods.
    """
    secrets = {
        volume["secret"]["secretName"]
        for pod in patient.pods()
        for volume in pod["spec"].get("volumes") or ()
        if "secret" in volume
    }
    names = _called(patient) if secrets else []
    for name in sorted(secrets):
        try:
            found = patient.get(f"/api/v1/namespaces/{patient.namespace}/secrets/{name}")
        except MooringError:
            do = "run this with the right to read it, or give the file with --certificate"
            yield Diagnosis("certificates", Health.UNKNOWN, f"the Secret {name} may not be read", do)
            continue
        if found is None:
            do = "create it: docs/run/certificates.md; the pods wait for it"
            yield Diagnosis("certificates", Health.FAULT, f"there is no Secret {name}", do)
        elif "tls.crt" in (data := found.get("data") or {}):
            yield judged(f"the Secret {name}", _decoded(data["tls.crt"]), names)


def judged(where: str, text: bytes, names: Sequence[str]) -> Diagnosis:
    """Return the diagnosis of a certificate, PEM, of a server that clients call by one of ``names``."""
    try:
        shown = x509.load_pem_x509_certificate(text)
    except ValueError as error:
        return Diagnosis("certificates", Health.FAULT, f"{where} has no certificate: {error}", _RENEW)
    days = (shown.not_valid_after_utc - datetime.now(UTC)).total_seconds() / 86_400
    known = _names(shown)
    said = f"{where} is valid for {days:.0f} days, for {', '.join(known) or 'no name'}"
    if days < 0:
        return Diagnosis("certificates", Health.FAULT, f"{where} expired {-days:.0f} days ago", _RENEW)
    if names and not {*names} & {*known}:
        do = f"sign one with {' or '.join(names)}: docs/run/certificates.md"
        return Diagnosis("certificates", Health.FAULT, f"{said}; clients call it {' or '.join(names)}", do)
    if days < SOON_DAYS:
        return Diagnosis("certificates", Health.WARNING, said, _RENEW)
    return Diagnosis("certificates", Health.OK, said)


def _names(shown: x509.Certificate) -> list[str]:
    try:
        names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return [*names.get_values_for_type(x509.DNSName), *addresses]


def _called(patient: Patient) -> list[str]:
    """Return the names by which Prometheus and kube-scheduler call mooring's pods."""
    services = patient.items(
        f"/api/v1/namespaces/{patient.namespace}/services", labelSelector="app.kubernetes.io/name=mooring"
    )
    names = [f"{each['metadata']['name']}.{patient.namespace}.svc" for each in services]
    names += [each["spec"]["clusterIP"] for each in services if each["spec"].get("clusterIP")]
    for monitor in monitors(patient):
        for endpoint in monitor["spec"].get("podMetricsEndpoints") or ():
            names += filter(None, [(endpoint.get("tlsConfig") or {}).get("serverName")])
    return names


def monitors(patient: Patient) -> list[dict[str, Any]]:
    """Return the PodMonitors that select mooring's pods; none without the Prometheus operator. Raises
    MooringError if the API server does not list them.
    """
    path = f"/apis/monitoring.coreos.com/v1/namespaces/{patient.namespace}/podmonitors"
    found = patient.items(path)
    return [
        each
        for each in found
        if (each["spec"].get("selector") or {}).get("matchLabels", {}).get("app.kubernetes.io/name")
        == "mooring"
    ]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""
