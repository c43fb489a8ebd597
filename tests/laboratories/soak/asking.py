"""Rows E: what an extender's door is sent by mistake or on purpose."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from mooring.framework import CycleState, NodeInfo, Pod, ScorePlugin
from mooring.testing import explain
from mooring.testing.builders import node_manifest, pod_manifest
from mooring_extender.client import GrpcClient
from tests.extender.fakes import Rules, grpc_server, listening, question
from tests.laboratories.soak.attacked import MIB, Attacked, unharmed
from tests.laboratories.soak.rounds import Round, Row, at_once

NODES = ["worker-a1", "worker-b1", "worker-b2"]
POD = {
    "metadata": {"name": "p", "namespace": "default", "uid": "u", "labels": {"app": "web"}},
    "spec": {
        "priority": 5,
        "nodeSelector": {"disktype": "ssd"},
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    },
}
ERROR_BYTES = 1024
PATIENCE = 60.0

Answer = tuple[int, bytes]
Ask = Callable[..., Answer]


@contextmanager
def asking(target: Attacked) -> Iterator[Ask]:
    """Yield a way to POST a body to a path of the extender, over one connection for as long as it is kept."""
    connection = http.client.HTTPConnection(target.extender, timeout=PATIENCE)

    def ask(body: bytes, path: str = "/filter", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, body, {"Content-Type": "application/json", **named})
        response = connection.getresponse()
        answer = response.status, response.read()
        if response.will_close:
            connection.close()
        return answer

    try:
        yield ask
    finally:
        connection.close()


def raw(target: Attacked, sent: bytes) -> bytes:
    """Return all that comes back for some bytes until the server closes; b"" where it just closes."""
    host, _, port = target.extender.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        received = b""
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                received += piece
        except OSError:
            # It closed already: a broken pipe, a reset, or no connection left to shut down.
            pass
        return received


def rejected(answer: Answer) -> None:
    """Check for a short JSON error that blames the caller, or a result that names the pod's fault."""
    status, body = answer
    assert len(body) <= ERROR_BYTES
    said = json.loads(body)
    assert said["Error"] if status == 200 else (400 <= status < 500 and list(said) == ["error"]), answer


def json_malformed(round_: Round) -> None:
    """Cut anywhere, in another encoding, or with something before, inside or after."""
    dice, good = round_.dice, question(NODES, Pod=POD)
    spoiled: tuple[Callable[[], bytes], ...] = (
        lambda: good[: dice.randrange(len(good))],
        lambda: b"\xef\xbb\xbf" + good,
        lambda: good.decode().encode(dice.choice(("utf-16", "utf-32", "utf-16-be"))),
        lambda: good + dice.choice((b"x", b"{}", b"\0", b",")),
        lambda: good.replace(b'"app"', b'"a\0p"'),
        lambda: good.replace(b'"web"', dice.choice((b'"\xff"', b"'web'", b'"we\\q"', b"web"))),
    )
    with unharmed(round_) as target, asking(target) as ask:
        for _ in range(round_.some(500, 1000)):
            rejected(ask(dice.choice(spoiled)()))
            round_.inputs += 1


NUMBERS = ("NaN", "Infinity", "-Infinity", "1e400", "-1", "1.5", "1e30", "9223372036854775808", "7" * 5000)


def json_numbers(round_: Round) -> None:
    """Send invalid or too large numbers, in the fields of numbers and quantities: answers never echo them at
    length.
    """
    dice, good = round_.dice, question(NODES, Pod=POD)
    places = (b'"priority":5', b'"cpu":"100m"')
    with unharmed(round_) as target, asking(target) as ask:
        for _ in range(round_.some(300, 600)):
            place, number = dice.choice(places), dice.choice(NUMBERS).encode()
            name = place.partition(b":")[0]
            status, body = ask(good.replace(place, b"%s:%s" % (name, number)))
            assert status in (200, 400), (status, number[:20])
            assert b"7" * 100 not in body
            round_.inputs += 1


def deep(dice: random.Random) -> bytes:
    opening = dice.choice((b"[", b'{"a":'))
    return b'{"Pod":' + opening * 100_000


def wide(dice: random.Random) -> bytes:
    return b'{"Pod":{' + b",".join(b'"k%d":1' % at for at in range(dice.randrange(100_000, 500_000))) + b"}}"


def many_names(dice: random.Random) -> bytes:
    return question([f"n{at}" for at in range(dice.randrange(50_000, 200_000))])


