"""Releases, feature gates, two profiles with plugins, weights and arguments, and the engine's own limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from random import Random
from typing import Any
from unittest.mock import patch

from mooring.cluster.state import State
from mooring.config import Configuration, from_document
from mooring.framework import Gates, KubeVersion, PreFilterPlugin
from mooring.framework.pod_requests import ResourceRules
from mooring.runtime.assembly import build_engine
from mooring.runtime.cache.lookup import doorkeeper
from mooring.runtime.cycle import sampling
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.registry import Registry, new_in_tree_registry
from mooring.runtime.tuning import DEFAULT_TUNING, CacheTuning
from mooring.testing.question import NoBinder
from tests.laboratories.conformance.families.draft import Draft
from tests.laboratories.conformance.families.gates import otherwise, switchable
from tests.laboratories.conformance.families.profile import configuration
from tests.laboratories.histories.plugins import OWN
from tests.laboratories.histories.pods import HOST, ZONE, Manifest
from tests.laboratories.histories.rules import FAULTY_RULES, RULES

PROFILES = ("default-scheduler", "second")
NEWEST = "1.37"
RULES_IN = 0.3
"""The part of the histories in which profiles have generated rules."""

FAULTY_IN = 0.2
"""The part of these, in process, in which one of the rules raises under some values."""

RELEASES = ("1.34", "1.35", "1.36", NEWEST)


def plugins() -> Sequence[type[Any]]:
    """Return the plugins of other authors that never fail."""
    return (*OWN, *RULES)


@cache
def registry() -> Registry:
    """Return the plugins in the tree and those of another author."""
    found = new_in_tree_registry()
    for kind in (*plugins(), *FAULTY_RULES):
        found.register(kind.name, kind)
    return found


@dataclass(frozen=True)
class Setting:
    """How a server is started.

    Attributes:
        document: Its configuration.
        release: The release of Kubernetes that it mirrors.
        gates: Feature gates.
        limits: Limits of modules, most of them as they are; the lower, the sooner they are reached.
        tuning: Those of the cache.
        measures: Whether there are generated rules, which may read a measured load.
    """

    document: Manifest
    release: str
    gates: dict[str, bool]
    limits: dict[tuple[Any, str], int]
    tuning: CacheTuning
    measures: bool

    @classmethod
    def of(
        cls,
        dice: Random,
        *,
        newest: bool = False,
        outside: bool = True,
        samples: bool = True,
        faulty: bool = False,
    ) -> Setting:
        """Any setting; with ``newest`` one without gates; with ``faulty`` some have a rule that raises."""
        release, gates = NEWEST, dict[str, bool]()
        if not newest and dice.random() < 0.3:
            release = dice.choice(RELEASES)
            gates = otherwise(release, dice.sample(switchable(release), dice.randint(0, 3)))
        own = [kind.name for kind in OWN if dice.random() < 0.12 and (outside or kind.name != "Measured")]
        if measures := (aside := copy(dice)).random() < RULES_IN:
            some = aside.sample(RULES, aside.choice((1, 1, 2, 3)))
            if faulty and aside.random() < FAULTY_IN:
                some.append(aside.choice(FAULTY_RULES))
            # The notes of two rules that count would have the same names.
            counting = [kind for kind in some if issubclass(kind, PreFilterPlugin)]
            own += [kind.name for kind in some if kind not in counting[1:]]
        document: Manifest = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [_profile(dice, name, release, own) for name in PROFILES],
        }
        if samples and dice.random() < 0.2:
            document["percentageOfNodesToScore"] = dice.choice((0, 10, 40, 70))
        return cls(document, release, gates, *_limits(dice), measures)

    @cached_property
    def configuration(self) -> Configuration:
        """The same, loaded."""
        catalog = registry().catalog()
        return from_document(self.document, catalog, kube_version=self.release, feature_gates=self.gates)

    def rules(self) -> ResourceRules:
        """Return the release's rules for the requests of pods."""
        return ResourceRules.of(Gates(KubeVersion.parse(self.release), self.gates))

    def engine(self, state: State) -> Engine:
        """Return an engine with plugins of its own."""
        return build_engine(
            self.configuration,
            registry(),
            state,
            NoBinder(),
            kube_version=self.release,
            feature_gates=self.gates,
            tuning=self.tuning,
        )

    @contextmanager
    def limited(self) -> Iterator[None]:
        """While the limits hold."""
        with ExitStack() as stack:
            for (module, name), limit in self.limits.items():
                stack.enter_context(patch.object(module, name, limit))
            yield


