"""A measured value of each node, which no API has."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import field

from mooring.framework.objects.meta import Object, ObjectMeta
from mooring.framework.objects.node import Node

MAX_MEASURED = 2**63 - 1
"""The largest value; a larger one counts as this."""

MOST_ADDED = float(1 << 62)
"""The most that is added for pods that are too new."""

MeasuredValue = Annotated[int, msgspec.Meta(ge=0, le=MAX_MEASURED)]


class Measurement(Object, frozen=True):
    """One value of each node, measured outside of the cluster by a ``MeasurementSource``.

    It is in the object table, under its name and without a namespace, while its values are recent enough.
    No cluster has such an object, and plugins don't name it in ``reads``.

    Attributes:
        metadata: Its name.
        values: By the name or an address of a node, 0 to ``MAX_MEASURED``.
        unmeasured: The value of a node that has none; None = it has none.
        per_pod: The value that a pod adds while it is too new to be measured.
        pods: By the name of a node, how many pods it had when ``values`` were measured, and how many of these
            ``values`` lack, 0.0 or more. None had any on a node without an entry.
    """

    metadata: ObjectMeta = ObjectMeta()
    values: dict[str, MeasuredValue] = field(default_factory=dict)
    unmeasured: int | None = None
    per_pod: float = 0.0
    pods: dict[str, tuple[int, float]] = field(default_factory=dict)

    def measured(self, node: Node) -> int | None:
        """Return what was measured of ``node``, by its name or else its first address; None = nothing."""
        found = self.values.get(node.metadata.name)
        addresses = () if found is not None else node.status.addresses
        return next((one for each in addresses if (one := self.values.get(each.address)) is not None), found)

    def of(self, node: Node, pod_count: int) -> int | None:
        """Return the value of ``node``, and add that of pods that are too new to be measured.

        Args:
            node: The node.
            pod_count: How many pods it has now.
        """
        value = self.measured(node)
        if value is None:
            value = self.unmeasured
        if value is None or not self.per_pod:
            return value
        counted, lacking = self.pods.get(node.metadata.name, (0, 0.0))
        added = min((max(0, pod_count - counted) + lacking) * self.per_pod, MOST_ADDED)
        return min(value + int(added), MAX_MEASURED)
