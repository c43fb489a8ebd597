import pytest

from mooring.pushing import replica


@pytest.fixture(autouse=True)
def no_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nothing: the tests make every step themselves."""
    monkeypatch.setattr(replica, "HEARTBEAT_SECONDS", 0.0)
