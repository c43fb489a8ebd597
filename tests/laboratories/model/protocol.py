"""The protocol of a binding: reserve, bind, unknown outcomes, groups, watch and lease, as actions on states.

The README maps each action to the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tests.laboratories.model.layout import Field, Layout, Values, Where
from tests.laboratories.model.states import (
    ACK,
    ANY,
    ASSUMED,
    BINDING_0,
    BINDING_1,
    DOWN,
    GONE,
    GROUP,
    GROUP_NODE,
    HELD_0,
    IDLE,
    LAPSED,
    NODES,
    NONE,
    NOWHERE,
    PODS,
    PRE,
    READ,
    READ_AGAIN,
    RELEASING_0,
    RELEASING_1,
    REPLICAS,
    RESERVED,
    RESERVING_0,
    RESERVING_1,
    SENT,
    SENT_AGAIN,
    UNKNOWN,
    UP,
    WAITING_0,
    WAITING_1,
    Rules,
    View,
    cell,
    layout,
    settled,
    stages,
    start,
    under_way,
    violations,
)

Updates = Mapping[Field, Values | int]
Outcome = tuple[Where, Updates]
"""In which states an action can happen, and what it changes."""


@dataclass(frozen=True)
class Action:
    """One step of the protocol.

    Attributes:
        name: The name of the action.
        at: The numbers of its replica, pod, node or caller.
        outcome: Its effect.
        fault: Whether it is a fault; a trace has a limited number of faults.
    """

    name: str
    at: tuple[int, ...]
    outcome: Callable[[View], Outcome]
    fault: bool = False

    @property
    def id(self) -> str:
        """A name for people."""
        return f"{self.name}({', '.join(map(str, self.at))})"


@dataclass(frozen=True)
class Protocol:
    """A protocol for a search.

    Attributes:
        layout: How states are packed.
        start: The first state.
        actions: All actions.
        violations: Return for each invariant where it does not hold.
        settled: Return which states have no work left.
        interchangeable: Whether the two blocks of the layout may change places.
    """

    layout: Layout
    start: Mapping[Field, int]
    actions: Sequence[Action]
    violations: Callable[[View], Mapping[str, Where]]
    settled: Callable[[View], Where]
    interchangeable: bool = True


def binding(rules: Rules) -> Protocol:
    """Return the protocol of a binding under some rules."""
    return Protocol(layout(rules), start(rules), actions(rules), violations, settled)


def actions(rules: Rules) -> list[Action]:
    """Return all actions."""
    found = [Action("expire", (), partial(_expire, rules))]
    for replica in REPLICAS:
        found += _of_replica(rules, replica)
        for pod in PODS:
            found += _of_callers(replica, pod)
            found += _of_bindings(rules, replica, pod)
        found += _of_group(replica)
    if rules.deletes:
        found += [Action("delete", (pod,), partial(_delete, pod), fault=True) for pod in PODS]
    return found


# The lease, and the life of a replica.


def _of_replica(rules: Rules, at: int) -> Iterator[Action]:
    yield Action("lead", (at,), partial(_lead, rules, at))
    yield Action("lapse", (at,), partial(_lapse, at), fault=True)
    yield Action("crash", (at,), partial(_crash, at, UP), fault=True)
    yield Action("end", (at,), partial(_crash, at, LAPSED))
    yield Action("stop", (at,), partial(_stop, rules, at))
    yield Action("begin", (at,), partial(_begin, at))


def _expire(rules: Rules, view: View) -> Outcome:
    """The lease is not renewed for its duration: the leader has ended, or counts no more by its own clock."""
    can = (view["lease"] == 1) & (view["leads", 0] == 0) & (view["leads", 1] == 0)
    if rules.bindings_end_with_the_lease:
        for replica in REPLICAS:
            for pod in PODS:
                stage = view.stage(replica, pod)
                can &= (stage != SENT) & (stage != SENT_AGAIN)
                for node in NODES:
                    can &= view["late", replica, pod, node] == 0
    return can, {"lease": 0}


def _lead(rules: Rules, at: int, view: View) -> Outcome:
    can = (view["up", at] == UP) & (view["lease"] == 0)
    if rules.leaders_are_current:
        for pod in PODS:
            can &= view["seen", at, pod] == view["api", pod]
    return can, {("leads", at): 1, "lease": 1}


def _lapse(at: int, view: View) -> Outcome:
    """It was not renewed in time."""
    return view.leads(at), {("leads", at): 0, ("up", at): LAPSED}


def _crash(at: int, life: int, view: View) -> Outcome:
    """Everything in memory is lost; what was sent is on its way."""
    updates: dict[Field, Values | int] = {("up", at): DOWN, ("leads", at): 0, ("group", at): IDLE}
    for pod in PODS:
        stage, node = view.stage(at, pod), view.node(at, pod)
        sent = (stage == SENT) | (stage == SENT_AGAIN)
        for other in NODES:
            updates["late", at, pod, other] = view["late", at, pod, other] | (sent & (node == other))
        updates |= {("cell", at, pod): 0, ("seen", at, pod): NOWHERE, ("waits", at, pod): 0}
    return view["up", at] == life, updates


def _stop(rules: Rules, at: int, view: View) -> Outcome:
    """It ends when no call is under way, and lets another one lead."""
    can = view.leads(at) & (view["group", at] == IDLE)
    open_ = np.zeros(len(can), bool)
    for pod in PODS:
        can &= ~view.locked(at, pod)
        open_ |= view.stage(at, pod) == UNKNOWN
    _, updates = _crash(at, UP, view)
    keeps = open_ if rules.open_outcomes_keep_the_lease else np.zeros(len(can), bool)
    return can, {**updates, "lease": keeps.astype(np.uint8)}


def _begin(at: int, view: View) -> Outcome:
    """It starts with the API server's list."""
    seen: Updates = {("seen", at, pod): view["api", pod] for pod in PODS}
    return view["up", at] == DOWN, {**seen, ("up", at): UP}


