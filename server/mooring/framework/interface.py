"""The extension points: what a plugin may implement.

A plugin class inherits from one or several of these. It is made once per profile by
``Class(args, handle)`` and shared between threads: notes of one decision belong into the CycleState,
never on ``self``. An exception becomes Code Error with the plugin's name on it.

Mirrors ``k8s.io/kube-scheduler/framework`` (interface.go).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, HintedEvent
from mooring.framework.columns import Int64s
from mooring.framework.cycle_state import CycleState
from mooring.framework.dependence import Part, Scope
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.normalize import Normalizer
from mooring.framework.objects import Object, Pod
from mooring.framework.pod_table import PodChange
from mooring.framework.preemption import Candidate, Preemption, RefusedNodes
from mooring.framework.scores import checked_score
from mooring.framework.status import SUCCESS, Status
from mooring.framework.verdicts import Verdicts
from mooring.framework.view import NodeView

ArgsT = TypeVar("ArgsT")


EVERY_EVENT = HintedEvent(ClusterEvent(EventResource.ANY, ActionType.ALL))
"""Any change of anything may help."""


class Plugin(ABC, Generic[ArgsT]):
    """Base of all plugins.

    Attributes:
        name: The plugin's name in configurations, metrics and answers: PascalCase, no "Plugin" at the end.
        Args: The class of its arguments, a frozen dataclass with snake_case fields and defaults, or None.
            It may have ``validate() -> Iterable[FieldError]``.
        scope: What its answers depend on; reuse beyond what is declared here never happens.
        reads: The kinds of objects, beside nodes and pods, that it reads from the state. A live cluster is
            asked for what the plugins in force declare; of other kinds there are none.
        signs_requests: ``sign`` may look at the resources that the pod asks for; with False, pods that differ
            in nothing else are signed once, as if they asked for none.
        needs_notes: Its points after the choice, such as Reserve, need what it noted before that for this
            very pod; False lets it have such points and be reused all the same.
    """

    name: ClassVar[str]
    Args: ClassVar[type[Any] | None] = None
    scope: ClassVar[Scope] = Scope.CLUSTER
    reads: ClassVar[tuple[type[Object], ...]] = ()
    signs_requests: ClassVar[bool] = True
    needs_notes: ClassVar[bool] = True

    def __init__(self, args: ArgsT, handle: Handle) -> None:
        self.args = args
        self.handle = handle

    def sign(self, pod: Pod) -> Hashable | None:
        """What of ``pod`` the answers depend on: equal values, equal answers. None = never reuse.

        Its name, UID and times are left out of ``pod``: answers that depend on them are never reused.
        """
        return None

    def depends_on(self, pod: Pod, *, idle: bool) -> Part:
        """What of the cluster the answers for ``pod`` depend on, where ``sign`` allows reuse at all.

        ``idle`` asks about PreFilter or PreScore skipping ``pod``: what could end that?
        """
        return Part.ALL

    def follow(self, state: CycleState, pod: Pod, changes: Sequence[PodChange]) -> bool:
        """Keep true what ``pre_filter`` and ``pre_score`` noted in ``state`` while pods come and go.

        The engine keeps notes of pods that are decided time and again, and calls both with them: what is
        noted need not be found out again. Nothing but ``changes`` happened of what the plugin depends on.
        By default it returns False: everything is to be noted anew, in an empty state.
        """
        return False

    def events_to_register(self) -> Sequence[HintedEvent]:
        """The events after which a pod that this plugin refused may be tried again; by default, all."""
        return (EVERY_EVENT,)


class PreEnqueuePlugin(Plugin[ArgsT]):
    """Says whether a pod may be scheduled at all."""

    @abstractmethod
    def pre_enqueue(self, pod: Pod) -> Status:
        """Success, or why the pod must wait."""


class QueueSortPlugin(Plugin[ArgsT]):
    """Orders the pods that wait. A profile has exactly one."""

    @abstractmethod
    def less(self, first: Pod, first_queued: float, second: Pod, second_queued: float) -> bool:
        """True when ``first`` goes before ``second``; the floats are when each was queued, in seconds."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """A PreFilter's answer when only some nodes can do.

    Attributes:
        nodes: Their names; None = all.
    """

    nodes: frozenset[str] | None = None


class PreFilterPlugin(Plugin[ArgsT]):
    """Looks at the pod once, before the nodes.

    A plugin that also has ``add_pod`` and ``remove_pod`` with the signature
    ``(state, pod, other, node) -> Status`` keeps its notes right while a what-if evaluation adds or
    removes the pod ``other`` on a node.
    """

    @abstractmethod
    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeView) -> PreFilterResult | Status:
        """Notes for ``filter`` in ``state``.

        Returns:
            Success or a PreFilterResult to go on; Skip when this plugin's Filter has nothing to do;
            UnschedulableAndUnresolvable ends the decision at once, Unschedulable after the other
            PreFilters; anything else is an error. Values written to ``state`` are immutable or have
            ``clone()``.
        """


class FilterPlugin(Plugin[ArgsT]):
    """Refuses nodes. Override exactly one of the two methods."""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        """Success, or why ``node`` can't take ``pod``."""
        raise TypeError(f"{type(self).__name__} has no per-node filter")

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Verdicts:
        """The same for all of ``nodes`` at once."""
        return Verdicts.of([self.filter(state, pod, node) for node in nodes.infos()])


