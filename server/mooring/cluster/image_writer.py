"""Keeps which images nodes have. Nodes of one pool have the same, so equal lists share a number.

Sizes mirror ``addNodeImageStates`` and ``removeNodeImageStates`` in pkg/scheduler/backend/cache/cache.go.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from mooring.cluster.shared_values import SharedValues
from mooring.framework.columns import grown
from mooring.framework.node_table import NO_IMAGES, ImageUse, NodeTable
from mooring.framework.objects import ContainerImage
from mooring.framework.recent_changes import next_version

Images = tuple[ContainerImage, ...]


class ImageWriter:
    """The writer of the images of one ``NodeTable``. The caller holds ``table.lock``."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._numbers: dict[Images, int] = {(): NO_IMAGES}
        self._free: list[int] = []
        self._images = SharedValues(table.images, _copy_of_use)

    def fork(self, table: NodeTable) -> ImageWriter:
        """Return the writer of ``table``, a copy."""
        twin = ImageWriter(table)
        twin._numbers, twin._free = self._numbers.copy(), self._free.copy()
        twin._images = self._images.fork(table.images)
        return twin

    def put_images(self, row: int, old: Images, new: Images) -> None:
        """Replace the images ``old`` of the node of ``row`` with ``new``."""
        nodes_with = self._table.image_set_nodes
        before = int(self._table.image_set[row])
        if old is new and nodes_with[before] > 1:
            return
        number = self._numbers.get(new)
        if number is None:
            number = self._add(new)
        self._table.image_set_nodes[number] += 1
        self._table.image_set[row] = number
        self._table.image_set_nodes[before] -= 1
        if before != NO_IMAGES and not self._table.image_set_nodes[before]:
            self._drop(old, before)
        if self._table.image_set_nodes[number] == 1:
            self._measure(new)

    def mark_changed(self, old: Images, new: Images) -> None:
        """Give images new versions that are in one of the lists of a node only, or in another size."""
        before, after = _sizes(old).items(), _sizes(new).items()
        for name in {name for name, _ in before ^ after}:
            use = self._images.writable(name)
            if use is not None:
                use.version = next_version()

    def _add(self, images: Images) -> int:
        number = self._free.pop() if self._free else len(self._numbers)
        if number >= len(self._table.image_set_nodes):
            self._table.image_set_nodes = grown(self._table.image_set_nodes, 2 * number)
        self._numbers[images] = number
        for name, size in _sizes(images).items():
            use = self._images.writable(name)
            if use is None:
                self._images.put(name, ImageUse(size, array("i", (number,))))
            else:
                self._images.put(name, ImageUse(use.size, _with(use.sets, number), use.version))
        return number

    def _drop(self, images: Images, number: int) -> None:
        del self._numbers[images]
        self._free.append(number)
        for name in _sizes(images):
            use = self._images.values[name]
            sets = use.sets[:]
            sets.remove(number)
            if sets:
                self._images.put(name, ImageUse(use.size, sets, use.version))
            else:
                self._images.drop(name)

    def _measure(self, images: Images) -> None:
        """Measure images; one that a single node has is as large as that node says."""
        for name, size in _sizes(images).items():
            use = self._images.writable(name)
            if use is not None and len(use.sets) == 1 and use.size != size:
                use.size, use.version = size, next_version()


def _with(sets: array[int], number: int) -> array[int]:
    """Return ``sets`` and ``number``, in the same array unless its memory is being read."""
    try:
        sets.append(number)
    except BufferError:
        return sets + array("i", (number,))
    return sets


def _copy_of_use(use: ImageUse) -> ImageUse:
    return ImageUse(use.size, use.sets[:], use.version)


def _sizes(images: Iterable[ContainerImage]) -> dict[str, int]:
    """Size by name; of a name given twice, the first size counts."""
    sizes: dict[str, int] = {}
    for image in images:
        for name in image.names:
            sizes.setdefault(name, image.size_bytes)
    return sizes
