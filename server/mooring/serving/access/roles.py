"""Rights and roles: which right each call needs, and which roles have it. No client may make a call without a
row.

A right is also a question to the API server's authorization (``VIRTUAL``); there the resources of the group
``mooring.dev`` are virtual: only RBAC rules know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, Flag, auto
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Final, NamedTuple


class Right(Flag):
    """A kind of calls."""

    LOOK = auto()
    """See nodes, plugins, profiles and the state of the server; no pod."""
    READ = auto()
    """See pods, decisions, the queue and reservations."""
    ASK = auto()
    """Ask for decisions and forecasts that change nothing."""
    RESERVE = auto()
    """Reserve places for pods, and free them."""
    BIND = auto()
    """Bind pods."""
    PUSH = auto()
    """Push and remove the objects of a source."""
    HOST = auto()
    """Run a plugin for a server."""
    IMPERSONATE = auto()
    """Call on behalf of others."""

    @property
    def changes(self) -> bool:
        """Whether calls with this right change something."""
        return bool(self & _CHANGING)


NOTHING: Final = Right(0)
EVERYTHING: Final = ~NOTHING
_CHANGING: Final = Right.RESERVE | Right.BIND | Right.PUSH
QUESTIONS: Final = Right.LOOK | Right.READ | Right.ASK


class Role(Enum):
    """A set of rights with a name; its value is the name in policies."""

    READER = "reader"
    FORECASTER = "forecaster"
    DECIDER = "decider"
    SCHEDULER = "scheduler"
    BINDER = "binder"
    PUSHER = "pusher"
    PLUGIN_HOST = "plugin-host"
    IMPERSONATOR = "impersonator"
    OPERATOR = "operator"


ROLES: Final[Mapping[Role, Right]] = MappingProxyType(
    {
        Role.READER: QUESTIONS,
        Role.FORECASTER: Right.LOOK | Right.ASK,
        Role.DECIDER: QUESTIONS | Right.RESERVE,
        Role.SCHEDULER: Right.LOOK | Right.ASK | Right.RESERVE,
        Role.BINDER: Right.LOOK | Right.BIND,
        Role.PUSHER: Right.LOOK | Right.PUSH,
        Role.PLUGIN_HOST: Right.LOOK | Right.HOST,
        Role.IMPERSONATOR: Right.LOOK | Right.IMPERSONATE,
        # Impersonating would be a way around the names in the audit log.
        Role.OPERATOR: EVERYTHING & ~Right.IMPERSONATE,
    }
)


def rights_of(roles: Iterable[Role]) -> Right:
    """Return the rights that the roles have together."""
    return reduce(or_, (ROLES[role] for role in roles), NOTHING)


class Attributes(NamedTuple):
    """A question to the API server: may the user do ``verb`` with a resource, or with the one of a name."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespaced: bool = True
    name: str = ""


VIRTUAL: Final[Mapping[Right, Attributes]] = MappingProxyType(
    {
        Right.LOOK: Attributes("get", "", "nodes", namespaced=False),
        Right.READ: Attributes("get", "", "pods"),
        Right.ASK: Attributes("create", "mooring.dev", "decisions"),
        Right.RESERVE: Attributes("create", "mooring.dev", "reservations"),
        Right.BIND: Attributes("create", "", "pods", "binding"),
        Right.PUSH: Attributes("update", "mooring.dev", "sources", namespaced=False),
        Right.HOST: Attributes("create", "mooring.dev", "pluginhosts", namespaced=False),
        Right.IMPERSONATE: Attributes("impersonate", "", "users", namespaced=False),
    }
)
"""The attributes of a SubjectAccessReview for each right; without a namespace it is about all of them."""

