"""``mooring replay``: the decisions of a recording, made again by the same rules or others."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from mooring.app.embedding import Option
from mooring.cli.console import bar_of, print_line, print_table
from mooring.cli.flags import Commands, Flags, add_command, add_deciding, add_output, engine_options
from mooring.cli.output import Exit, complain, print_document
from mooring.cli.values import seed
from mooring.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from mooring.app.replay import Tally
    from mooring.recordings.decoding import Advance
    from mooring.replay.again import Compared

_encode = msgspec.json.Encoder().encode

SHOWN = 20
"""Decisions that are listed."""

MANY_BYTES = 1 << 20
"""From here on a progress bar is shown."""


_EXAMPLES = """examples:
  mooring replay night --config mine.yaml                which decisions would differ
  mooring replay night --lives --to lives.jsonl          every pod from its arrival to its end"""


def add(commands: Commands) -> None:
    """Declare the command."""
    text = "make the decisions of a recording again, and say which come out differently, and why"
    parser = add_command(commands, "replay", text, _EXAMPLES)
    parser.add_argument("directory", metavar="DIR", help="the directory given to --record-to")
    flags = Flags(parser)
    flags.add("seed", "NUMBER", "", "decides between nodes of equal totals; default each one's own", _seed)
    flags.add("to", "FILE", "", "write every decision there, a line of JSON for each")
    text = "let the pods live again: they come and go as recorded, and go through the queue to other nodes"
    flags.switch("lives", text)
    text = "with --lives: write the figures of each minute as FILE.csv or FILE.parquet"
    flags.add("figures", "FILE", "", text)
    add_output(flags)
    add_deciding(flags, otherwise="the recorded one")
    parser.set_defaults(run=run)


def _seed(text: str) -> int | None:
    """Parse a seed; "" = none is given."""
    return seed(text) if text else None


def run(args: argparse.Namespace, options: tuple[Option, ...]) -> int:
    """Carry it out."""
    if args.figures and not args.lives:
        raise InvalidArgumentError.at("--figures", "needs --lives: decisions that stand have no quality")
    with ExitStack() as files:
        file = files.enter_context(Path(args.to).open("wb")) if args.to else None
        return (_live if args.lives else _decide)(args, options, file)


def _decide(args: argparse.Namespace, options: tuple[Option, ...], file: IO[bytes] | None) -> int:
    """Make the decisions again."""
    from mooring.app.replay import replay_of
    from mooring.replay.again import Compared, Ending

    replay = replay_of(Path(args.directory), engine_options(args, options), seed=args.seed)
    listed: list[Compared] = []
    with _progress(args) as advance:
        for step in replay.steps(advance):
            if not isinstance(step, Compared):
                continue
            _write(_document(step), file)
            if step.ending not in (Ending.SAME, Ending.TIE) and len(listed) < SHOWN:
                listed.append(step)
    if args.output != "table":
        print_document(args.output, _summary(replay.tally, listed))
    else:
        _print(replay.tally, listed)
    if replay.tally.damage is not None:
        complain(replay.tally.damage)
        return Exit.INVALID
    return Exit.OK


def _live(args: argparse.Namespace, options: tuple[Option, ...], file: IO[bytes] | None) -> int:
    """Let the pods live again."""
    from mooring.app.replay import lives_of
    from mooring.recordings.segments import RecordingError
    from mooring.replay.quality import waiting_times
    from mooring.sweeps.results import write_columns

    lives = lives_of(Path(args.directory), engine_options(args, options), seed=args.seed or 0)
    tried, damage = 0, None
    with _progress(args) as advance:
        try:
            for attempt in lives.attempts(Path(args.directory), advance):
                tried += 1
                _write(attempt, file)
        except RecordingError as error:
            damage = error
    figures = {**waiting_times(lives.quality.waits), **lives.quality.means()}
    counts = {
        "arrived": lives.arrived,
        "bound": lives.bound,
        "attempts": tried,
        "preempted": lives.preempted,
        "elsewhere": lives.elsewhere,
        "figures": figures,
    }
    if args.figures:
        write_columns(Path(args.figures), lives.quality.columns)
    if args.output != "table":
        print_document(args.output, counts)
    else:
        print_line(
            f"{lives.arrived:,} pods came, {lives.bound:,} got a node in {tried:,} attempts, "
            f"{lives.preempted:,} had to go for others, {lives.elsewhere:,} ended elsewhere than recorded"
        )
        print_table(("FIGURE", "#MEAN OVER TIME"), [(name, f"{of:,.2f}") for name, of in figures.items()])
    if damage is not None:
        complain(damage)
    return Exit.OK if damage is None else Exit.INVALID


def _progress(args: argparse.Namespace) -> AbstractContextManager[Advance]:
    """Show on a terminal how much of the recording is read."""
    from mooring.recordings.segments import size_of_recording

    return bar_of(size_of_recording(Path(args.directory)), "replaying", many=MANY_BYTES)


def _write(document: object, file: IO[bytes] | None) -> None:
    """Write a line of JSON."""
    if file is not None:
        file.write(_encode(document) + b"\n")


def _document(step: Compared) -> dict[str, Any]:
    """For programs."""
    message = step.message
    return {
        "seq": message.seq,
        "time": step.time,
        "pod": f"{message.pod.namespace}/{message.pod.name}",
        "uid": message.pod.uid,
        "ending": step.ending.value,
        "then": {"node": message.node or None, "total": message.total},
        "now": {"node": step.node or None, "total": step.total},
        "because": step.because or None,
        "reason": step.reason or None,
    }


def _summary(tally: Tally, listed: list[Compared]) -> dict[str, Any]:
    return {
        "summary": tally.sentence(),
        "then": tally.then,
        "now": tally.now,
        "compared": tally.compared,
        "endings": {ending.value: count for ending, count in tally.endings.most_common()},
        "causes": dict(tally.causes.most_common()),
        "skipped": dict(tally.skipped.most_common()),
        "answering": dict(tally.answering.most_common()),
        "hosts": list(tally.hosts),
        "differing": [_document(step) for step in listed],
    }


def _print(tally: Tally, listed: list[Compared]) -> None:
    if listed:
        rows = [
            (
                f"{step.message.pod.namespace}/{step.message.pod.name}",
                step.message.node or "-",
                step.node or "-",
                step.reason,
            )
            for step in listed
        ]
        print_table(("POD", "THEN", "NOW", "BECAUSE"), rows)
        if tally.differing > len(listed):
            print_line(f"and {tally.differing - len(listed):,} more; --to FILE has all of them")
    for why, count in tally.skipped.most_common():
        print_line(f"{count:,} not made again: {why}")
    print_line(tally.sentence())
