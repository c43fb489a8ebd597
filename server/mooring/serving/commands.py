"""The commands of adapters: flags with twins in the environment, certificates, and the log."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from mooring.serving.addresses import is_loopback
from mooring.serving.certificates import TlsFiles
from mooring.serving.grammar import SWITCH, SwitchParser, boolean, logging_format, seconds_of
from mooring.serving.logs import FORMATS, formatter

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1

Converter = Callable[[str], object]


class AdapterParser(SwitchParser):
    """The parser of an adapter's command, whose flags have twins in the environment.

    Args:
        prefix: The beginning of the names of twins.
        environment: The environment variables, with the flags' twins.
    """

    def __init__(self, prog: str, about: str, prefix: str, environment: Mapping[str, str]) -> None:
        twins = f"Each flag has a twin in the environment: --logging-format is {prefix}LOGGING_FORMAT."
        super().__init__(prog=prog, description=about, epilog=twins, allow_abbrev=False)
        self._prefix = prefix
        self._environment = environment

    def flag(self, name: str, metavar: str, default: str, text: str, kind: Converter = str) -> None:
        """Add a flag with one value."""
        # argparse converts string defaults, so a bad value in the environment is a usage error too.
        twin = self._prefix + name.upper().replace("-", "_")
        shown = f" (default: {default})" if default else ""
        value = self._environment.get(twin, default)
        spellings = ["-v", "--v"] if name == "v" else [f"--{name}"]
        self.add_argument(*spellings, type=kind, default=value, metavar=metavar, help=text + shown)

    def add_ends(self, listen: str, protocol: str) -> None:
        """Add where to listen, which is ``listen`` by default, and the certificates that are shown there."""
        self.flag("listen", "HOST:PORT", listen, "where to listen; port 0 takes a free one", host_and_port)
        self.flag("server", "ADDRESS", "127.0.0.1:50051", "mooring's HOST:PORT or unix:PATH", server_address)
        self.flag("tls-cert-file", "PATH", "", f"serve {protocol} with this certificate, PEM")
        self.flag("tls-private-key-file", "PATH", "", "the certificate's private key, PEM")
        self.flag("client-ca-file", "PATH", "", "accept only clients with a certificate of these CAs, PEM")
        self.flag("server-ca-file", "PATH", "", "speak TLS to mooring, and trust these authorities, PEM")
        self.flag("server-cert-file", "PATH", "", "the certificate to show to mooring, PEM")
        self.flag("server-key-file", "PATH", "", "that certificate's private key, PEM")
        text = f"allow plain {protocol.removesuffix('S')} on an address that is not loopback"
        self.flag("insecure-listen", SWITCH, "false", text, boolean)

    def add_log(self) -> None:
        """Add how the log is written."""
        self.flag("v", "LEVEL", "0", "log verbosity, 0 to 10", _verbosity)
        self.flag("logging-format", "FORMAT", "text", f"of the log: {' or '.join(FORMATS)}", logging_format)

    def check_ends(self, args: argparse.Namespace) -> None:
        """Exit with a usage error where the flags of ``add_ends`` don't fit each other."""
        host, port = args.listen
        if not (args.insecure_listen or args.tls_cert_file or is_loopback(host)):
            self.error(
                f"--listen {host}:{port} is not a loopback address: give --tls-cert-file and"
                " --tls-private-key-file, or say --insecure-listen"
            )
        if not args.tls_cert_file and (args.tls_private_key_file or args.client_ca_file):
            self.error(
                "--tls-private-key-file and --client-ca-file need --tls-cert-file: without it all is plain"
            )


def shown_files(args: argparse.Namespace) -> TlsFiles | None:
    """Return the certificate to show to callers, of ``add_ends``; None without one."""
    return _files(args.tls_cert_file, args.tls_private_key_file, args.client_ca_file)


def trusted_files(args: argparse.Namespace) -> TlsFiles | None:
    """Return what to trust mooring by, and to show to it, of ``add_ends``; None speaks plain text to it."""
    return _files(args.server_cert_file, args.server_key_file, args.server_ca_file)


def _files(certificate: str, key: str, authority: str) -> TlsFiles | None:
    paths = [Path(text) if text else None for text in (certificate, key, authority)]
    return TlsFiles(*paths) if any(paths) else None


def configure_logging(verbosity: int, format_name: str) -> None:
    """Log to standard error from now on."""
    level = logging.WARNING if verbosity < 2 else logging.INFO if verbosity < 4 else logging.DEBUG
    handler = logging.StreamHandler()
    handler.setFormatter(formatter(format_name))
    logging.basicConfig(level=level, handlers=[handler])


def host_and_port(text: str) -> tuple[str, int]:
    """Read HOST:PORT, with [ ] around an IPv6 host."""
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 2**16):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def duration(text: str) -> float:
    """Read a duration as Kubernetes writes it, such as 2s, 500ms or 1m30s."""
    seconds = seconds_of(text)
    if not seconds:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration above zero, such as 2s or 500ms")
    return seconds


def server_address(text: str) -> str:
    """Read mooring's address."""
    if not text.startswith("unix:"):
        host_and_port(text)
    return text


def _verbosity(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 10")
    return int(text)
