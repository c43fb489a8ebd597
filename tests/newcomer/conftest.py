"""One cluster for all doors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.newcomer.cluster import Newcomer, newcomer


@pytest.fixture(scope="session")
def met(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    with newcomer(tmp_path_factory.mktemp("newcomer")) as running:
        yield running