# Calls about one pod.


def _of_callers(at: int, pod: int) -> Iterator[Action]:
    for node in NODES:
        yield Action("reserve", (at, pod, node), partial(_reserve, at, pod, node))
        yield Action("bind", (at, pod, node), partial(_bind, at, pod, node))
    yield Action("unreserve", (at, pod), partial(_unreserve, at, pod))
    yield Action("leave", (at, pod), partial(_leave, at, pod), fault=True)


def _called(at: int, pod: int, view: View) -> Where:
    """Return where a call of the pod's caller begins to work; others are rejected, or wait for the lock."""
    known = view["seen", at, pod] != GONE
    found: Where = view.leads(at) & ~view.locked(at, pod) & known & (view["waits", at, pod] == 0)
    return found


def _reserve(at: int, pod: int, node: int, view: View) -> Outcome:
    can = _called(at, pod, view) & (view.place(at, pod) == NOWHERE) & view.free(at, pod, node)
    return can, {("cell", at, pod): cell(RESERVED, node, ANY)}


def _bind(at: int, pod: int, node: int, view: View) -> Outcome:
    stage, same = view.stage(at, pod), view.node(at, pod) == node
    held = (stage != NONE) & same
    new = (stage == NONE) & (view["seen", at, pod] == NOWHERE) & view.free(at, pod, node)
    reserved = held & (stage == RESERVED)
    can = _called(at, pod, view) & (new | held)
    fits = view.free(at, pod, node)
    to = np.where(
        new,
        np.uint8(cell(PRE, node)),
        np.where(reserved, np.where(fits, cell(PRE, node), 0), cell(SENT, node, 1)),
    ).astype(np.uint8)
    waits = (to != 0).astype(np.uint8)
    return can, {("cell", at, pod): to, ("waits", at, pod): waits}


def _unreserve(at: int, pod: int, view: View) -> Outcome:
    mine = (view.stage(at, pod) == RESERVED) & (view.mark(at, pod) == ANY)
    return _called(at, pod, view) & mine, {("cell", at, pod): 0}


def _leave(at: int, pod: int, view: View) -> Outcome:
    """The caller waits no longer; a binding that is not sent yet is given up."""
    to = np.where(view.stage(at, pod) == PRE, np.uint8(0), view["cell", at, pod])
    return view["waits", at, pod] == 1, {("waits", at, pod): 0, ("cell", at, pod): to}


# One binding, from the last check to its outcome.


