"""Contact sheets: the pictures of several episodes in one PNG, a row each, for whoever judges by eye."""

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rewardsmith.errors import MissingExtraError

if TYPE_CHECKING:
    from PIL.Image import Image

UInt8Array = npt.NDArray[np.uint8]

MAX_WIDTH = 2000
_MIN_WIDTH = 320
_GAP = 8
_CAPTION_SIZE, _CAPTION_HEIGHT = 18, 24
_STEP_SIZE, _STEP_HEIGHT = 14, 20
_INK, _PAPER, _EDGE = (0, 0, 0), (255, 255, 255), (170, 170, 170)


def contact_sheet(
    rows: Sequence[tuple[str, UInt8Array]], *, steps: Sequence[Sequence[int]], max_width: int = MAX_WIDTH
) -> bytes:
    """Return one PNG: for each episode its caption, its pictures side by side and their steps beneath.

    The same rows give the same bytes, as long as Pillow is the same.

    Args:
        rows: caption and pictures, shape `(n, height, width, 3)`, of each episode; at least one. The font
            knows ASCII and little else.
        steps: which step each picture shows, for each row.
        max_width: of the sheet in pixels; where a row is wider, all pictures are scaled down alike.

    Raises:
        MissingExtraError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pictures need Pillow: pip install 'rewardsmith[visual]'") from error
    scale = min(1.0, *(_largest_scale(frames, max_width) for _, frames in rows))
    sizes = [(int(scale * frames.shape[2]), int(scale * frames.shape[1])) for _, frames in rows]
    widths = [len(frames) * (w + _GAP) + _GAP for (w, _), (_, frames) in zip(sizes, rows, strict=True)]
    width = min(max_width, max(_MIN_WIDTH, *widths))
    strips = [
        _strip(caption, frames, numbers, size, width)
        for (caption, frames), numbers, size in zip(rows, steps, sizes, strict=True)
    ]
    sheet = Image.new("RGB", (width, sum(strip.height for strip in strips)), _PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    png = io.BytesIO()
    sheet.save(png, "PNG")
    return png.getvalue()


def wrap(text: str, width: float, length: Callable[[str], float]) -> list[str]:
    """Return the text in lines of at most `width`, as `length` measures them; a longer word stays whole."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        words = paragraph.split()
        line = words[0] if words else ""
        for word in words[1:]:
            if length(f"{line} {word}") > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}"
        lines.append(line)
    return lines


def _strip(
    caption: str, frames: UInt8Array, steps: Sequence[int], size: tuple[int, int], width: int
) -> "Image":
    """Return the row of one episode."""
    from PIL import Image, ImageDraw, ImageFont

    caption_font, step_font = ImageFont.load_default(_CAPTION_SIZE), ImageFont.load_default(_STEP_SIZE)
    lines = wrap(caption, width - 2 * _GAP, caption_font.getlength)
    top = len(lines) * _CAPTION_HEIGHT + _GAP
    bottom = top + size[1]
    strip = Image.new("RGB", (width, bottom + _STEP_HEIGHT + _GAP), _PAPER)
    draw = ImageDraw.Draw(strip)
    for number, line in enumerate(lines):
        draw.text((_GAP, _GAP // 2 + number * _CAPTION_HEIGHT), line, _INK, caption_font)
    for number, (frame, step) in enumerate(zip(frames, steps, strict=True)):
        left = _GAP + number * (size[0] + _GAP)
        picture = Image.fromarray(np.ascontiguousarray(frame))
        strip.paste(picture if picture.size == size else picture.resize(size), (left, top))
        # Without an edge, pictures with a white background run into each other.
        draw.rectangle((left - 1, top - 1, left + size[0], bottom), outline=_EDGE)
        draw.text((left + size[0] // 2, bottom + 2), f"step {step}", _INK, step_font, anchor="ma")
    return strip


def _largest_scale(frames: UInt8Array, max_width: int) -> float:
    n_frames, _, frame_width, _ = map(int, frames.shape)
    return (max_width - (n_frames + 1) * _GAP) / (n_frames * frame_width)
