"""A live cluster as a source."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter

from mooring.cluster.api import RESOURCES, ApiServer
from mooring.cluster.raw_objects import RawObjects
from mooring.cluster.sources.kubernetes.auditor import Auditor
from mooring.cluster.sources.kubernetes.history import History
from mooring.cluster.sources.kubernetes.reflector import Reflector
from mooring.cluster.sources.kubernetes.timers import Timers
from mooring.cluster.state import State
from mooring.framework.sources import KindStatus, SourceStatus

NAME = "kubernetes"

STOP_SECONDS = 2.0
"""How long ``stop`` waits for requests that hang; their threads do not keep the process alive."""

TOGETHER_SECONDS = 2.0
"""A kind that is late for not much longer than the server has been silent is late because of that."""

_SYNCED, _ANSWERED = attrgetter("synced"), attrgetter("answered")

log = logging.getLogger(__name__)


class KubernetesSource:
    """Follows the API server. ``start`` returns at once; it is ``synced`` when every kind was listed.

    A kind, other than nodes and pods, that the server doesn't have or doesn't allow to read is skipped: the
    log says which plugins that affects.

    Args:
        readers: The kinds to follow besides nodes and pods, each with the plugins that read it.
        raw_objects: Gets the objects as the server sends them; None = they are not needed.

    Attributes:
        history: Detects that the server lost the observed history.
    """

    def __init__(
        self,
        state: State,
        api: ApiServer,
        readers: Mapping[str, Sequence[str]],
        timers: Timers | None = None,
        raw_objects: RawObjects | None = None,
    ) -> None:
        timers = timers or Timers()
        self._raw_objects = raw_objects or RawObjects({})
        self._state = state
        self._api = api
        self._readers = dict(readers)
        self.history = History()
        self._needed = {kind: self._reflector(kind, timers) for kind in ("Node", "Pod")}
        self._reflectors = [
            *self._needed.values(),
            *(self._reflector(kind, timers) for kind in sorted(readers.keys() - self._needed.keys())),
        ]
        self.history.reflectors = self._reflectors
        self._auditor = Auditor(self._reflectors, timers)

    def _reflector(self, kind: str, timers: Timers) -> Reflector:
        readers, raw_objects = self._readers.get(kind, ()), self._raw_objects.of(kind)
        return Reflector(
            self._api, RESOURCES[kind], self._state, NAME, readers, timers, raw_objects, self.history
        )

    @property
    def kinds(self) -> AbstractSet[str]:
        """The kinds that are followed."""
        return self._readers.keys() | self._needed.keys()

    def start(self) -> None:
        for reflector in self._reflectors:
            reflector.start()
        self._auditor.start()

    def stop(self) -> None:
        for reflector in self._reflectors:
            reflector.stop()
        self._auditor.stop()
        end = time.monotonic() + STOP_SECONDS
        for join in (*(reflector.join for reflector in self._reflectors), self._auditor.join):
            join(max(end - time.monotonic(), 0.0))

    @property
    def synced(self) -> bool:
        # Called before each decision, for some twenty kinds.
        return all(map(_SYNCED, self._needed.values())) and all(map(_ANSWERED, self._reflectors))

    @property
    def doubt(self) -> str:
        return self.history.doubt

    @property
    def staleness(self) -> float:
        """As the protocol says: since the server last answered, or since what is ``late`` is."""
        return max(time.monotonic() - self._oldest()[0], 0.0)

    @property
    def late(self) -> str:
        return self._oldest()[1]

    def _oldest(self) -> tuple[float, str]:
        """Return since when the state may be old, and what makes it so."""
        answered = max(self._auditor.answered_at, *(r.last_event_at for r in self._reflectors))
        found = [(answered, "nothing was heard of the cluster")]
        for reflector in self._reflectors:
            plural, lost, came = reflector.resource.plural, reflector.disconnected_at, reflector.writing_since
            if reflector.synced and lost is not None:
                found.append((lost, f"{plural} have not been watched"))
            if came is not None:
                found.append((came, f"an event of {plural} has been waiting to be written"))
        oldest, late = min(found)
        return oldest, found[0][1] if answered - oldest < TOGETHER_SECONDS else late

    def describe(self) -> list[SourceStatus]:
        now = time.monotonic()
        kinds = tuple(
            KindStatus(
                reflector.resource.kind, now - reflector.last_event_at, reflector.lists, reflector.error
            )
            for reflector in self._reflectors
        )
        count = self._state.count_of
        errors = [f"{kind.kind}: {kind.error}" for kind in kinds if kind.error]
        return [
            SourceStatus(
                f"{NAME}:{self._api.address}",
                self.synced,
                count(NAME, "Node"),
                count(NAME, "Pod"),
                error="; ".join(errors),
                staleness=self.staleness,
                lag=now - min(reflector.writing_since or now for reflector in self._reflectors),
                rollbacks=self.history.rollbacks,
                kinds=kinds,
            )
        ]
