"""``mooring run``: server, adapter and page, each a process of its own, and a first decision."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from contextlib import ExitStack
from http import HTTPStatus
from typing import Any

import msgspec

from mooring.app.embedding import Option
from mooring.cli import remote
from mooring.cli.children import WATCH_SECONDS, Child, InterruptedStartError, StartError, field, start
from mooring.cli.console import print_table, status_line
from mooring.cli.flags import Commands, Flags, add_command, add_verbosity
from mooring.cli.output import Exit, complain
from mooring.cli.tables import View, print_explanation
from mooring.framework import Pod
from mooring.serving.addresses import is_local

FIRST_POD = "default/web-3"
"""The pending pod of the sample cluster that the first decision is about."""

REQUEST_SECONDS = 10.0

REACH_SECONDS = 60.0
"""How long the adapter has to reach the server: on a busy machine a connection takes seconds."""


_EXAMPLES = """examples:
  mooring run                                            everything on a sample cluster
  mooring run --web-listen 127.0.0.1:8080                the page at another port"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "start server, extender adapter and page on a sample cluster, and show decisions"
    parser = add_command(commands, "run", text, _EXAMPLES)
    flags = Flags(parser)
    flags.add("listen", "ADDRESS", "127.0.0.1:50051", "HOST:PORT of the gRPC service")
    flags.add("health-listen", "ADDRESS", "127.0.0.1:50052", "HOST:PORT of gRPC health")
    flags.add("metrics-listen", "ADDRESS", "127.0.0.1:50053", "HOST:PORT of /healthz, /readyz, /metrics")
    flags.add("extender-listen", "ADDRESS", "127.0.0.1:8888", "HOST:PORT of the extender adapter")
    flags.add("web-listen", "ADDRESS", "127.0.0.1:50054", "HOST:PORT of the page")
    flags.switch("insecure-listen", "allow plain text on addresses that other machines can reach")
    add_verbosity(flags)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    """Carry it out."""
    import grpc

    from mooring.cli.sample_life import SampleCluster

    stop = threading.Event()
    # SIGHUP: the terminal is gone. The children have sessions of their own, so nothing else would end them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as running:
        try:
            with status_line("starting the server"):
                server = start(running, "mooring", _server_command(args), stop)
            address = field(server.ready_line, "grpc")
            channel = running.enter_context(grpc.insecure_channel(address))
            sample = SampleCluster(channel, pushed=is_local(args.listen))
            sample.load()
            with status_line("starting the extender adapter and the page"):
                adapter = start(running, "mooring-extender", _adapter_command(args, address), stop)
                url = adapter.ready_line.split()[-1]
                page = start(running, "mooring-web", _page_command(args, address), stop)
                _await_ready(url, stop)
            _show_first_decision(address, url)
        except InterruptedStartError:
            return Exit.OK
        except (StartError, remote.CallError) as error:
            complain(error)
            return Exit.INVALID
        shown = page.ready_line.split()[-1]
        print(f"Decisions and why, in a browser: {shown}")
        print("This is a sample cluster; on yours: mooring web --cluster kubernetes:KUBECONFIG, read-only\n")
        threading.Thread(target=sample.live, args=(stop,), name="sample", daemon=True).start()
        print(server.ready_line.replace(" health=", f" extender={url} page={shown} health="), flush=True)
        return _serve([server, adapter, page], stop)


def _server_command(args: argparse.Namespace) -> list[str]:
    source = "push" if is_local(args.listen) else "sample"
    command = [sys.executable, "-m", "mooring", "serve", "--source", source, "--drain-delay", "0"]
    command += ["--v", str(args.v), f"--insecure-listen={_word(args.insecure_listen)}"]
    for name in ("listen", "health-listen", "metrics-listen"):
        command += [f"--{name}", getattr(args, name.replace("-", "_"))]
    return command


