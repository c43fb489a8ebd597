"""How the engine is tuned."""

from __future__ import annotations

from dataclasses import dataclass

from mooring.framework.memory import share_of_memory

SELF_CHECK_EVERY = 1000
"""By default one cached answer in this many is compared with a full evaluation."""


@dataclass(frozen=True, slots=True)
class CacheTuning:
    """The numbers that decide which way the evaluation cache goes. Every way leads to the same answers.

    Attributes:
        changed_rows: Up to this many changed rows are put in their places one by one.
        changed_rows_beside_a_pass: The same if one compiled pass can rate all rows.
        unranked_selections: Selections that go without a ranking, which takes as long to build as these do.
        compiled_rows_per_pod: Up to this many rows for each pod of a batch, the compiled loop decides it.
        pods_per_lock: The most pods that are decided while the state's lock is held: about a millisecond.
        updated_pods: Up to this many pods that came or went, the state that PreFilter wrote is updated.
        counted_pods: Up to this many pods that came or went, counts of pods are updated.
        changed_kinds: Up to this many kinds of such pods, counts of pods are updated.
        resource_states: At this many distinct resource states their ids start over.
        resource_states_per_row: The same for each row, if that is more.
        evaluation_bytes: The most bytes of cached evaluations.
        static_bytes: The most bytes of the static scores that several of them share.
        template_bytes: The most bytes of encoded templates; the shapes of pods may take as much.
    """

    changed_rows: int = 16
    changed_rows_beside_a_pass: int = 2
    unranked_selections: int = 8
    compiled_rows_per_pod: int = 1 << 8
    pods_per_lock: int = 256
    updated_pods: int = 384
    counted_pods: int = 1 << 11
    changed_kinds: int = 256
    resource_states: int = 1 << 12
    resource_states_per_row: int = 4
    evaluation_bytes: int = share_of_memory(8, 512 << 20)
    static_bytes: int = share_of_memory(16, 256 << 20)
    template_bytes: int = share_of_memory(256, 64 << 20)


DEFAULT_TUNING = CacheTuning()
