"""Checks of preempt and bind: what may be evicted, and what counts as bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from mooring.conformance.extender.asked import AskedExtender
from mooring.conformance.extender.sample import Json, folded
from mooring.scheduler.extender import wire

_VICTIMS: Final = 2
"""Victims on each node that is sent; a budget protects the first."""

_OK: Final = 200


def preempts(extender: AskedExtender) -> Iterator[str]:
    """Answer with NodeNameToMetaVictims."""
    answer = msgspec.json.decode(extender.answered(extender.stanza.preempt_verb, _question(extender)))
    if isinstance(answer, dict) and "nodenametometavictims" not in {name.lower() for name in answer}:
        fields = ", ".join(answer) or "no fields"
        yield f"NodeNameToMetaVictims is not among {fields}: that ends preemption"
    extender.victims(_question(extender))


def known_victims(extender: AskedExtender) -> Iterator[str]:
    """Name only nodes and victims that were sent."""
    sent = _sent(extender)
    for node, victims in extender.victims(_question(extender)).items():
        if node not in sent:
            yield f"node {node!r} was not sent"
        for uid in set(victims.uids).difference(sent.get(node, victims.uids)):
            yield f"victim {uid!r} is not on node {node!r}"


def some_victims(extender: AskedExtender) -> Iterator[str]:
    """Name a victim on each node of the answer."""
    for node, victims in extender.victims(_question(extender)).items():
        if not victims.uids:
            yield f"node {node!r} has no victim"


def keeps_violations(extender: AskedExtender) -> Iterator[str]:
    """Keep NumPDBViolations with the victims: nodes with fewer win."""
    for node, victims in extender.victims(_question(extender)).items():
        whole = len(victims.uids) == _VICTIMS
        if victims.violations not in ({1} if whole else range(len(victims.uids) + 1)):
            sent = "1 of 2 victims was protected"
            yield f"node {node!r} has {len(victims.uids)} victims and {victims.violations} violations; {sent}"


def preempt_folds(extender: AskedExtender) -> Iterator[str]:
    """Read fields in any casing."""
    question = _question(extender)
    if extender.victims(question) != extender.victims(_folded(question)):
        yield "the answer is another one if the fields are in lower case"


def rejects_unknown_pod(extender: AskedExtender) -> Iterator[str]:
    """Reject a pod that does not exist: an empty Error means that it is bound."""
    binding = {
        "PodName": "mooring-conformance-no-such-pod",
        "PodNamespace": "default",
        "PodUID": "00000000-0000-4000-8000-000000000000",
        "Node": extender.sample.few()[0],
    }
    for document, said in ((binding, "a pod that does not exist"), (folded(binding), "one in lower case")):
        if _is_done(extender, msgspec.json.encode(document)):
            yield f"{said} is answered as bound"


def rejects_nonsense(extender: AskedExtender) -> Iterator[str]:
    """Reject a binding without a pod and a node."""
    for body in (b"{}", b"", b"[]", b'{"PodName":'):
        if _is_done(extender, body):
            yield f"{body.decode() or 'an empty body'} is answered as done"


def _is_done(extender: AskedExtender, body: bytes) -> bool:
    """Return whether kube-scheduler would take the answer for a bound pod."""
    answer = extender.post(extender.stanza.bind_verb, body)
    try:
        return answer.status == _OK and not wire.read_binding(answer.body)
    except wire.AnswerError:
        return False


def _sent(extender: AskedExtender) -> Mapping[str, list[str]]:
    return {name: [f"victim-{name}-{at}" for at in range(_VICTIMS)] for name in extender.sample.few()[:3]}


def _question(extender: AskedExtender) -> Json:
    sent = _sent(extender)
    if extender.stanza.node_cache_capable:
        pods = {node: [{"UID": uid} for uid in uids] for node, uids in sent.items()}
    else:
        pods = {node: [_victim(uid, node) for uid in uids] for node, uids in sent.items()}
    victims = {node: {"Pods": found, "NumPDBViolations": 1} for node, found in pods.items()}
    names = extender.stanza.node_cache_capable
    return {
        "Pod": extender.sample.pod,
        "NodeNameToVictims": None if names else victims,
        "NodeNameToMetaVictims": victims if names else None,
    }


def _folded(question: Json) -> Json:
    """Return the question with its fields in lower case, and the names of nodes as they are."""
    by_node = {
        field.lower(): found and {node: folded(victims) for node, victims in found.items()}
        for field, found in question.items()
        if field != "Pod"
    }
    return {"pod": folded(question["Pod"]), **by_node}


def _victim(uid: str, node: str) -> Json:
    return {
        "metadata": {"name": uid, "namespace": "default", "uid": uid},
        "spec": {"nodeName": node, "priority": 0, "containers": [{"name": "main", "image": "example/app:1"}]},
        "status": {"phase": "Running"},
    }
