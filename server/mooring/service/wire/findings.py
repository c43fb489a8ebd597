"""Findings on the wire, and back."""

from __future__ import annotations

from mooring.framework import Amounts, Finding, Holder, HolderKind, Int32s, ReasonCode, SubjectKind
from mooring.runtime.answers import Findings
from mooring_client.v1 import findings_pb2 as pb

_CODES = {code: pb.ReasonCode.Value(f"REASON_CODE_{code.name}") for code in ReasonCode}
_CODE_OF: dict[int, ReasonCode] = {number: code for code, number in _CODES.items()}


def code_value(code: ReasonCode | None) -> pb.ReasonCode.ValueType:
    """Return a code on the wire; None is a plugin's own."""
    return pb.ReasonCode.ValueType(0) if code is None else _CODES[code]


def code_label(number: int) -> str:
    """Return the label of a code on the wire; "" for a plugin's own and for those of a newer server."""
    code = _CODE_OF.get(number)
    return code.label if code else ""


def add_findings(message: pb.Findings, findings: Findings, places: Int32s) -> None:
    """Write ``findings`` to an empty message; ``places`` are the candidates' positions in the answer."""
    numbers: dict[Finding, int] = {}
    for place, some in zip(places.tolist(), findings.by_node, strict=False):
        for finding in some:
            message.node_positions.append(place)
            message.indices.append(numbers.setdefault(finding, len(numbers)))
    message.distinct.extend(map(finding_message, numbers))
    message.of_pod.extend(map(finding_message, findings.of_pod))


def findings_in(message: pb.Findings, count: int) -> Findings:
    """Decode the findings about ``count`` nodes."""
    distinct = [finding_of(each) for each in message.distinct]
    by_node: list[tuple[Finding, ...]] = [()] * count
    for position, number in zip(message.node_positions, message.indices, strict=True):
        by_node[position] = (*by_node[position], distinct[number])
    return Findings(tuple(map(finding_of, message.of_pod)), by_node if distinct else ())


def finding_message(finding: Finding) -> pb.Finding:
    """Return a finding on the wire."""
    message = pb.Finding(
        plugin=finding.plugin,
        subject_kind=pb.SubjectKind.ValueType(finding.kind.value),
        subject=finding.subject,
        message=finding.message,
        asked=finding.asked,
        present=finding.present,
        holders=map(_holder_message, finding.holders),
        other_holder_count=finding.other_holders,
        pod_change=finding.pod_change,
        node_change=finding.node_change,
    )
    if isinstance(finding.code, ReasonCode):
        message.code = _CODES[finding.code]
    else:
        message.custom_code = finding.code
    amounts = finding.amounts
    if amounts is not None:
        message.amounts.asked, message.amounts.taken = amounts.asked, amounts.taken
        message.amounts.limit = amounts.limit
        message.amounts.SetInParent()
    return message


def finding_of(message: pb.Finding) -> Finding:
    """Decode a finding; codes and kinds of a newer server are words of its own, and ``OTHER``."""
    amounts = message.amounts
    known = message.subject_kind in SubjectKind._value2member_map_
    return Finding(
        _CODE_OF.get(message.code) or message.custom_code or f"Code{message.code}",
        message.subject,
        message.message,
        message.asked,
        message.present,
        Amounts(amounts.asked, amounts.taken, amounts.limit) if message.HasField("amounts") else None,
        tuple(map(_holder_of, message.holders)),
        message.other_holder_count,
        message.pod_change,
        message.node_change,
        SubjectKind(message.subject_kind) if known else SubjectKind.OTHER,
        message.plugin,
    )


def _holder_message(holder: Holder) -> pb.Holder:
    kind = pb.HolderKind.ValueType(holder.kind.value)
    return pb.Holder(kind=kind, name=holder.name, amount=holder.amount, note=holder.note, node=holder.node)


def _holder_of(message: pb.Holder) -> Holder:
    known = message.kind in HolderKind._value2member_map_
    kind = HolderKind(message.kind) if known else HolderKind.POD
    amount = message.amount if message.HasField("amount") else None
    return Holder(kind, message.name, amount, message.note, message.node)
