"""The output of an API server: lines of watches and pages of lists in JSON, objects in protobuf; all is
applied.

The first line of an input names its form and kind: ``watch Pod``, ``list Node``, ``protobuf Service``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any, cast

import msgspec

from mooring.cluster.api import ApiServer, Response
from mooring.cluster.api.resources import RESOURCES
from mooring.cluster.decoding import decode_protobuf
from mooring.cluster.kinds import KINDS, Put
from mooring.cluster.sources import Timers
from mooring.cluster.sources.kubernetes.reflector import Reflector
from mooring.cluster.sources.kubernetes.wire import UNREADABLE, GoneError
from mooring.cluster.state import State
from mooring.config import default
from mooring.framework.errors import MooringError, PluginFailureError
from mooring.runtime.assembly import build_engine
from mooring.runtime.cycle.candidates import ALL_NODES
from mooring.runtime.profiles.registry import new_in_tree_registry
from mooring.testing import make_pod
from mooring.testing.question import NoBinder
from tests.cluster.following import held
from tests.laboratories.fuzz.judging import Finding, Judge, Target, check
from tests.laboratories.fuzz.mutating import changed_bytes, changed_json
from tests.laboratories.fuzz.serving import OBJECTS, cluster_objects, kind_of

EVENTS = (b"ADDED", b"MODIFIED", b"DELETED", b"BOOKMARK", b"ERROR")
LINE = b'{"type":"%s","object":%s}'
PAGE = b'{"metadata":{"resourceVersion":"7"},"items":[%s]}'


@cache
def seeds() -> tuple[bytes, ...]:
    """Return each object of the test material in every form."""
    found = []
    for file in sorted(OBJECTS.glob("*.json")):
        kind, item = kind_of(file).encode(), msgspec.json.decode(file.read_bytes())
        item["metadata"] = {**item.get("metadata", {}), "resourceVersion": "5"}
        data = msgspec.json.encode(item)
        found.append(b"watch %s\n" % kind + LINE % (b"ADDED", data))
        found.append(b"watch %s\n" % kind + LINE % (b"DELETED", data))
        found.append(b"list %s\n" % kind + PAGE % data)
        found.append(b"protobuf %s\n" % kind + file.with_suffix(".k8s.pb").read_bytes())
        found.append(b"protobuf %s\n" % kind + file.with_suffix(".pb").read_bytes())
    status = b'{"kind":"Status","code":%d,"message":"too old resource version"}'
    found += [b"watch Pod\n" + LINE % (b"ERROR", status % code) for code in (410, 500)]
    return tuple(found)


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return another object, line or page of the same kind."""
    head, _, body = data.partition(b"\n")
    if head.startswith(b"protobuf"):
        return head + b"\n" + changed_bytes(dice, body, _bodies(others))
    lines = [changed_json(dice, line, _bodies(others)) for line in body.split(b"\n")]
    body = b"\n".join(lines)
    if dice.random() < 0.1:
        body = body.replace(dice.choice(EVENTS), dice.choice(EVENTS))
    return head + b"\n" + body


@cache
def _bodies(others: Sequence[bytes]) -> list[bytes]:
    return [other.partition(b"\n")[2] for other in others]


class _Page:
    """An API server that has one answer."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def request(self, *_: Any, **__: Any) -> Response:
        return Response(200, {}, self._body)


class Followed:
    """A state that sources write, and an engine that decides about it."""

    def __init__(self) -> None:
        registry, self.state = new_in_tree_registry(), State()
        self._engine = build_engine(default(registry.catalog()), registry, self.state, NoBinder())
        self.state.replace("cluster", cluster_objects())
        self._count = 0

    def take(self, way: str, kind: str, data: bytes) -> bool:
        """Return whether anything was taken; what wasn't has changed nothing, and pods can be decided after
        it.
        """
        if way == "protobuf":
            taken = self._tried(lambda: self._put(kind, data))
        elif way == "list":
            reflector = self._reflector(kind, data)
            taken = self._tried(reflector._list)
        else:
            reflector, taken = self._reflector(kind, b""), False
            for line in data.split(b"\n"):
                taken = (
                    self._tried(lambda line=line: reflector._take(*reflector.lister.decode_event(line)))
                    or taken
                )
        self._count += 1
        if taken and self._count % 4 == 0:
            self._decide(kind)
        return taken

    def _reflector(self, kind: str, page: bytes) -> Reflector:
        api = cast("ApiServer", _Page(page))
        reflector = Reflector(api, RESOURCES[kind], self.state, "cluster", (), Timers())
        reflector.lister.path = "/"
        return reflector

    def _put(self, kind: str, data: bytes) -> None:
        item = decode_protobuf(data, kind)
        if item is not None:
            self.state.apply("cluster", [Put(item)])

    def _tried(self, step: Any) -> bool:
        version = self.state.version
        before = held(self.state) if version % 8 == 0 else None
        try:
            step()
        except (*UNREADABLE, GoneError, MooringError) as error:
            if before is None and version == self.state.version:
                return False
            check(
                before is None or held(self.state) == before,
                f"rejected ({error!r:.200}), but the state has changed",
            )
            return False
        return True

    def _decide(self, kind: str) -> None:
        """Check that another client's pod gets an answer in any state."""
        pods = [make_pod("asked", requests={"cpu": "1"}, metadata={"uid": f"asked-{self._count}"})]
        if kind == "Pod":
            pods += [one for one in list(self.state.snapshot.pods.pending())[-1:] if one.metadata.uid]
        for pod in pods:
            try:
                self._engine.decide(pod, self._engine.profile(), ALL_NODES)
            except PluginFailureError as error:
                if error.__cause__ is not None:
                    raise Finding(f"a plugin fails: {error}"[:600]) from error.__cause__
            except MooringError:
                pass


MAX_INPUTS = 1_500
"""Inputs after which a state is put aside."""


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield a state, and another one when it has become large."""
    followed, count = Followed(), 0

    def judge(data: bytes) -> bool:
        nonlocal followed, count
        count += 1
        if count % MAX_INPUTS == 0:
            followed = Followed()
        head, _, body = data.partition(b"\n")
        way, _, kind = head.decode(errors="replace").partition(" ")
        if kind not in KINDS:
            return False
        return followed.take(way, kind, body)

    yield judge


TARGET = Target("watches", "watch bytes and pages, applied", seeds, change, judging)
