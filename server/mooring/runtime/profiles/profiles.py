"""The profiles of one configuration, and what they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cmp_to_key

from mooring.framework import Pod
from mooring.framework.errors import NotFoundError
from mooring.runtime.profiles.profile import Profile
from mooring.runtime.profiles.waiting_pods import PodsAtPermit


class Profiles(Mapping[str, Profile]):
    """Profiles by name. Never changed, so that decisions in flight end with the ones they began with.

    Attributes:
        configuration: The hash of the configuration that they were made from; answers are cached under it.
        waiting: The pods that wait for their Permit plugins.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        configuration: str = "",
        waiting: PodsAtPermit | None = None,
    ) -> None:
        self._by_name = dict(profiles)
        self.configuration = configuration
        self.waiting = waiting or PodsAtPermit()

    def __getitem__(self, name: str) -> Profile:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def in_queue_order(self, pods: Iterable[Pod]) -> list[Pod]:
        """Return the pods, which came in this order, as the QueueSort plugin takes them.

        The plugin is the same in every profile.
        """
        came = list(pods)
        sorter = next(iter(self._by_name.values())).queue_sort[0].plugin
        position = {id(pod): float(at) for at, pod in enumerate(came)}

        def compare(first: Pod, second: Pod) -> int:
            if sorter.less(first, position[id(first)], second, position[id(second)]):
                return -1
            return int(sorter.less(second, position[id(second)], first, position[id(first)]))

        return sorted(came, key=cmp_to_key(compare))

    def find(self, name: str = "", pod: Pod | None = None) -> Profile:
        """Return the profile called ``name``; else that of the pod's schedulerName; else the only one. Raises
        NotFoundError if there is none; the message lists the names.
        """
        wanted = name or (pod.spec.scheduler_name if pod is not None else "")
        if wanted in self._by_name:
            return self._by_name[wanted]
        if not name and len(self._by_name) == 1:
            return next(iter(self._by_name.values()))
        known = ", ".join(self._by_name)
        said = f"no profile {wanted!r}" if wanted else "several profiles, name one"
        raise NotFoundError(
            f"{said}; there are: {known}", reason="PROFILE_NOT_FOUND", profile=wanted, known=known
        )

    def of_pod(self, name: str, pod: Pod) -> Profile:
        """Return the profile called ``name``; without a name the one that schedules the pod in a cluster.
        Raises NotFoundError if there is none (PROFILE_NOT_FOUND): the pod is another scheduler's.
        """
        if name or not self.is_foreign(pod):
            return self.find(name, pod)
        raise NotFoundError(self.foreign(pod), reason="PROFILE_NOT_FOUND", profile=pod.spec.scheduler_name)

    def is_foreign(self, pod: Pod) -> bool:
        """Return whether the pod is another scheduler's: no profile has its schedulerName."""
        return pod.spec.scheduler_name not in ("", *self._by_name)

    def foreign(self, pod: Pod) -> str:
        """Return the message about a pod of another scheduler."""
        known = ", ".join(self._by_name)
        return f"its scheduler is {pod.spec.scheduler_name!r}, which is not one of the profiles: {known}"


def left_alone(pod: Pod, profile: Profile) -> Iterator[str]:
    """Yield why the profile would leave the pod alone in a cluster."""
    if pod.spec.scheduler_name not in ("", profile.name):
        own, asked = pod.spec.scheduler_name, profile.name
        yield f"the pod's scheduler is {own!r}; this is what profile {asked!r} would do"
    if pod.metadata.deletion_timestamp:
        yield "the pod is being deleted: no scheduler gives it a node"


def oldest_first(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods in the order of their creation; those of the same second as they are given.

    Pods without a creation time, as in a file that was never applied, come last: they would be created now.
    """

    def age(pod: Pod) -> tuple[bool, str]:
        created = pod.metadata.creation_timestamp or ""
        return not created, created

    return sorted(pods, key=age)
