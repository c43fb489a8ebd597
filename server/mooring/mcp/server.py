"""The questions as tools of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from mooring import __version__
from mooring.framework.errors import not_installed
from mooring.mcp.tools import Document, QuestionError, Tools

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

AskedP = ParamSpec("AskedP")

INSTRUCTIONS = (
    "mooring decides on which node a Kubernetes pod should run. These tools only read: they say why a pod "
    "is pending or where it would go, what sets two nodes apart, what was decided, and what would happen if "
    "a node went. Begin with why_pending."
)


def new_server(tools: Tools) -> MCPServer[None]:
    """Return a server with one read-only tool for each question. Raises FailedPreconditionError if
    the package ``mcp`` is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise not_installed("mcp", "mcp") from error
    server: MCPServer[None] = MCPServer("mooring", instructions=INSTRUCTIONS, version=__version__)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for question in (
        tools.why_pending,
        tools.explain,
        tools.compare_nodes,
        tools.what_if,
        tools.list_decisions,
    ):
        server.add_tool(_told(question, ToolError), annotations=reads)
    return server


def _told(question: Callable[AskedP, Document], error_type: type[Exception]) -> Callable[AskedP, Document]:
    """Return the question, whose error the assistant reads as it is."""

    @wraps(question)
    def asked(*args: AskedP.args, **kwargs: AskedP.kwargs) -> Document:
        try:
            return question(*args, **kwargs)
        except QuestionError as error:
            raise error_type(str(error)) from None

    return asked
