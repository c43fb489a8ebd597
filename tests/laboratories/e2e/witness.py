"""A control plane's own record of a run: its audit log, and every change of a pod."""

import json
import threading
import urllib.error
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

from kubernetes.utils.quantity import parse_quantity

from .api import Manifest
from .control_plane import ControlPlane

_PODS = "/api/v1/namespaces/default/pods"
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_WATCH_SECONDS = 2
"""The time after which a watch ends by itself, so that its reader sees whether it is still needed."""


class Witness:
    """Follows a control plane from `__enter__` to `__exit__`; the checks are for after that.

    Instances are told apart by their tokens: each must have one of its own.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._before = len(plane.audited())
        self._audited: list[dict[str, Any]] = []
        self._changes: list[tuple[str, Manifest]] = []
        self._failure: Exception | None = None
        self._stop = threading.Event()
        self._reader = threading.Thread(target=self._follow, name="witness")

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._reader.join()
        self._audited = self._plane.audited()[self._before :]
        self._nodes = {node["metadata"]["name"]: node for node in self._plane.api.nodes()}

    def accepted(self) -> Counter[str]:
        """Return how often each pod was bound, also by requests that the end of their sender cut off."""
        answered = Counter(event["objectRef"]["name"] for event in self._bindings(201))
        cut_off = {event["objectRef"]["name"] for event in self._bindings() if self._was_cut_off(event)}
        bound = {pod["metadata"]["name"] for _, pod in self._changes if pod["spec"].get("nodeName")}
        return answered + Counter((cut_off & bound) - answered.keys())

    def conflicts(self) -> int:
        """Return how many bindings were rejected with 409; each for a pod that had been bound before."""
        bound: set[str] = set()
        count = 0
        for event in self._bindings(201, 409):
            name, code = event["objectRef"]["name"], event["responseStatus"]["code"]
            if code == 201:
                bound.add(name)
            else:
                count += 1
                assert name in bound, f"409 for no reason: {event}"
        return count

    def unexplained(self) -> list[str]:
        """Return the bindings with any answer but yes and 409: the pod, and the answer's status.

        One that the end of its sender cut off is explained: kube-apiserver answers it with 504.
        """
        return [
            f"{event['objectRef']['name']}: {event['responseStatus']}"
            for event in self._bindings()
            if event["responseStatus"]["code"] not in (201, 409) and not self._was_cut_off(event)
        ]

    def sent_without_lease(self, seconds: float) -> list[str]:
        """Return the bindings of instances whose last renewal was longer ago than the lease lasts, or that
        another instance had followed as holder; each with its details.
        """
        late = []
        holder, renewed = "", ""
        for event in sorted(self._audited, key=lambda one: str(one["requestReceivedTimestamp"])):
            instance = _sender(event)
            if event["objectRef"]["resource"] == "leases":
                if event["objectRef"]["name"] == "mooring" and event["responseStatus"]["code"] < 300:
                    holder, renewed = instance, event["requestReceivedTimestamp"]
            elif instance != holder or _between(renewed, event["requestReceivedTimestamp"]) > seconds:
                since = f"{_between(renewed, event['requestReceivedTimestamp']):.2f} s after the last renewal"
                whose = "its own" if instance == holder else "another instance's"
                code = event["responseStatus"]["code"]
                late.append(f"{event['objectRef']['name']}: {code}, {since}, {whose}")
        return late

    def most_at_once(self, scheduler: str) -> dict[str, int]:
        """By node, the most pods of `scheduler` that it had at any moment."""
        most: Counter[str] = Counter()
        for node, pods in self._moments():
            mine = [pod for pod in pods if pod["spec"]["schedulerName"] == scheduler]
            most[node] = max(most[node], len(mine))
        return dict(+most)

    def overfull(self) -> set[tuple[str, str]]:
        """Return the nodes whose pods requested more than there is at any moment, each with the resource."""
        found = set()
        for name, pods in self._moments():
            asked: dict[str, Decimal] = defaultdict(Decimal, pods=Decimal(len(pods)))
            for container in (one for pod in pods for one in pod["spec"]["containers"]):
                requests = container.get("resources", {}).get("requests", {})
                for resource, quantity in requests.items():
                    asked[resource] += _amount(quantity)
            has = self._nodes[name]["status"]["allocatable"]
            found |= {
                (name, resource)
                for resource, amount in asked.items()
                if amount > _amount(has.get(resource, "0"))
            }
        return found

    def _moments(self) -> Iterator[tuple[str, Collection[Manifest]]]:
        """After each change of a pod that has a node: the node, and the pods that take something of it."""
        assert self._failure is None, f"the history has a gap: {self._failure}"
        on_node: dict[str, dict[str, Manifest]] = defaultdict(dict)
        for kind, pod in self._changes:
            node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
            if not node:
                continue
            if kind == "DELETED" or pod["status"].get("phase") in ("Succeeded", "Failed"):
                on_node[node].pop(uid, None)
            else:
                on_node[node][uid] = pod
            yield node, on_node[node].values()

    def _bindings(self, *codes: int) -> list[dict[str, Any]]:
        """Return the bindings in the order in which they were answered; with these codes, if any
        are given.
        """
        found = [event for event in self._audited if event["objectRef"].get("subresource") == "binding"]
        found = [event for event in found if not codes or event["responseStatus"]["code"] in codes]
        return sorted(found, key=lambda one: str(one["stageTimestamp"]))

    def _was_cut_off(self, binding: dict[str, Any]) -> bool:
        """Return whether the connection went away before the answer, and its sender was not heard
        of again.
        """
        status = binding["responseStatus"]
        if status["code"] != 504 or "context canceled" not in status.get("message", ""):
            return False
        sender, ended = _sender(binding), binding["stageTimestamp"]
        return not any(
            event["requestReceivedTimestamp"] > ended for event in self._audited if _sender(event) == sender
        )

    def _follow(self) -> None:
        try:
            version = self._list()
            while not self._stop.is_set():
                version = self._watch(version)
        except Exception as error:  # noqa: BLE001 - told by whoever asks for the history
            self._failure = error

    def _list(self) -> str:
        answer = self._plane.api.call("GET", _PODS)
        self._changes += [("ADDED", item) for item in answer["items"]]
        version: str = answer["metadata"]["resourceVersion"]
        return version

    def _watch(self, version: str) -> str:
        """Every change since `version`; returns the version of the last one.

        Raises RuntimeError when some are forgotten.
        """
        path = f"{_PODS}?watch=1&timeoutSeconds={_WATCH_SECONDS}&resourceVersion={version}"
        try:
            for line in self._plane.api.stream(path):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise RuntimeError(event["object"]["message"])
                self._changes.append((event["type"], event["object"]))
                version = event["object"]["metadata"]["resourceVersion"]
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            # It is gone on from the last change, so nothing is missing.
            self._stop.wait(0.1)
        return version


def _sender(event: dict[str, Any]) -> str:
    """Return which instance sent the request: the id of its token."""
    sender: str = event["user"].get("extra", {}).get(_CREDENTIAL, [""])[0]
    return sender


def _amount(quantity: str) -> Decimal:
    found: Decimal = parse_quantity(quantity)  # type: ignore[no-untyped-call] # the package has no types
    return found


def _between(earlier: str, later: str) -> float:
    """Return the seconds from one audit timestamp to another; endless without the first."""
    if not earlier:
        return float("inf")
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
