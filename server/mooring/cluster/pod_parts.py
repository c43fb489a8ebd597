"""Pods in parts, the form in which mostly known pods are decoded."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mooring.framework.objects import ObjectMeta, Pod
from mooring.framework.pod_table import bare_template_of, of_template


class PodParts(msgspec.Struct, frozen=True):
    """A pod as what it shares with others and what is its own.

    Attributes:
        template: ``bare_template_of`` the pod, mostly one object for all that are of it.
        own: The other metadata, which is not in the template.
        node_name: Its node; "" = none.
        start_time: As in its status.
    """

    template: Pod
    labels: Mapping[str, str]
    own: ObjectMeta
    node_name: str
    start_time: str | None

    @classmethod
    def of(cls, pod: Pod) -> PodParts:
        """Return the parts of ``pod``, with a template that is its own."""
        meta = pod.metadata
        return cls(bare_template_of(pod), meta.labels, meta, pod.spec.node_name, pod.status.start_time)

    @property
    def pod(self) -> Pod:
        """The whole object, built on each access."""
        return of_template(self.template, self.labels, self.own, self.node_name, self.start_time)
