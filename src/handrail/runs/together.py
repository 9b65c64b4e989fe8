"""Parallel branches, for engines that run a flow in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from handrail.contracts import Waiting


async def together(works: Sequence[Callable[[], Awaitable[Any]]], limit: int, on_failure: str) -> list[Any]:
    """Run all branches, at most `limit` at a time. A branch that waits for a person does not stop the others.

    A branch that is cancelled because another one failed gets the path of the failed step with its `CancelledError`.
    """
    room = asyncio.Semaphore(limit)

    async def one(work: Callable[[], Awaitable[Any]]) -> Any:
        async with room:
            return await work()

    tasks = [asyncio.ensure_future(one(work)) for work in works]
    left, failed = set(tasks), None
    try:
        while left:
            ready, left = await asyncio.wait(left, return_when=asyncio.FIRST_EXCEPTION)
            failure = next(filter(None, map(_failure, ready)), None)
            if on_failure == "stop" and failure is not None:
                failed = getattr(failure, "path", None)
                break
    except asyncio.CancelledError as error:
        failed = next(iter(error.args), None)
        raise
    finally:
        for task in tasks:
            task.cancel(failed)
        await asyncio.gather(*tasks, return_exceptions=True)
    for failure in filter(None, map(_failure, tasks)):
        raise failure
    return [task.result() for task in tasks]


def _failure(task: asyncio.Future[Any]) -> BaseException | None:
    """The error of a branch that failed; None if the branch is running, done or waits for a person."""
    if not task.done() or task.cancelled():
        return None
    error = task.exception()
    return None if isinstance(error, Waiting) else error
