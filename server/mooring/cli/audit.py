"""``mooring audit``: what an audit log says."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.app.embedding import Option
from mooring.cli.flags import Commands, Flags, add_command, add_verbosity
from mooring.cli.output import Exit, complain
from mooring.cli.values import one_of, seconds

if TYPE_CHECKING:
    from mooring.audit.event import AuditEvent
    from mooring.audit.reading import AuditFilter

COLUMNS = ("TIME", "WHO", "CALL", "POD", "NODE", "OUTCOME")

_EXAMPLES = """examples:
  mooring audit audit.log --denied                      what callers may not do
  mooring audit audit.log --pod prod/web --since 1h      all about one pod
  mooring audit audit.log --who cn:team -o json          one caller's events, as lines of JSON"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "audit", "read an audit log, with its full files", _EXAMPLES)
    parser.add_argument("files", nargs="+", metavar="FILE", help="logs of --audit-log; - = standard input")
    flags = Flags(parser)
    where = flags.group("Filter flags")
    where.add("who", "NAME", "", "only this caller, or what it called on behalf of others: cn:team or team")
    where.add("pod", "POD", "", "only this pod: NAME or NAMESPACE/NAME")
    where.add("namespace", "NAMESPACE", "", "only pods of this namespace", short="n")
    where.add("node", "NODE", "", "only pods on this node")
    where.add("call", "RPC", "", "only this RPC, such as Bind, or Schedule+Reserve")
    where.add("outcome", "OUTCOME", "", "only what ended so, such as OK or FORBIDDEN")
    where.switch("denied", "only what callers were denied")
    where.add("since", "TIME", "", "only from then on: 1h ago, or 2026-11-30T12:00:00Z", _moment)
    where.add("until", "TIME", "", "only until then", _moment)
    flags.add("output", "FORM", "table", "one of table, json", one_of("table", "json"), short="o")
    add_verbosity(flags)
    parser.set_defaults(run=run)


def _moment(text: str) -> datetime | None:
    """Take a time ago, or a moment as RFC 3339."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC) - timedelta(seconds=seconds(text))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def run(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    """Carry it out."""
    from mooring.audit.reading import read_logs

    skipped: list[None] = []
    try:
        events = read_logs(list(map(Path, args.files)), _filter(args), lambda: skipped.append(None))
        shown = _print_json(events) if args.output == "json" else _print_table(events)
    except OSError as error:
        complain(error)
        return Exit.INVALID
    if skipped:
        complain(f"{len(skipped)} lines were skipped; a killed process may have left one unfinished")
    if not shown:
        complain("no event matches")
    return Exit.OK


def _filter(args: argparse.Namespace) -> AuditFilter:
    from mooring.audit.reading import AuditFilter

    return AuditFilter(
        who=args.who,
        pod=args.pod,
        namespace=args.namespace,
        node=args.node,
        outcome=args.outcome,
        call=args.call,
        since=args.since,
        until=args.until,
        denied=args.denied,
    )


def _print_json(events: Iterable[AuditEvent]) -> int:
    from msgspec import json

    count = 0
    for count, event in enumerate(events, 1):  # noqa: B007 - it counts
        print(json.encode(event).decode())
    return count


def _print_table(events: Iterable[AuditEvent]) -> int:
    from mooring.cli.console import print_table

    rows = [row for event in events for row in _rows(event)]
    if rows:
        print_table(COLUMNS, rows)
    return len(rows)


def _rows(event: AuditEvent) -> Iterator[tuple[str, ...]]:
    """Yield a row for each pod of an event."""
    time = event.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    who = event.who or event.peer or "-"
    who = f"{who} behind {event.behind}" if event.behind else who
    call = f"{event.call} {event.source}" if event.source else event.call
    end = f"{event.outcome}: {event.message}" if event.message else event.outcome
    end = f"{end} ({event.count} times)" if event.count > 1 else end
    if not event.pods:
        yield time, who, call, "-", "-", end
    for pod in event.pods:
        yield time, who, call, pod.key if pod.name else pod.uid or "-", pod.node or "-", end
