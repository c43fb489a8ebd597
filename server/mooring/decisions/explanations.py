"""Whole explanations of some decisions, packed by a thread of their own, within a budget of bytes."""

from __future__ import annotations

import logging
import queue
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable

from mooring.decisions.records import DecisionKind, DecisionResult, Record
from mooring.framework.remembering import encoded_size
from mooring.runtime.answers import Choice, Evaluation, Explanation

log = logging.getLogger(__name__)

DEFAULT_BYTES = 64 << 20

ANNOTATION = "mooring.dev/explain"
"""Explanations of pods with this annotation, whatever its value, are always kept."""

WAITING = 64
"""Explanations that may wait to be packed; each holds some arrays with an entry per node."""

LARGEST_POD = 1 << 16
"""The encoded bytes of the largest pod whose explanation is kept: a larger one takes megabytes until it is
packed. It is explained by making the decision again."""

PER_SECOND = 2.0
"""Explanations kept per second, besides those that are always kept."""

REST_TIMES = 199
"""The packing thread rests this many times as long as it worked: it takes half a percent of a processor."""

FIRST_AGAIN_SECONDS = 60.0
"""The first one of an owner's pods with the same reasons is always kept, again after this time."""

MOST_FIRSTS = 4_096
"""Owners and reasons that are remembered."""

_ENTRY_BYTES = 200

Encode = Callable[[Explanation, Record], bytes]
"""Packs an explanation; its reader knows the form."""

NumberOf = Callable[[Record], int | None]
"""Returns the number of a decision that was noted; None when it is forgotten."""


class Explanations:
    """Safe from any thread; offering one never waits.

    Only decisions that were evaluated in full offer one. Others come from a cached evaluation and
    are explained by making the decision again.

    Args:
        encode: The form in which they are kept.
        number_of: Returns the number of a decision that was noted.
        budget: Bytes that they may take packed, above 0. The oldest go first.

    Attributes:
        dropped: How many were not kept because too many waited, the pod is too large, or one could not be
            packed.
    """

    def __init__(self, encode: Encode, number_of: NumberOf, budget: int = DEFAULT_BYTES) -> None:
        self.dropped = 0
        self._encode = encode
        self._number_of = number_of
        self._budget = budget
        self._size = 0
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[Record, Choice]] = queue.SimpleQueue()
        self._firsts: dict[tuple[object, ...], float] = {}
        self._next = 0.0
        self._packer: threading.Thread | None = None

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def __contains__(self, seq: int) -> bool:
        """Whether that of this decision is kept."""
        return seq in self._kept

    @property
    def size(self) -> int:
        """Bytes that they take, packed."""
        return self._size

    def get(self, seq: int) -> bytes | None:
        """Return what was encoded of a decision; None when it isn't kept."""
        with self._lock:
            packed = self._kept.get(seq)
        return None if packed is None else zlib.decompress(packed)

    def offer(self, record: Record, choice: Choice) -> None:
        """Keep the explanation of a decision that was evaluated in full, if it is one to keep.

        The decision is noted before.
        """
        source = choice.source
        if not isinstance(source, Evaluation) or source.of_totals or not self._wanted(record, source):
            return
        if self._waiting.qsize() >= WAITING or encoded_size(record.pod) > LARGEST_POD:
            self.dropped += 1
        else:
            self._waiting.put((record, choice))
            if self._packer is None:
                self._begin_to_pack()

    def _begin_to_pack(self) -> None:
        with self._lock:
            if self._packer is None:
                self._packer = threading.Thread(target=self._pack_all, name="explanations", daemon=True)
                self._packer.start()

    def _wanted(self, record: Record, evaluation: Evaluation) -> bool:
        """Return whether to keep an explanation. Without a lock: two threads may both have the first one."""
        if record.details.nominated or record.kind is DecisionKind.PREEMPT:
            return True
        if record.result is DecisionResult.FAILED or ANNOTATION in evaluation.pod.metadata.annotations:
            return True
        now, firsts = time.monotonic(), self._firsts
        why = record.why
        # Not the reasons themselves: there may be tens of thousands.
        key = record.profile, record.namespace, record.owner, hash(why and why.reasons)
        if now - firsts.get(key, -FIRST_AGAIN_SECONDS) >= FIRST_AGAIN_SECONDS:
            if len(firsts) >= MOST_FIRSTS:
                firsts.clear()
            firsts[key] = now
            return True
        if now < self._next:
            return False
        self._next = now + 1 / PER_SECOND
        return True

    def _pack_all(self) -> None:
        while True:
            record, choice = self._waiting.get()
            began = time.thread_time()
            try:
                self._pack(record, choice)
            except Exception:  # the thread must outlive whatever a plugin left behind
                log.exception("the explanation of a decision about pod %s is not kept", record.name)
                self.dropped += 1
            # Nothing of a decision is kept while waiting for the next one.
            del record, choice
            time.sleep(REST_TIMES * (time.thread_time() - began))

    def _pack(self, record: Record, choice: Choice) -> None:
        packed = zlib.compress(self._encode(Explanation.of(choice, record.seed), record), 1)
        seq = self._number_of(record)
        if seq is None:
            self.dropped += 1
            return
        with self._lock:
            self._kept[seq] = packed
            self._size += len(packed) + _ENTRY_BYTES
            while self._size > self._budget:
                _, oldest = self._kept.popitem(last=False)
                self._size -= len(oldest) + _ENTRY_BYTES
