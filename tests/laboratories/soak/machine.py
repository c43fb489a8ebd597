"""Rows G: a machine that stops a process, gives it little time, or fails its system calls and its disk."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import grpc

from mooring.testing.builders import node_manifest
from mooring_client.v1 import scheduling_service_pb2 as pb
from mooring_client.v1.objects_pb2 import KubernetesObject, PodSource
from mooring_client.v1.scheduling_service_pb2_grpc import SchedulingServiceStub
from tests.cli.commands import ANY_PORT, BIN, Started, fetch, program, serving_process
from tests.cli.schedulers import node_of, pending, scheduler_command
from tests.fake_api_server import FakeApiServer
from tests.laboratories.soak.rounds import Round, Row, at_once
from tests.process import until

POD = PodSource(object=KubernetesObject(json=b'{"metadata":{"name":"p"}}'))
SLICE = 0.1
"""Seconds of a slice of processor time, as Linux' quotas have it by default."""

REPEATED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""The codes of a server that ends: nothing was done, or the call is idempotent."""

FAULTS = ("ECONNRESET", "EINTR", "EPIPE", "ETIMEDOUT")
LONGEST = 120.0
"""Seconds that a scheduler may need on a busy machine."""


@contextmanager
def placing(round_: Round) -> Iterator[tuple[FakeApiServer, Started]]:
    """A scheduler and pods for a block; afterwards each pod is bound once."""
    with tempfile.TemporaryDirectory() as name, FakeApiServer() as fake:
        fake.add(*(node_manifest(f"n{at}", allocatable={"pods": 1000}) for at in range(3)))
        command = scheduler_command(fake, Path(name), "--leader-elect=false")
        with program(Path(name), BIN / "mooring", *command) as started:
            names = [f"p{at}" for at in range(round_.some(40, 100))]
            adding = threading.Thread(target=add_slowly, args=(fake, names))
            adding.start()
            yield fake, started
            adding.join()
            until(lambda: all(node_of(fake, one) for one in names), "all bindings", LONGEST)
        bound = [uid for uid, _, _ in fake.history.accepted_bindings()]
        assert len(bound) == len(set(bound)) == len(names), "I1"
        round_.inputs += len(names)
        round_.count(fake)


def add_slowly(fake: FakeApiServer, names: list[str]) -> None:
    for name in names:
        fake.add(pending(name))
        time.sleep(0.02)


def cpu_starved(round_: Round) -> None:
    """The process gets 20 ms of each 100 ms, like a quota, then pauses for some seconds."""
    dice = round_.dice
    with placing(round_) as (_, started):
        for _ in range(round_.some(20, 40)):
            started.process.send_signal(signal.SIGSTOP)
            time.sleep(0.8 * SLICE)
            started.process.send_signal(signal.SIGCONT)
            time.sleep(0.2 * SLICE)
            round_.faults += 1
        started.process.send_signal(signal.SIGSTOP)
        time.sleep(dice.uniform(1.0, 10.0) * round_.size)
        started.process.send_signal(signal.SIGCONT)


def syscall_faults(round_: Round) -> None:
    """Now and then reading from, or writing to, a connection fails."""
    dice = round_.dice
    calls, every = dice.choice(("recvfrom", "sendto", "recvfrom,sendto")), dice.randrange(15, 40)
    fault = dice.choice(FAULTS)
    inject = f"inject={calls}:error={fault}:when={dice.randrange(20, 60)}+{every}"
    with placing(round_) as (_, started):
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", inject]
        with subprocess.Popen([*command, "-p", str(started.process.pid)]) as strace:
            time.sleep(round_.some(5, 15))
            strace.terminate()
        round_.faults += 1


def disk_full(round_: Round) -> None:
    """Writes of a recording fail for a while; every question is answered, and the recording continues."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        recording = Path(name) / "recording"
        flags = ("--record-to", recording, "--record-segment-bytes", "20000")
        started = stack.enter_context(serving_process(Path(name), *flags))
        stub = SchedulingServiceStub(stack.enter_context(grpc.insecure_channel(started.address("grpc"))))
        metrics = f"http://{started.address('metrics')}/metrics"

        def counted(metric: str) -> float:
            lines = fetch(metrics)[1].decode().splitlines()
            return sum(
                float(line.split()[-1])
                for line in lines
                if line.startswith(f"mooring_recording_{metric}_total")
            )

        def ask() -> float:
            for _ in range(20):
                stub.Schedule(pb.ScheduleRequest(templates=[pb.PodTemplate(pod=POD)]), timeout=30)
                round_.inputs += 1
            return 0.0

        until(lambda: ask() or counted("entries"), "a first entry", LONGEST)

        def more(metric: str) -> None:
            """Ask until there is more of it."""
            before = counted(metric)
            until(lambda: ask() or counted(metric) > before, f"more {metric} of the recording", LONGEST)

        for _ in range(round_.some(1, 3)):
            resource.prlimit(started.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            more("errors")
            resource.prlimit(started.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            more("entries")
            round_.faults += 1
        started.process.send_signal(signal.SIGTERM)
        assert started.process.wait(LONGEST) == 0
        said = subprocess.run(
            [BIN / "mooring", "replay", str(recording)], capture_output=True, text=True, check=False
        )
        assert said.returncode == 0, said.stderr


def no_descriptors(round_: Round) -> None:
    """The process runs out of descriptors for a while; it lives, and answers again."""
    with tempfile.TemporaryDirectory() as name, serving_process(Path(name)) as started:
        host, _, port = started.address("grpc").rpartition(":")
        pid = started.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        for _ in range(round_.some(2, 5)):
            used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + round_.dice.randrange(4), limits[1]))
            with ExitStack() as open_:
                for _ in range(30):
                    open_.enter_context(socket.create_connection((host, int(port)), timeout=30))
                time.sleep(0.5)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            with grpc.insecure_channel(started.address("grpc")) as channel:
                ask = SchedulingServiceStub(channel).Schedule
                request = pb.ScheduleRequest(templates=[pb.PodTemplate(pod=POD)])
                assert ask(request, timeout=LONGEST, wait_for_ready=True).pod_verdicts
            round_.faults += 1


