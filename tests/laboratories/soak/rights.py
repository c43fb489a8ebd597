"""Rows H: who may call while certificates and tokens change, and what callers write into logs."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from mooring.documents import write_documents
from mooring.testing.builders import node_manifest
from mooring_client.v1 import cluster_service_pb2 as cluster
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from mooring_client.v1.objects_pb2 import PodReference
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.certificates import Authority, Pair
from tests.cli.commands import ANY_PORT, Started, fetch, serving_process
from tests.fake_api_server import FakeApiServer
from tests.laboratories.soak.rounds import Round, Row, at_once
from tests.process import until

PATIENCE = 60.0
FILES = ("tls.crt", "tls.key", "ca.crt")
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


def mount(folder: Path, pair: Pair, authority: bytes) -> None:
    """Put a Secret's files into a folder as a kubelet does: all links change at once."""
    data = Path(tempfile.mkdtemp(dir=folder))
    for name, content in zip(
        FILES, (pair.certificate.read_bytes(), pair.key.read_bytes(), authority), strict=True
    ):
        (data / name).write_bytes(content)
    before = (folder / "..data").resolve()
    (folder / "..new").symlink_to(data.name)
    (folder / "..new").replace(folder / "..data")
    for name in FILES:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    if before.name != "..data":
        shutil.rmtree(before)


def asked(address: str, trusted: bytes, pair: Pair) -> grpc.StatusCode:
    """Return the code of a call on a connection of its own."""
    shown = grpc.ssl_channel_credentials(trusted, pair.key.read_bytes(), pair.certificate.read_bytes())
    with grpc.secure_channel(address, shown, OWN_CONNECTION) as channel:
        try:
            ClusterServiceStub(channel).GetClusterInfo(cluster.GetClusterInfoRequest(), timeout=PATIENCE)
        except grpc.RpcError as error:
            code: grpc.StatusCode = error.code()
            return code
    return grpc.StatusCode.OK


