"""A TCP line that a test can cut as a network does: nothing passes, and both ends stay open."""

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Line:
    """Passes on the connections to a port until it is cut; what was sent then arrives once it is mended.

    Args:
        target: A port of 127.0.0.1, whose server may start later.

    Attributes:
        target: The same; it may be changed before the first connection.
        port: The line's own port, also on 127.0.0.1.
    """

    def __init__(self, target: int = 0) -> None:
        self.target = target
        self._whole = threading.Event()
        self._whole.set()
        self._ended = False
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self.mend()
        # Only this wakes threads that accept or read.
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def cut(self) -> None:
        """Let nothing pass from now on."""
        self._whole.clear()

    def mend(self) -> None:
        """Let everything pass again."""
        self._whole.set()

    def _run(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._ended:
                client, _ = self._listener.accept()
                self._open.append(client)
                self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            self._whole.wait()
            with socket.create_connection(("127.0.0.1", self.target), timeout=10) as server:
                server.settimeout(None)
                self._open.append(server)
                back = threading.Thread(target=self._forward, args=(server, client), daemon=True)
                back.start()
                self._forward(client, server)
                back.join()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        """Pass bytes on, then the end, to both sides."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._whole.wait()
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
