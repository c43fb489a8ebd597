from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cluster.api import ApiServer
from tests.fake_api_server import Answer, FakeApiServer
from tests.fake_api_server.contract import Contract


class FakeCluster:
    """The fake under the contract suite."""

    bookmark_seconds = 1

    def __init__(self, fake: FakeApiServer, folder: Path) -> None:
        self._fake = fake
        self.api = ApiServer.from_kubeconfig(fake.kubeconfig(folder / "kubeconfig"))

    @property
    def crowded(self) -> ApiServer:
        answer = Answer(429, retry_after=1, message="Too many requests, please try again later.")
        self._fake.faults.on("", "", answer, when=lambda call: call.user_agent == "crowd")
        return self._fake.client(user_agent="crowd")

    def compact(self) -> None:
        self._fake.store.compact()


class TestFake(Contract):
    """The fake keeps the contract."""

    @pytest.fixture
    def cluster(self, tmp_path: Path) -> Iterator[FakeCluster]:
        with FakeApiServer(bookmark_seconds=0.2) as fake:
            yield FakeCluster(fake, tmp_path)
