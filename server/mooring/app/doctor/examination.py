"""The whole examination: every check in its order, whatever the others say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from mooring import config
from mooring.app.doctor.api_server import check_api_server
from mooring.app.doctor.certificates import check_files, check_secrets
from mooring.app.doctor.extenders import check_extenders
from mooring.app.doctor.findings import SCHEDULER, Diagnosis, Health, Patient
from mooring.app.doctor.processes import check_processes, check_scraping
from mooring.app.doctor.rights import check_rights
from mooring.app.doctor.schedulers import check_schedulers
from mooring.app.election import with_election
from mooring.app.engine import build_core, configuration_of, registry_of
from mooring.app.options import ElectionOptions, EngineOptions
from mooring.app.scheduler import LEASE
from mooring.app.sources import readers_of
from mooring.cluster.api import ApiServer
from mooring.framework.errors import MooringError
from mooring.framework.releases import KubeVersion

Check = Callable[[Patient], Iterator[Diagnosis]]

CHECKS: dict[str, Check] = {
    "rights": check_rights,
    "schedulers": check_schedulers,
    "processes": check_processes,
    "certificates": check_secrets,
    "metrics": check_scraping,
}
"""By name, the checks that ask an API server which answers."""


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """The subject of an examination.

    Attributes:
        mode: How mooring runs: one of ``MODES``.
        user: The user whose rights are checked; "" = the one who asks.
        extenders: kube-scheduler's configuration, whose extenders are checked; "" = none.
    """

    engine: EngineOptions
    mode: str
    namespace: str
    user: str = ""
    certificates: tuple[str, ...] = ()
    extenders: str = ""


def examined(api: ApiServer, options: DoctorOptions) -> Iterator[Diagnosis]:
    """Yield the findings. A check that can't be made is a finding too. Raises RegistryError if a plugin can't
    be made.
    """
    registry = registry_of(options.engine)
    catalog, scheduling = registry.catalog(), options.mode == SCHEDULER
    try:
        configuration = configuration_of(options.engine, registry, scheduling=scheduling)
    except config.ConfigError as error:
        said = error.text(options.engine.config).splitlines()
        yield from (Diagnosis("configuration", Health.FAULT, line, "correct the file") for line in said)
        configuration = config.default(catalog, kube_version=options.engine.kube_version)
    else:
        profiles = ", ".join(profile.scheduler_name for profile in configuration.profiles)
        yield Diagnosis("configuration", Health.OK, f"the profiles are {profiles}")
    yield from check_files(options.certificates)
    if options.extenders:
        yield from _made("extenders", partial(check_extenders, options.extenders, configuration, catalog))
    core = build_core(options.engine, registry, configuration)
    elected = with_election(configuration, ElectionOptions(), LEASE) if scheduling else configuration
    kinds = {"DaemonSet": [], "Node": [], "Pod": [], **readers_of(core.engine.profiles.values())}
    followed = KubeVersion.parse(options.engine.kube_version)
    patient = Patient(api, options.mode, options.namespace, options.user, elected, kinds, followed)
    try:
        yield from check_api_server(patient)
    except MooringError as error:
        do = "correct the address: --kubeconfig, --context; can this machine reach it?"
        yield Diagnosis("version", Health.FAULT, str(error), do)
        return
    for name, check in CHECKS.items():
        yield from _made(name, partial(check, patient))


def _made(name: str, check: Callable[[], Iterator[Diagnosis]]) -> Iterator[Diagnosis]:
    """Yield the findings of a check up to an error, and then the error."""
    try:
        yield from check()
    except (MooringError, config.ConfigError) as error:
        yield Diagnosis(name, Health.UNKNOWN, str(error), "run this with more rights, or repeat the command")
