"""kube-scheduler and `mooring scheduler`; either can be the only scheduler of a control plane."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from .control_plane import ControlPlane
from .processes import MooringScheduler


class StartScheduler(Protocol):
    """Starts one on a control plane; its files go into the directory."""

    def __call__(
        self, plane: ControlPlane, directory: Path, /, *flags: str
    ) -> AbstractContextManager[Any]: ...


def kube_scheduler(plane: ControlPlane, _: Path, /, *flags: str) -> AbstractContextManager[Any]:
    """Return an unmodified kube-scheduler that its client limits don't slow down."""
    connection = {"kubeconfig": str(plane.kubeconfig("kube-scheduler")), "qps": 5000, "burst": 5000}
    return plane.scheduler({"clientConnection": connection}, verbosity=0, flags=flags)


def mooring_scheduler(plane: ControlPlane, directory: Path, /, *flags: str) -> AbstractContextManager[Any]:
    """`mooring scheduler` in its place."""
    config = {
        "profiles": [{"schedulerName": "default-scheduler"}],
        "leaderElection": {"leaderElect": False},
    }
    return MooringScheduler(directory, plane.kubeconfig("mooring"), config, "--v=0", *flags)


SCHEDULERS: dict[str, StartScheduler] = {"kube-scheduler": kube_scheduler, "mooring": mooring_scheduler}
