"""Names of clients: what a certificate says, and what --allow-client means, the same for both listeners."""

import ssl
from functools import partial
from pathlib import Path

import grpc
import pytest

from mooring.serving.access.clients import typed_names
from mooring.serving.certificates import TlsFiles
from mooring.serving.http import tls as adapter
from mooring_client.v1.cluster_service_pb2 import PushObjectsRequest
from mooring_client.v1.cluster_service_pb2_grpc import ClusterServiceStub
from tests.certificates import Authority, Pair, certificate, trusting
from tests.service.harness import LONG, failed, running
from tests.service.test_access import as_client, shown


def seen_by_the_service(*names: str) -> tuple[str, ...]:
    return shown(*names).names


def seen_by_the_adapter(folder: Path, *names: str) -> tuple[str, ...]:
    """By a handshake in memory, which gives the names as the adapter's listener gets them."""
    authority = Authority(folder)
    shown = authority.issue("adapter")
    own = folder / "client.pem"
    own.write_bytes(certificate(*names, authority=authority))
    serving = adapter.server_context(TlsFiles(shown.certificate, shown.key, authority=authority.certificate))
    asking = trusting(authority.certificate)
    asking.load_cert_chain(own)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(there, back, server_side=True)
    client = asking.wrap_bio(back, there, server_hostname="127.0.0.1")
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return adapter.client_names(server.getpeercert())


@pytest.mark.parametrize(
    ("names", "seen"),
    [
        pytest.param(["cn:kube-scheduler"], ["cn:kube-scheduler"], id="a common name"),
        pytest.param(["cn:system:kube-scheduler"], ["cn:system:kube-scheduler"], id="with a colon"),
        pytest.param(["dns:a.b", "cn:x"], ["cn:x", "dns:a.b"], id="the common name comes first"),
        pytest.param(["uri:spiffe://a/b"], ["uri:spiffe://a/b"], id="a URI alone"),
        pytest.param(
            ["cn:x", "uri:spiffe://a/b", "dns:b", "dns:a"],
            ["cn:x", "dns:b", "dns:a", "uri:spiffe://a/b"],
            id="all kinds",
        ),
        pytest.param(["cn:x", "email:a@b", "ip:10.0.0.1"], ["cn:x"], id="kinds that name nobody"),
        pytest.param(["cn:dns:a.b"], ["cn:dns:a.b"], id="a type inside a name"),
        pytest.param(["email:a@b"], [], id="no name"),
        pytest.param(["cn:a", "cn:b", "dns:c"], [], id="two common names"),
        pytest.param(["cn:kube-scheduler\0.evil"], [], id="NUL in a common name"),
        pytest.param(["cn:x", "dns:kube-scheduler\0.evil"], [], id="NUL in a DNS name"),
        pytest.param(["cn:x", "uri:spiffe://a/b\0"], [], id="NUL in a URI"),
        pytest.param(["cn:x\nforged"], [], id="a line feed"),
    ],
)
def test_both_listeners_read_the_same_names(tmp_path: Path, names: list[str], seen: list[str]) -> None:
    assert list(seen_by_the_service(*names)) == seen
    assert list(seen_by_the_adapter(tmp_path, *names)) == seen


@pytest.mark.parametrize(
    ("allowed", "meant"),
    [
        pytest.param("kube-scheduler", {"cn:kube-scheduler", "dns:kube-scheduler"}, id="plain"),
        pytest.param("system:x", {"cn:system:x", "dns:system:x"}, id="a colon makes no type"),
        pytest.param("spiffe://a/b", {"uri:spiffe://a/b"}, id="a plain URI"),
        pytest.param("cn:x", {"cn:x"}, id="a common name alone"),
        pytest.param("dns:x", {"dns:x"}, id="a DNS name alone"),
        pytest.param("uri:urn:x", {"uri:urn:x"}, id="a URI without slashes"),
        pytest.param("cn:spiffe://a/b", {"cn:spiffe://a/b"}, id="a type goes before all"),
    ],
)
def test_what_an_allowed_name_means(allowed: str, meant: set[str]) -> None:
    assert typed_names([allowed]) == meant


def test_a_name_that_goes_on_behind_a_nul_is_another_one(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown = authority.issue("server")
    files = TlsFiles(shown.certificate, shown.key, authority=authority.certificate)
    with running(tls=files, allow_clients=frozenset({"kube-scheduler"})) as mooring:

        def push(name: str) -> grpc.StatusCode:
            own = tmp_path / "client.pem"
            own.write_bytes(certificate(name, authority=authority))
            with as_client(mooring.server.address, authority, Pair(own, own)) as channel:
                call = partial(ClusterServiceStub(channel).PushObjects, PushObjectsRequest(), timeout=LONG)
                return failed(call).code

        # The servicer of these tests has no PushObjects: UNIMPLEMENTED means that the call got through.
        assert push("cn:kube-scheduler") is grpc.StatusCode.UNIMPLEMENTED
        assert push("cn:kube-scheduler\0.evil") is grpc.StatusCode.PERMISSION_DENIED
        assert push("dns:kube-scheduler\0.evil") is grpc.StatusCode.PERMISSION_DENIED
