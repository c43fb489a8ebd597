"""How Prometheus is reached: the client's credentials, and the authority of the server's certificate."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from mooring.files import read_file
from mooring.framework.certificates import verify_as_go


@dataclass(frozen=True, slots=True)
class PrometheusAccess:
    """Credentials and the server's authority. Files are read at each query, since they are rotated.

    Attributes:
        bearer_token_file: The token to show; "" = none.
        username: For basic authentication; "" = none.
        password_file: Its password.
        ca_file: The authorities, PEM, that the server's certificate must come from; "" = the system's.
        headers: Further headers, such as ``X-Scope-OrgID``.
    """

    bearer_token_file: str = ""
    username: str = ""
    password_file: str = ""
    ca_file: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def request_headers(self) -> dict[str, str]:
        """Return the headers of a query.

        Raises:
            OSError: A file can't be read; it has the file's name.
        """
        headers = dict(self.headers)
        if self.bearer_token_file:
            headers["Authorization"] = f"Bearer {read_file(self.bearer_token_file).decode().strip()}"
        elif self.username:
            password = read_file(self.password_file).decode().rstrip("\r\n")
            pair = base64.b64encode(f"{self.username}:{password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers

    def tls(self) -> ssl.SSLContext:
        """Return the context that verifies the server's certificate.

        Raises:
            OSError: The authorities can't be used.
        """
        return verify_as_go(ssl.create_default_context(cafile=self.ca_file or None))
