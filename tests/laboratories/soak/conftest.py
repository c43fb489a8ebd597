"""Ends what rows have started for all their rounds."""

from tests.laboratories.soak.rounds import AT_END


def pytest_sessionfinish() -> None:
    """Also called in the processes of pytest-xdist, which end without Python's own exit."""
    AT_END.close()
