"""Pods that nothing but a node is needed for: they get theirs in one step, as they would by the long way."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework import Pod
from mooring.framework.errors import MooringError
from mooring.framework.pod_table import PodKind
from mooring.plugins.default_binder.plugin import DefaultBinder
from mooring.runtime.answers import ALL_NODES
from mooring.runtime.commit.preconditions import may_be_placed
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile

MAX_KINDS = 1 << 14
"""How many kinds of pods are remembered."""


class AtOnce:
    """Places pods for which no plugin has anything to do after the choice. For one thread. ``profiles`` are
    those to decide with, by name.
    """

    def __init__(self, engine: Engine, profiles: Mapping[str, Profile], seed: int) -> None:
        self._engine, self._seed = engine, seed
        self._profiles = {name: each for name, each in profiles.items() if _ends_with_the_choice(each)}
        self._gates = {
            name: [gate.plugin.pre_enqueue for gate in profile.pre_enqueue]
            for name, profile in engine.profiles.items()
        }
        self._known: dict[int, tuple[PodKind, Profile | None]] = {}

    def node_of(self, pod: Pod, kind: PodKind) -> str:
        """Assume the pod on the node that is selected for it and return that; "" = it has to go the long way,
        and nothing was done.
        """
        profile = self._profile(kind)
        if profile is None or profile.reserves_now(pod):
            return ""
        try:
            for ask in self._gates[profile.name]:
                if not ask(pod).ok:
                    return ""
            return self._engine.place(pod, profile, ALL_NODES, seed=self._seed).node_name or ""
        except MooringError:
            return ""

    def _profile(self, kind: PodKind) -> Profile | None:
        """Return the profile of pods of this kind, if they can be placed so."""
        known = self._known.get(id(kind))
        if known is None:
            if len(self._known) >= MAX_KINDS:
                self._known.clear()
            template = kind.base.template
            profile = self._profiles.get(template.spec.scheduler_name)
            if not may_be_placed(template):
                profile = None
            # The kind is kept with it, so that no other one gets its id.
            known = self._known[id(kind)] = kind, profile
        return known[1]


def _ends_with_the_choice(profile: Profile) -> bool:
    """Return whether only Reserve of some pods may come between the choice and a binding that always
    succeeds.
    """
    return (
        not (profile.permit or profile.post_bind or profile.extenders or profile.samples)
        and profile.reserves_for_pre_bind
        and [type(enabled.plugin) for enabled in profile.bind] == [DefaultBinder]
    )
