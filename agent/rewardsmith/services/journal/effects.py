"""Effects, and how several of them run at a time."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from rewardsmith.services.journal.events import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Work whose outcome cannot be computed again, or is too dear to.

    Attributes:
        key: structural, such as `i03/c02/train/r1`; no two effects of a run share one.
        request: what identifies the work, ready for JSON; large inputs by their content hash.
        run: does the work and returns an answer ready for JSON; large outputs by object reference.
    """

    key: str
    request: JsonObject
    run: Callable[[], JsonObject]


def run_parallel(
    effects: Sequence[Effect],
    *,
    workers: int,
    begin: Callable[[Effect], None],
    finish: Callable[[Effect, JsonObject], None],
    cancel: Callable[[], None] | None,
) -> None:
    """Run `effects` in threads, in their order; return when all are finished.

    Args:
        effects: started in this order.
        workers: how many run at a time.
        begin: called in this thread before an effect is started.
        finish: called in this thread with each answer, in order of completion.
        cancel: ends the running work. Where this thread is interrupted, it is called and the threads are
            joined; without it the interruption is passed on at once.

    Raises:
        Exception: the first failure in the order of `effects`, whoever raised it. Then nothing more is
            started; what was running is awaited and finished first.
    """
    executor = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="effect")
    try:
        errors = _run_all(executor, effects, workers, begin, finish)
    except BaseException:
        if cancel is not None:
            cancel()
        executor.shutdown(wait=cancel is not None, cancel_futures=True)
        raise
    executor.shutdown()
    if errors:
        raise errors[min(errors)]


def _run_all(
    executor: ThreadPoolExecutor,
    effects: Sequence[Effect],
    workers: int,
    begin: Callable[[Effect], None],
    finish: Callable[[Effect, JsonObject], None],
) -> dict[int, Exception]:
    errors: dict[int, Exception] = {}
    waiting = deque(range(len(effects)))
    running: dict[Future[JsonObject], int] = {}
    while running or (waiting and not errors):
        # Started only when a thread is free: what has begun is then what runs, also at a crash.
        while waiting and len(running) < workers and not errors:
            index = waiting.popleft()
            try:
                begin(effects[index])
            except Exception as error:
                errors[index] = error
            else:
                running[executor.submit(effects[index].run)] = index
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            index = running.pop(future)
            try:
                finish(effects[index], future.result())
            except Exception as error:
                errors[index] = error
    return errors
