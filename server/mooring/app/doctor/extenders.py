"""Checks of kube-scheduler's extenders: whether it can call mooring's profiles, and whether they answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mooring import config
from mooring.app.doctor.certificates import check_files
from mooring.app.doctor.findings import Diagnosis, Health
from mooring.app.engine import read_text
from mooring.app.probing import probe


def check_extenders(file: str, own: config.Configuration, catalog: config.Catalog) -> Iterator[Diagnosis]:
    """Yield the faults of the extenders in a configuration of kube-scheduler, and how each of them answers.

    Raises:
        ConfigError: The file can't be used.
        InvalidArgumentError: A certificate can't be used.
    """
    extenders = config.load(read_text(file), catalog, stubs=True).document.extenders
    if not extenders:
        yield Diagnosis(
            "extenders", Health.FAULT, f"{file} has none", "add the stanza: docs/kube-scheduler.md"
        )
        return
    faults = [
        *config.check_calls(extenders),
        *config.check_reserving(own.profiles, extenders, catalog),
        *config.check_ignored(own.profiles, extenders),
    ]
    for fault in faults:
        yield Diagnosis("extenders", Health.FAULT, f"{file}: {fault}", "correct the stanza")
    for warning in config.advise_on_calls(extenders):
        yield Diagnosis("extenders", Health.WARNING, f"{file}: {warning}")
    files = [getattr(each.tls_config, "cert_file", "") for each in extenders if each.tls_config]
    yield from check_files(name for name in files if name and Path(name).exists())
    for each in () if faults else probe(extenders):
        took = f"{each.path} answered in {each.seconds * 1e3:.0f} ms of {each.timeout:g} s"
        if each.fault:
            do = "does mooring run there, and does kube-scheduler's machine reach it?"
            yield Diagnosis("extenders", Health.FAULT, f"{each.path}: {each.fault}", do)
        elif each.slow:
            do = "raise httpTimeout: under load the answer may be late"
            yield Diagnosis("extenders", Health.WARNING, took, do)
        else:
            yield Diagnosis("extenders", Health.OK, took)