_LOOKS: Final = (
    *("ClusterService/GetClusterInfo", "ClusterService/ListNodes", "ClusterService/WatchNodes"),
    *("PluginService/ListPlugins", "PluginService/ListProfiles", "PluginService/GetCapabilities"),
)
_READS: Final = (
    *("ClusterService/ListPendingPods", "ClusterService/ListPods", "ClusterService/GetObject"),
    "SchedulingService/ListReservations",
    *("DecisionService/ListDecisions", "DecisionService/WatchDecisions", "DecisionService/GetDecision"),
    *("DecisionService/ExplainAt", "DecisionService/ExplainAtStream", "DecisionService/SummarizeReasons"),
    *("DecisionService/CompareDecisions", "DecisionService/GetPodHistory", "DecisionService/GetTimeLine"),
    "DecisionService/ListQueue",
)
_ASKS: Final = (
    *("SchedulingService/Filter", "SchedulingService/Score", "SchedulingService/NormalizeScore"),
    *("SchedulingService/FilterStream", "SchedulingService/ScoreStream", "SchedulingService/Preempt"),
    *("SchedulingService/Explain", "SchedulingService/ExplainStream"),
    *("SchedulingService/Schedule", "SchedulingService/ScheduleGroups"),
    *("SimulationService/OpenSession", "SimulationService/CloseSession", "SimulationService/GetSession"),
    *("SimulationService/ChangeSession", "SimulationService/MarkSession", "SimulationService/RevertSession"),
    *(
        "SimulationService/CommitSession",
        "SimulationService/EstimateCapacity",
        "SimulationService/PlanRemoval",
    ),
    *(
        "SimulationService/PlanNodeGroups",
        "SimulationService/SuggestChanges",
        "SimulationService/AssignBlame",
    ),
)
RESERVES: Final = " to reserve"
"""The end of a row of Schedule and ScheduleGroups, outside of sessions, with COMMIT_MODE_RESERVE,"""
BINDS: Final = " to bind"
"""and with COMMIT_MODE_BIND. Other modes change nothing."""
_RESERVES: Final = (
    *("SchedulingService/Reserve", "SchedulingService/Unreserve", "SchedulingService/UnreserveMany"),
    *(f"SchedulingService/Schedule{RESERVES}", f"SchedulingService/ScheduleGroups{RESERVES}"),
)
_BINDS: Final = (
    "SchedulingService/Bind",
    *(f"SchedulingService/Schedule{BINDS}", f"SchedulingService/ScheduleGroups{BINDS}"),
)
_PUSHES: Final = ("ClusterService/PushObjects", "ClusterService/RemoveSource")
_HOSTS: Final = ("Describe", "Configure", "Evaluate", "Measure", "Act")

METHODS: Final[Mapping[str, Right]] = MappingProxyType(
    {
        f"/mooring.v1.{name}": right
        for names, right in (
            (_LOOKS, Right.LOOK),
            (_READS, Right.READ),
            (_ASKS, Right.ASK),
            (_RESERVES, Right.RESERVE),
            (_BINDS, Right.BIND),
            (_PUSHES, Right.PUSH),
        )
        for name in names
    }
    | {f"/mooring.plugin_host.v1.PluginHostService/{name}": Right.HOST for name in _HOSTS}
)

MASKED: Final[frozenset[str]] = frozenset(f"/mooring.v1.{name}" for name in (*_READS, *_ASKS))
"""The methods whose answers mask the names of pods that the client may not see (``Sight``). Clients that have
the right in some namespaces alone may call them without naming a namespace, and no other method.
"""

VERBS: Final[Mapping[str, Right]] = MappingProxyType(
    {
        "filter": Right.ASK,
        "prioritize": Right.ASK,
        "preempt": Right.ASK,
        "bind": Right.BIND,
    }
)

ADAPTED: Final[Mapping[str, Right]] = MappingProxyType(
    {
        "Expander/BestOptions": Right.ASK,
        "Estimator/MaxAvailableReplicas": Right.ASK,
        "Estimator/MaxAvailableComponentSets": Right.ASK,
        "Estimator/GetUnschedulableReplicas": Right.READ,
    }
)
"""The right that each call of ``mooring-expander`` and ``mooring-estimator`` needs at the server."""

PAGES: Final[Mapping[str, Right]] = MappingProxyType(
    {
        "processes": Right.LOOK,
        "decisions/SEQ/columns": Right.READ,
        "explain/columns": Right.ASK,
        "METHOD": NOTHING,
    }
)
"""The right that each path of the page below ``api/v1/`` needs at the server that it asks; METHOD needs the
method's own.
"""

TOOLS: Final[Mapping[str, Right]] = MappingProxyType(
    {
        "why_pending": Right.READ | Right.ASK,
        "explain": Right.ASK,
        "compare_nodes": Right.ASK,
        "what_if": Right.ASK,
        "list_decisions": Right.READ,
    }
)
"""The rights that each tool of the Model Context Protocol needs at the server that it asks."""


class Row(NamedTuple):
    """A row of the table: a call, the right that it needs, and the roles that have it."""

    call: str
    right: str
    roles: tuple[str, ...]


def table() -> list[Row]:
    """Return the table of calls and roles: methods, calls of adapters, paths of the page, and tools."""
    return [
        Row(f"{where}{name}", _names(right), roles_with(right))
        for where, rights in (
            ("", METHODS),
            ("adapter: ", {**VERBS, **ADAPTED}),
            ("page: ", PAGES),
            ("tool: ", TOOLS),
        )
        for name, right in rights.items()
        if right is not NOTHING
    ]


def roles_with(right: Right) -> tuple[str, ...]:
    """Return the names of the roles that have a right."""
    return tuple(role.value for role, rights in ROLES.items() if right in rights)


def _names(right: Right) -> str:
    return " and ".join(str(each.name).lower().replace("_", " ") for each in Right if each in right)


def row_of(name: str) -> tuple[str, Right] | None:
    """Return the method that ends with ``name``, such as Bind or SchedulingService/Bind, and its right."""
    end = name.rpartition(".")[2].strip("/")
    return next(
        (row for row in METHODS.items() if end in (row[0].rpartition("/")[2], row[0].rpartition(".")[2])),
        None,
    )
