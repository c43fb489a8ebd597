"""Asks each extender of a configuration whether it answers, as kube-scheduler will ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mooring.config.types import ExtenderStanza
from mooring.framework import FieldError, Pod
from mooring.framework.errors import PluginFailureError
from mooring.framework.objects import ObjectMeta
from mooring.scheduler.extender import HttpExtender, build_transport

NAME = "mooring-probe"
"""The name of the pod and of the node in a probe of an extender; neither exists."""

SLOW_SHARE = 0.75
"""An answer that takes more of its httpTimeout is one that may come too late under load."""

_POD = Pod(ObjectMeta(NAME, "default", NAME))


@dataclass(frozen=True, slots=True)
class Probed:
    """The answer of one verb of one extender.

    Attributes:
        path: The verb's field.
        seconds: How long it took.
        timeout: How long it may take.
        fault: Why the answer is invalid; "" = it is valid.
    """

    path: str
    seconds: float
    timeout: float
    fault: str = ""

    @property
    def slow(self) -> bool:
        """Whether there was nearly no answer."""
        return not self.fault and self.seconds > SLOW_SHARE * self.timeout


class _Manifests:
    """The pod and the node that no cluster has."""

    def pod(self, pod: Pod) -> bytes:
        return b'{"metadata":{"name":"%s","namespace":"default","uid":"%s"},"spec":{"containers":[]}}' % (
            pod.metadata.name.encode(),
            pod.metadata.uid.encode(),
        )

    def node(self, name: str) -> bytes:
        return b'{"metadata":{"name":"%s"},"spec":{},"status":{}}' % name.encode()


def probe(extenders: Sequence[ExtenderStanza]) -> Iterator[Probed]:
    """Ask each extender to filter and to prioritize, one after the other, and yield what came of it.

    Its preempt and bind verbs are not called, since they would affect existing pods. Raises
    InvalidArgumentError if a certificate can't be used.
    """
    for index, stanza in enumerate(extenders):
        path = f"extenders[{index}]"
        asked = HttpExtender(stanza, build_transport(stanza, path), _Manifests())
        for verb, field, ask in (
            (stanza.filter_verb, "filterVerb", asked.filter),
            (stanza.prioritize_verb, "prioritizeVerb", asked.prioritize),
        ):
            if verb:
                yield _asked(f"{path}.{field}", stanza, ask)


def faults_of(probed: Sequence[Probed]) -> list[FieldError]:
    """Return those that did not answer, as faults of their fields."""
    return [FieldError(each.path, each.fault) for each in probed if each.fault]


def _asked(path: str, stanza: ExtenderStanza, ask: Callable[[Pod, Sequence[str]], object]) -> Probed:
    began, timeout, fault = time.monotonic(), stanza.http_timeout.total_seconds(), ""
    try:
        ask(_POD, [NAME])
    except PluginFailureError as error:
        fault = error.message
    return Probed(path, time.monotonic() - began, timeout, fault)
