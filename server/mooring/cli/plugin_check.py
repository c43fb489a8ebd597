"""``mooring plugins check`` and ``mooring plugins bench``: a plugin judged before it runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mooring.app.embedding import Option
from mooring.cli.clusters import choose_cluster, is_read
from mooring.cli.console import print_line, print_table, status_line, with_bar
from mooring.cli.flags import (
    Commands,
    Flags,
    add_command,
    add_output,
    add_plugin_hosts,
    add_release,
    add_verbosity,
    engine_options,
    search_working_directory,
)
from mooring.cli.output import Exit, print_document
from mooring.cli.values import mapping, positive
from mooring.framework import CacheablePlugin, Pure

if TYPE_CHECKING:
    from mooring.plugin_check.bench import Bench
    from mooring.plugin_check.findings import PluginFault
    from mooring.plugin_check.following import Following
    from mooring.plugin_check.subject import Subject

HOST_SECONDS = timedelta(seconds=5)
"""The time of an answer of a host at most: a check judges answers, and ``conformance host`` their times."""

_CHECK = """examples:
  mooring plugins check rack_affinity:RackAffinity
  mooring plugins check my_rules:Rack --args '{label: rack}' --cluster cluster.yaml
  mooring plugins check Rack --plugin-host unix:/run/rack/host.sock"""

_BENCH = """examples:
  mooring plugins bench rack_affinity:RackAffinity
  mooring plugins bench my_rules:Rack --nodes 50000 -o json"""


def add_verbs(verbs: Commands) -> None:
    """Declare both verbs of ``mooring plugins``."""
    text = "find faults of a plugin: in its code, and in its answers on made-up clusters"
    _add_subject(add_command(verbs, "check", text, _CHECK), check)
    text = "measure how much processor time a plugin adds to a decision of the default profile"
    bench = add_command(verbs, "bench", text, _BENCH)
    Flags(bench).add("nodes", "COUNT", "5000", "made-up nodes", positive)
    _add_subject(bench, measure)


def _add_subject(parser: argparse.ArgumentParser, run: Any) -> None:
    parser.add_argument(
        "subject",
        metavar="MODULE:CLASS|NAME",
        help="the plugin's class; the working directory is searched first. Or the name of a host's plugin",
    )
    flags = Flags(parser)
    add_plugin_hosts(flags)
    flags.add("args", "YAML", "", "its arguments, as in pluginConfig", mapping)
    flags.add(
        "cluster", "SOURCE", "", "a file, kubernetes[:KUBECONFIG] or recording:DIR[@TIME]; default: made up"
    )
    add_output(flags)
    add_release(flags)
    add_verbosity(flags)
    parser.set_defaults(run=run, plugin=[], config="", manifests=[], kubeconfig="", context="")


def check(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Report what is wrong with a plugin."""
    from mooring.kernels.compile import nothing_compiled
    from mooring.plugin_check.following import NODES, following
    from mooring.plugin_check.playing import played
    from mooring.plugin_check.source import impurities

    subject, dump = _subject(args, options)
    impure = () if subject.host else impurities(subject.make(subject.alone()))
    findings, found = list(impure if subject.pure else ()), None
    # A rule that reads outside may answer otherwise each time: playing it shows nothing more.
    if not findings:
        with status_line(f"asking {subject.name} about changing clusters"):
            findings = played(subject, dump)
    if subject.pure and not findings:
        where = "the cluster" if dump else f"{NODES:,} nodes"
        with status_line(f"counting the calls of {subject.name} for {where}"), nothing_compiled():
            found = following(subject, dump)
    if args.output != "table":
        document = {
            "plugin": subject.name,
            "pure": subject.pure,
            "findings": list(map(asdict, findings)),
            "impurities": list(map(asdict, impure)),
            "following": found and asdict(found),
        }
        print_document(args.output, document)
    else:
        _show(subject, findings, () if subject.pure else impure)
        if found:
            _show_following(found)
    return Exit.INVALID if findings else Exit.OK


def measure(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Report what a plugin costs."""
    from mooring.kernels.compile import compile_ahead
    from mooring.plugin_check.bench import measured

    subject, dump = _subject(args, options)
    with status_line("compiling loops"):
        compile_ahead(args.nodes)
    with status_line(f"making {args.nodes} nodes") as end:

        def shown(rounds: Any, count: int) -> Any:
            end()
            return with_bar(rounds, count, "deciding", many=1)

        found = measured(subject, dump, args.nodes, shown)
    if args.output != "table":
        print_document(args.output, {"plugin": subject.name, **asdict(found)})
    else:
        _show_bench(subject, found)
    return Exit.OK


def _subject(args: argparse.Namespace, options: tuple[Option, ...]) -> tuple[Subject, Sequence[Any]]:
    from mooring.app.offline import manifests_of
    from mooring.plugin_check.subject import Subject

    search_working_directory()
    engine = engine_options(args, options)
    patient = [replace(host, evaluate_timeout=HOST_SECONDS) for host in engine.plugin_hosts]
    engine = replace(engine, plugin_hosts=patient)
    dump: Sequence[Any] = ()
    if args.cluster:
        args.cluster = args.cluster if is_read(args.cluster) else f"files:{args.cluster}"
        choose_cluster(args)
        dump = manifests_of(args.manifests, engine.gates).objects
    return Subject.named(args.subject, args.args, engine), dump


def _show(subject: Subject, findings: Sequence[PluginFault], impure: Sequence[PluginFault]) -> None:
    for finding in findings:
        _show_finding(finding, "red")
    if not findings:
        print_line(f"{subject.name}: no fault found", "green")
    if impure:
        print_line(f"{subject.name} does not promise to be Pure, and could not:")
        for finding in impure:
            _show_finding(finding, "yellow")
    elif not issubclass(subject.kind, Pure | CacheablePlugin):
        print_line(f"{subject.name} is called for each pod; nothing in its code keeps it from being Pure.")


def _show_following(found: Following) -> None:
    print_line(f"it reads {', '.join(found.reads) or 'nothing'}")
    calls = ", ".join(f"{name} {first:.0f} and {later:.3g}" for name, (first, later) in found.calls.items())
    kept = "" if found.followed else "its answers are not kept; "
    print_line(
        f"{kept}calls for the first decision among {found.nodes:,} nodes, and for a later one: {calls}"
    )
    print_line(f"a rejected pod is tried again after {'; '.join(found.events) or 'no event'}")


def _show_finding(finding: PluginFault, style: str) -> None:
    here = f"{Path.cwd()}/"
    print_line(f"{finding.place.removeprefix(here)}: {finding.fault}", style)
    print_line(f"    {finding.remedy}")


def _show_bench(subject: Subject, found: Bench) -> None:
    print_line(f"{found.nodes} nodes; ms of processor time a decision, each pod assumed before the next")
    rows = [("default profile", found.without), (f"with {subject.name}", found.having)]
    added = found.having[0] - found.without[0], found.having[1] - found.without[1]
    print_table(
        ("", "#FIRST", "#WARM"),
        [(name, f"{cold:.2f}", f"{warm:.3f}") for name, (cold, warm) in [*rows, ("difference", added)]],
    )
    print_line("")
    spent = [
        (name, f"{cold:.0f}", f"{warm:.1f}", f"{share:.0%}")
        for name, (cold, warm, share) in found.spent.items()
    ]
    print_table(("METHOD", "#CALLS FIRST", "#CALLS WARM", "#SHARE OF WARM"), spent)
    print_line("")
    print_line(f"{found.placed:.0%} of the pods found a node; the cache answered {found.kept:.0%} of them")
