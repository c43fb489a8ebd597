"""Pods in flight: kube-scheduler asks about one pod after the other, and binds in the background.

Three pods want a rack that takes one of them, by a rule of mooring that counts pods. One kube-scheduler asks,
selects and binds. One API server keeps the truth, and the watch of mooring is late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce

import numpy as np

from tests.laboratories.model.layout import Field, Layout, Values, Where
from tests.laboratories.model.protocol import Action, Outcome, Protocol
from tests.laboratories.model.states import View

PODS = (0, 1, 2)

WAITING, ASKING, BINDING, DONE = range(4)
"""The stages of a pod at kube-scheduler."""

UNBOUND, BOUND, GONE = range(3)
"""The states of a pod at the API server, and in mooring's state."""

NO_FLIGHT, DECIDING, PASSED, SLOW = range(4)
"""The stages of a flight. SLOW = a call waited for it without an outcome, so later calls count it."""


def in_flight(faults: int, *, waits: bool = True, counts: bool = True) -> Protocol:
    """Return the protocol of filter calls.

    Args:
        faults: How many faults a trace has at most.
        waits: Whether a call waits for the pods in flight before it counts them.
        counts: Whether it knows of pods in flight at all.
    """
    head: dict[Field, int] = {"faults": faults + 1, "began": 2}
    block: dict[tuple[str, ...], int] = {
        ("kube",): 4,
        ("api",): 3,
        ("flight",): 4,
        ("seen",): 3,
        ("failed",): 2,
    }
    actions = [Action("restart", (), _restart, fault=True), Action("known", (), _known)]
    for pod in PODS:
        actions += _of_pod(pod, waits=waits, counts=counts)
    layout = Layout(head, block, len(PODS))
    return Protocol(layout, {"faults": faults}, actions, _violations, _settled, interchangeable=False)


def _of_pod(pod: int, *, waits: bool, counts: bool) -> Iterator[Action]:
    at = (pod,)
    yield Action("ask", at, partial(_ask, pod))
    yield Action("decide", at, partial(_decide, pod, waits, counts))
    yield Action("count_slow", at, partial(_count_slow, pod))
    yield Action("lose_call", at, partial(_lose, pod, DECIDING), fault=True)
    yield Action("lose_answer", at, partial(_lose, pod, PASSED), fault=True)
    yield Action("bind", at, partial(_bind, pod))
    yield Action("fail", at, partial(_fail, pod), fault=True)
    yield Action("watch", at, partial(_watch, pod))
    yield Action("hear_failure", at, partial(_hear_failure, pod))
    yield Action("delete", at, partial(_delete, pod), fault=True)


def _any(view: View, where: Callable[[int], Where], but: int = -1) -> Where:
    nowhere = np.zeros(len(view["faults"]), bool)
    found: Where = reduce(np.logical_or, (where(pod) for pod in PODS if pod != but), nowhere)
    return found


def _ask(pod: int, view: View) -> Outcome:
    """``PodsInFlight.turn``: a flight of the attempt before ends.

    kube-scheduler backs off for a second after an error, so the watch has delivered its condition by then.
    """
    asks = _any(view, lambda other: view["kube", other] == ASKING) | (view["failed", pod] == 1)
    can = ~asks & (view["kube", pod] == WAITING) & (view["api", pod] == UNBOUND)
    return can, {("kube", pod): ASKING, ("flight", pod): DECIDING}


def _decide(pod: int, waits: bool, counts: bool, view: View) -> Outcome:
    """``PodsInFlight._settle`` and ``_beside``, the rule, and ``let_through``."""
    can = (view["kube", pod] == ASKING) & (view["began"] == 0)
    if waits:
        can &= ~_any(view, lambda other: view["flight", other] == PASSED, pod)
    taken = _any(view, lambda other: view["seen", other] == BOUND, pod)
    if counts:
        taken |= _any(view, lambda other: view["flight", other] >= PASSED, pod)
    kube = np.where(taken, WAITING, BINDING).astype(np.uint8)
    # The flight of a pod ends when the pod is deleted.
    passed = ~taken & (view["flight", pod] == DECIDING)
    flight = np.where(passed, PASSED, NO_FLIGHT).astype(np.uint8)
    return can, {("kube", pod): kube, ("flight", pod): flight}


