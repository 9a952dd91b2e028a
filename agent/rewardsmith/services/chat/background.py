"""One event loop in a thread of its own, so that calls have hard deadlines and can be cancelled."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for threads that wait for their results."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-calls", daemon=True)
        self._thread.start()
        self._pending: set[Future[Any]] = set()
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result.

        Raises:
            CancelledError: `cancel` or `close` was called meanwhile.
        """
        with self._lock:
            if not self._thread.is_alive() or self._loop.is_closed():
                work.close()
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._pending.add(future)
        try:
            return future.result()
        finally:
            with self._lock:
                self._pending.discard(future)

    def cancel(self) -> None:
        """Cancel all that is running."""
        with self._lock:
            pending = list(self._pending)
        for future in pending:
            future.cancel()

    def close(self) -> None:
        """Cancel all that is running and end the thread; closing twice does no harm."""
        self.cancel()
        if self._loop.is_closed():
            return
        # Cancelled coroutines need a turn of the loop to let go of their connections.
        asyncio.run_coroutine_threadsafe(_settle(), self._loop).result(timeout=5.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5.0)
        self._loop.close()


async def _settle() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