def certificate_rotation(round_: Round) -> None:
    """A Secret gets the pair of another authority, under load: no call fails, and the old authority's end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authorities = [Authority(folder / f"ca-{at}") for at in range(2)]
        trusted = b"".join(each.certificate.read_bytes() for each in authorities)
        own = [each.issue("server") for each in authorities]
        clients = [each.issue("client") for each in authorities]
        secret = folder / "secret"
        secret.mkdir()
        mount(secret, own[0], trusted)
        flags = (f"--tls-cert-file={secret}/tls.crt", f"--tls-private-key-file={secret}/tls.key")
        with serving_process(folder, *flags, f"--tls-client-ca-file={secret}/ca.crt") as started:
            address, over, codes = started.address("grpc"), threading.Event(), Counter[grpc.StatusCode]()

            def call(client: Pair) -> None:
                while not over.is_set():
                    codes[asked(address, trusted, client)] += 1

            with ThreadPoolExecutor(2) as pool:
                calling = [pool.submit(call, client) for client in clients]
                for at in range(round_.some(2, 6)):
                    mount(secret, own[(at + 1) % 2], trusted)
                    round_.faults += 1
                    time.sleep(round_.dice.uniform(0.0, 2.0))
                over.set()
                for each in calling:
                    each.result()
            round_.inputs += codes.total()
            assert {*codes} == {grpc.StatusCode.OK}, codes
            mount(secret, own[1], authorities[1].certificate.read_bytes())
            until(
                lambda: asked(address, trusted, clients[0]) is not grpc.StatusCode.OK,
                "clients of the old authority to be rejected",
                PATIENCE,
            )
            assert asked(address, trusted, clients[1]) is grpc.StatusCode.OK


CASES = {
    "good": grpc.StatusCode.OK,
    "none": grpc.StatusCode.PERMISSION_DENIED,
    "unknown": grpc.StatusCode.UNAUTHENTICATED,
    "another audience": grpc.StatusCode.UNAUTHENTICATED,
    "no review": grpc.StatusCode.UNAVAILABLE,
}
"""By the token that a caller shows: the answer."""

POLICY = {
    "apiVersion": "mooring.dev/v1",
    "kind": "AccessPolicy",
    "rules": [{"subjects": ["user:jane"], "roles": ["reader"]}],
}


@contextmanager
def with_tokens(folder: Path) -> Iterator[tuple[FakeApiServer, Started]]:
    """Yield a server that takes tokens, and the API server that reviews them."""
    policy = folder / "policy.yaml"
    policy.write_text(write_documents(POLICY))
    with FakeApiServer() as fake:
        fake.add(node_manifest("n0"))
        fake.people.tokens["first"] = "jane"
        source = f"kubernetes:{fake.kubeconfig(folder / 'kubeconfig')}"
        flags = (f"--access-policy={policy}", "--token-audience=mooring", "--extender-listen", ANY_PORT)
        with serving_process(folder, "--source", source, *flags) as started:
            yield fake, started


def token_matrix(round_: Round) -> None:
    """Callers show tokens of every kind, while reviews fail now and then: each answer is as documented."""
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as name, with_tokens(Path(name)) as (fake, started):
        with grpc.insecure_channel(started.address("grpc")) as channel:
            stub = ClusterServiceStub(channel)

            def answer(case: str) -> grpc.StatusCode:
                token = f"token-{next(numbers)}"
                if case in ("good", "another audience", "no review"):
                    fake.people.tokens[token] = "jane"
                shown = () if case == "none" else (("authorization", f"Bearer {token}"),)
                try:
                    stub.ListNodes(cluster.ListNodesRequest(), timeout=PATIENCE, metadata=shown)
                except grpc.RpcError as error:
                    code: grpc.StatusCode = error.code()
                    return code
                return grpc.StatusCode.OK

            for _ in range(round_.some(20, 60)):
                case = round_.dice.choice(list(CASES))
                fake.people.audiences = case != "another audience"
                if case == "no review":
                    fake.forbidden.add("tokenreviews")
                answers = set(at_once(3, answer, [case] * 3))
                fake.forbidden.discard("tokenreviews")
                assert answers == {CASES[case]}, f"{case}: {answers}"
                round_.inputs += 3
                round_.faults += case == "no review"
        assert not re.search("token-[0-9]", started.log.read_text()), "a token is in the log"


EVIL = ("\r\n2026 ERROR forged", "\x1b[31mred", "\u2028", "\x00", "\x85", "\u202e", "x" * 20_000)
LONGEST_LINE = 16_384
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def log_injection(round_: Round) -> None:
    """Names and tokens of callers forge no line of the log, and no secret is in it."""
    dice = round_.dice
    with tempfile.TemporaryDirectory() as name, with_tokens(Path(name)) as (_, started):
        with grpc.insecure_channel(started.address("grpc")) as channel:
            stub = SchedulingServiceStub(channel)
            for at in range(round_.some(40, 120)):
                evil = f"pod-{dice.choice(EVIL)}-{at}"
                asked: Any = dice.choice(
                    (
                        pb.BindRequest(pod=PodReference(namespace="n", name=evil, uid="u"), node=evil),
                        pb.BindRequest(pod=PodReference(namespace=evil, name="p", uid=evil), node="n"),
                    )
                )
                shown = (("authorization", f"Bearer secret-{dice.randrange(10**9)}"),)
                call = stub.Bind.future(asked, timeout=PATIENCE, metadata=dice.choice((shown, ())))
                assert call.code() not in (grpc.StatusCode.OK, grpc.StatusCode.INTERNAL)
                url = f"http://{started.address('extender').removeprefix('http://')}/bind"
                body = {"PodName": evil, "PodNamespace": evil, "PodUID": "u", "Node": evil}
                fetch(url, write_documents(body).encode())
                round_.inputs += 2
        check_log(started.log.read_text(encoding="utf-8"))


def check_log(text: str) -> None:
    """Check that no caller wrote more than its words into a line."""
    for line in text.split("\n"):
        assert not CONTROLS.search(line), f"a control character: {line[:200]!r}"
        assert len(line) <= LONGEST_LINE, f"{len(line)} characters: {line[:200]!r}"
        assert not line.startswith("2026 ERROR forged"), line[:200]
        assert "secret-" not in line, f"a token: {line[:200]!r}"


ROWS = (
    Row("H1", "certificate_rotation", certificate_rotation),
    Row("H2", "token_matrix", token_matrix),
    Row("H6", "log_injection_and_secrets", log_injection),
)