def sigterm_drain(round_: Round) -> None:
    """SIGTERM under load: each call is answered, or rejected in a way that a client repeats."""
    for _ in range(round_.some(2, 4)):
        with tempfile.TemporaryDirectory() as name, serving_process(Path(name)) as started:
            over = threading.Event()
            with ThreadPoolExecutor(4) as pool:
                callers = [pool.submit(asked, started.address("grpc"), over) for _ in range(4)]
                time.sleep(round_.dice.uniform(0.3, 1.0))
                started.process.send_signal(signal.SIGTERM)
                code = started.process.wait(LONGEST)
                over.set()
                answered = [caller.result() for caller in callers]
            assert code == 0
            assert all(answered), "a caller got no answer before the end"
            round_.inputs += sum(answered)
            round_.faults += 1


def asked(address: str, over: threading.Event) -> int:
    """Ask until the server is gone; how many answers came."""
    answers = 0
    with grpc.insecure_channel(address) as channel:
        stub = SchedulingServiceStub(channel)
        while not over.is_set():
            try:
                stub.Schedule(pb.ScheduleRequest(templates=[pb.PodTemplate(pod=POD)]), timeout=30)
                answers += 1
            except grpc.RpcError as error:
                if error.code() not in REPEATED:
                    raise
    return answers


CGROUPS = Path("/sys/fs/cgroup/memory")


@contextmanager
def limited(size: int) -> Iterator[Path]:
    """Yield a memory cgroup with a limit; a process joins it by its ``cgroup.procs``."""
    group = CGROUPS / f"mooring-soak-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(size))
        yield group
    finally:
        until(lambda: not (group / "cgroup.procs").read_text(), "the end of its processes", LONGEST)
        group.rmdir()


REQUESTED = 256 << 20
"""Bytes of memory that the manifests request for a server."""


def memory_pressure(round_: Round) -> None:
    """A server has no more memory than it requests, and gets large bodies: it sheds them, and lives."""
    # The group is all that the process sees, as in a container.
    joining = f'echo $$ > $0/cgroup.procs; mount --bind $0 {CGROUPS}; exec "$@"'
    listeners = [word for name in ("", "health-", "metrics-") for word in (f"--{name}listen", ANY_PORT)]
    serve = (BIN / "mooring", "serve", "--source", "sample", "--drain-delay", "0", *listeners)
    with (
        tempfile.TemporaryDirectory() as name,
        limited(REQUESTED) as group,
        program(Path(name), "unshare", "--mount", "sh", "-c", joining, group, *serve) as started,
    ):
        assert started.ready, started.log.read_text()
        codes = at_once(4, partial(flooded, started.address("grpc")), range(round_.some(20, 60)))
        assert started.process.poll() is None, "the process was ended"
        with grpc.insecure_channel(started.address("grpc")) as channel:
            ask = SchedulingServiceStub(channel).Schedule
            request = pb.ScheduleRequest(templates=[pb.PodTemplate(pod=POD)])
            assert ask(request, timeout=LONGEST).pod_verdicts
        events = (group / "memory.oom_control").read_text()
        assert "oom_kill 0" in events, events
    round_.inputs += len(codes)
    round_.faults += sum(code is not grpc.StatusCode.OK for code in codes)


def flooded(address: str, at: int) -> grpc.StatusCode:
    """Send a large body; return the code of its call."""
    annotations = {f"a{number}": "x" * 1000 for number in range(1000 * (1 + at % 40))}
    document = {"metadata": {"name": "p", "annotations": annotations}}
    pod = PodSource(object=KubernetesObject(json=json.dumps(document).encode()))
    options = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1))
    with grpc.insecure_channel(address, options) as channel:
        call = SchedulingServiceStub(channel).Schedule.future(
            pb.ScheduleRequest(templates=[pb.PodTemplate(pod=pod)]), timeout=LONGEST
        )
        code: grpc.StatusCode = call.code()
        return code


ROWS = (
    *((Row("G3", "memory_pressure", memory_pressure),) if os.access(CGROUPS, os.W_OK) else ()),
    Row("G2", "sigterm_drain", sigterm_drain),
    Row("G4", "cpu_starved_and_pause", cpu_starved),
    Row("G5", "syscall_faults", syscall_faults),
    Row("G5d", "disk_full", disk_full),
    Row("G5f", "no_descriptors", no_descriptors),
)
