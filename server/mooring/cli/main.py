"""The entry point of the ``mooring`` script and of programs that embed it, and its log."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO, cast

from mooring import __version__
from mooring.cli.flags import Commands, Parser
from mooring.cli.kubectl import flags_behind
from mooring.cli.output import Exit, UsageError, complain
from mooring.framework.errors import InvalidArgumentError, MooringError
from mooring.serving.logs import formatter

if TYPE_CHECKING:
    from mooring.app.embedding import Option


GROUPS = {
    "Look into a cluster": ("explain", "why-pending", "decisions", "nodes", "audit", "web", "mcp"),
    "Ask what would be": ("what-if", "schedule", "sweep", "replay"),
    "Run it": ("run", "serve", "scheduler", "push", "record", "doctor"),
    "Configure and extend it": ("config", "access", "plugins", "conformance"),
}
"""The commands by purpose. Each is the module of the same name here, which declares it with ``add``."""

COMMANDS = tuple(name for names in GROUPS.values() for name in names)

OTHERS = "This program"
"""The group of commands about the program itself."""

SHELLS = ("bash", "fish", "tcsh", "zsh")

_COMPLETION = "In bash or zsh: source <(mooring completion bash); in fish: mooring completion fish | source"

EXIT_INTERRUPTED = 130
"""As shells report a command that Ctrl-C ended."""


class MainParser(Parser):
    """The parser of all commands, whose help lists them by purpose."""

    def format_help(self) -> str:
        formatter = self._get_formatter()
        formatter.add_usage("%(prog)s COMMAND [flags]", [], [])
        formatter.add_text(self.description)
        (commands,) = self.arguments()
        listed = {action.dest: action for action in cast("Commands", commands)._get_subactions()}  # noqa: SLF001
        others = tuple(name for name in listed if name not in COMMANDS)
        for title, names in {**GROUPS, OTHERS: others}.items():
            formatter.start_section(title)
            formatter.add_arguments([listed[name] for name in names if name in listed])
            formatter.end_section()
        formatter.add_text("mooring COMMAND --help shows the flags of a command, with examples.")
        formatter.add_text(self.epilog)
        return formatter.format_help()


def kubectl() -> int:
    """Run the command line as ``kubectl mooring``: about the cluster of kubectl's context."""
    return main(argv=flags_behind(sys.argv[1:]), plugin=True)


def main(*options: Option, argv: Sequence[str] | None = None, plugin: bool = False) -> int:
    """Run the command line.

    Args:
        options: Plugins of the embedding program, for example ``with_plugin("Mine", Mine)``.
        argv: The arguments; default those of the process.
        plugin: Whether kubectl called it, whose context then names the cluster and the namespace.

    Returns:
        0; 1 for invalid input, or when a plugin failed; 3 when a pod stayed unschedulable. Wrong usage exits
        with 2.
    """
    words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    parser = _parser(words[:1])
    parser.set_defaults(kubectl=plugin)
    args = parser.parse_args(words)
    configure_log(getattr(args, "v", 0), getattr(args, "logging_format", "text"))
    try:
        code: int = args.run(args, options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough. The rest of the buffer must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except UsageError as error:
        complain(error)
        return Exit.USAGE
    except _rejections() as error:
        complain(_text_of(error, args))
        return Exit.INVALID
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}" if error.filename else error)
        return Exit.INVALID
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code


def _rejections() -> tuple[type[Exception], ...]:
    """Return the errors that the user can correct. Imported only once something was raised."""
    from mooring.cli.remote import CallError
    from mooring.config import ConfigError
    from mooring.runtime.profiles.plugin_checks import PluginDefinitionError
    from mooring.runtime.profiles.registry import RegistryError
    from mooring.serving.addresses import ListenError

    return ConfigError, RegistryError, PluginDefinitionError, MooringError, ListenError, CallError


def _text_of(error: Exception, args: argparse.Namespace) -> str:
    """Return an error's text, with a line for each fault."""
    from mooring.config import ConfigError

    if isinstance(error, ConfigError):
        file = args.file if args.command == "config" else args.config
        return error.text(file)
    if isinstance(error, InvalidArgumentError):
        return "\n".join(map(str, error.violations))
    return str(error)


def _parser(first: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Understands the arguments. When the ``first`` names a command, only that one is imported."""
    parser = MainParser(
        prog="mooring",
        description="On which node should this pod run, and why?",
        epilog="Each flag has a twin in the environment: --health-listen is MOORING_HEALTH_LISTEN. "
        "Exit codes: 0 done, 1 invalid input or a plugin that failed, 2 wrong usage, "
        "3 something stayed unschedulable, 4 everything fits once others are preempted.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands: Commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    named = {*first} & {*COMMANDS, "version", "completion"}
    for name in COMMANDS:
        if not named or name in named:
            importlib.import_module(f"mooring.cli.{name.replace('-', '_')}").add(commands)
    text = "print what completes commands and flags in a shell"
    completion = commands.add_parser("completion", help=text, description=text, epilog=_COMPLETION)
    completion.add_argument("shell", choices=SHELLS, metavar="|".join(SHELLS))
    completion.set_defaults(run=_print_completion)
    text = "print the version"
    version = commands.add_parser("version", help=text, description=text)
    version.set_defaults(run=_print_version)
    return parser


def _print_version(*_: object) -> int:
    print(_version())
    return Exit.OK


def _version() -> str:
    return f"mooring {__version__} (Python {sys.version.split()[0]})"


def _print_completion(args: argparse.Namespace, _options: tuple[Option, ...]) -> int:
    import shtab

    print(shtab.complete(_parser(), args.shell))
    return Exit.OK


def configure_log(verbosity: int, format_name: str = "text") -> None:
    """Log to standard error; level N of klog is ``logging.INFO - N``, so 10 is DEBUG."""
    handler = SharedWriter(sys.stderr)
    handler.setFormatter(formatter(format_name))
    logging.basicConfig(level=logging.INFO - verbosity, handlers=[handler], force=True)
    for level in range(1, 11):
        if level != logging.DEBUG:
            logging.addLevelName(logging.INFO - level, f"V{level}")


class SharedWriter(logging.Handler):
    """Writes lines; a thread that comes while another one writes leaves its line to that one.

    ``logging.StreamHandler`` makes it wait instead, and each write costs the writer its turn in the
    interpreter: 16 threads that logged a line per binding waited 40 % of their time for each other.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: deque[str] = deque()
        self._writing = threading.Lock()

    def createLock(self) -> None:  # noqa: N802 - the base class's name
        """None: no thread waits for another one."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Handle a record without the base class's lock, which Python 3.13 takes even if there is none."""
        passes = bool(self.filter(record))
        if passes:
            self.emit(record)
        return passes

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, or leave it to the thread that is writing."""
        try:
            self._lines.append(self.format(record))
            # Who writes looks again after it let go: a line that came meanwhile is written, too.
            while self._lines and self._writing.acquire(blocking=False):
                try:
                    self._write()
                finally:
                    self._writing.release()
        except Exception:  # noqa: BLE001 - logging must not stop the program
            self.handleError(record)

    def _write(self) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()