def _of_bindings(rules: Rules, at: int, pod: int) -> Iterator[Action]:
    own = at, pod
    yield Action("send", own, partial(_send, *own))
    yield Action("take", own, partial(_take, *own, False))
    yield Action("take_twice", own, partial(_take, *own, True), fault=True)
    yield Action("refuse", own, partial(_refuse, *own), fault=True)
    yield Action("lose", own, partial(_lose, *own, False), fault=True)
    yield Action("delay", own, partial(_lose, *own, True), fault=True)
    yield Action("answer", own, partial(_answer, *own))
    yield Action("lose_answer", own, partial(_lose_answer, *own), fault=True)
    yield Action("read", own, partial(_read, *own))
    yield Action("lose_read", own, partial(_lose_read, *own), fault=True)
    yield Action("resolve", own, partial(_resolve, rules, *own))
    yield Action("watch", own, partial(_watch, *own))
    for node in NODES:
        yield Action("arrive", (*own, node), partial(_arrive, *own, node))
        yield Action("vanish", (*own, node), partial(_vanish, *own, node))


def _ended(at: int, pod: int, view: View, to: Values, *, bound: Where | None = None) -> Updates:
    """Return the updates of a call that has ended; its caller, or the group, goes on."""
    told = np.zeros(len(to), bool) if bound is None else bound
    group = view["group", at]
    waiting = WAITING_0 if pod == 0 else WAITING_1
    bound_next, lost_next = (BINDING_1, RELEASING_1) if pod == 0 else (IDLE, IDLE)
    following = np.where(
        group == waiting, np.where(told, np.uint8(bound_next), np.uint8(lost_next)), group
    ).astype(np.uint8)
    return {("cell", at, pod): to, ("waits", at, pod): 0, ("group", at): following}


def _over(view: View, at: int, pod: int, to: Values, *, bound: Where | None = None) -> Updates:
    """Like ``_ended``, for a cell that may also go on: the callers go on only if no call holds
    the lock.
    """
    ended = _ended(at, pod, view, to, bound=bound)
    goes_on = under_way(stages(to))
    waits = np.where(goes_on, view["waits", at, pod], np.uint8(0))
    group = np.where(goes_on, view["group", at], ended["group", at])
    return {("cell", at, pod): to, ("waits", at, pod): waits, ("group", at): group}


def _numbers(stage: int, node: Values, mark: Values) -> Values:
    """Return the cells of a stage of open bindings, each sent before or not."""
    first = cell(stage, 0, 0)
    return (np.uint8(first) + node * np.uint8(2) + mark).astype(np.uint8)


def _unknown(node: Values) -> Values:
    return (np.uint8(cell(UNKNOWN, 0)) + node).astype(np.uint8)


def _given_up(view: View, at: int, pod: int) -> Values:
    """Return the cell after a rejection: nothing, unless an earlier binding is open."""
    return np.where(view.mark(at, pod) == 1, _unknown(view.node(at, pod)), np.uint8(0)).astype(np.uint8)


def _bound(view: View, at: int, pod: int) -> Values:
    """Return the cell of a pod that is bound: assumed until the watch has it."""
    assumed = (np.uint8(cell(ASSUMED, 0)) + view.node(at, pod)).astype(np.uint8)
    return np.where(view["seen", at, pod] == NOWHERE, assumed, np.uint8(0)).astype(np.uint8)


def _send(at: int, pod: int, view: View) -> Outcome:
    """Check lease and place for the last time, then send the request."""
    node, seen = view.node(at, pod), view["seen", at, pod]
    fine = view.leads(at) & ((seen == NOWHERE) | (seen == node + 1))
    to = np.where(fine, _numbers(SENT, node, np.zeros_like(node)), np.uint8(0)).astype(np.uint8)
    return (view.stage(at, pod) == PRE) & (view["up", at] != DOWN), _over(view, at, pod, to)


def _on_the_way(at: int, pod: int, view: View) -> Where:
    stage = view.stage(at, pod)
    found: Where = (stage == SENT) | (stage == SENT_AGAIN)
    return found


def _then_read(view: View, at: int, pod: int) -> Values:
    """Return the cell of a replica that has to read the pod."""
    node, mark = view.node(at, pod), view.mark(at, pod)
    again = view.stage(at, pod) == SENT_AGAIN
    return np.where(again, _numbers(READ_AGAIN, node, mark), _numbers(READ, node, mark)).astype(np.uint8)


