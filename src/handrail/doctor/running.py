"""Runs the checks of `handrail doctor` in order. A check that fails or takes too long is a finding itself."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import threading
from collections.abc import Callable
from typing import Any

from handrail.doctor.checkup import Checkup, Subject
from handrail.doctor.table import EXAMS, Choice, Exam
from handrail.errors import HandrailError
from handrail.source.dataclasses import replace
from handrail.source.plain import counted, one_line

Shown = Callable[[str], None]
ALL = Choice()
EXAMS_ROOM = "handrail.doctor.exams"


async def examine(subject: Subject, choice: Choice = ALL, shown: Shown = lambda _: None) -> list[Checkup]:
    """The results of all wanted checks. `shown` gets the name of each check before it runs."""
    found: list[Checkup] = []
    for name, exam in EXAMS.items():
        if choice.runs(name, subject.agents):
            shown(name)
            made = await _made(name, exam, subject)
            found += [replace(one, category=exam.category) for one in made if choice.wants(one.id, name)]
    return found


async def _made(name: str, exam: Exam, subject: Subject) -> list[Checkup]:
    try:
        async with asyncio.timeout(exam.seconds):
            function = _function(exam.function)
            if inspect.iscoroutinefunction(function):
                return list(await function(subject))
            return list(await _in_thread(function, subject))
    except TimeoutError:
        return [_failed(name, f"it was not done after {counted(exam.seconds, 'second')}")]
    except HandrailError as error:
        return [Checkup(name, "error", error.message, error.hint)]
    except Exception as error:  # noqa: BLE001 - a check of a plugin may raise anything, and the others go on
        return [_failed(name, f"it failed: {type(error).__name__}: {one_line(str(error))}")]


def _failed(name: str, how: str) -> Checkup:
    fix = f"run the other checks with `handrail doctor --skip {name}`; report it with `handrail doctor --report`"
    return Checkup(name, "error", f"this check gave no result: {how}", fix)


def _function(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module if "." in module else f"{EXAMS_ROOM}.{module}"), name)


async def _in_thread(function: Callable[[Subject], Any], subject: Subject) -> Any:
    """Call a function that may wait for a disk. The thread is a daemon, so a hanging disk does not keep the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: Exception | None) -> None:
        if not done.done():
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = list(function(subject))
        except Exception as raised:  # noqa: BLE001 - it is raised again where the result is awaited
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:  # the loop ended meanwhile: nobody waits any more
            return

    threading.Thread(target=work, daemon=True, name="handrail-doctor").start()
    return await done
