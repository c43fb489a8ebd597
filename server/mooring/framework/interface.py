"""The extension points: what a plugin may implement.

A plugin class inherits from one or several of these. It is made once per profile by
``Class(args, handle)`` and shared between threads: its findings about one pod belong in the CycleState,
never on ``self``. An exception becomes Code Error with the plugin's name on it.

A pod passes the points in this order. The queue calls PreEnqueue and QueueSort, the scheduling cycle calls
PreFilter to Score, and may also run only to answer a question. Reserve and Permit follow once a node is
selected. PreBind, Bind and PostBind run in the binding cycle, concurrently with the scheduling cycles of
other pods. Up to Score a plugin only reads: it may be called again, for other nodes, or without a later
binding. From Reserve on it acts, and ``unreserve`` undoes its actions. A plugin whose answers may be reused
for equal pods declares so with ``CacheablePlugin``, in addition to its points.

Mirrors ``k8s.io/kube-scheduler/framework`` (interface.go).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, HintedEvent
from mooring.framework.cycle_state import CycleState
from mooring.framework.deadline import timely
from mooring.framework.findings import Finding
from mooring.framework.handle import Handle
from mooring.framework.measurements import MeasurementSource
from mooring.framework.node_info import NodeInfo
from mooring.framework.normalize import Normalizer
from mooring.framework.objects import Object, Pod
from mooring.framework.preemption import Candidate, Preemption, RejectedNodes
from mooring.framework.scores import checked_score
from mooring.framework.status import SUCCESS, Status
from mooring.framework.verdicts import Verdicts
from mooring.framework.view import NodeView
from mooring.kernels.arrays import Int64s

ArgsT = TypeVar("ArgsT")


EVERY_EVENT = HintedEvent(ClusterEvent(EventResource.ANY, ActionType.ALL))
"""Any change of anything may help."""


class Plugin(ABC, Generic[ArgsT]):
    """Base of all plugins.

    Attributes:
        name: The plugin's name in configurations, metrics and answers: PascalCase, no "Plugin" at the end.
        Args: The class of its arguments, a frozen dataclass with snake_case fields and defaults, or None.
            It may have ``validate() -> Iterable[FieldError]``.
        reads: The kinds of objects, besides nodes and pods, that it reads from the state. A live source
            follows only the kinds that the plugins in force declare; the state has no others.
    """

    name: ClassVar[str]
    Args: ClassVar[type[Any] | None] = None
    reads: ClassVar[tuple[type[Object], ...]] = ()

    def __init__(self, args: ArgsT, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    def measures(self) -> Sequence[MeasurementSource]:
        """Return the sources of the measured values that it reads; by default none.

        Called when a profile comes into force. Make them of the arguments.
        """
        return ()

    def events_to_register(self) -> Sequence[HintedEvent]:
        """Return the events after which a pod that this plugin rejected is tried again; by default, all."""
        return (EVERY_EVENT,)

    def explain(
        self, state: CycleState, pod: Pod, node: NodeInfo | None, status: Status
    ) -> Sequence[Finding]:
        """Return the facts behind ``status``, with which this plugin rejected ``pod``; by default none.

        The engine calls it after the decision, for explanations alone, and once for each rejected node. So it
        may take a while.

        Args:
            state: A copy of the state that the plugin's PreFilter wrote, with the ``Snapshot`` under its
                class; keep values there that nodes share.
            pod: The pod.
            node: The rejected node, with the pods that are nominated for it if they made the difference.
                None if the pod was rejected as a whole, by PreEnqueue or PreFilter.
            status: The verdict.
        """
        return ()


class PreEnqueuePlugin(Plugin[ArgsT]):
    """Says whether a pod may enter the queue of pods to schedule.

    Called when a pod arrives, and again after each event that the plugin registered for and each change of
    the pod; also before a dry run for the pod. It holds up the queue: read the
    pod and data in memory, and never wait.
    """

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status:
        """Return whether ``pod`` may be scheduled.

        Returns:
            Success; or Unschedulable or UnschedulableAndUnresolvable with the reason: the pod is gated until
            an event that this plugin registered for, and no attempt is counted. Error gates it too.
        """


class QueueSortPlugin(Plugin[ArgsT]):
    """Orders the pods that wait. A profile has exactly one, and all profiles of a scheduler the same.

    Called many times for each pod that is queued, under the queue's lock: compare, and do nothing else. The
    order has to be strict, or pods overtake each other at random.
    """

    @abstractmethod
    def less(self, first: Pod, first_queued: float, second: Pod, second_queued: float) -> bool:
        """Return whether ``first`` goes before ``second``; the floats say when each was queued, in s."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """A PreFilter's answer when only some nodes can do.

    Attributes:
        nodes: Their names; None = all.
    """

    nodes: frozenset[str] | None = None


class PreFilterPlugin(Plugin[ArgsT]):
    """Reads the pod once, before the nodes.

    Called at the beginning of each scheduling cycle. It is the place for values that are the same for all
    nodes: ``filter`` reads them in the CycleState and need not compute them for each node. It may also narrow
    the nodes to a few by name, or reject the pod before any node is evaluated.

    A plugin that also has ``add_pod`` and ``remove_pod`` with the signature
    ``(state, pod, other, node) -> Status`` keeps what it wrote to ``state`` true while a what-if evaluation,
    such as preemption's, adds or removes the pod ``other`` on a node. A plugin that counts pods needs both.
    """

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        """Write to ``state`` what ``filter`` needs. Values there are immutable or have ``clone()``.

        ``nodes`` are all nodes of the snapshot; don't write anything for each of them that few will need.

        Returns:
            Success, or a PreFilterResult with the only nodes that can do: those of several plugins are
            intersected. Skip when this plugin's Filter has nothing to do for the pod, and is not called.
            UnschedulableAndUnresolvable rejects the pod at once, Unschedulable after the other PreFilters
            have run. Anything else is an error.
        """


class FilterPlugin(Plugin[ArgsT]):
    """Rejects nodes that can't run the pod. Override exactly one of the two methods.

    Called for the nodes that no plugin before it has rejected, in any order, on as many nodes as are needed,
    and again with other pods on a node: for pods that are nominated for it, and by preemption without its
    victims. So an answer depends on ``state``, ``pod`` and ``node`` alone. Preferences
    belong in Score: a node that is rejected stays rejected, however full the others are.
    """

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        """Say whether ``node`` can take ``pod``.

        Returns:
            Success; Unschedulable when removing pods from the node may help, so that preemption tries it;
            UnschedulableAndUnresolvable when it can't. Error fails the whole decision.
        """
        raise TypeError(f"{type(self).__name__} has no per-node filter")

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        """Filter all of ``nodes`` at once, in columns: K nodes, K verdicts."""
        rows = timely(nodes.rows.tolist())
        return Verdicts.of([self.filter(state, pod, nodes.info(row)) for row in rows])


class PostFilterPlugin(Plugin[ArgsT]):
    """Tries to make room for a pod that no node takes.

    Called in the profile's order when PreFilter or Filter left no node, until one plugin does not return
    Unschedulable. ``nodes`` has the status of each node: removing pods may help only on nodes with
    Unschedulable.
    """

    @abstractmethod
    def post_filter(self, state: CycleState, pod: Pod, nodes: RejectedNodes) -> Status:
        """Make room, or say why there can't be any.

        Returns:
            Success when the pod will fit soon: it is tried again then, not now. Unschedulable lets the next
            plugin try, and its reasons become part of the pod's message. UnschedulableAndUnresolvable and
            Error end it.
        """


class PreemptingPlugin(PostFilterPlugin[ArgsT]):
    """A PostFilter plugin that looks for pods that could go."""

    @abstractmethod
    def preempt(
        self, state: CycleState, pod: Pod, nodes: RejectedNodes, given: Sequence[Candidate] | None = None
    ) -> Preemption:
        """Look for pods that could go to make room for ``pod``, and evict none.

        ``given`` are candidates to check instead of looking for some: they may be left out, and get more
        victims.
        """

    def post_filter(self, state: CycleState, pod: Pod, nodes: RejectedNodes) -> Status:
        return self.preempt(state, pod, nodes).status

    def explain_preemption(
        self, pod: Pod, nodes: RejectedNodes, found: Preemption, picked: str
    ) -> Iterable[tuple[str, Finding]]:
        """Return the facts behind ``found``, each with its node's name, "" = of the pod; by default none.

        The engine calls it for explanations alone.

        Args:
            pod: The pod.
            nodes: As in ``preempt``.
            found: The answer of ``preempt``.
            picked: The node that is cleared; "" = none.
        """
        return ()

    def announce(self, candidate: Candidate) -> str:
        """Return what the pod's message says once the victims of ``candidate`` are to go; "" = nothing."""
        return ""