class PostFilterPlugin(Plugin[ArgsT]):
    """Called when no node is feasible."""

    @abstractmethod
    def post_filter(self, state: CycleState, pod: Pod, nodes: RefusedNodes) -> Status:
        """Success when the pod will fit soon; Unschedulable to let the next plugin try."""


class PreemptingPlugin(PostFilterPlugin[ArgsT]):
    """A PostFilter plugin that looks for pods that could go."""

    @abstractmethod
    def preempt(
        self, state: CycleState, pod: Pod, nodes: RefusedNodes, given: Sequence[Candidate] | None = None
    ) -> Preemption:
        """What could be done for ``pod``; nothing is.

        ``given`` are candidates to check instead of looking for some: they may be left out, and get more
        victims.
        """

    def post_filter(self, state: CycleState, pod: Pod, nodes: RefusedNodes) -> Status:
        return self.preempt(state, pod, nodes).status


class PreScorePlugin(Plugin[ArgsT]):
    """Looks at the feasible nodes once, before they are scored."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeView) -> Status:
        """Success; Skip when this plugin's Score has nothing to add; anything else is an error."""


class ScorePlugin(Plugin[ArgsT]):
    """Ranks the feasible nodes. Override exactly one of the two score methods.

    Attributes:
        normalizer: The built-in way to bring raw scores to 0..100, or None: then override
            ``normalize_score``, or return scores within 0..100.
    """

    normalizer: ClassVar[Normalizer | None] = None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """The raw score of ``node``: an int, more is better after normalising."""
        raise TypeError(f"{type(self).__name__} has no per-node score")

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        """int64[K], the raw scores of all of ``nodes``."""
        scores = np.empty(len(nodes), np.int64)
        for position, node in enumerate(nodes.infos()):
            scores[position] = checked_score(self.score(state, pod, node), node.name)
        return scores

    def normalize_score(self, state: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        """int64[K] raw scores of the feasible nodes to 0..100. Must not modify ``scores``."""
        return scores if self.normalizer is None else self.normalizer.apply(scores)


class ReservePlugin(Plugin[ArgsT]):
    """Keeps something for the pod between the choice of its node and its binding."""

    def keeps_nothing(self, pod: Pod) -> bool:
        """Whether ``reserve`` has nothing to do for ``pod``, whatever its node.

        Then the pods after it in a batch are decided before it is called.
        """
        return False

    @abstractmethod
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success, or why it can't be kept."""

    @abstractmethod
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Give it back. Also called when ``reserve`` never ran; must not fail."""


class PermitPlugin(Plugin[ArgsT]):
    """Last word before the binding: yes, no, or wait."""

    @abstractmethod
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Success, a rejection, or Wait with the longest time to wait in seconds."""


class PreBindPlugin(Plugin[ArgsT]):
    """Does what must be done before the binding.

    Attributes:
        allow_parallel: ``pre_bind`` may run at the same time as those of its neighbours that allow it too;
            otherwise it waits for the plugins before it.
    """

    allow_parallel: ClassVar[bool] = False

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success when ``pre_bind`` has something to do for this pod; Skip when not: it isn't called then.

        Asked before the pod waits for Permit. While there is something to do, others are told for which node
        the pod is meant. Anything else than the two is an error.
        """
        return SUCCESS

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success, or why the pod can't be bound."""


class BindPlugin(Plugin[ArgsT]):
    """Binds. The first that doesn't Skip decides."""

    @abstractmethod
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success when the pod is bound; Skip to leave it to the next plugin.

        A plugin that knows how the binding ended writes it to ``state`` under ``BindOutcome``.
        """


class PostBindPlugin(Plugin[ArgsT]):
    """Told after a binding."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The pod is bound to the node."""


PluginFactory = Callable[[Any, Handle], Plugin[Any]]
"""Makes a plugin from its args and the handle; a plugin class is one."""
