"""Coroutines that begin at once, as the eager tasks of Python 3.12 do: most calls never wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from functools import partial
from types import coroutine
from typing import Any


def start_eagerly(
    work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop
) -> asyncio.Task[None] | None:
    """Run ``work`` in this thread, that of ``loop``, until it ends or waits.

    Until it waits there is no current task, which ``asyncio.timeout`` asks for.

    Returns:
        The task that goes on with it; None when it has ended.
    """
    context = copy_context()
    try:
        awaited = context.run(work.send, None)
    except StopIteration:
        return None
    return loop.create_task(_go_on(work, awaited), context=context)


async def _go_on(work: Coroutine[Any, Any, None], awaited: Any) -> None:
    """Go on with ``work``, which waits for ``awaited``. Since Python 3.12 a task takes no generator."""
    await _rest(work, awaited)


@coroutine
def _rest(work: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """Wait for the future that ``work`` awaits, and resume it."""
    while True:
        step: Callable[[], Any]
        try:
            step = partial(work.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001 - it is for the work
            step = partial(work.throw, error)
        try:
            awaited = step()
        except StopIteration:
            return
