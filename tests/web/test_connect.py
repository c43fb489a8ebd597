"""A client library of the Connect protocol asks the gateway."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring_client.v1.errors_pb2 import ErrorReason
from tests.web.serving import POD, Page, page
from tests.web.test_bundle import SOURCE, install

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served() -> Iterator[Page]:
    with page() as one:
        yield one


def test_it_reads_answers_and_errors(served: Page, tmp_path: Path) -> None:
    install()
    contract = tmp_path / "contract.binpb"
    buf = Path(sys.executable).with_name("buf")
    subprocess.run([buf, "build", "--output", contract], check=True)

    def ask(method: str, request: object) -> dict[str, Any]:
        node = shutil.which("node")
        assert node
        command = [node, "tests/connect_client.mjs", str(contract), f"{served.url}api/v1", method]
        done = subprocess.run([*command, json.dumps(request)], cwd=SOURCE, capture_output=True, check=True)
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    explained = ask("SchedulingService/Explain", {"pod": POD["pod"]})
    assert explained["answer"]["verdict"]["code"] == "VERDICT_CODE_SUCCESS"
    unknown = ask("DecisionService/GetDecision", {"seq": "77"})
    assert unknown["reason"] == ErrorReason.ERROR_REASON_DECISION_NOT_FOUND
    assert unknown["code"] == grpc.StatusCode.NOT_FOUND.value[0]
    wrong = ask("SchedulingService/Filter", {})
    assert wrong["reason"] == ErrorReason.ERROR_REASON_REQUEST_INVALID
    assert wrong["code"] == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert "pod" in wrong["message"]
