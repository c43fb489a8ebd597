"""``mooring conformance``: checks clients of mooring, extenders of kube-scheduler, and hosts of plugins."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.cli.console import print_line, print_table, with_bar
from mooring.cli.flags import Commands, Flags, add_command, add_manifests, add_output
from mooring.cli.junit import JunitCase, junit
from mooring.cli.output import Exit, print_document
from mooring.cli.values import mapping, positive, seconds
from mooring.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mooring.client_check.cases import ContractCase
    from mooring.config.types import ExtenderStanza
    from mooring.conformance.checks import AnswerTimes, CheckOutcome

_MOST_FAULTS = 5

_CLIENT = """examples:
  mooring conformance client -- ./driver
  mooring conformance client --case schedule-template --record talk.json -- node driver.js
  mooring conformance client --judge talk.json"""

_EXTENDER = """examples:
  mooring conformance extender http://127.0.0.1:8888 --manifests nodes.yaml
  mooring conformance extender kube-scheduler.yaml --junit report.xml"""

_HOST = """examples:
  mooring conformance host unix:/run/rack/host.sock
  mooring conformance host 127.0.0.1:7070 --act --junit report.xml"""

_STYLES = {"passed": "green", "advised": "yellow", "failed": "red", "skipped": "dim"}


def add(commands: Commands) -> None:
    """Declare the command and its verb."""
    text = "check a client of mooring, an extender of kube-scheduler, or a host of plugins"
    verbs: Commands = add_command(commands, "conformance", text, _CLIENT).add_subparsers(
        dest="verb", required=True, metavar="VERB"
    )
    parser = add_command(verbs, "client", "play the contract suite with a client's driver", _CLIENT)
    parser.add_argument("driver", nargs="*", metavar="COMMAND", help="starts the driver")
    flags = Flags(parser)
    flags.add("case", "NAME", "", "cases whose names begin with this; default: all")
    flags.add("jobs", "COUNT", "4", "cases at once", positive)
    flags.add("record", "FILE", "", "write there what happened")
    flags.add("judge", "FILE", "", "judge what happened at another time, and start no driver")
    flags.add("junit", "FILE", "", "write there a report as JUnit has it")
    add_output(flags)
    parser.set_defaults(run=_client)
    _add_extender(verbs)
    _add_host(verbs)


def _add_extender(verbs: Commands) -> None:
    text = "check an extender against the way in which kube-scheduler calls it"
    parser = add_command(verbs, "extender", text, _EXTENDER)
    parser.add_argument(
        "target", metavar="URL|FILE", help="its URL, or a KubeSchedulerConfiguration with its stanza"
    )
    flags = Flags(parser)
    stanza = flags.group("Flags of an extender that is given as a URL")
    stanza.add("filter-verb", "VERB", "filter", "the verb of filter")
    stanza.add("prioritize-verb", "VERB", "prioritize", "the verb of prioritize")
    stanza.add("preempt-verb", "VERB", "", "the verb of preempt, if it has one")
    stanza.add("bind-verb", "VERB", "", "the verb of bind, if it has one; no existing pod is bound")
    stanza.add("http-timeout", "TIME", "5s", "how long kube-scheduler waits", seconds)
    stanza.switch("node-cache-capable", "it is sent names, and knows the nodes")
    add_manifests(flags)
    flags.add("nodes", "COUNT", "5000", "nodes that are made up without --manifests", positive)
    flags.add("idle", "TIME", "6s", "how long a connection rests; kube-scheduler's rest up to 90s", seconds)
    flags.add("case", "NAME", "", "checks whose names begin with this; default: all")
    flags.add("junit", "FILE", "", "write there a report as JUnit has it")
    add_output(flags)
    parser.set_defaults(run=_extender)


def _add_host(verbs: Commands) -> None:
    text = "check a host of plugins against the contract by which mooring calls it"
    parser = add_command(verbs, "host", text, _HOST)
    parser.add_argument("address", metavar="ADDRESS", help="unix:PATH, wasm:PATH, or a loopback HOST:PORT")
    flags = Flags(parser)
    flags.add("args", "YAML", "", "the arguments of its plugins, by their names", mapping)
    flags.add("evaluate-timeout", "TIME", "100ms", "how long mooring waits for an answer", seconds)
    flags.switch("act", "also call Reserve and Unreserve, for a pod and a node that do not exist")
    flags.add("case", "NAME", "", "checks whose names begin with this; default: all")
    flags.add("junit", "FILE", "", "write there a report as JUnit has it")
    add_output(flags)
    parser.set_defaults(run=_host)


def _client(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    import msgspec

    from mooring.client_check.cases import cases
    from mooring.client_check.playing import CasePlayer, Played, faults

    wanted = [case for case in cases() if case.name.startswith(args.case)]
    if args.judge:
        played = msgspec.json.decode(Path(args.judge).read_bytes(), type=list[Played])
    else:
        with CasePlayer(args.driver) as stage:
            played = list(with_bar(stage.all_played(wanted, args.jobs), len(wanted), "playing", many=1))
    if args.record:
        Path(args.record).write_bytes(msgspec.json.encode(played))
    by_name = {each.case: each for each in played}
    found = {case.name: list(faults(case, by_name.get(case.name))) for case in wanted}
    if args.junit:
        reported = [JunitCase(case.server, case.name, case.about, found[case.name]) for case in wanted]
        Path(args.junit).write_text(junit("mooring", reported), encoding="utf-8")
    if args.output == "table":
        _show(wanted, found)
    else:
        print_document(
            args.output, {"cases": [{"name": name, "faults": each} for name, each in found.items()]}
        )
    return Exit.FAILED if any(found.values()) else Exit.OK


def _show(cases: Iterable[ContractCase], found: dict[str, list[str]]) -> None:
    for case in cases:
        if found[case.name]:
            print_line(f"{case.name}: {case.about}", "bold")
            for fault in found[case.name]:
                print_line(f"  {fault}")
    failed = sum(map(bool, found.values()))
    print_line(f"{len(found) - failed} of {len(found)} cases passed")


def _stanzas(args: argparse.Namespace) -> dict[str, ExtenderStanza]:
    """Return the stanzas, by their paths in the configuration.

    Raises:
        ConfigError: The configuration has faults.
        InvalidArgumentError: It has no extender.
    """
    from mooring import config
    from mooring.app.engine import read_text
    from mooring.config.types import ExtenderStanza
    from mooring.runtime.profiles.registry import new_in_tree_registry

    if "://" not in args.target:
        document = config.load(
            read_text(args.target, pipe=True), new_in_tree_registry().catalog(), stubs=True
        ).document
        if not document.extenders:
            raise InvalidArgumentError.at(
                args.target, "has no extenders; give a URL, or a file that has them"
            )
        return {f"extenders[{at}]": stanza for at, stanza in enumerate(document.extenders)}
    return {
        "URL": ExtenderStanza(
            url_prefix=args.target,
            filter_verb=args.filter_verb,
            prioritize_verb=args.prioritize_verb,
            preempt_verb=args.preempt_verb,
            bind_verb=args.bind_verb,
            http_timeout=timedelta(seconds=args.http_timeout),
            node_cache_capable=args.node_cache_capable,
            weight=1,
        )
    }


def _extender(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    from mooring.cluster.manifests.documents import read_paths
    from mooring.conformance.checks import answer_times, outcomes
    from mooring.conformance.extender.asked import AskedExtender
    from mooring.conformance.extender.checks import CHECKS
    from mooring.conformance.extender.sample import generated, sample_of
    from mooring.scheduler.extender import build_transport

    sample = sample_of(read_paths(args.manifests)) if args.manifests else generated(args.nodes)
    played: list[CheckOutcome] = []
    times: list[AnswerTimes] = []
    for path, stanza in _stanzas(args).items():
        extender = AskedExtender(stanza, build_transport(stanza, path), sample, args.idle)
        extender.check_reachable()
        played += with_bar(outcomes(CHECKS, extender, args.case), len(CHECKS), "asking", many=1)
        times += answer_times(extender)
    return _report(args, "extender", played, times)


def _host(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    from mooring.config.types import PluginHostStanza
    from mooring.conformance.checks import answer_times, outcomes
    from mooring.conformance.host.asked import AskedHost
    from mooring.conformance.host.checks import CHECKS

    stanza = PluginHostStanza(args.address, evaluate_timeout=timedelta(seconds=args.evaluate_timeout))
    host = AskedHost(stanza, args.args, acts=args.act)
    host.check_reachable()
    played = list(with_bar(outcomes(CHECKS, host, args.case), len(CHECKS), "asking", many=1))
    return _report(args, "host", played, answer_times(host))


def _report(
    args: argparse.Namespace, suite: str, played: Sequence[CheckOutcome], times: Sequence[AnswerTimes]
) -> int:
    import msgspec

    if args.junit:
        reported = [_reported(outcome) for outcome in played]
        Path(args.junit).write_text(junit(suite, reported), encoding="utf-8")
    if args.output == "table":
        _show_checks(played, times)
    else:
        print_document(args.output, msgspec.to_builtins({"checks": played, "times": times}))
    return Exit.FAILED if any(outcome.result == "failed" for outcome in played) else Exit.OK


def _reported(outcome: CheckOutcome) -> JunitCase:
    """Return an outcome as JUnit has it: advice is a skipped test with a message."""
    case = JunitCase(outcome.source, outcome.name, outcome.rule)
    if outcome.result == "failed":
        return replace(case, faults=outcome.faults)
    passed = outcome.result == "passed"
    return replace(case, skipped="" if passed else "; ".join(outcome.faults) or "it lacks what is checked")


def _show_checks(played: Sequence[CheckOutcome], times: Sequence[AnswerTimes]) -> None:
    from rich.text import Text

    rows = [
        (each.name, Text(each.result, _STYLES[each.result]), each.rule, each.source)
        for each in played
        if each.result != "skipped"
    ]
    print_table(("CHECK", "RESULT", "RULE", "SOURCE"), rows)
    for each in played:
        if each.faults:
            print_line("")
            print_line(each.name, "bold")
            for fault in each.faults[:_MOST_FAULTS]:
                print_line(f"  {fault}")
            if len(each.faults) > _MOST_FAULTS:
                print_line(f"  and {len(each.faults) - _MOST_FAULTS} more")
    print_line("")
    for taken in times:
        took = f"median {taken.median * 1e3:.1f} ms, longest {taken.longest * 1e3:.1f} ms"
        print_line(f"{taken.call} about {taken.nodes:,} nodes: {took}")
    counts = Counter[str](each.result for each in played)
    print_line(", ".join(f"{counts[result]} {result}" for result in _STYLES if counts[result]))
