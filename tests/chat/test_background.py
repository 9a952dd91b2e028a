"""The event loop in a thread of its own."""

import asyncio
import gc
import logging
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress

import pytest
from chat_calls import KEY

from rewardsmith.services.chat.background import BackgroundLoop


@pytest.fixture
def loop():
    loop = BackgroundLoop()
    yield loop
    loop.close()


async def forever(started=None):
    if started is not None:
        started.set()
    await asyncio.sleep(60)


def test_a_result_comes_back_and_so_does_an_error(loop):
    async def double(number):
        return 2 * number

    async def fail():
        raise LookupError("nothing there")

    assert loop.run(double(4)) == 8
    with pytest.raises(LookupError, match="nothing there"):
        loop.run(fail())


def test_work_that_comes_while_the_loop_closes_neither_hangs_nor_is_lost():
    async def short():
        await asyncio.sleep(0.0005)
        return True

    def work(loop):
        try:
            while True:
                assert loop.run(short())
        except CancelledError:
            return True

    for _ in range(20):
        loop = BackgroundLoop()
        with ThreadPoolExecutor(4) as threads:
            done = [threads.submit(work, loop) for _ in range(4)]
            time.sleep(0.005)
            loop.close()
            assert all(future.result(timeout=2.0) for future in done)


def test_the_last_step_comes_once_everything_else_has_ended(loop):
    order = []
    started = threading.Event()

    async def work():
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            order.append("work")

    async def last():
        order.append("last")

    waiting = ThreadPoolExecutor().submit(loop.run, work())
    assert started.wait(5.0)
    loop.close(last)
    loop.close(last)
    assert order == ["work", "last"]
    with pytest.raises(CancelledError):
        waiting.result(timeout=1.0)


def test_closing_lets_its_thread_end_though_the_last_step_fails(loop):
    async def last():
        raise OSError("already gone")

    before = threading.active_count()
    loop.close(last)
    assert threading.active_count() == before - 1


def test_closing_does_not_wait_for_ever_for_a_last_step(loop, monkeypatch):
    monkeypatch.setattr("rewardsmith.services.chat.background._CLOSE_S", 0.1)
    started = time.monotonic()
    loop.close(forever)
    assert time.monotonic() - started < 2.0


def test_the_last_step_does_not_wait_for_ever_for_work_that_goes_on(loop, monkeypatch):
    monkeypatch.setattr("rewardsmith.services.chat.background._CLOSE_S", 0.1)
    started, may_end, closed = threading.Event(), threading.Event(), threading.Event()

    async def stubborn():
        started.set()
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    async def last():
        closed.set()
        may_end.set()

    waiting = ThreadPoolExecutor().submit(loop.run, stubborn())
    assert started.wait(5.0)
    loop.close(last)
    may_end.set()
    assert closed.is_set()
    with pytest.raises(CancelledError):
        waiting.result(timeout=1.0)


def test_work_whose_thread_is_interrupted_is_cancelled(loop, monkeypatch):
    ended = threading.Event()

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    schedule = asyncio.run_coroutine_threadsafe

    def interrupted(coroutine, inner):
        future = schedule(coroutine, inner)

        def result():
            raise KeyboardInterrupt

        future.result = result
        return future

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loop.run(work())
    monkeypatch.undo()
    assert ended.wait(1.0)


def test_errors_that_no_one_asks_for_are_not_printed(loop, caplog):
    caplog.set_level(logging.DEBUG)

    async def fail():
        raise RuntimeError(KEY)

    async def work():
        task = asyncio.get_running_loop().create_task(fail())
        await asyncio.sleep(0)
        del task
        gc.collect()

    loop.run(work())
    assert "never retrieved" in caplog.text
    assert KEY not in caplog.text
