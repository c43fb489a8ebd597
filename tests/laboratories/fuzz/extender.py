"""The bodies of extender calls: the verb, a line feed, the JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from random import Random

from mooring.framework.objects import Node
from mooring.testing.builders import to_json
from mooring_extender.failures import VERBS
from tests.extender.fakes import BODIES, CAPTURED, _one
from tests.laboratories.fuzz.extending import adapting
from tests.laboratories.fuzz.judging import Judge, Target, check, check_text
from tests.laboratories.fuzz.mutating import changed_json
from tests.laboratories.fuzz.rpcs import pods
from tests.laboratories.fuzz.serving import cluster_objects


@cache
def seeds() -> tuple[bytes, ...]:
    """Return bodies of a real kube-scheduler, and questions about existing nodes."""
    found = [
        file.stem.split("-")[3].encode() + b"\n" + file.read_bytes()
        for file in sorted(CAPTURED.glob("*.json"))
        if file.stat().st_size < 7_000
    ]
    found += [verb.encode() + b"\n" + body for verb, body in BODIES.items()]
    nodes = b",".join(to_json(item) for item in cluster_objects()[:2] if isinstance(item, Node))
    for pod in map(to_json, pods()):
        for verb in (b"filter", b"prioritize"):
            found.append(b'%s\n{"Pod":%s,"Nodes":null,"NodeNames":["n0","n1","n9"]}' % (verb, pod))
            found.append(b'%s\n{"Pod":%s,"Nodes":{"items":[%s]},"NodeNames":null}' % (verb, pod, nodes))
        found.append(
            b'preempt\n{"Pod":%s,"NodeNameToVictims":null,"NodeNameToMetaVictims":'
            b'{"n0":{"Pods":[{"UID":"u0"}],"NumPDBViolations":0}}}' % pod
        )
    found.append(b'bind\n{"PodName":"p8","PodNamespace":"default","PodUID":"u8","Node":"n1"}')
    return tuple(found)


def change(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return another body, mostly of the same verb."""
    head, _, body = data.partition(b"\n")
    if dice.random() < 0.05:
        head = dice.choice(VERBS).encode()
    return head + b"\n" + changed_json(dice, body, others)


@contextmanager
def judging() -> Iterator[Judge]:
    """Yield an adapter that gets one question after the other."""
    with adapting() as adapter:

        def judge(data: bytes) -> bool:
            head, _, body = data.partition(b"\n")
            verb = head.decode(errors="replace")
            if verb not in VERBS:
                return False
            pieces = [body[: len(body) // 2], body[len(body) // 2 :]]
            before = adapter.client.binds
            reply = adapter.loop.run_until_complete(_one(adapter.app, "POST", f"/{verb}", pieces, {}))
            adapter.raise_finding()
            return fits(verb, reply.status, reply.body, adapter.client.binds - before)

        yield judge


def fits(verb: str, status: int, body: bytes, binds: int) -> bool:
    """Return whether the verb was carried out; raise ``Finding`` if the answer is not one of its answers."""
    check(
        binds <= (verb == "bind" and status == 200), f"{binds} bindings by {verb}, which is answered {status}"
    )
    if status != 200:
        check(status in (400, 413, 500, 501, 503, 504), f"{verb} is answered {status}")
        check_text(json.loads(body)["error"])
        return False
    # Nodes travel as the bytes that came, UTF-8 or not.
    said = json.loads(body.decode(errors="replace"))  # which takes numbers of any size, as Go does
    error = said.get("Error", "") if isinstance(said, dict) else ""
    check_text(error)
    return not error


TARGET = Target("extender", "extender JSON", seeds, change, judging)
