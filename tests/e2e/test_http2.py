"""Row F10: h2spec's cases, of which most break HTTP/2 on purpose, against the gRPC listener.

What h2spec finds there is gRPC core's, and out of our hands: it stands in `fixtures/h2spec.txt`. A case that
is new, a server that ends and a good call that fails are ours. The adapter's listener has no HTTP/2.
"""

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mooring.v1 import cluster_service_pb2 as pb
from mooring.v1 import cluster_service_pb2_grpc as pb_grpc
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


def test_frames_that_break_the_rules_harm_nobody(server: MooringServer, tmp_path: Path) -> None:
    host, _, port = server.address.rpartition(":")
    reports = [tmp_path / f"{at}.xml" for at in range(len(PARTS))]
    command: list[str | Path] = [BIN / "h2spec", "--host", host, "--port", port]
    parts = [
        subprocess.Popen(
            [*command, "--junit-report", report, *part], env=environment(), stdout=subprocess.DEVNULL
        )
        for part, report in zip(PARTS, reports, strict=True)
    ]
    calls = 0
    with grpc.insecure_channel(server.address) as channel:
        stub = pb_grpc.ClusterServiceStub(channel)
        while any(part.poll() is None for part in parts):
            assert stub.GetClusterInfo(pb.GetClusterInfoRequest(), timeout=30).synced
            calls += 1
    found = {case: bad for report in reports for case, bad in outcomes(report).items()}
    assert (len(found), calls > 0) == (CASES, True)
    known = {line for line in KNOWN.read_text().splitlines() if line and not line.startswith("#")}
    assert sorted(case for case, bad in found.items() if bad and case not in known) == []
