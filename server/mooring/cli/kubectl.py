"""``kubectl mooring``: the cluster and the namespace of kubectl's context, and its mooring."""

from __future__ import annotations

import argparse
import atexit
import re
import shutil
import subprocess
from collections.abc import Sequence

from mooring.cli.flags import names_namespace

PORT = 50051
"""The port of the second scheduler's gRPC service, on its pod's loopback."""

_VALUED = ("--context", "--kubeconfig", "--namespace", "-n", "--cluster", "--server")
_FORWARDING = re.compile(r"Forwarding from (127\.0\.0\.1:\d+) ")


def flags_behind(words: Sequence[str]) -> list[str]:
    """Return the arguments with the command first: users of kubectl begin with flags."""
    first, rest = [], list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-h", "--help", "--version"):
        count = 2 if rest[0] in _VALUED else 1
        first += rest[:count]
        rest = rest[count:]
    return [*rest, *first]


def choose_context(args: argparse.Namespace, *, asks: bool) -> str:
    """Return the source that the context names: the scheduler of mooring's chart, else the live cluster.

    The context's namespace becomes the one of a command whose flags name none. ``asks`` says whether the
    command can ask a running server. Raises InvalidArgumentError if the kubeconfig can't be used.
    """
    from mooring.app.contexts import namespace_of, scheduler_pod
    from mooring.app.sources import api_server_to_read, kubeconfig_of

    file = kubeconfig_of(args.kubeconfig)
    api = api_server_to_read(file, args.context)
    everywhere = getattr(args, "all_namespaces", False) or names_namespace(getattr(args, "pod", ""))
    if getattr(args, "namespace", None) == "" and not everywhere:
        args.namespace = namespace_of(file, args.context)
    program = shutil.which("kubectl")
    pod = scheduler_pod(api) if asks and program else None
    if pod is None or program is None:
        return "kubernetes"
    flags = [f"--context={args.context}"] if args.context else []
    flags += [f"--kubeconfig={args.kubeconfig}"] if args.kubeconfig else []
    address = forwarded(
        [program, *flags, f"--namespace={pod[0]}", "port-forward", f"pod/{pod[1]}", f":{PORT}"]
    )
    return f"server:{address}" if address else "kubernetes"


def forwarded(command: Sequence[str]) -> str:
    """Start ``kubectl port-forward`` until this process ends; return its address, "" if it gives none."""
    process = subprocess.Popen(  # noqa: S603 - kubectl, with flags of ours
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    atexit.register(process.terminate)
    found = _FORWARDING.match(process.stdout.readline()) if process.stdout else None
    return found[1] if found else ""
