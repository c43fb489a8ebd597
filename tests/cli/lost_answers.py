"""Batches of reservations whose answers are lost, at a server that is killed at random moments.

The cluster has room for each pod of a batch once, so a lost place or a second one for a pod shows. `python -m
tests.cli.lost_answers 1000 --kills 0.05` plays 1000 batches and kills the server at each 20th loss.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import grpc

from mooring.testing.builders import make_node, make_pod, to_json
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.process import Process, free_port, wait_until

PODS, NODES = 100, 10
SECONDS = 60.0
LONGEST_LOSS = 0.03
"""Seconds, about as long as a batch takes."""
RETRIED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)


class LostAnswers:
    """Plays batches, one after the other.

    Args:
        folder: For the cluster's file and the log.
        seed: The seed of all random choices.
        kills: The part of the lost answers at which the server is killed.
    """

    def __init__(self, folder: Path, seed: int, kills: float) -> None:
        self._dice = random.Random(seed)
        self._kills = kills
        self._folder = folder
        self._address = f"127.0.0.1:{free_port()}"
        cluster = folder / "cluster.yaml"
        nodes = [
            make_node(f"n{at}", allocatable={"cpu": "64", "pods": str(PODS // NODES)}) for at in range(NODES)
        ]
        documents = [{"apiVersion": "v1", "kind": "Node", **json.loads(to_json(node))} for node in nodes]
        cluster.write_text("\n---\n".join(map(json.dumps, documents)))
        self._command = [
            *(sys.executable, "-m", "mooring", "serve", "--source", f"files:{cluster}"),
            *("--listen", self._address, "--health-listen=", "--metrics-listen="),
        ]
        options = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
        self._channel = grpc.insecure_channel(self._address, options)
        self._scheduling = SchedulingServiceStub(self._channel)
        self._server = self._started()
        self.lost = self.killed = 0

    def play(self, number: int) -> None:
        """One batch: some answers are lost, then one arrives, and each pod has exactly one place."""
        request = pb.ScheduleRequest(commit_mode=pb.COMMIT_MODE_RESERVE)
        pod = PodSource(object=KubernetesObject(json=to_json(make_pod("web"))))
        request.templates.append(pb.PodTemplate(pod=pod))
        uids = [f"{number}-{at}" for at in range(PODS)]
        request.pods.template_indices.extend([0] * PODS)
        request.pods.uids.extend(uids)
        for _ in range(self._dice.randint(1, 3)):
            self._lose(request)
        nodes = self._answered(request, uids)
        again = self._scheduling.Schedule(request, timeout=SECONDS)
        assert list(again.nodes.names.names) == nodes
        assert set(again.outcomes) == {pb.COMMIT_OUTCOME_ALREADY_RESERVED}
        ended = self._scheduling.UnreserveMany(pb.UnreserveManyRequest(all=True), timeout=SECONDS).pods
        assert {each.uid for each in ended if each.released} == set(uids)

    def _answered(self, request: pb.ScheduleRequest, uids: list[str]) -> list[str]:
        answer = self._repeated(request)
        nodes = list(answer.nodes.names.names)
        assert [answer.verdicts[at].code for at in answer.pod_verdicts] == [1] * PODS, answer
        assert set(Counter(nodes).values()) == {PODS // NODES}
        listed: dict[str, str] = {}
        page = pb.ListReservationsRequest(page_size=self._dice.randint(1, PODS))
        while True:
            found = self._scheduling.ListReservations(page, timeout=SECONDS)
            listed |= {each.pod.uid: each.node for each in found.reservations}
            if not found.next_page_token:
                break
            page.page_token = found.next_page_token
        assert listed == dict(zip(uids, nodes, strict=True))
        return nodes

    def _lose(self, request: pb.ScheduleRequest) -> None:
        """Send the batch, and lose its answer: the client gives up, or the server is killed."""
        call = self._scheduling.Schedule.future(request, timeout=SECONDS)
        self.lost += 1
        pause = self._dice.uniform(0.0, LONGEST_LOSS)
        if self._dice.random() < self._kills:
            killer = threading.Timer(pause, self._server.kill)
            killer.start()
            killer.join()
            self._server.wait_end()
            self.killed += 1
            call.cancel()
            self._server = self._started()
        else:
            time.sleep(pause)
            call.cancel()

    def _repeated(self, request: pb.ScheduleRequest) -> Any:
        while True:
            try:
                return self._scheduling.Schedule(request, timeout=SECONDS)
            except grpc.RpcError as error:
                if error.code() not in RETRIED:
                    raise
            time.sleep(0.02)

    def _started(self) -> Process:
        server = Process("mooring serve", self._command, self._folder / "log")
        wait_until(self._answers, "a server that answers")
        return server

    def _answers(self) -> bool:
        try:
            self._scheduling.ListReservations(pb.ListReservationsRequest(), timeout=1.0)
            return bool(self._scheduling.Filter(pb.FilterRequest(pod=_POD), timeout=5.0).feasible_count)
        except grpc.RpcError:
            return False

    def close(self) -> None:
        """End the server."""
        self._channel.close()
        self._server.kill()


_POD = PodSource(object=KubernetesObject(json=to_json(make_pod("asked"))))


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("batches", type=int)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--kills", type=float, default=0.05)
    args = flags.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        game = LostAnswers(Path(folder), args.seed, args.kills)
        try:
            for number in range(args.batches):
                game.play(number)
                if number % 50 == 49:
                    print(f"{number + 1} batches, {game.lost} answers lost, {game.killed} kills", flush=True)
        finally:
            game.close()


if __name__ == "__main__":
    main()
