"""Findings: the facts behind the verdict of a plugin, as values.

Plugins make them in ``Plugin.explain``, for explanations alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from mooring.framework.cycle_state import CycleState
from mooring.framework.node_info import NodeInfo
from mooring.framework.pod_table import PodRecord
from mooring.framework.reason_codes import ReasonCode, SubjectKind

T = TypeVar("T")

MOST_HOLDERS = 8
"""The holders that one finding names; the others are counted."""

_NAMED = 3
"""The holders that the sentence of a finding names."""


_BY = {
    SubjectKind.SPREAD_CONSTRAINT: "; matching pods:",
    SubjectKind.POD_AFFINITY_TERM: ":",
    SubjectKind.POD_GROUP: "; without a node:",
    SubjectKind.VICTIM: "; the pods there:",
    SubjectKind.PORT: " by",
    SubjectKind.VOLUME: "; used by",
    SubjectKind.CLAIM: "; used by",
}
"""The words before holders, for kinds of subjects that pods do not take as an amount."""


class HolderKind(Enum):
    """The kind of a holder. The number is that on the wire."""

    POD = 1
    NOMINATED_POD = 2
    DEFERRED_RESIZE = 3
    FINISHED_INIT_CONTAINER = 4
    ATTACHMENT = 5
    RESOURCE_CLAIM = 6
    DOMAIN = 7

    @property
    def label(self) -> str:
        """The kind as documents write it, for example ``NominatedPod``."""
        return self.name.title().replace("_", "")


class _Shared(dict[Hashable, Any]):
    """Findings of plugins about all nodes of one explanation; in its CycleState under this class."""

    def clone(self) -> _Shared:
        """Return an empty one: where pods are others, so are the facts."""
        return _Shared()


def shared(state: CycleState, key: Hashable, find: Callable[[], T]) -> T:
    """Return ``find()``, which is called for the first node of an explanation and holds for all.

    Args:
        state: The state that ``Plugin.explain`` gets.
        key: Stands for the fact among those of all plugins.
        find: Finds it out; not from the node.
    """
    facts = state.get(_Shared, _Shared)
    if facts is None:
        facts = _Shared()
        state.write(_Shared, facts)
    if key not in facts:
        facts[key] = find()
    found: T = facts[key]
    return found


class NominatedPods(frozenset[str]):
    """UIDs of the pods nominated for the node that a plugin explains, which count there though they have no
    node; in its CycleState under this class. Absent without any.

    Their holders become ``NOMINATED_POD`` by themselves; this is for plugins that speak of them.
    """


@dataclass(frozen=True, slots=True)
class Holder:
    """Something that takes a part of the pod's request, or that the pod is compared with.

    Attributes:
        kind: Its kind.
        name: NAMESPACE/NAME of a pod or a claim, else the name; for a domain the value of its label.
        amount: How much it takes, in the finding's unit; None = it takes no amount.
        note: More to know of it, for example ``nominated, priority 100``; "" = nothing.
        node: Its node, if it is another one than the node of the finding; "" otherwise.
    """

    kind: HolderKind
    name: str
    amount: int | None = None
    note: str = ""
    node: str = ""

    @property
    def text(self) -> str:
        """The holder as a sentence names it."""
        on = f" on {self.node}" if self.node else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.name}{on}{note}"


@dataclass(frozen=True, slots=True)
class Amounts:
    """Numbers of a finding, in one unit: thousandths of CPU, bytes, or a count.

    Attributes:
        asked: How much the pod asks for.
        taken: How much is taken.
        limit: How much there may be at most.
    """

    asked: int
    taken: int
    limit: int

    @property
    def free(self) -> int:
        """How much is left; below 0 if more is taken than there may be."""
        return self.limit - self.taken


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason of a plugin to reject a pod or a node, with the facts.

    Attributes:
        code: The cause, one of ``ReasonCode``; or a word of a plugin's own, such as ``RackFull``.
        subject: Its subject, for example a taint ``maintenance:NoSchedule`` or a resource ``cpu``.
        message: The fact as a sentence without a full stop; it leaves the holders to ``text``.
        asked: The pod's request, as text; "" = none.
        present: The other side of the comparison, as text; "" = none.
        amounts: The numbers that were compared; None without any.
        holders: Who has it, the largest first, at most ``MOST_HOLDERS``.
        other_holders: How many more there are.
        pod_change: The smallest change of the pod that ends this, as an imperative; "" = none.
        node_change: The smallest change of the node or the cluster that ends this; "" = none.
        kind: The kind of the subject. That of the code, unless the code is the plugin's own.
        plugin: Who found it; filled in by the runtime.
    """

    code: ReasonCode | str
    subject: str
    message: str
    asked: str = ""
    present: str = ""
    amounts: Amounts | None = None
    holders: tuple[Holder, ...] = ()
    other_holders: int = 0
    pod_change: str = ""
    node_change: str = ""
    kind: SubjectKind = SubjectKind.OTHER
    plugin: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.code, ReasonCode):
            object.__setattr__(self, "kind", self.code.kind)

    @property
    def code_label(self) -> str:
        """The code as documents write it."""
        return self.code if isinstance(self.code, str) else self.code.label

    @property
    def of_pod(self) -> bool:
        """Whether it holds whatever the node."""
        return isinstance(self.code, ReasonCode) and self.code.of_pod

    @property
    def text(self) -> str:
        """The whole sentence, with the holders."""
        held = [each for each in self.holders if each.kind is not HolderKind.DOMAIN]
        if not held:
            return self.message
        more = len(held) - _NAMED + self.other_holders
        named = ", ".join(each.text for each in held[:_NAMED])
        word = _BY.get(self.kind, "; taken by")
        return f"{self.message}{word} {named}{f' and {more} more' if more > 0 else ''}"

    def by(self, plugin: str) -> Finding:
        """Return this finding as one of ``plugin``."""
        return replace(self, plugin=plugin)

    def held_by(self, holders: Iterable[Holder]) -> Finding:
        """Return this finding with these holders, the largest amounts first."""
        ordered = sorted(holders, key=lambda each: (-(each.amount or 0), each.name))
        rest = len(ordered) - MOST_HOLDERS
        return replace(self, holders=tuple(ordered[:MOST_HOLDERS]), other_holders=max(rest, 0))


def seen_from(node: NodeInfo, holder: Holder) -> Holder:
    """Return ``holder`` without its node if that is ``node``."""
    return replace(holder, node="") if holder.node == node.name else holder


def pod_holder(record: PodRecord, amount: int | None = None, note: str = "", node: str = "") -> Holder:
    """Return the pod of ``record`` as a holder."""
    return Holder(HolderKind.POD, f"{record.namespace}/{record.name}", amount, note, node)
