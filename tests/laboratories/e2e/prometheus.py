"""A real Prometheus that scrapes node exporters of our own, whose counters the tests move."""

import json
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.process import Process, Restartable, environment, free_port

SCRAPE_SECONDS = 1
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def installed() -> str:
    """Return the path of the program; Debian's package is installed when it is missing.

    Raises CalledProcessError when that fails.
    """
    found = shutil.which("prometheus")
    if found is None:
        command = ["apt-get", "install", "--yes", "--no-install-recommends", "prometheus"]
        subprocess.run(command, check=True, env=environment({"DEBIAN_FRONTEND": "noninteractive"}))
        found = shutil.which("prometheus")
    assert found
    return found


class Exporter:
    """One node's exporter, on an address of the loopback network that is the node's own.

    Bytes come in at `rate` per second; a change of it takes effect at once.
    """

    def __init__(self, host: str, rate: float) -> None:
        self.host = host
        self._rate = rate
        self._count = 1_000_000.0
        self._since = time.monotonic()
        self._lock = threading.Lock()
        self.scrapes = 0
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter._metrics().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *said: object) -> None:
                """A test's output stays its own."""

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self.target = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def move(self, rate: float) -> None:
        """From now on `rate` bytes per second."""
        with self._lock:
            self._advance()
            self._rate = rate

    def reset(self) -> None:
        """Begin the counter at 0 again, like a restart of the machine."""
        with self._lock:
            self._advance()
            self._count = 0.0

    def scraped(self, times: int) -> bool:
        """Return whether it was scraped ``times`` times."""
        return self.scrapes >= times

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _advance(self) -> None:
        now = time.monotonic()
        self._count += self._rate * (now - self._since)
        self._since = now

    def _metrics(self) -> str:
        with self._lock:
            self._advance()
            self.scrapes += 1
            return (
                "# TYPE node_network_receive_bytes_total counter\n"
                f'node_network_receive_bytes_total{{device="eth0"}} {self._count:.0f}\n'
                'node_network_receive_bytes_total{device="lo"} 1e15\n'
            )


class Prometheus(Restartable):
    """Prometheus on a free port; it keeps what it measured when it is stopped and started again.

    It scrapes `targets` over HTTP, and `https` over HTTPS without asking for a known certificate.
    """

    name = "prometheus"

    def __init__(self, directory: Path, targets: list[str], https: list[str] | None = None) -> None:
        listen = f"127.0.0.1:{free_port()}"
        self.address = f"http://{listen}"
        scraping: list[dict[str, Any]] = [{"job_name": "node", "static_configs": [{"targets": targets}]}]
        if https:
            tls = {"scheme": "https", "tls_config": {"insecure_skip_verify": True}}
            scraping.append({"job_name": "https", "static_configs": [{"targets": https}], **tls})
        every = f"{SCRAPE_SECONDS}s"
        config = {"global": {"scrape_interval": every, "scrape_timeout": every}, "scrape_configs": scraping}
        file = directory / "prometheus.yml"
        file.write_text(json.dumps(config))
        command = [installed(), f"--config.file={file}", f"--storage.tsdb.path={directory / 'tsdb'}"]
        super().__init__(directory, [*command, f"--web.listen-address={listen}"])

    def wait_ready(self, process: Process) -> None:
        process.wait_ready(self._is_ready, "/-/ready")

    def query(self, expression: str) -> list[Any]:
        """Return the series that an expression has now. Raises HTTPError when it is not valid."""
        asked = urllib.parse.urlencode({"query": expression})
        with _NO_PROXY.open(f"{self.address}/api/v1/query?{asked}", timeout=10) as response:
            found: list[Any] = json.load(response)["data"]["result"]
        return found

    def queries(self) -> int:
        """Return how many queries it answered since its start, by its own count."""
        with _NO_PROXY.open(f"{self.address}/metrics", timeout=10) as response:
            text = response.read().decode()
        pattern = r'^prometheus_http_requests_total{.*handler="/api/v1/query"} (\S+)$'
        return int(sum(map(float, re.findall(pattern, text, re.MULTILINE))))

    def _is_ready(self) -> bool:
        try:
            with _NO_PROXY.open(f"{self.address}/-/ready", timeout=5) as response:
                return bool(response.status == 200)
        except OSError:
            return False
