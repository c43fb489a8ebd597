"""Prefers nodes that have the pod's images. Mirrors ``plugins/imagelocality/image_locality.go``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import (
    MAX_NODE_SCORE,
    CycleState,
    Int64s,
    KubeVersion,
    NodeView,
    Part,
    Pod,
    ScorePlugin,
)
from mooring.framework.batch import BatchPlugin
from mooring.framework.cacheable import Aspect, CacheablePlugin, Dependencies
from mooring.framework.deadline import timely
from mooring.framework.node_table import NO_IMAGES, ImageUse, NodeTable
from mooring.framework.upstream import Upstream
from mooring.kernels.arrays import Int32s

MIN_BYTES = 23 * 1024 * 1024
"""Fewer bytes than these are as good as none."""

MAX_BYTES_PER_CONTAINER = 1000 * 1024 * 1024
"""More bytes per container than these count no more."""

_IMAGE_VOLUMES_SINCE = KubeVersion(1, 36)

_VOLUMES_DIVIDE_SINCE = KubeVersion(1, 37)
"""Since this release image volumes count among what the bytes are divided by, too."""


class ImageLocality(ScorePlugin[None], CacheablePlugin, BatchPlugin):
    """Scores the bytes of the pod's images that a node has, each image by how widely it is spread.

    Its answers depend on how many nodes there are and have the images.
    """

    name = "ImageLocality"
    upstream = Upstream(weight=1)
    aspects = Aspect.NONE

    def dependencies(self, pod: Pod) -> Dependencies:
        images = tuple(sorted(self._images(pod)))
        return Dependencies(
            signature=(self._image_count(pod), images), parts=Part.NODES | Part.OTHER_NODES, images=images
        )

    def affected_by_removal(self, pod: Pod, nodes: NodeTable, row: int) -> bool:
        uses = self._uses(pod, nodes)
        if not uses:
            return False
        left = nodes.image_set_nodes.copy()
        left[nodes.image_set[row]] -= 1
        now = self._scores_by_set(pod, uses, nodes.image_set_nodes, len(nodes))
        then = self._scores_by_set(pod, uses, left, len(nodes) - 1)
        return bool(((now != then) & (left > 0)).any())

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeView) -> Int64s:
        table = nodes.table
        uses = self._uses(pod, table)
        if not uses:
            return np.zeros(len(nodes), np.int64)
        scores = self._scores_by_set(pod, uses, table.image_set_nodes, len(table))
        sets = nodes.take(table.image_set)
        # A set that is newer than the counts belongs to nodes that are read again.
        return scores[np.where(sets < len(scores), sets, NO_IMAGES)]

    def _scores_by_set(self, pod: Pod, uses: Sequence[ImageUse], nodes_with: Int32s, nodes: int) -> Int64s:
        """int64[numbers]: by set of images the score of a node that has it."""
        present = np.zeros(len(nodes_with), np.int64)
        for use in timely(uses):
            _add_bytes(use, nodes_with, nodes, present)
        return _scores(present, MAX_BYTES_PER_CONTAINER * self._image_count(pod))

    def _uses(self, pod: Pod, table: NodeTable) -> list[ImageUse]:
        """Return the nodes with each of the pod's images, as often as the pod uses it."""
        return [use for image in self._images(pod) if (use := table.images.get(image)) is not None]

    def _image_count(self, pod: Pod) -> int:
        """How many images share the score."""
        count = len(pod.spec.init_containers) + len(pod.spec.containers)
        if self.handle.kube_version >= _VOLUMES_DIVIDE_SINCE:
            count += sum(volume.image is not None for volume in pod.spec.volumes)
        return count

    def _images(self, pod: Pod) -> Iterator[str]:
        """Yield the normalised names of the images, repeated as often as the pod uses them."""
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            yield normalized_image_name(container.image)
        if self.handle.kube_version >= _IMAGE_VOLUMES_SINCE:
            for volume in pod.spec.volumes:
                if volume.image is not None:
                    yield normalized_image_name(volume.image.reference)


def normalized_image_name(name: str) -> str:
    """``name`` with the tag ``latest`` when it has neither tag nor digest."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def _add_bytes(use: ImageUse, nodes_with: Int32s, nodes: int, present: Int64s) -> None:
    """Add an image's bytes, times the share of nodes that have it, to the sets that have it."""
    # A slice copies in one step: the writer may append meanwhile, and can't while numpy holds the buffer.
    sets = np.array(use.sets[:], np.int32)
    sets = sets[sets < len(present)]
    present[sets] += int(float(use.size) * (int(nodes_with[sets].sum()) / max(nodes, 1)))


def _scores(present: Int64s, most: int) -> Int64s:
    """int64[K]: the bytes within the two bounds, as a share of the way from one to the other."""
    clamped = np.where(present < MIN_BYTES, MIN_BYTES, np.minimum(present, most))
    scores: Int64s = MAX_NODE_SCORE * (clamped - MIN_BYTES) // (most - MIN_BYTES)
    return scores