def _limits(dice: Random) -> tuple[dict[tuple[Any, str], int], CacheTuning]:
    limits: dict[tuple[Any, str], int] = {(sampling, "MIN_FEASIBLE_NODES"): dice.choice((1, 2, 5, 100))}
    tuning = DEFAULT_TUNING
    if dice.random() < 0.3:
        tuning = replace(tuning, resource_states=dice.choice((8, 20, 50)), resource_states_per_row=1)
    if dice.random() < 0.2:
        most_bytes = dice.choice((0, 20_000))
        tuning = replace(tuning, evaluation_bytes=most_bytes, static_bytes=most_bytes)
        limits[doorkeeper, "_MEASURED_EACH"] = 1
    if dice.random() < 0.2:
        tuning = replace(tuning, template_bytes=dice.choice((0, 3_000)))
    if dice.random() < 0.2:
        tuning = replace(tuning, updated_pods=dice.choice((0, 2, 5)))
    if dice.random() < 0.2:
        tuning = replace(tuning, pods_per_lock=dice.choice((1, 3)))
    # Not with the same dice: known histories stay as they are.
    if (aside := copy(dice)).random() < 0.5:
        tuning = replace(tuning, changed_rows=aside.choice((-1, 3)))
        tuning = replace(tuning, unranked_selections=aside.choice((0, 2, 8)))
    return limits, tuning


def _profile(dice: Random, name: str, release: str, own: list[str]) -> Manifest:
    profile: Manifest = {"schedulerName": name}
    if dice.random() < 0.4:
        drawn = configuration(Draft(dice, release, args=_arguments(dice), pod={"spec": {}}))
        assert drawn is not None
        profile = {**drawn["profiles"][0], "schedulerName": name}
        # A Filter without what its PreFilter notes fails, and there would be nothing to compare.
        for point in ("preFilter", "preScore"):
            profile["plugins"].pop(point, None)
    elif dice.random() < 0.5:
        profile["pluginConfig"] = [
            {"name": plugin, "args": args} for plugin, args in _arguments(dice).items()
        ]
    enabled = [{"name": plugin, "weight": dice.choice((1, 2, 7))} for plugin in own]
    if enabled:
        plugins = profile.setdefault("plugins", {})
        points = plugins.setdefault("multiPoint", {})
        points["enabled"] = [*points.get("enabled", ()), *enabled]
    return profile


def _arguments(dice: Random) -> dict[str, Manifest]:
    resources = [
        {"name": name, "weight": dice.choice((1, 3))} for name in ("cpu", "memory", "example.com/gpu")
    ]
    some = resources[: dice.choice((1, 2, 3))]
    strategy: Manifest = {"type": dice.choice(("LeastAllocated", "MostAllocated")), "resources": some}
    if dice.random() < 0.3:
        shape = [{"utilization": 0, "score": dice.choice((0, 10))}, {"utilization": 80, "score": 4}]
        strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    arguments: dict[str, Manifest] = {"NodeResourcesFit": {"scoringStrategy": strategy}}
    if dice.random() < 0.3:
        preference = {"matchExpressions": [{"key": "weight", "operator": "In", "values": ["1", "4"]}]}
        added: Manifest = {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": preference}]
        }
        if dice.random() < 0.5:
            term = {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]}
            added["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
        arguments["NodeAffinity"] = {"addedAffinity": added}
    if dice.random() < 0.3:
        constraint = {
            "maxSkew": 1,
            "topologyKey": dice.choice((ZONE, HOST)),
            "whenUnsatisfiable": "ScheduleAnyway",
        }
        some_constraints = dice.choice(([], [constraint]))
        arguments["PodTopologySpread"] = {"defaultingType": "List", "defaultConstraints": some_constraints}
    if dice.random() < 0.3:
        hard, ignored = dice.choice((0, 1, 100)), dice.random() < 0.5
        arguments["InterPodAffinity"] = {
            "hardPodAffinityWeight": hard,
            "ignorePreferredTermsOfExistingPods": ignored,
        }
    if dice.random() < 0.2:
        arguments["NodeResourcesBalancedAllocation"] = {"resources": [{"name": "cpu", "weight": 1}]}
    return arguments
