"""The messages of an evaluation: the columns of a request, and the checks of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework import Code, Int64s, Normalizer, Status
from mooring.kernels.percentages import MAX_NODE_SCORE
from mooring.runtime.pure.bulk_plugin import MAX_SCORE, BulkAnswer, Combinations
from mooring.runtime.pure.declared import ABSENT, PodValue
from mooring_client.plugin_host.v1.plugin_host_service_pb2 import Column, EvaluateRequest, EvaluateResponse
from mooring_client.plugin_host.v1.plugin_host_service_pb2 import PodValue as WirePodValue
from mooring_client.v1.verdicts_pb2 import Verdict, VerdictCode

MAX_REASONS, MAX_REASON_CHARACTERS = 10, 500
"""Reasons beyond these are cut off: they go into events and logs."""

_LENGTH_DELIMITED = 2
_REJECTIONS = {
    VerdictCode.VERDICT_CODE_UNSCHEDULABLE: Code.UNSCHEDULABLE,
    VerdictCode.VERDICT_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE: Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
}
_CODES = {
    **_REJECTIONS,
    VerdictCode.VERDICT_CODE_SUCCESS: Code.SUCCESS,
    VerdictCode.VERDICT_CODE_ERROR: Code.ERROR,
    VerdictCode.VERDICT_CODE_WAIT: Code.WAIT,
}


class WrongAnswerError(Exception):
    """An answer is not one to its question; the message says why."""


def pod_values(values: Sequence[PodValue]) -> Iterator[WirePodValue]:
    """Yield the message of each value."""
    for value in values:
        if value is None:
            yield WirePodValue()
        else:
            yield WirePodValue(text=value) if isinstance(value, str) else WirePodValue(number=value)


def question(asked: Combinations, host_id: str, instance: int, number: int) -> bytes:
    """Return an EvaluateRequest.

    Its columns are written here, because protobuf takes numbers one by one: 5,000 of them take 200 us.
    """
    head = EvaluateRequest(
        host_id=host_id,
        instance=instance,
        question=number,
        pod=pod_values(asked.pod),
        combinations=asked.numbers.shape[1],
    )
    field = EvaluateRequest.COLUMNS_FIELD_NUMBER
    columns = zip(asked.numbers, asked.texts, strict=True)
    return head.SerializeToString() + b"".join([_delimited(field, _column(*each)) for each in columns])


def _column(values: Int64s, texts: Sequence[str] | None) -> bytes:
    if texts is None:
        absent = values == ABSENT
        if not absent.any():
            return _delimited(1, values.astype("<i8").tobytes())
        numbers = np.where(absent, 0, values).astype("<i8").tobytes()
        return _delimited(1, numbers) + _delimited(2, absent.astype(np.uint8).tobytes())
    present = np.unique(values)
    present = present[present != 0]
    numbered = np.zeros(int(values.max(initial=0)) + 1, "<u4")
    numbered[present] = np.arange(1, len(present) + 1)
    dictionary = Column(dictionary=[texts[each - 1] for each in present.tolist()])
    return _delimited(3, numbered[values].tobytes()) + dictionary.SerializeToString()


def _delimited(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _LENGTH_DELIMITED) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def said(
    response: EvaluateResponse, number: int, count: int, *, scores: bool, normalizer: Normalizer | None
) -> BulkAnswer:
    """Return the answers about ``count`` combinations.

    Raises:
        WrongAnswerError: It answers another question, or is too short, too long or out of range.
    """
    if response.question != number:
        raise WrongAnswerError(f"answered question {response.question}, not {number}")
    codes = np.zeros(count, np.uint8)
    if response.verdicts:
        codes = np.frombuffer(response.verdicts, np.uint8)
        _expect(len(codes) == count, f"gave {len(codes)} verdicts about {count} combinations")
    known = len(response.rejections)
    _expect(int(codes.max(initial=0)) <= known, f"named rejection {codes.max(initial=0)} of {known}")
    for each in response.rejections:
        if each.code not in _REJECTIONS:
            why = ", ".join(_reasons(each)) or f"verdict code {each.code}, which does not reject"
            raise WrongAnswerError(f"said {why}")
    statuses = [status(each) for each in response.rejections]
    given = _scores(response, codes, normalizer) if scores else np.zeros(count, np.int64)
    return BulkAnswer(statuses, codes, given)


def status(verdict: Verdict) -> Status:
    """Return the status that ``verdict`` is.

    Raises:
        WrongAnswerError: A plugin may not return its code.
    """
    if verdict.code not in _CODES:
        raise WrongAnswerError(f"returned verdict code {verdict.code}")
    return Status(_CODES[verdict.code], _reasons(verdict))


def _reasons(verdict: Verdict) -> tuple[str, ...]:
    return tuple([reason[:MAX_REASON_CHARACTERS] for reason in verdict.reasons[:MAX_REASONS]])


def _scores(response: EvaluateResponse, codes: np.ndarray, normalizer: Normalizer | None) -> Int64s:
    found: Int64s
    if normalizer is None:
        found, lowest, highest = np.frombuffer(response.scores, np.uint8).astype(np.int64), 0, MAX_NODE_SCORE
    else:
        found = np.fromiter(response.raw_scores, np.int64, len(response.raw_scores))
        lowest, highest = (1 - MAX_SCORE if normalizer is Normalizer.BY_MIN_MAX else 0), MAX_SCORE - 1
    _expect(len(found) == len(codes), f"gave {len(found)} scores of {len(codes)} combinations")
    wrong = (codes == 0) & ((found < lowest) | (found > highest))
    if wrong.any():
        raise WrongAnswerError(f"gave score {found[wrong][0]}, which is not from {lowest} to {highest}")
    return np.where(codes == 0, found, 0)


def _expect(right: bool, otherwise: str) -> None:
    if not right:
        raise WrongAnswerError(otherwise)