def _take(at: int, pod: int, twice: bool, view: View) -> Outcome:
    """The API server carries a binding out, or answers 409 or 404."""
    node, mark, api = view.node(at, pod), view.mark(at, pod), view["api", pod]
    done, gone = api == NOWHERE, api == GONE
    again = view.stage(at, pod) == SENT_AGAIN
    rejected = np.where(again, _unknown(node), _given_up(view, at, pod))
    to = np.where(
        done, _numbers(ACK, node, mark), np.where(gone, rejected, _then_read(view, at, pod))
    ).astype(np.uint8)
    updates = {
        **_over(view, at, pod, to),
        ("api", pod): np.where(done, node + np.uint8(1), api).astype(np.uint8),
    }
    if twice:
        for other in NODES:
            updates["late", at, pod, other] = view["late", at, pod, other] | (node == other)
    can = _on_the_way(at, pod, view) & (view["up", at] != DOWN)
    return (can & done if twice else can), updates


def _refuse(at: int, pod: int, view: View) -> Outcome:
    """429: this request certainly did nothing."""
    again = view.stage(at, pod) == SENT_AGAIN
    to = np.where(again, _unknown(view.node(at, pod)), _given_up(view, at, pod)).astype(np.uint8)
    return _on_the_way(at, pod, view), _over(view, at, pod, to)


def _lose(at: int, pod: int, late: bool, view: View) -> Outcome:
    """There is no answer in time; the request is lost, or still on its way."""
    node = view.node(at, pod)
    updates: dict[Field, Values | int] = {("cell", at, pod): _then_read(view, at, pod)}
    if late:
        for other in NODES:
            updates["late", at, pod, other] = view["late", at, pod, other] | (node == other)
    return _on_the_way(at, pod, view), updates


def _answer(at: int, pod: int, view: View) -> Outcome:
    acked = view.stage(at, pod) == ACK
    return acked, _ended(at, pod, view, _bound(view, at, pod), bound=acked)


def _lose_answer(at: int, pod: int, view: View) -> Outcome:
    to = _numbers(READ_AGAIN, view.node(at, pod), view.mark(at, pod))
    return view.stage(at, pod) == ACK, {("cell", at, pod): to}


def _read(at: int, pod: int, view: View) -> Outcome:
    """The pod is read, since only it shows the outcome."""
    stage, node, mark, api = view.stage(at, pod), view.node(at, pod), view.mark(at, pod), view["api", pod]
    can = (stage == READ) | (stage == READ_AGAIN)
    here, nowhere = api == node + 1, api == NOWHERE
    again = np.where((stage == READ) & view.leads(at), _numbers(SENT_AGAIN, node, mark), _unknown(node))
    # The second request is stopped by the lease: nothing is known of the first one.
    to = np.where(here, _bound(view, at, pod), np.where(nowhere, again, _given_up(view, at, pod)))
    return can, _over(view, at, pod, to.astype(np.uint8), bound=here)


def _lose_read(at: int, pod: int, view: View) -> Outcome:
    stage = view.stage(at, pod)
    return (stage == READ) | (stage == READ_AGAIN), _over(view, at, pod, _unknown(view.node(at, pod)))


def _resolve(rules: Rules, at: int, pod: int, view: View) -> Outcome:
    """The resolver comes to a reservation: by the state if that has the pod, else by reading it."""
    stage, node, seen = view.stage(at, pod), view.node(at, pod), view["seen", at, pod]
    found = np.where(seen == NOWHERE, view["api", pod], seen)
    here, nowhere = found == node + 1, found == NOWHERE
    settled = stage == UNKNOWN
    if rules.unknown_keeps_the_place:
        settled = settled & ~view.late(at, pod)
    ends = ~nowhere | settled
    can = ((stage == RESERVED) | (stage == UNKNOWN)) & ends & (view["up", at] != DOWN)
    to = np.where(here, _bound(view, at, pod), np.uint8(0)).astype(np.uint8)
    return can, {("cell", at, pod): to}


