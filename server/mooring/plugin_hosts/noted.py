"""Answers of hosts in short: recordings have them, and replays compare them with those that hosts give now.

A question is a plugin with its arguments, the values of a pod and one combination of values of nodes. Its
answer depends on nothing else, so it may be compared wherever the same question comes up.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from zlib import crc32

from mooring.runtime.pure.bulk_plugin import BulkAnswer, Combinations

RECORDED = 64
"""The most answers of one call that a recording notes."""


class AnswerNotes(threading.local):
    """The answers that the thread got since they were taken.

    Attributes:
        most: How many answers of each call are noted, in all threads; 0 = none.
    """

    most = 0

    def __init__(self) -> None:
        self._noted: dict[int, tuple[str, int]] = {}

    @classmethod
    def set_most(cls, most: int) -> None:
        """Set the limit for all threads."""
        cls.most = most

    def note(self, plugin: str, args_json: str, asked: Combinations, answer: BulkAnswer) -> None:
        """Note an answer."""
        for at in range(min(self.most, asked.numbers.shape[1])):
            values = [
                number if texts is None or not number else texts[number - 1]
                for number, texts in zip(asked.numbers[:, at].tolist(), asked.texts, strict=True)
            ]
            code = int(answer.codes[at])
            status = answer.statuses[code - 1] if code else None
            said = int(answer.scores[at]) if status is None else (status.code.name, status.reasons)
            question = repr((plugin, args_json, asked.pod, values)).encode()
            number = int.from_bytes(hashlib.blake2b(question, digest_size=8).digest(), "little")
            self._noted[number] = plugin, crc32(repr(said).encode())

    def take(self) -> Mapping[int, tuple[str, int]]:
        """Return by question the plugin and the CRC-32 of its answer, and forget them."""
        noted = self._noted
        if noted:
            self._noted = {}
        return noted


answer_notes = AnswerNotes()
