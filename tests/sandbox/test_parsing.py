"""Parsing in many threads, as screening does it."""

import ast
import gc
import threading

import pytest

from rewardsmith.contract.parsing import parse_python

SOURCE = "def f(x):\n" + "".join(
    f"    y{i} = (({i} + x) * ({i} - x)) if x > {i} else [x[{i}] ** 2, {{'a': x}}]\n" for i in range(60)
)


class Slow:
    """Its end runs Python, which lets another thread in."""

    def __del__(self):
        sum(range(50))


@pytest.fixture
def _collecting_all_the_time():
    before = gc.get_threshold()
    gc.set_threshold(5)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_collecting_all_the_time")
def test_threads_that_parse_while_garbage_is_collected_do_not_disturb_each_other():
    errors, trees = [], []

    def parse():
        for _ in range(20):
            thing = Slow()
            thing.me = thing
            del thing
            try:
                trees.append(parse_python(SOURCE))
            except SystemError as error:
                errors.append(error)

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len({ast.dump(tree) for tree in trees}) == 1
