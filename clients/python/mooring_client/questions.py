"""Questions that are asked about the live cluster and about a session alike."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final, TypeVar

from mooring_client.answers import Explained, Filtered, Scored, explained, filtered, scored
from mooring_client.calls import Answer, Calls, Method, Pauses, merged
from mooring_client.calls import Request as AnyRequest
from mooring_client.errors import STALE, CallFailedError, other_epoch
from mooring_client.nodes import NodeTable
from mooring_client.pods import Placement, Pods, fill, placements, source_of
from mooring_client.v1.nodes_pb2 import (
    NODE_FORM_INDICES,
    NODE_FORM_NAMES,
    NodeList,
    NodeNames,
    NodeSelection,
)
from mooring_client.v1.objects_pb2 import PodReference
from mooring_client.v1.scheduling_service_pb2 import (
    COMMIT_MODE_DRY_RUN,
    CommitMode,
    ExplainRequest,
    ExplainResponse,
    ExplainStreamRequest,
    FilterRequest,
    FilterResponse,
    FilterStreamRequest,
    ScheduleRequest,
    ScoreRequest,
    ScoreResponse,
    ScoreStreamRequest,
)

_FILTER: Final[Method[FilterRequest, FilterResponse]] = attrgetter("scheduling.Filter")
_FILTER_IN_PARTS: Final = merged(
    lambda stubs: stubs.scheduling.FilterStream, FilterStreamRequest, FilterResponse
)
_SCORE: Final[Method[ScoreRequest, ScoreResponse]] = attrgetter("scheduling.Score")
_SCORE_IN_PARTS: Final = merged(lambda stubs: stubs.scheduling.ScoreStream, ScoreStreamRequest, ScoreResponse)
_EXPLAIN: Final[Method[ExplainRequest, ExplainResponse]] = attrgetter("scheduling.Explain")
_EXPLAIN_IN_PARTS: Final = merged(
    lambda stubs: stubs.scheduling.ExplainStream, ExplainStreamRequest, ExplainResponse
)

Q = TypeVar("Q", FilterRequest, ScoreRequest, ExplainRequest)
R = TypeVar("R", FilterResponse, ScoreResponse, ExplainResponse)


class Questions:
    """What ``Client`` and ``Session`` share.

    Args:
        calls: To the server.
        nodes: Its nodes.
        timeout: Seconds that a method has, unless its caller says otherwise.

    Attributes:
        id: The session; "" = the live cluster.
    """

    def __init__(self, calls: Calls, nodes: NodeTable, timeout: float) -> None:
        self._calls = calls
        self._nodes = nodes
        self._timeout = timeout
        self.id = ""

    def schedule(
        self,
        groups: Sequence[Pods],
        *,
        among: Sequence[str] | None = None,
        commit_mode: CommitMode.ValueType = COMMIT_MODE_DRY_RUN,
        profile: str = "",
        seed: int = 0,
        timeout: float | None = None,
    ) -> list[Placement]:
        """Decide about the pods of all groups in one batch, in order; each sees the earlier ones placed.

        Args:
            groups: The pods.
            among: The names of the nodes to choose from; None = all.
            commit_mode: The use of the selected nodes.
            profile: The profile; "" = as the server says.
            seed: Decides between nodes of equal totals.
            timeout: Seconds; None = the client's.

        Raises:
            ValueError: A group has names for some of its pods only.
        """
        request = ScheduleRequest(commit_mode=commit_mode, profile=profile, seed=seed, session=self.id)
        uids = fill(request, groups)
        request.nodes.answer_form = NODE_FORM_NAMES
        if among is not None:
            request.nodes.names.CopyFrom(NodeNames(names=among))
        commits = commit_mode != COMMIT_MODE_DRY_RUN and not self.id
        response = self._send(lambda stubs: stubs.scheduling.Schedule, request, timeout, commits=commits)
        return placements(uids, response)

    def filter(
        self,
        pod: bytes | PodReference,
        *,
        among: Sequence[str] | None = None,
        profile: str = "",
        in_parts: bool = False,
        timeout: float | None = None,
    ) -> Filtered:
        """Say on which nodes a pod may run, and why not on the others. Arguments as of ``explain``."""
        request = FilterRequest(pod=source_of(pod), profile=profile, session=self.id)
        method = _FILTER_IN_PARTS if in_parts else _FILTER
        return filtered(*self._about_nodes(method, request, among, timeout))

    def score(
        self,
        pod: bytes | PodReference,
        *,
        among: Sequence[str] | None = None,
        profile: str = "",
        in_parts: bool = False,
        timeout: float | None = None,
    ) -> Scored:
        """Score nodes, all taken as feasible. Arguments as of ``explain``."""
        request = ScoreRequest(
            pod=source_of(pod), profile=profile, session=self.id, include_totals=True, omit_plugins=True
        )
        method = _SCORE_IN_PARTS if in_parts else _SCORE
        return scored(*self._about_nodes(method, request, among, timeout))

    def explain(
        self,
        pod: bytes | PodReference,
        *,
        among: Sequence[str] | None = None,
        profile: str = "",
        seed: int = 0,
        in_parts: bool = False,
        timeout: float | None = None,
    ) -> Explained:
        """Run the whole cycle for a pod, and say what each plugin found.

        Args:
            pod: As JSON, or the name of one that the server knows.
            among: The names of the nodes to look at; None = all.
            profile: The profile; "" = as the server says.
            seed: Decides between nodes of equal totals.
            in_parts: Whether the answer comes in messages of some megabytes, so that all of it may be larger
                than a message may be.
            timeout: Seconds; None = the client's.
        """
        request = ExplainRequest(pod=source_of(pod), profile=profile, seed=seed, session=self.id)
        method = _EXPLAIN_IN_PARTS if in_parts else _EXPLAIN
        return explained(*self._about_nodes(method, request, among, timeout))

    def _about_nodes(
        self, method: Method[Q, R], request: Q, among: Sequence[str] | None, timeout: float | None
    ) -> tuple[Sequence[str], R]:
        """Return the names of the nodes that the answer to ``request`` is about, and the answer."""
        pauses = self._pauses(timeout)
        first = True
        while True:
            self._select(request.nodes, among, pauses)
            try:
                response = self._calls.send(method, request, pauses)
            except CallFailedError as error:
                if error.reason != STALE:
                    raise
                stale = error
                self._nodes.refresh(pauses)
            else:
                names = self._names(response.nodes, among, pauses)
                if names is not None:
                    return names, response
                stale = other_epoch()
            if not first:
                pauses.before_again(stale)
            first = False

    def _select(self, nodes: NodeSelection, among: Sequence[str] | None, pauses: Pauses) -> None:
        """Select ``among``, by indices if they are known; a session's nodes are no other's."""
        nodes.answer_form = NODE_FORM_NAMES if self.id else NODE_FORM_INDICES
        if among is None:
            return
        indices = None if self.id else self._nodes.indices(among)
        if indices is None and not self.id:
            self._nodes.refresh(pauses)
            indices = self._nodes.indices(among)
        if indices is None:
            nodes.names.CopyFrom(NodeNames(names=among))
            nodes.answer_form = NODE_FORM_NAMES
        else:
            nodes.indices.CopyFrom(indices)

    def _names(self, nodes: NodeList, among: Sequence[str] | None, pauses: Pauses) -> Sequence[str] | None:
        """Return the names of an answer's nodes; None if their indices can't be translated."""
        if not nodes.HasField("indices"):
            # Without a list the order is that of the request.
            return nodes.names.names or among or ()
        names = self._nodes.names(nodes.indices)
        if names is None:
            self._nodes.refresh(pauses)
            names = self._nodes.names(nodes.indices)
        return names

    def _pauses(self, timeout: float | None) -> Pauses:
        return Pauses(self._timeout if timeout is None else timeout)

    def _send(
        self,
        method: Method[AnyRequest, Answer],
        request: AnyRequest,
        timeout: float | None,
        *,
        commits: bool = False,
    ) -> Answer:
        return self._calls.send(method, request, self._pauses(timeout), commits=commits)
