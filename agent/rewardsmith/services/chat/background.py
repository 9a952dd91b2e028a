"""One event loop in a thread of its own, so that calls have hard deadlines and can be cancelled."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger(__name__)

_CLOSE_S = 2.0
"""What cancelled work is given to end, and then the last step to be done."""


class BackgroundLoop:
    """Runs coroutines for threads that wait for their results."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_note)
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-calls", daemon=True)
        self._thread.start()
        self._pending: set[Future[Any]] = set()
        self._is_cancelled = self._is_closed = False
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result.

        Raises:
            CancelledError: `cancel` or `close` was called.
        """
        with self._lock:
            if self._is_cancelled:
                work.close()
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._pending.add(future)
        try:
            return future.result()
        finally:
            # Of use where this thread was interrupted: no one waits for the result any more.
            future.cancel()
            with self._lock:
                self._pending.discard(future)

    def cancel(self) -> None:
        """Cancel all that is running, and all that is still to come: a thread may be about to begin."""
        with self._lock:
            self._is_cancelled = True
            pending = list(self._pending)
        for future in pending:
            future.cancel()

    def close(self, last: Callable[[], Awaitable[None]] | None = None) -> None:
        """Cancel all that is running and end the thread; closing twice does no harm.

        Args:
            last: awaited in the loop once nothing else runs there, to let go of connections.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self.cancel()
        settled = asyncio.run_coroutine_threadsafe(_settle(last), self._loop)
        try:
            settled.result(timeout=3 * _CLOSE_S)
        except (Exception, CancelledError) as error:
            logger.debug("the event loop did not settle: %s", type(error).__name__)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=_CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()


async def _settle(last: Callable[[], Awaitable[None]] | None) -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=_CLOSE_S)
    if last is not None:
        try:
            async with asyncio.timeout(_CLOSE_S):
                await last()
        except Exception as error:
            logger.debug("the client did not close: %s", type(error).__name__)
    await asyncio.get_running_loop().shutdown_asyncgens()
    # Connections that were just closed are let go of in the next turn.
    await asyncio.sleep(0)


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # The usual handler prints the exception with its causes, and so whatever secret stands in them.
    logger.debug("the event loop reports: %s", context.get("message"))