def _adapter_command(args: argparse.Namespace, server: str) -> list[str]:
    listen = ["--listen", args.extender_listen, "--drain-delay", "0"]
    listen.append(f"--insecure-listen={_word(args.insecure_listen)}")
    return [sys.executable, "-m", "mooring_extender", *listen, "--server", server, "--v", str(args.v)]


def _page_command(args: argparse.Namespace, server: str) -> list[str]:
    listen = ["--listen", args.web_listen, f"--insecure-listen={_word(args.insecure_listen)}"]
    return [sys.executable, "-m", "mooring", "web", *listen, "--server", server, "--v", str(args.v)]


def _word(switch: bool) -> str:
    return str(switch).lower()


def _await_ready(url: str, stop: threading.Event) -> None:
    """Wait until the adapter, which listens already, reaches the server.

    Raises:
        CallError: It takes too long.
        InterruptedStartError: ``stop`` was set meanwhile.
    """
    deadline = time.monotonic() + REACH_SECONDS
    while not stop.is_set():
        try:
            _call(url, "GET", "/readyz", None)
        except OSError as error:
            if time.monotonic() > deadline:
                raise remote.CallError(f"{url}/readyz: {error}") from None
        else:
            return
        stop.wait(WATCH_SECONDS)
    raise InterruptedStartError


def _show_first_decision(address: str, url: str) -> None:
    """Ask both for the same pod, and print what they say. Raises CallError if one of them does not answer."""
    from mooring_client.v1 import scheduling_service_pb2 as pb

    request = pb.ExplainRequest(pod=remote.reference(FIRST_POD))
    document = remote.explain_plainly(address, request).document()
    print("A first decision, over gRPC:\n")
    print_explanation(document, View(by_node=True))
    print("\nThe same pod, through the extender adapter:\n")
    print_table(("NODE", "ANSWER", "#SCORE (0..10)"), _ask_extender(url, list(document["nodes"])))
    print()


def _ask_extender(url: str, names: list[str]) -> list[list[str]]:
    from mooring.cluster.sources import sample_objects

    pod = next(item for item in sample_objects() if isinstance(item, Pod) and item.key == FIRST_POD)
    kept = _post(url, "/filter", pod, names)
    ranked = _post(url, "/prioritize", pod, kept["NodeNames"])
    scores = {entry["Host"]: str(entry["Score"]) for entry in ranked}
    failed = {**(kept["FailedNodes"] or {}), **(kept["FailedAndUnresolvableNodes"] or {})}
    return [[name, failed.get(name, "passed"), scores.get(name, "")] for name in names]


def _post(url: str, path: str, pod: Pod, names: list[str]) -> Any:
    body = msgspec.json.encode({"Pod": pod, "Nodes": None, "NodeNames": names})
    try:
        return msgspec.json.decode(_call(url, "POST", path, body))
    except OSError as error:
        raise remote.CallError(f"{url}{path}: {error}") from None


def _call(url: str, method: str, path: str, body: bytes | None) -> bytes:
    """Return the body of the adapter's answer. Raises OSError if there was none, or a rejection."""
    from mooring.http_client.client import HttpClient
    from mooring.http_client.origin import Origin, head_of, message_of

    origin = Origin(url)
    head = head_of({**origin.headers, "Content-Type": "application/json"})
    answer = HttpClient(origin, 0).exchange(
        message_of(method, origin.target(path), head, body), REQUEST_SECONDS
    )
    if answer.status != HTTPStatus.OK:
        raise OSError(f"HTTP {answer.status}")
    return answer.body


def _serve(children: list[Child], stop: threading.Event) -> int:
    """Wait for the signal; a process that ends by itself ends the others too."""
    while not stop.wait(WATCH_SECONDS):
        for child in children:
            if child.process.poll() is not None:
                complain(f"{child.name} ended with exit code {child.process.returncode}")
                return Exit.INVALID
    codes = [child.stop() for child in reversed(children)]
    return Exit.OK if not any(codes) else Exit.INVALID
