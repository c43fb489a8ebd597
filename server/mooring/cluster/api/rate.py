"""How fast requests may be sent: kube-scheduler's clientConnection.qps and burst."""

from __future__ import annotations

import threading
import time


class TokenBucket:
    """Spreads requests over time. Safe from any thread. Mirrors k8s.io/client-go/util/flowcontrol.

    Args:
        qps: Requests per second, above 0.
        burst: Requests that may be sent at once, 1 or more.
    """

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = max(burst, 1)
        self._lock = threading.Lock()
        self._tokens = float(self._burst)
        self._counted_at = time.monotonic()

    def take_token(self, longest: float) -> bool:
        """Wait for the caller's turn; False, at once, when it would not come within ``longest`` seconds."""
        with self._lock:
            now = time.monotonic()
            grown = self._tokens + (now - self._counted_at) * self._qps
            self._tokens, self._counted_at = min(grown, self._burst), now
            wait = (1 - self._tokens) / self._qps
            if wait > longest:
                return False
            self._tokens -= 1
        if wait > 0:
            time.sleep(wait)
        return True
