"""Notes on a valid configuration: ignored fields, and defaults that differ from kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mooring.config.catalog import REMOVED, Catalog
from mooring.config.expand import ALL, enabled_names
from mooring.config.fields import join
from mooring.config.types import KubeSchedulerConfiguration
from mooring.config.unknown import origin
from mooring.framework import Gates

INERT_FIELDS = (
    "clientConnection.acceptContentTypes",
    "clientConnection.contentType",
    "enableProfiling",
    "enableContentionProfiling",
    "delayCacheUntilActive",
)
"""The fields outside the profiles that are checked and shown, and that nothing in mooring acts on."""

SCHEDULER_FIELDS = (
    "parallelism",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "clientConnection",
    "extenders",
)
"""The fields outside the profiles that matter where mooring takes pods from a queue and binds them.

Elsewhere it runs plugins in process, and calls no extenders."""


def advise_on_gates(gates: Gates) -> Iterator[str]:
    """Yield a sentence that names the feature gates that were set in vain, if there are any.

    kube-scheduler rejects a gate that it doesn't know; mooring can't distinguish those from gates that
    another component reads, so it warns and goes on without them.
    """
    if names := gates.without_effect():
        release = f"Kubernetes {gates.version}"
        yield f"feature gates that mooring itself does not act on ({release}): {', '.join(names)}"


def advise(
    document: Mapping[str, Any], written: KubeSchedulerConfiguration, catalog: Catalog, *, scheduling: bool
) -> Iterator[str]:
    """Yield one sentence for each thing to know. ``written`` is the same document, typed, without defaults.
    ``mooring scheduler`` (``scheduling``) acts on fields that nothing else acts on.
    """
    inert = [path for path in INERT_FIELDS if _has(document, path)]
    if inert:
        yield f"ignored by mooring: {', '.join(inert)}"
    if not scheduling and (unused := [path for path in SCHEDULER_FIELDS if _has(document, path)]):
        yield f"acted on by mooring scheduler alone: {', '.join(unused)}"
    for index, profile in enumerate(written.profiles):
        path = join("profiles", index)
        for section, plugins in profile.plugins.items():
            for position, plugin in enumerate(plugins.disabled):
                if plugin.name not in catalog and plugin.name not in REMOVED and plugin.name != ALL:
                    where = join(path, "plugins", section, "disabled", position)
                    yield f"{where}: no plugin named {plugin.name} exists, so nothing is disabled"
        known = enabled_names(profile.plugins) | set(catalog)
        for position, entry in enumerate(profile.plugin_config):
            if entry.name not in known:
                where = join(path, "pluginConfig", position)
                yield f"{where}: no plugin named {entry.name} exists{origin(entry.name, catalog)}"


def _has(document: Any, path: str) -> bool:
    """Return whether the document, which may have faults, has something there."""
    name, _, rest = path.partition(".")
    return isinstance(document, Mapping) and name in document and (not rest or _has(document[name], rest))


def differing_defaults(written: KubeSchedulerConfiguration) -> tuple[str, ...]:
    """Return what a file leaves out that mooring reads otherwise than kube-scheduler, a phrase each."""
    differences = []
    profiles = written.profiles or (None,)
    silent = any(profile is None or profile.percentage_of_nodes_to_score is None for profile in profiles)
    if silent and written.percentage_of_nodes_to_score is None:
        differences.append(
            "percentageOfNodesToScore: mooring evaluates every node, kube-scheduler samples as for 0"
        )
    election = written.leader_election
    if not election.resource_name and election.leader_elect is not False:
        differences.append(
            "leaderElection.resourceName: mooring takes a lease of its own, not kube-scheduler's"
        )
    return tuple(differences)
