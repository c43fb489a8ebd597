"""Row F10: h2spec's cases, most of which break HTTP/2 on purpose, against the gRPC listener.

Failures of h2spec there are gRPC core's, and out of our hands: `fixtures/h2spec.txt` lists them. A new
failure, a server that ends and a good call that fails are ours. The adapter's listener has no HTTP/2.

Some cases break a rule on a stream that the server may just have ended, after which HTTP/2 allows it. They
are a race between two writes, so a case is new only if it fails each time.
"""

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mooring_client.v1 import cluster_service_pb2 as pb
from mooring_client.v1 import cluster_service_pb2_grpc as pb_grpc
from tests.process import environment

from .build import BIN
from .processes import MooringServer

pytestmark = pytest.mark.e2e

KNOWN = Path(__file__).parent / "fixtures" / "h2spec.txt"
PARTS = (
    ("generic/1", "generic/2", "generic/3"),
    ("generic/4", "generic/5", "hpack"),
    ("http2/3", "http2/4", "http2/5"),
    ("http2/6",),
    ("http2/7", "http2/8"),
)
"""The sections, in parts that take about as long: h2spec mostly waits for answers that do not come."""

CASES = 145
ATTEMPTS = 5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MooringServer]:
    """mooring on its sample cluster."""
    with MooringServer(tmp_path, source="sample") as running:
        yield running


def outcomes(report: Path) -> dict[str, bool]:
    """By section and name of each case, whether it failed."""
    return {
        f"{case.get('package')} {case.get('classname')}": any(
            outcome.tag in ("failure", "error") for outcome in case
        )
        for case in ET.parse(report).getroot().iter("testcase")
    }


def h2spec(server: MooringServer, report: Path, *sections: str) -> subprocess.Popen[bytes]:
    """h2spec's cases of these sections, running."""
    host, _, port = server.address.rpartition(":")
    command: list[str | Path] = [BIN / "h2spec", "--host", host, "--port", port, "--junit-report", report]
    return subprocess.Popen([*command, *sections], env=environment(), stdout=subprocess.DEVNULL)


def fails_again(server: MooringServer, report: Path, case: str) -> bool:
    """Return whether the case fails once more, its section running alone."""
    section, _, _ = case.partition(" ")
    h2spec(server, report, section).wait()
    return outcomes(report)[case]


def test_frames_that_break_the_rules_harm_nobody(server: MooringServer, tmp_path: Path) -> None:
    reports = [tmp_path / f"{at}.xml" for at in range(len(PARTS))]
    parts = [h2spec(server, report, *part) for part, report in zip(PARTS, reports, strict=True)]
    calls = 0
    with grpc.insecure_channel(server.address) as channel:
        stub = pb_grpc.ClusterServiceStub(channel)
        while any(part.poll() is None for part in parts):
            assert stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=30).synced
            calls += 1
        found = {case: bad for report in reports for case, bad in outcomes(report).items()}
        assert (len(found), calls > 0) == (CASES, True)
        known = {line for line in KNOWN.read_text().splitlines() if line and not line.startswith("#")}
        new = [case for case, bad in found.items() if bad and case not in known]
        assert [
            case
            for case in new
            if all(fails_again(server, tmp_path / "again.xml", case) for _ in range(ATTEMPTS))
        ] == []
        assert stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=30).synced