def _count_slow(pod: int, view: View) -> Outcome:
    """The call has waited long enough; from now on it counts what it waited for."""
    slow: dict[Field, Values | int] = {}
    for other in PODS:
        flight = view["flight", other]
        slow["flight", other] = np.where(flight == PASSED, np.uint8(SLOW), flight)
    lasts = _any(view, lambda other: view["flight", other] == PASSED, pod)
    return (view["kube", pod] == ASKING) & lasts, slow


def _lose(pod: int, flight: int, view: View) -> Outcome:
    """The call ends without an answer for kube-scheduler, before or after mooring has decided."""
    can = (view["kube", pod] == ASKING) & (view["began"] == 0)
    lasts = (view["flight", pod] == DECIDING) & (flight == PASSED)
    return can, {("kube", pod): WAITING, ("flight", pod): np.where(lasts, PASSED, NO_FLIGHT).astype(np.uint8)}


def _bind(pod: int, view: View) -> Outcome:
    api = np.where(view["api", pod] == UNBOUND, np.uint8(BOUND), view["api", pod])
    return view["kube", pod] == BINDING, {("kube", pod): DONE, ("api", pod): api}


def _fail(pod: int, view: View) -> Outcome:
    """The binding fails, and kube-scheduler writes a condition about it."""
    return view["kube", pod] == BINDING, {("kube", pod): WAITING, ("failed", pod): 1}


def _watch(pod: int, view: View) -> Outcome:
    """``PodsInFlight._hear``: the pod has a node, or is gone."""
    api = view["api", pod]
    flight = np.where(api != UNBOUND, np.uint8(NO_FLIGHT), view["flight", pod])
    return view["seen", pod] != api, {("seen", pod): api, ("flight", pod): flight}


def _hear_failure(pod: int, view: View) -> Outcome:
    """``PodsInFlight._hear``: the condition, which says nothing of an attempt that is being decided."""
    ends = view["flight", pod] >= PASSED
    flight = np.where(ends, np.uint8(NO_FLIGHT), view["flight", pod])
    return view["failed", pod] == 1, {("failed", pod): 0, ("flight", pod): flight}


def _delete(pod: int, view: View) -> Outcome:
    return view["api", pod] != GONE, {("api", pod): GONE}


def _restart(view: View) -> Outcome:
    """mooring starts again: it has the API server's list, and knows no flights."""
    updates: dict[Field, Values | int] = {"began": 1}
    for pod in PODS:
        asks = view["kube", pod] == ASKING
        updates["kube", pod] = np.where(asks, np.uint8(WAITING), view["kube", pod])
        updates |= {("flight", pod): NO_FLIGHT, ("seen", pod): view["api", pod]}
    return np.ones(len(view["faults"]), bool), updates


def _known(view: View) -> Outcome:
    """The first call of a new server has waited, and bindings from before have ended and been observed."""
    binding = _any(view, lambda pod: (view["kube", pod] == BINDING) | (view["seen", pod] != view["api", pod]))
    return (view["began"] == 1) & ~binding, {"began": 0}


def _violations(view: View) -> dict[str, Where]:
    bound = sum((view["api", pod] == BOUND).astype(np.uint8) for pod in PODS)
    return {"more pods than the rule allows": np.asarray(bound) > 1}


def _settled(view: View) -> Where:
    """Return which states have no call, no binding under way and no flight."""
    busy = _any(view, lambda pod: (view["kube", pod] == ASKING) | (view["kube", pod] == BINDING))
    busy |= _any(view, lambda pod: (view["flight", pod] != NO_FLIGHT) | (view["failed", pod] == 1))
    busy |= _any(view, lambda pod: view["seen", pod] != view["api", pod])
    found: Where = ~busy & (view["began"] == 0)
    return found