class PreScorePlugin(Plugin[ArgsT]):
    """Reads the feasible nodes once, before they are scored.

    Called when there is more than one feasible node: a single one is not scored. It is the
    place for values that all scores of one pod share.
    """

    @abstractmethod
    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        """Write to ``state`` what ``score`` needs; ``nodes`` are the feasible ones.

        Returns:
            Success; Skip when this plugin's Score has nothing to add for the pod, and is not called, which is
            the same as equal scores on all nodes. Anything else is an error: nodes are no longer rejected.
        """


class ScorePlugin(Plugin[ArgsT]):
    """Ranks the feasible nodes. Override exactly one of the two score methods.

    Called for every feasible node, after all PreScore plugins. The normalised scores of all plugins, each
    times its weight in the profile, are added up, and a node with the highest total is selected. A plugin
    can't reject a node here, and does not know what the others say: how much it counts is the profile's
    business.

    Attributes:
        normalizer: The built-in way to bring raw scores to 0..100, or None: then override
            ``normalize_score``, or return scores within 0..100.
    """

    normalizer: ClassVar[Normalizer | None] = None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Return the raw score of ``node``, an int; after normalising, more is better."""
        raise TypeError(f"{type(self).__name__} has no per-node score")

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """Return the raw scores of all of ``nodes``, int64[K]."""
        scores = np.empty(len(nodes), np.int64)
        for position, row in enumerate(timely(nodes.rows.tolist())):
            node = nodes.info(row)
            scores[position] = checked_score(self.score(state, pod, node), node.name)
        return scores

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        """Bring int64[K] raw scores of the feasible nodes to 0..100. Must not modify ``scores``.

        A score outside of 0..100 after this fails the decision, as in kube-scheduler.
        """
        return scores if self.normalizer is None else self.normalizer.apply(scores)


class ReservePlugin(Plugin[ArgsT]):
    """Keeps something for the pod between the selection of its node and its binding.

    Called once a node is selected and the pod is assumed on it, in the profile's order, so that the next
    pod's cycle sees what this one takes. Keep it in memory, and don't write to the API server here: the pod
    may yet be rejected, and the next cycle waits. Writes that others have to see belong in PreBind.
    """

    @abstractmethod
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Keep it.

        Returns:
            Success; anything else gives the pod's place back, and ``unreserve`` of all plugins is called.
        """

    @abstractmethod
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Give it back.

        Called, in reverse order, for every Reserve plugin when the pod will not be bound after all, for
        those too whose ``reserve`` never ran: it must be idempotent and must not fail.
        """


class PermitPlugin(Plugin[ArgsT]):
    """Lets the binding begin, rejects the pod, or makes it wait: for the rest of a gang, say.

    Called after all Reserve plugins have succeeded, in the profile's order, until one rejects the pod. A pod
    that waits keeps its place, and holds up no other pod. It goes on when each plugin that made it wait has
    allowed it, through ``handle.waiting``; one rejection, or a time that is over, ends it with ``unreserve``.
    Don't wait in here, because the scheduling cycle would stand still, and don't write what others see: the
    pod may yet be rejected.
    """

    @abstractmethod
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Decide at once. A pod that has to wait gets Wait.

        Returns:
            A status, and how many seconds the pod may wait, at most 15 minutes; they count with Wait alone.
            Success goes on, Wait waits; Unschedulable and UnschedulableAndUnresolvable reject the pod, which
            is tried again later; Error fails the attempt.
        """


