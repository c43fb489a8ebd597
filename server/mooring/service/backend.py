"""The parts that servicers use: the engine, and its collaborators of the command line."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypeVar

import grpc

from mooring.audit.trail import AuditTrail, LoggedTrail
from mooring.decisions.decisions import Decisions
from mooring.decisions.listed_pod import ListedPod
from mooring.decisions.repeating import Repeater
from mooring.framework import Node, Pod
from mooring.framework.errors import UnavailableError
from mooring.framework.handle import AlwaysLeader, Leadership
from mooring.framework.sources import SourceStatus
from mooring.runtime.commit.committer import Committer
from mooring.runtime.engine import Engine
from mooring.runtime.profiles.profile import Profile
from mooring.service.calls.pages import Pages
from mooring.service.calls.slots import SlotProgress, Slots, in_slot
from mooring.service.calls.streams import EndOfStreams
from mooring.service.in_flight import PodsInFlight
from mooring.serving.calls.reading import MAX_MESSAGE_BYTES
from mooring.serving.shares import Shares
from mooring.sessions.change.advice import Advisor
from mooring.sessions.sessions import Sessions
from mooring.sessions.work_trees import Work
from mooring.telemetry.metrics import Metrics
from mooring_client.v1 import cluster_service_pb2 as cluster_pb
from mooring_client.v1 import objects_pb2
from mooring_client.v1 import simulation_service_pb2 as simulation_pb

Response = TypeVar("Response")


class ObjectDecoder(Protocol):
    """Decodes objects of the Kubernetes API from both encodings. Safe from any thread."""

    def pod(self, encoding: str, data: bytes, path: str) -> Pod:
        """Decode a pod from ``json`` or ``protobuf`` bytes. Raises InvalidArgumentError if it is malformed;
        field paths begin with ``path``.
        """
        ...

    def committed_pod(self, encoding: str, data: bytes, path: str) -> Pod:
        """Decode a pod that is to get a place, as ``pod``. Raises InvalidArgumentError as ``pod`` does, or if
        it has no UID.
        """
        ...

    def node(self, encoding: str, data: bytes, path: str) -> Node:
        """Decode a node; otherwise as ``pod``."""
        ...


class PushReceiver(Protocol):
    """Takes pushed events. Safe from any thread. ``client`` is the caller's name, "" without one."""

    def push_objects(self, request: cluster_pb.PushObjectsRequest, client: str) -> PushResult:
        """Apply the events of a request, all or none.

        Raises:
            OutOfRangeError: Events are missing.
            InvalidArgumentError: An object is malformed or belongs to another source.
            PermissionDeniedError: The source belongs to another client.
            FailedPreconditionError: There are too many sources.
        """
        ...

    def remove_source(self, request: cluster_pb.RemoveSourceRequest, client: str) -> None:
        """Take out a source with all its objects.

        Raises:
            NotFoundError: There is none of that name.
            PermissionDeniedError: It belongs to another client.
        """
        ...


