"""TLS to the API server, whose files are read again when they have changed."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path
from typing import Any

from mooring.framework.certificates import verify_as_go
from mooring.http_client.tls import ResumingContext
from mooring.serving.certificates import FollowedFiles, TlsFiles


class TlsContexts:
    """The TLS context of an API server, one as long as its files stay the same. Safe from any thread.

    Args:
        configuration: A ``kubernetes.client.Configuration``. Without authorities in it those of the system
            are trusted.
    """

    def __init__(self, configuration: Any) -> None:
        named = (configuration.cert_file, configuration.key_file, configuration.ssl_ca_cert)
        self._files = TlsFiles(*[Path(name) if name else None for name in named])
        self._authority_data: str | bytes | None = configuration.ca_cert_data
        self._verifies = bool(configuration.verify_ssl)
        self._lock = threading.Lock()
        self._followed: FollowedFiles[ResumingContext] | None = None

    def current(self) -> ResumingContext:
        """Return the context for another connection.

        Raises:
            OSError: A file can't be used, such as a key that is encrypted, and none before it could be.
        """
        with self._lock:
            if self._followed is None:
                self._followed = FollowedFiles(self._files, self._read)
            self._followed.changed()
            return self._followed.current

    def _read(self, files: TlsFiles) -> ResumingContext:
        context = ResumingContext(ssl.PROTOCOL_TLS_CLIENT)
        verify_as_go(context)
        if not self._verifies:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if files.authority or self._authority_data:
            context.load_verify_locations(files.authority, cadata=self._authority_data)
        else:
            context.load_default_certs()
        if files.certificate:
            # With a password OpenSSL does not ask the terminal for one.
            context.load_cert_chain(files.certificate, files.key, password="")
        return context
