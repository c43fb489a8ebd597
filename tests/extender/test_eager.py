"""Coroutines that begin at once: where they run, what they are given, and what becomes of their end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec

import pytest

from mooring.serving.http.eager import start_eagerly

WHO = ContextVar("WHO", default="nobody")

Arguments = ParamSpec("Arguments")


def in_a_loop(test: Callable[Arguments, Coroutine[Any, Any, None]]) -> Callable[Arguments, None]:
    @wraps(test)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@in_a_loop
async def test_what_need_not_wait_ends_at_once() -> None:
    done: list[str] = []

    async def work() -> None:
        done.append("done")

    assert start_eagerly(work(), asyncio.get_running_loop()) is None
    assert done == ["done"]


@in_a_loop
async def test_what_waits_goes_on_in_a_task_with_each_result() -> None:
    first, second = asyncio.Future[int](), asyncio.Future[int]()
    seen: list[object] = []

    async def work() -> None:
        WHO.set("work")
        seen.append(await first)
        seen.append(await second)
        seen.append(WHO.get())
        seen.append(asyncio.current_task())

    task = start_eagerly(work(), asyncio.get_running_loop())
    assert task is not None
    first.set_result(1)
    await asyncio.sleep(0)
    second.set_result(2)
    await task
    assert seen == [1, 2, "work", task]
    assert WHO.get() == "nobody"


def _fail(_: asyncio.Task[None], awaited: asyncio.Future[None]) -> None:
    awaited.set_exception(ValueError("broken"))


def _cancel(task: asyncio.Task[None], _: asyncio.Future[None]) -> None:
    task.cancel()


@pytest.mark.parametrize(
    ("disturb", "error"),
    [
        pytest.param(_fail, ValueError, id="what it waits for fails"),
        pytest.param(_cancel, asyncio.CancelledError, id="cancelled"),
    ],
)
@pytest.mark.parametrize("before", [0, 1], ids=["at the first wait", "at a later one"])
@in_a_loop
async def test_what_is_raised_where_it_waits_reaches_it(
    disturb: Callable[[asyncio.Task[None], asyncio.Future[None]], None],
    error: type[BaseException],
    before: int,
) -> None:
    awaited = asyncio.Future[None]()
    seen: list[BaseException] = []

    async def work() -> None:
        for _ in range(before):
            await asyncio.sleep(0)
        try:
            await awaited
        except BaseException as raised:
            seen.append(raised)
            raise

    task = start_eagerly(work(), asyncio.get_running_loop())
    assert task is not None
    for _ in range(before + 1):
        await asyncio.sleep(0)
    disturb(task, awaited)
    with pytest.raises(error):
        await task
    assert [type(raised) for raised in seen] == [error]


@pytest.mark.parametrize("wait", [asyncio.sleep, None], ids=["later", "at once"])
@in_a_loop
async def test_what_it_raises_is_told(wait: Callable[[float], Awaitable[None]] | None) -> None:
    async def work() -> None:
        if wait is not None:
            await wait(0)
        raise ValueError("broken")

    async def all_of_it() -> None:
        if task := start_eagerly(work(), asyncio.get_running_loop()):
            await task

    with pytest.raises(ValueError, match="broken"):
        await all_of_it()


@in_a_loop
async def test_what_goes_on_is_a_coroutine_as_tasks_want_since_python_3_12() -> None:
    task = start_eagerly(asyncio.sleep(0), asyncio.get_running_loop())
    assert task is not None
    assert inspect.iscoroutine(task.get_coro())
    await task