ChangeReader = Callable[[Sequence[simulation_pb.SessionChange]], tuple[Sequence[object], tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class PushResult:
    """The result of pushed events; see ``PushObjectsResponse``."""

    next_sequence: int
    applied_count: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin that the server knows; see ``PluginInfo``."""

    name: str
    points: tuple[str, ...]
    source: str
    supported: bool = True
    load_error: str = ""


@dataclass(frozen=True, slots=True)
class ConfigurationPeriod:
    """A configuration that is in force, or was.

    Attributes:
        hash: As decisions carry it.
        begin: When it came into force, in seconds since the epoch.
        documents: Returns, by profile, its configuration with all defaults, as JSON.
    """

    hash: str
    begin: float
    documents: Callable[[], Mapping[str, str]] = dict


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call."""

    max_message_bytes: int = MAX_MESSAGE_BYTES
    max_selected_nodes: int = 1 << 17
    max_batch_pods: int = 100_000
    max_concurrent_calls: int = 128


@dataclass(frozen=True, slots=True)
class Backend:
    """Everything behind the RPCs.

    Attributes:
        slots: The threads in which plugins run.
        commit_slots: The threads in which commits run: they wait for the API server, for other pods and for
            volumes, which doesn't show the plugins' health.
        read_changes: Reads changes for ``SessionState.apply_changes``, with warnings about ignored fields;
            raises InvalidArgumentError if one is malformed.
        kube_version: Whose behaviour is followed, for example ``1.36``.
        start_time: When the server started, with time zone.
        synced: Whether the sources have had their first full load; called before each decision.
        plugins: The plugins that the server knows, by name.
        configurations: Returns the configurations since the start that are remembered, the one in force last.
        pushes: Takes PushObjects; None when there is no push source.
        api_server_connected: Whether binds go to an API server.
        stale: Why the state may be behind the cluster, "" = it is not; called before each decision.
        read_pod: Reads a pod by namespace and name from the API server; None without one, and where a source
            follows it and knows every pod.
        feature_gates: The gates set by the operator.
        session_slots: The threads for calls about sessions, which take no place of others.
        work: The session's work tree that ``engine`` decides over; None = the live state.
        in_flight: The pods that kube-scheduler may be binding; None = they are not tracked.
        pages: Keeps lists for clients that read them in pages.
    """

    engine: Engine
    committer: Committer
    slots: Slots
    commit_slots: Slots
    sessions: Sessions
    session_slots: Slots
    decoder: ObjectDecoder
    read_changes: ChangeReader
    kube_version: str
    server_version: str
    start_time: datetime
    sources: Callable[[], Sequence[SourceStatus]]
    synced: Callable[[], bool]
    plugins: Sequence[PluginEntry]
    configurations: Callable[[], Sequence[ConfigurationPeriod]]
    pushes: PushReceiver | None = None
    api_server_connected: bool = False
    leadership: Leadership = field(default_factory=AlwaysLeader)
    stale: Callable[[], str] = str
    read_pod: Callable[[str, str], Pod | None] | None = None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    limits: Limits = Limits()
    metrics: Metrics = field(default_factory=Metrics)
    decisions: Decisions | None = None
    repeater: Repeater | None = None
    queue: Callable[[], Sequence[ListedPod]] | None = None
    work: Work | None = None
    in_flight: PodsInFlight | None = None
    audit: AuditTrail = field(default_factory=LoggedTrail)
    advisor: Advisor = field(default_factory=Advisor)
    pages: Pages = field(default_factory=Pages)
    streams: EndOfStreams = field(default_factory=EndOfStreams)
    server_id: str = field(default_factory=lambda: secrets.token_hex(6))

    @property
    def shares(self) -> list[Shares]:
        """The limits that clients share, besides those of calls."""
        kept = [] if self.decisions is None else [self.decisions.journal.shares]
        return [self.pages.shares, *self.sessions.shares, *kept]

    def require_synced(self) -> None:
        """Require that the sources have had their first full load. Raises UnavailableError if they have not
        (NOT_SYNCED).
        """
        if not self.synced():
            raise UnavailableError("the state is not complete yet; retry in a moment", reason="NOT_SYNCED")

    def in_session_slot(
        self, context: grpc.ServicerContext, work: Callable[[SlotProgress], Response]
    ) -> Response:
        """Run ``work`` where it gives way to live calls; however little it is, its call takes time. Raises
        UnavailableError if the state is not complete yet (NOT_SYNCED).
        """
        self.require_synced()
        return in_slot(self.session_slots, context, work)

    def over(self, work: Work) -> Backend:
        """Return what answers about a session, at whose version ``work`` is."""
        return replace(self, engine=work.engine, pushes=None, read_pod=None, decisions=None, work=work)

    def seed(self, asked: int) -> int:
        """Return the seed of a call: its own, or if that is 0, that of the session."""
        return asked or (self.work.seed if self.work is not None else 0)

    def provenance(self, state_version: int, node_epoch: int, *profiles: Profile) -> objects_pb2.Provenance:
        """Where an answer of these profiles comes from; of one about a session the live state that it began
        with.
        """
        return objects_pb2.Provenance(
            state_version=state_version if self.work is None else self.work.version.live_version,
            node_epoch=node_epoch,
            configuration_hash=(profiles or (self.engine.profiles,))[0].configuration,
            profile=profiles[0].name if len(profiles) == 1 else "",
            server_id=self.server_id,
        )
