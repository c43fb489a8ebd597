"""The change at the API server that a PostFilter plugin proposes for an unschedulable pod."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mooring.framework.cluster_api import ClusterApi


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that may let a rejected pod fit.

    A PostFilter plugin writes it to the CycleState, under this class, and says ``proposal``. The second
    scheduler carries it out; a dry run, which calls the plugin in the same way, changes nothing.

    Attributes:
        proposal: The reason in the plugin's status.
        done: The reason instead, once it is carried out.
        carry_out: Makes the change; raises MooringErrors.
    """

    proposal: str
    done: str
    carry_out: Callable[[ClusterApi], object]