class PreBindPlugin(Plugin[ArgsT]):
    """Does what must be done before the binding, such as binding a volume.

    Called after all Permit plugins have let the pod go on. It may take its time and write to the API server:
    other pods are scheduled meanwhile. ``unreserve`` undoes its work if the pod is not bound. It may
    run again for a pod whose binding failed: do only what is not yet done.

    Attributes:
        allow_parallel: ``pre_bind`` may run at the same time as those of its neighbours that allow it too;
            otherwise it waits for the plugins before it.
    """

    allow_parallel: ClassVar[bool] = False

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success when ``pre_bind`` has something to do for this pod; Skip when not: it isn't called then.

        Called before the pod waits for Permit. If there is something to do, the pod's status names its node
        meanwhile. Any other status is an error.
        """
        return SUCCESS

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Do it.

        Returns:
            Success; anything else gives the pod's place back, and the pod is tried again.
        """


class BindPlugin(Plugin[ArgsT]):
    """Binds the pod. Called in the profile's order until one plugin says something else than Skip.

    Called after all PreBind plugins have succeeded, unless an extender binds the pod; and again for a binding
    whose outcome is unknown, so a second one to the same node must do no harm. A binding can't be
    undone. So don't return a status while it may yet come about: raise, and mooring finds out before the
    pod's place is given to another.
    """

    @abstractmethod
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Bind ``pod`` to the node.

        A plugin that knows how the binding ended writes it to ``state`` under ``BindOutcome``.

        Returns:
            Success when the pod is bound; Skip to leave it to the next plugin; anything else ends the
            attempt, and the pod's place is given back.
        """


class PostBindPlugin(Plugin[ArgsT]):
    """Called after a pod is bound: the place to clean up, or to notify others.

    Called once it is known that a binding succeeded, for all PostBind plugins in the profile's order. It has
    no status, because nothing that fails here changes what is bound: an exception is logged. Don't rely on it
    alone for giving back what Reserve keeps: a process that ends between the two never calls it.
    """

    @abstractmethod
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Take in that ``pod`` is bound to the node."""


PluginFactory = Callable[[Any, Handle], Plugin[Any]]
"""Makes a plugin from its args and the handle; a plugin class is one."""
