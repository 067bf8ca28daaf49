"""Runs the window's background tasks, keeps references to them, and tells the user when one fails.

What a widget waits for ends with the widget: its task is cancelled, so that nothing after an `await` touches what is
deleted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar
from weakref import ref

from PySide6.QtCore import QObject
from shiboken6 import isValid

from app.core.errors import HooklineError, NotAllowedError, NotFoundError, StorageUnavailableError
from app.ui.messages import STORAGE_KEY, UNAVAILABLE_KEY, Message, Messages

log = logging.getLogger(__name__)

AGAIN_S = 2.0
"""How soon what could not be read is read again."""

P = ParamSpec("P")
T = TypeVar("T")


class Tasks:
    """The window's running tasks. An environment error becomes a message, a bug a log entry and a message."""

    def __init__(self, messages: Messages) -> None:
        self.messages = messages
        self._running: set[asyncio.Task[Any]] = set()
        self._problems: list[str] = []
        """Why the store cannot be read, of each read that waits for it."""

    def start(self, work: Coroutine[Any, Any, Any], name: str, owner: QObject | None = None) -> asyncio.Task[Any]:
        """Run `work` on the running loop under `name`. It is cancelled when `owner` is deleted."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._done)
        if owner is not None:

            def cancel() -> None:
                task.cancel()

            connection = owner.destroyed.connect(cancel)
            task.add_done_callback(lambda _: QObject.disconnect(connection))
        return task

    async def complete(self, work: Awaitable[T], owner: QObject) -> T:
        """What `work` returns, which the user has begun: it goes on when `owner` is deleted meanwhile. This task is
        then cancelled instead, and the user is told if `work` failed.
        """
        try:
            result = await work
        except Exception as error:
            if isValid(owner):
                raise
            task = asyncio.current_task()
            self._tell(error, task.get_name() if task is not None else "")
            raise asyncio.CancelledError from error
        cancel_unless_there(owner)
        return result

    async def until_read(self, read: Callable[[], Awaitable[None]]) -> None:
        """Read again while the store cannot be read. A message says so until this and all other reads that wait have
        ended."""
        problem: str | None = None
        try:
            while True:
                try:
                    return await read()
                except StorageUnavailableError as error:
                    if not is_temporary(error):
                        raise
                    if problem is None:
                        problem = str(error)
                        self._problems.append(problem)
                        if not self.messages.has(STORAGE_KEY):
                            self._tell(error, "")
                    await asyncio.sleep(AGAIN_S)
        finally:
            if problem is not None:
                self._problems.remove(problem)
                if self.messages.has(UNAVAILABLE_KEY):  # else it was closed
                    self.messages.show_while(next(iter(self._problems), None), UNAVAILABLE_KEY)

    def running(self) -> int:
        """The number of tasks that have not ended."""
        return len(self._running)

    async def cancel_all(self) -> None:
        """Cancel all tasks and wait until they have ended. Each task that was just created takes its first step before,
        which passes changes such as a note to the store.
        """
        await asyncio.sleep(0)
        while tasks := tuple(self._running):
            for task in tasks:
                task.cancel()
            # Not `gather`: since Python 3.12 it returns at once when every task has ended, so `_done` never runs and
            # this loop spins. `wait` returns after the callbacks.
            await asyncio.wait(tasks)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._tell(error, task.get_name())

    def _tell(self, error: BaseException, name: str) -> None:
        if is_temporary(error):
            self.messages.post(Message(text=str(error), key=UNAVAILABLE_KEY))
        elif isinstance(error, HooklineError):
            self.messages.post(Message(text=str(error)))
        else:
            log.error("task %r failed", name, exc_info=error)
            self.messages.post(
                Message(
                    text=f"Something went wrong in Hookline: {type(error).__name__}: {error}",
                    advice="Your requests are safe. See the log for details.",
                )
            )


def is_temporary(error: BaseException) -> bool:
    """Whether what could not be read is read again."""
    return isinstance(error, StorageUnavailableError) and not isinstance(error, NotAllowedError)


class Latest:
    """Runs only the newest of the operations it is given, until `owner` is deleted: skipping through rows does not
    accumulate work. The one before is cancelled, and has ended before the next begins. One that `only_reads` is run
    again while the store cannot be read.
    """

    def __init__(self, owner: QObject, tasks: Tasks, name: str, *, only_reads: bool = True) -> None:
        # A reference would be a cycle: the collector clears attributes of a widget before Qt deletes it.
        self._owner, self._tasks, self._name, self._only_reads = ref(owner), tasks, name, only_reads
        self._task: asyncio.Task[None] | None = None
        self._next: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._turn = asyncio.Lock()

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.stop()
        self._task = self._tasks.start(self._run(work), self._name, self._owner())

    def run_next(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run it once what runs now has ended, and of several only the last. Where each takes longer than it is until
        the next is asked for, none would end otherwise.
        """
        if self.running:
            self._next = work
        else:
            self.run(work)

    def stop(self) -> None:
        """Cancel the operation."""
        self._next = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def ended(self) -> None:
        """Return once what runs now has ended."""
        async with self._turn:
            pass

    async def _run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with self._turn:
            following: Callable[[], Coroutine[Any, Any, None]] | None = work
            while following is not None:
                # Deleted while it was being read: the page receives the event and clears itself.
                with suppress(NotFoundError):
                    await (self._tasks.until_read(following) if self._only_reads else following())
                following, self._next = self._next, None


def cancel_unless_there(owner: QObject) -> None:
    """Cancel the current task if `owner` was deleted: what would come next has no window any more."""
    if not isValid(owner):
        raise asyncio.CancelledError


@contextmanager
def unless_cancelled(end: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> Iterator[None]:
    """Call `end` afterwards, also after an error. Not in a task that is cancelled: what `end` would change may be
    deleted, or belong to the next task.
    """
    try:
        yield
    except Exception:
        end(*arguments, **named)
        raise
    end(*arguments, **named)


async def in_thread(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What `function` returns, run on another thread. When this is cancelled it ends with the thread: operations that
    are superseded fast would otherwise compute side by side, and slow down the window.
    """
    begun = False

    def run() -> T:
        nonlocal begun
        begun = True
        return function(*arguments, **named)

    future = asyncio.get_running_loop().run_in_executor(None, run)
    try:
        await asyncio.wait((future,))
    except asyncio.CancelledError:
        if not begun:
            future.cancel()
        with suppress(Exception, asyncio.CancelledError):
            await future
        raise
    return future.result()