def json_deep_and_wide(round_: Round) -> None:
    """100,000 levels, some 100,000 keys or names."""
    dice = round_.dice
    with unharmed(round_, growth=256 * MIB, slower=20.0) as target, asking(target) as ask:
        for _ in range(round_.some(5, 10)):
            status, _ = ask(dice.choice((deep, wide, many_names))(dice))
            assert status in (200, 400, 413), status
            round_.inputs += 1


def without(dice: random.Random, document: Any) -> Any:
    """Return the document with something left out, empty, null, or of another kind."""
    odd: tuple[Any, ...] = (None, {}, [], "", 0, [None], {"": None})
    if isinstance(document, dict) and document and dice.random() < 0.8:
        key = dice.choice(list(document))
        rest = {name: value for name, value in document.items() if name != key}
        return rest if dice.random() < 0.3 else {**document, key: without(dice, document[key])}
    if isinstance(document, list) and document and dice.random() < 0.6:
        at = dice.randrange(len(document))
        return [*document[:at], without(dice, document[at]), *document[at + 1 :]]
    return dice.choice(odd)


def extender_missing_fields(round_: Round) -> None:
    """Whatever is missing: an answer that says what, and a process that lives."""
    dice, whole = round_.dice, json.loads(question(NODES, Pod=POD))
    with unharmed(round_) as target, asking(target) as ask:
        for _ in range(round_.some(500, 1000)):
            body = json.dumps(without(dice, without(dice, whole))).encode()
            status, answer = ask(body, dice.choice(("/filter", "/prioritize")))
            assert status in (200, 400), (status, body)
            assert len(answer) <= max(ERROR_BYTES, 4 * len(body))
            round_.inputs += 1


NODES_OF_SCORES = [node_manifest(name) for name in NODES]
POD_OF_SCORES = pod_manifest("p")
ONLY_ODD = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "Odd", "weight": 1}]}}}
    ],
}
SCORES = (float("nan"), float("inf"), -1, 101, 2**63, 1e308, None, "7", True, 0, 100, 55)


def scored(said: object) -> type[ScorePlugin[None]]:
    """Return a plugin that gives every node this score."""

    class Odd(ScorePlugin[None]):
        name = "Odd"

        def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
            return said  # type: ignore[return-value]  # that it may be anything is the point

    return Odd


def score_range(round_: Round) -> None:
    """A plugin's score is a whole number of 0 to 100, or its failure."""
    for _ in range(round_.some(200, 400)):
        score = round_.dice.choice(SCORES)
        said = explain(NODES_OF_SCORES, POD_OF_SCORES, ONLY_ODD, plugins=[scored(score)])
        fair = type(score) is int and 0 <= score <= 100
        assert said["status"]["code"] == ("Success" if fair else "Error"), score
        round_.inputs += 1
    round_.faults += 1


def subset_rule(round_: Round) -> None:
    """The answer names nodes of the question alone, as they were spelt there, and none twice."""
    dice = round_.dice
    odd = (*NODES, "WORKER-A1", "worker-a1 ", "wörker-ä1", "节点", "", "n\0", "a" * 300, "worker-a1/../b")
    with unharmed(round_) as target, asking(target) as ask:
        for _ in range(round_.some(200, 400)):
            names = [dice.choice(odd) for _ in range(dice.randrange(12))]
            status, body = ask(question(names, Pod=POD))
            answer = json.loads(body)
            assert status == 200, body
            kept = answer["NodeNames"] or []
            rejected = {**(answer["FailedNodes"] or {}), **(answer["FailedAndUnresolvableNodes"] or {})}
            assert {*kept, *rejected} <= {*names}
            assert len(kept) == len({*kept}) or len({*names}) < len(names)
            round_.inputs += len(names)


