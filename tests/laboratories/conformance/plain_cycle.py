"""mooring's document of a pod's cycle alone, as the oracle has it.

`mooring explain` adds more: reasons that keep a pod waiting on any nodes, and the victims of preemption.
"""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework import Pod
from mooring.framework.errors import PluginFailureError
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.cycle.cycle import CycleOptions
from mooring.runtime.cycle.explain import Explanation
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from tests.laboratories.conformance.families.draft import Manifest


def document_of(
    engine: Engine, pod: Pod, profile: Profile, options: CycleOptions, warnings: Sequence[str] = ()
) -> Manifest:
    """Return the document; a plugin's failure is its status."""
    try:
        choice = engine.decide(pod, profile, ALL_NODES, seed=0, options=options)
    except PluginFailureError as failure:
        of = pod.metadata
        return Explanation.of_failure(of.namespace, of.name, profile.name, 0, failure).document()
    return Explanation.of(choice, 0, warnings).document()
