"""TLS for the listener: certificates from files, read again when they change."""

from dataclasses import dataclass
from pathlib import Path

import grpc


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of a listener.

    Attributes:
        certificate: The server's certificate chain.
        key: Its private key.
        client_ca: The authority that client certificates must come from; None asks for none.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def read(self) -> grpc.ServerCertificateConfiguration:
        """Reads the files. Raises OSError with the name of one that cannot be read."""
        authority = self.client_ca.read_bytes() if self.client_ca else None
        return grpc.ssl_server_certificate_configuration(
            [(self.key.read_bytes(), self.certificate.read_bytes())], root_certificates=authority
        )

    def stamp(self) -> tuple[int, ...]:
        """Changes when a file changes: modification times in nanoseconds."""
        paths = (self.certificate, self.key, self.client_ca)
        return tuple(path.stat().st_mtime_ns for path in paths if path is not None)


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Credentials that follow the files.

    gRPC asks on every new connection, so unchanged files are not read again.
    """
    current = files.stamp()

    def changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal current
        try:
            stamp = files.stamp()
            if stamp == current:
                return None
            configuration = files.read()
        except OSError:
            # A rotation in progress: the certificate in use stays until the new one is complete.
            return None
        current = stamp
        return configuration

    required = files.client_ca is not None
    # None means unchanged, which grpcio's types leave out.
    return grpc.dynamic_ssl_server_credentials(files.read(), changed, required)  # type: ignore[arg-type]
