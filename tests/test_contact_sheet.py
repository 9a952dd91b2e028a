"""One picture of several episodes."""

import io
import sys

import numpy as np
import pytest

from rewardsmith.errors import MissingExtraError
from rewardsmith.services.contact_sheet import MAX_WIDTH, contact_sheet, wrap

RED, BLUE = (255, 0, 0), (0, 0, 255)


def frames(n, colour=RED, size=(24, 32)):
    return np.full((n, *size, 3), colour, dtype=np.uint8)


def read(png):
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(png)))


def covered(sheet, colour):
    """The rows and columns of the sheet that hold a pixel of the colour."""
    return (sheet == colour).all(-1).nonzero()


@pytest.fixture
def _pillow():
    pytest.importorskip("PIL", reason="needs Pillow: pip install 'rewardsmith[visual]'")


@pytest.mark.usefixtures("_pillow")
class TestSheet:
    def test_every_picture_is_shown_whole_beside_the_others(self):
        sheet = read(contact_sheet([("one", frames(3))], steps=[[0, 5, 9]]))
        rows, columns = covered(sheet, RED)
        assert len(rows) == 3 * 24 * 32
        assert np.ptp(rows) == 23
        assert np.ptp(columns) > 3 * 32

    def test_rows_stand_one_below_the_other_in_their_order(self):
        rows = [("one", frames(2)), ("two", frames(2, BLUE))]
        sheet = read(contact_sheet(rows, steps=[[0, 1], [0, 1]]))
        assert covered(sheet, RED)[0].max() < covered(sheet, BLUE)[0].min()

    def test_the_caption_stands_above_and_the_step_beneath(self):
        plain = read(contact_sheet([("", frames(1))], steps=[[7]]))
        named = read(contact_sheet([("worst episode", frames(1))], steps=[[7]]))
        later = read(contact_sheet([("worst episode", frames(1))], steps=[[42]]))
        top, bottom = covered(named, RED)[0].min(), covered(named, RED)[0].max()
        assert (named[: top - 1] != 255).any()
        assert len(named) > len(plain)
        changed = (named != later).any(-1).nonzero()[0]
        assert changed.min() > bottom

    def test_a_wide_sheet_is_scaled_down_to_the_limit(self):
        rows = [("wide", frames(12, size=(240, 320))), ("narrow", frames(2, BLUE, size=(240, 320)))]
        sheet = read(contact_sheet(rows, steps=[list(range(12)), [0, 1]]))
        assert 0.95 * MAX_WIDTH < sheet.shape[1] <= MAX_WIDTH
        tall, n_blue = np.ptp(covered(sheet, BLUE)[0]) + 1, len(covered(sheet, BLUE)[0])
        assert n_blue == pytest.approx(2 * tall * tall * 320 / 240, rel=0.02), "the proportions are kept"

    def test_six_pictures_of_the_usual_size_are_not_scaled(self):
        sheet = read(contact_sheet([("six", frames(6, size=(240, 320)))], steps=[list(range(6))]))
        assert len(covered(sheet, RED)[0]) == 6 * 240 * 320

    def test_a_long_caption_goes_on_in_the_next_line(self):
        short = read(contact_sheet([("a caption", frames(1))], steps=[[0]]))
        long = read(contact_sheet([("a caption " * 20, frames(1))], steps=[[0]]))
        assert long.shape[1] == short.shape[1]
        assert len(long) > len(short) + 40

    def test_the_same_rows_give_the_same_bytes(self):
        rows = [("one", frames(3)), ("two", frames(2, BLUE))]
        steps = [[0, 5, 9], [0, 3]]
        assert contact_sheet(rows, steps=steps) == contact_sheet(rows, steps=steps)


def test_lines_break_between_words_only():
    assert wrap("one two three\n\nincomprehensible", 8, len) == ["one two", "three", "", "incomprehensible"]


def test_a_missing_pillow_is_said_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rewardsmith\[visual\]'"):
        contact_sheet([("one", frames(1))], steps=[[0]])
