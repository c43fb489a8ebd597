"""Which cluster a question is about: a server that knows it, manifests, or an API server, read once."""

from __future__ import annotations

import argparse
import socket

from mooring.cli import remote
from mooring.cli.flags import CLUSTER, Flags, add_manifests
from mooring.cli.kubectl import choose_context
from mooring.cli.output import UsageError
from mooring.framework.errors import InvalidArgumentError

ANSWER_SECONDS = 0.5
"""How long the server at the default address has to take a connection."""

_READ = "files:PATH,..., recording:DIR[@TIME] or kubernetes[:KUBECONFIG]"
SOURCES = f"server:ADDRESS, {_READ}"


def is_read(source: str) -> bool:
    """Return whether ``source`` names a cluster that this command, or a server of its own, reads."""
    kind, _, rest = source.partition(":")
    return kind == "kubernetes" or (kind in {"files", "recording"} and bool(rest))


def choose_server(args: argparse.Namespace) -> None:
    """Let ``--cluster server:ADDRESS`` name the server of a command that asks about no other cluster; as a
    plugin of kubectl, it is the scheduler of the context's cluster. Raises InvalidArgumentError if it names
    something else.
    """
    source = args.cluster
    if args.kubectl and not source and args.server == remote.DEFAULT_SERVER:
        source = choose_context(args, asks=True)
        source = source if source.startswith("server:") else ""
    kind, _, rest = source.partition(":")
    if kind == "server" and rest:
        args.server = rest
    elif source:
        raise InvalidArgumentError.at("--cluster", f"{args.cluster!r} has no decisions: give server:ADDRESS")


def add_cluster(flags: Flags, *, server: bool = True) -> None:
    """Add the flags that name the cluster; ``choose_cluster`` brings them together. With ``server`` a running
    server is allowed, too.
    """
    flags = flags.group(CLUSTER)
    default = f"a server at {remote.DEFAULT_SERVER} if one answers, " if server else ""
    text = f"{SOURCES if server else _READ}; default {default}in a pod kubernetes"
    flags.add("cluster", "SOURCE", "", text)
    add_manifests(flags)
    flags.add("kubeconfig", "FILE", "", "read this file's live cluster once, like --cluster kubernetes:FILE")
    flags.add("context", "NAME", "", "a context of the kubeconfig; default its current one")
    if server:
        remote.add_server(flags)


def choose_cluster(args: argparse.Namespace) -> None:
    """Bring the flags together: ``args.server`` names a server then, or ``args.manifests`` has the objects.

    Raises:
        UsageError: The flags don't go together, or name no cluster.
        InvalidArgumentError: The kubeconfig can't be used.
    """
    asks = hasattr(args, "server")
    ways = f"--manifests PATH..., {'--server ADDRESS, ' if asks else ''}--kubeconfig FILE or --cluster SOURCE"
    live = args.kubeconfig or args.context
    given = [args.cluster, args.manifests, live, asks and args.server]
    if sum(map(bool, given)) > 1:
        raise UsageError(f"give either one or the other of {ways}")
    source = args.cluster
    if args.kubectl and not any(given[:2] + given[3:]):
        source = choose_context(args, asks=asks)
    elif live:
        source = f"kubernetes:{args.kubeconfig}"
    elif not any(given):
        source = _default(asks=asks)
        if not source:
            why = f"no mooring server answers at {remote.DEFAULT_SERVER}: " if asks else ""
            raise UsageError(f"{why}give {ways}")
    kind, _, rest = source.partition(":")
    if asks and kind == "server" and rest:
        args.server = rest
    elif kind == "files" and rest:
        args.manifests = rest.split(",")
    elif kind == "recording" and rest:
        from mooring.recordings.playback import Moment

        args.manifests = Moment.named(rest)
    elif kind == "kubernetes":
        from mooring.app.sources import api_server_to_read

        args.manifests = api_server_to_read(rest or args.kubeconfig, args.context)
    elif source:
        raise UsageError(f"--cluster: {source!r} is not one of {SOURCES if asks else _READ}")


def _default(*, asks: bool) -> str:
    from mooring.app.sources import default_source

    if not asks:
        return default_source()
    host, _, port = remote.DEFAULT_SERVER.rpartition(":")
    try:
        socket.create_connection((host, int(port)), ANSWER_SECONDS).close()
    except OSError:
        return default_source()
    return f"server:{remote.DEFAULT_SERVER}"
