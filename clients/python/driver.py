"""The driver of the contract suite; ../contract/README.md has its protocol."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import grpc

from mooring_client import CallFailedError, Client, Pods, Session
from mooring_client.client import MAX_MESSAGE_BYTES
from mooring_client.v1.cluster_service_pb2 import RemoveObject
from mooring_client.v1.objects_pb2 import PodReference
from mooring_client.v1.plugin_service_pb2 import ContractClass
from mooring_client.v1.scheduling_service_pb2 import CommitMode, CommitOutcome
from mooring_client.v1.simulation_service_pb2 import Session as SessionState
from mooring_client.v1.verdicts_pb2 import Verdict, VerdictCode

Json = dict[str, Any]


class Driver:
    """Does commands with one client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._sessions: dict[str, Session] = {}

    def result(self, call: str, **arguments: Any) -> Any:
        """Do a command."""
        operation: Callable[..., Any] = getattr(self, f"_{call}")
        return operation(**arguments)

    def _asked(self, session: str) -> Client | Session:
        return self._sessions[session] if session else self._client

    def _schedule(self, pods: Sequence[Json], mode: str = "DRY_RUN", session: str = "", **how: Any) -> Any:
        groups = [Pods(_json(each["template"]), each["uids"], each.get("names", ())) for each in pods]
        commit_mode = CommitMode.Value(f"COMMIT_MODE_{mode}")
        return [
            {
                "uid": placed.uid,
                "node": placed.node,
                "total": placed.total,
                "verdict": _verdict(placed.verdict),
                "outcome": _name(CommitOutcome, placed.outcome),
            }
            for placed in self._asked(session).schedule(groups, commit_mode=commit_mode, **how)
        ]

    def _reserve(self, pod: Json, **how: Any) -> Json:
        answer = self._client.reserve(_pod(pod), **how)
        return {"verdict": _verdict(answer.verdict), "outcome": _name(CommitOutcome, answer.outcome)}

    def _unreserve(self, pods: Sequence[Json], **how: Any) -> Json:
        ended = self._client.unreserve_many([pod["uid"] for pod in pods], **how)
        return {"released": [each.uid for each in ended if each.released]}

    def _list_reservations(self, **how: Any) -> list[Json]:
        return [{**_reference(each.pod), "node": each.node} for each in self._client.list_reservations(**how)]

    def _watch_nodes(self, updates: int, **how: Any) -> list[Json]:
        return [asdict(each) for each in islice(self._client.watch_nodes(**how), updates)]

    def _watch_decisions(self, updates: int, **how: Any) -> list[Json]:
        made = (each for answer in self._client.watch_decisions(**how) for each in answer.decisions)
        return [
            {"seq": each.seq, "pod": _reference(each.pod), "node": each.node}
            for each in islice(made, updates)
        ]

    def _bind(self, pod: Json, **how: Any) -> Json:
        return {"outcome": _name(CommitOutcome, self._client.bind(PodReference(**pod), **how).outcome)}

    def _filter(self, pod: Json, session: str = "", parts: bool = False, **how: Any) -> Json:
        found = self._asked(session).filter(_pod(pod), in_parts=parts, **how)
        nodes = {name: _verdict(verdict) for name, verdict in found.nodes.items()}
        return {"verdict": _verdict(found.verdict), "nodes": nodes}

    def _score(self, pod: Json, session: str = "", parts: bool = False, **how: Any) -> Json:
        found = self._asked(session).score(_pod(pod), in_parts=parts, **how)
        return {"weight_sum": found.weight_sum, "nodes": dict(found.nodes)}

    def _explain(self, pod: Json, session: str = "", parts: bool = False, **how: Any) -> Json:
        found = self._asked(session).explain(_pod(pod), in_parts=parts, **how)
        nodes = {
            name: {
                "verdict": _verdict(node.verdict),
                "total": node.total,
                "scores": {
                    plugin: {"raw": score.raw, "normalized": score.normalized, "weighted": score.weighted}
                    for plugin, score in node.scores.items()
                },
            }
            for name, node in found.nodes.items()
        }
        return {"verdict": _verdict(found.verdict), "node": found.node, "nodes": nodes}

    def _list_nodes(self, **how: Any) -> Json:
        epoch, nodes = self._client.list_nodes(**how)
        return {"epoch": epoch, "nodes": nodes}

    def _capabilities(self, **how: Any) -> Json:
        answer = self._client.capabilities(**how)
        return {
            "contract_revision": answer.contract_revision,
            "contract_classes": [_name(ContractClass, each) for each in answer.contract_classes],
            "commit_modes": [_name(CommitMode, each) for each in answer.commit_modes],
        }

    def _open_session(self, timeout: float, **origin: str) -> Json:
        opened = self._client.session(origin.get("from", ""), timeout=timeout)
        self._sessions[opened.id] = opened
        return {"session": opened.id}

    def _change_session(
        self, session: str, put: Sequence[Json] = (), remove: Sequence[Json] = (), **how: Any
    ) -> Json:
        removed = [RemoveObject(**each) for each in remove]
        return _state(self._sessions[session].change([_json(each) for each in put], removed, **how))

    def _mark_session(self, session: str, **how: Any) -> Json:
        return {"mark": self._sessions[session].mark(**how)}

    def _revert_session(self, session: str, **how: Any) -> Json:
        return _state(self._sessions[session].revert(**how))

    def _commit_session(self, session: str, **how: Any) -> Json:
        return _state(self._sessions[session].commit(**how))

    def _close_session(self, session: str, **how: Any) -> Json:
        self._sessions[session].close(**how)
        return {}


def _json(document: Json) -> bytes:
    return json.dumps(document).encode()


def _pod(given: Json) -> bytes | PodReference:
    return _json(given) if "metadata" in given else PodReference(**given)


def _reference(pod: PodReference) -> Json:
    return {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def _name(enum: Any, value: int) -> str:
    """Return a value's name without the prefix that all of them have."""
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return enum.Name(value).removeprefix(prefix) if value else ""


def _verdict(verdict: Verdict) -> Json:
    return {
        "code": _name(VerdictCode, verdict.code),
        "plugin": verdict.plugin,
        "reasons": list(verdict.reasons),
        "message": verdict.message,
    }


def _state(session: SessionState) -> Json:
    return {name: getattr(session, name) for name in ("change_count", "node_count", "pod_count")}


def _error(error: CallFailedError) -> Json:
    return {
        "code": error.code.name,
        "reason": error.reason,
        "message": error.args[0],
        "metadata": dict(error.metadata),
        "fields": [{"field": each.field, "description": each.description} for each in error.fields],
        "repeat": error.repeatable,
    }


def _client(args: argparse.Namespace) -> Client:
    def read(path: Path | None) -> bytes | None:
        return path.read_bytes() if path else None

    credentials = (
        grpc.ssl_channel_credentials(read(args.ca), read(args.key), read(args.cert)) if args.ca else None
    )
    return Client(args.target, credentials, max_message_bytes=args.max_message_bytes)


def main() -> None:
    """Do the commands on standard input."""
    parser = argparse.ArgumentParser(description="Drives the Python client.")
    for name in ("--ca", "--cert", "--key"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--max-message-bytes", type=int, default=MAX_MESSAGE_BYTES)
    parser.add_argument("target")
    with _client(parser.parse_args()) as client:
        driver = Driver(client)
        for line in sys.stdin:
            try:
                answer = {"result": driver.result(**json.loads(line))}
            except CallFailedError as error:
                answer = {"error": _error(error)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