def body_too_big(round_: Round) -> None:
    """Over the limit: announced, in chunks, or falsely announced; rejected before it is kept."""
    limit = 64 * MIB
    head = b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with unharmed(round_, growth=160 * MIB) as target:
        for _ in range(round_.some(2, 4)):
            announced = raw(target, head + b"Content-Length: %d\r\n\r\n" % (limit + 1))
            assert announced.startswith(b"HTTP/1.1 413 ")
            assert raw(target, head + b"\r\n").startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 4"))
            chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
            chunked = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * (limit // MIB + 1)
            assert raw(target, chunked).startswith((b"HTTP/1.1 413 ", b""))
            round_.inputs += 3


def encoding_bomb(round_: Round) -> None:
    """Nothing is decompressed."""
    with unharmed(round_) as target, asking(target) as ask:
        for _ in range(round_.some(100, 200)):
            coding = round_.dice.choice(("gzip", "deflate", "br", "zstd", "gzip, gzip", "GZIP"))
            status, _ = ask(b"\x1f\x8b\x08" + b"\0" * 1000, Content_Encoding=coding)
            assert status == 415, coding
            round_.inputs += 1


def smuggled(dice: random.Random) -> bytes:
    """Return the bytes that two readers may take for different requests."""
    body = question(NODES, Pod=POD)
    lines = dice.choice(
        (
            b"Content-Length: %d\r\nTransfer-Encoding: chunked" % len(body),
            b"Content-Length: %d\r\nContent-Length: 4" % len(body),
            b"Content-Length: +%d" % len(body),
            b"Content-Length: -1",
            b"Content-Length: 0x10",
            b"Content-Length: %d" % 2**70,
            b"Content-Length : %d" % len(body),
            b"Transfer-Encoding: xchunked",
            b"Transfer-Encoding: chunked, identity",
            b"Transfer-Encoding:\x0bchunked",
            b"X: a\r\n b: c\r\nContent-Length: %d" % len(body),
            b"X: a\0b\r\nContent-Length: %d" % len(body),
            b"X\x7f: a\nContent-Length: 0x4",
        )
    )
    return (
        b"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + lines
        + b"\r\n\r\n"
        + body
    )


def smuggling(round_: Round) -> None:
    """Each is rejected and its connection closed: what follows is not a second request."""
    second = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with unharmed(round_) as target:
        for _ in range(round_.some(100, 200)):
            sent = smuggled(round_.dice)
            received = raw(target, sent + second)
            assert received.count(b"HTTP/1.1 ") == 1, sent
            assert received.startswith(b"HTTP/1.1 4"), (sent, received[:80])
            round_.inputs += 1


def slowloris(round_: Round) -> None:
    """Connections that send next to nothing, and read nothing, while a good client is answered."""
    dice, count = round_.dice, round_.some(400, 800)
    beginnings = (
        b"",
        b"P",
        b"POST /filter HTTP/1.1\r\n",
        b"POST /filter HTTP/1.1\r\nContent-Length: 99\r\n\r\n{",
    )
    with unharmed(round_) as target, ExitStack() as open_:
        host, _, port = target.extender.rpartition(":")
        held = []
        for _ in range(count):
            one = open_.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
            one.sendall(dice.choice(beginnings))
            held.append(one)
        for _ in range(round_.some(5, 12)):
            time.sleep(1.0)
            for one in held:
                try:
                    one.send(b"x")
                except OSError:
                    continue
        round_.inputs += count


def keepalive_race(round_: Round) -> None:
    """Few connections, used again after pauses of any length: no request that was sent is lost."""
    with unharmed(round_) as target:

        def ask_often(seed: int) -> int:
            dice, body = random.Random(seed), question(NODES, Pod=POD)
            with asking(target) as ask:
                for _ in range(50):
                    status, _ = ask(body)
                    assert status == 200
                    time.sleep(dice.choice((0.0, 0.0, 0.001, 0.02)))
            return 50

        callers = round_.some(4, 16)
        round_.inputs += sum(
            at_once(callers, ask_often, [round_.dice.getrandbits(32) for _ in range(callers)])
        )


def extender_budget(round_: Round) -> None:
    """A mooring that does not answer is reported before kube-scheduler's timeout."""
    seconds = 1.0

    def verdict(_name: str) -> int:
        time.sleep(2 * seconds)
        return 0

    rules = Rules(verdict=verdict)
    with (
        grpc_server(rules) as address,
        listening(partial(GrpcClient, address), http_timeout=seconds, profile="p") as server,
    ):
        for _ in range(round_.some(2, 5)):
            patience = seconds if round_.size == 1.0 else PATIENCE
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience)
            connection.request("POST", "/filter", question(["a"]), {"Content-Type": "application/json"})
            assert "no answer within" in json.loads(connection.getresponse().read())["Error"]
            connection.close()
            round_.inputs += 1
    round_.faults += 1


ROWS = (
    Row("E1", "json_malformed", json_malformed),
    Row("E2", "json_numbers", json_numbers),
    Row("E3", "json_deep_and_wide", json_deep_and_wide),
    Row("E4", "extender_missing_fields", extender_missing_fields),
    Row("E5", "score_range", score_range),
    Row("E6", "subset_rule", subset_rule),
    Row("E7", "body_too_big", body_too_big),
    Row("E8", "encoding_bomb", encoding_bomb),
    Row("E9", "smuggling", smuggling),
    Row("E10", "slowloris", slowloris),
    Row("E11", "keepalive_race", keepalive_race),
    Row("E12", "extender_budget", extender_budget),
)