def _watch(at: int, pod: int, view: View) -> Outcome:
    """The watch delivers what the API server has by now."""
    api, stage = view["api", pod], view.stage(at, pod)
    to = np.where((stage == ASSUMED) & (api != NOWHERE), np.uint8(0), view["cell", at, pod])
    # A group's call hears of a deletion before it begins or after it has ended.
    hears = (api != GONE) | (view["group", at] == IDLE)
    can = (view["seen", at, pod] != api) & (view["up", at] != DOWN) & hears
    return can, {("seen", at, pod): api, ("cell", at, pod): to}


def _arrive(at: int, pod: int, node: int, view: View) -> Outcome:
    """A request that was given up, or sent twice, takes effect after all."""
    api = np.where(view["api", pod] == NOWHERE, np.uint8(node + 1), view["api", pod])
    return view["late", at, pod, node] == 1, {("api", pod): api, ("late", at, pod, node): 0}


def _vanish(at: int, pod: int, node: int, view: View) -> Outcome:
    """The API server gives up a request that was given up."""
    return view["late", at, pod, node] == 1, {("late", at, pod, node): 0}


def _delete(pod: int, view: View) -> Outcome:
    return view["api", pod] != GONE, {("api", pod): GONE}


# A group: both pods are reserved, or none; then they are bound.


def _of_group(at: int) -> Iterator[Action]:
    yield Action("group", (at,), partial(_group, at))
    for pod in PODS:
        yield Action("group_reserve", (at, pod), partial(_group_reserve, at, pod))
        yield Action("group_bind", (at, pod), partial(_group_bind, at, pod))
        yield Action("group_release", (at, pod), partial(_group_release, at, pod))


def _group(at: int, view: View) -> Outcome:
    idle = (view["group", at] == IDLE) & view.leads(at)
    known = (view["seen", at, 0] != GONE) & (view["seen", at, 1] != GONE)
    return idle & known, {("group", at): RESERVING_0}


def _group_reserve(at: int, pod: int, view: View) -> Outcome:
    group, node = view["group", at], GROUP_NODE[pod]
    here = group == RESERVING_0 if pod == 0 else (group == RESERVING_1) | (group == HELD_0)
    held = (view.place(at, pod) == node + 1) & view.leads(at)
    new = (view.place(at, pod) == NOWHERE) & view.free(at, pod, node) & view.leads(at)
    to = np.where(new, np.uint8(cell(RESERVED, node, GROUP)), view["cell", at, pod]).astype(np.uint8)
    if pod == 0:
        then = np.where(new, RESERVING_1, np.where(held, HELD_0, IDLE))
    else:
        then = np.where(new | held, BINDING_0, np.where(group == RESERVING_1, RELEASING_0, IDLE))
    can = here & ~view.locked(at, pod)
    return can, {("cell", at, pod): to, ("group", at): then.astype(np.uint8)}


def _group_bind(at: int, pod: int, view: View) -> Outcome:
    node = GROUP_NODE[pod]
    here = view["group", at] == (BINDING_0 if pod == 0 else BINDING_1)
    _, updates = _bind(at, pod, node, view)
    stage, same = view.stage(at, pod), view.node(at, pod) == node
    begins = (stage == NONE) & (view["seen", at, pod] == NOWHERE) & view.free(at, pod, node)
    begins = (begins | ((stage != NONE) & same)) & view.leads(at)
    to = np.where(begins, updates["cell", at, pod], view["cell", at, pod]).astype(np.uint8)
    waiting, bound, lost = (WAITING_0, BINDING_1, RELEASING_1) if pod == 0 else (WAITING_1, IDLE, IDLE)
    there = view.leads(at) & (stage == NONE) & (view["seen", at, pod] == node + 1)
    goes_on = under_way(stages(to))
    then = np.where(goes_on, waiting, np.where(there, bound, lost)).astype(np.uint8)
    can = here & ~view.locked(at, pod)
    return can, {("cell", at, pod): to, ("group", at): then}


def _group_release(at: int, pod: int, view: View) -> Outcome:
    here = view["group", at] == (RELEASING_0 if pod == 0 else RELEASING_1)
    mine = (view.stage(at, pod) == RESERVED) & (view.mark(at, pod) == GROUP) & view.leads(at)
    to = np.where(mine, np.uint8(0), view["cell", at, pod]).astype(np.uint8)
    return here & ~view.locked(at, pod), {("cell", at, pod): to, ("group", at): IDLE}
