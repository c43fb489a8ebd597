"""The command of an adapter: flags, start, stop and exit codes."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from mooring.serving.addresses import ListenError
from mooring.serving.calls.listener import OfferedService
from mooring.serving.commands import (
    EXIT_FAILED,
    EXIT_OK,
    AdapterParser,
    configure_logging,
    shown_files,
    trusted_files,
)
from mooring.serving.grammar import SWITCH, boolean
from mooring_adapter.listener import AdapterListener
from mooring_adapter.mooring import Mooring

GRACE_SECONDS: Final = 5.0
"""Seconds that calls have to end in after a signal."""


@dataclass(frozen=True)
class Adapter:
    """The parts of a command that runs a servicer.

    Attributes:
        name: The command; twins of its flags begin with it, as MOORING_ESTIMATOR_.
        listen: The default address.
        add_flags: Adds the flags that others don't have.
        service: Makes the service that the flags describe.
    """

    name: str
    about: str
    listen: str
    add_flags: Callable[[AdapterParser], None]
    service: Callable[[Mooring, argparse.Namespace], OfferedService]

    def parser(self) -> AdapterParser:
        """Return the parser of the command."""
        prefix = self.name.upper().replace("-", "_") + "_"
        parser = AdapterParser(self.name, self.about, prefix, os.environ)
        parser.add_ends(self.listen, "TLS")
        text = "HOST:PORT or unix:PATH where gRPC health listens apart from calls, in plain text"
        parser.flag("health-listen", "ADDRESS", "", text)
        text = "call mooring on behalf of each client, whose rights count; needs the role impersonator there"
        parser.flag("impersonate", SWITCH, "false", text, boolean)
        self.add_flags(parser)
        parser.add_log()
        return parser

    def run(self, argv: Sequence[str] | None = None) -> int:
        """Serve until SIGTERM or SIGINT, then finish what is being answered. Main thread only.

        Returns 0 then, 1 if it cannot start; wrong usage exits with 2.
        """
        parser = self.parser()
        args = parser.parse_args(sys.argv[1:] if argv is None else argv)
        configure_logging(args.v, args.logging_format)
        parser.check_ends(args)
        host, port = args.listen
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: ended.set())
        try:
            mooring = Mooring(args.server, trusted_files(args), impersonate=args.impersonate)
            listener = AdapterListener(
                address, self.service(mooring, args), mooring, shown_files(args), args.health_listen
            )
        except (ListenError, OSError) as error:
            print(f"{self.name}: {error}", file=sys.stderr)
            return EXIT_FAILED
        listener.start()
        health = f" health={listener.health_address}" if listener.health_address else ""
        print(f"{self.name} ready:{health} {listener.address}", flush=True)
        ended.wait()
        listener.stop(GRACE_SECONDS)
        return EXIT_OK
