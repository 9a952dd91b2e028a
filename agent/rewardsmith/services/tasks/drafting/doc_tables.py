"""The observation tables that Gymnasium environments have in their docstrings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_MAX_SECTION_LINES = 12
_MAX_ALIKE = 1000

_NOTHING = ("", "-", "none", "n/a")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocRow:
    """What the documentation says of one number of an observation.

    Attributes:
        text: what it is.
        owner: the joint, body or site that it belongs to, or empty.
        n_alike: how many numbers the row describes together.
        unit: such as `angle (rad)`, or empty.
    """

    text: str
    owner: str = ""
    n_alike: int = 1
    unit: str = ""


def observation_rows(doc: str, keys: Sequence[str]) -> dict[str, dict[int, DocRow]]:
    """Return the documented numbers of each part of an observation, by index.

    Args:
        doc: the docstring of an environment's class.
        keys: of a Dict observation; a table belongs to the key that was named last before it. A flat
            observation has the key "".
    """
    found: dict[str, dict[int, DocRow]] = {}
    key = ""
    header: list[str] | None = None
    rows: dict[int, DocRow] = {}
    for line in (*doc.splitlines(), ""):
        cells = _cells(line)
        if cells is None:
            if rows:
                found.setdefault(key, rows)
            header, rows = None, {}
            named = next((k for k in keys if re.match(rf"\s*[*-]?\s*\W{{0,3}}{re.escape(k)}\b", line)), None)
            key = named if named is not None else key
        elif header is None:
            header = [cell.lower() for cell in cells] if _is_observation_header(cells) else []
        elif header:
            for index, row in _row(header, cells):
                rows[index] = row
    return found


def observation_section(doc: str) -> list[str]:
    """Return what a docstring says of the observation in prose, without tables, at most a dozen lines.

    Other sections are left out, above all the one on rewards.
    """
    found: list[str] = []
    inside = False
    for line in doc.splitlines():
        title = re.match(r"\s*#+\s*(.*)", line)
        if title:
            inside = "observation" in title[1].lower() and "reward" not in title[1].lower()
        elif inside and line.strip() and _cells(line) is None:
            found.append(" ".join(line.split()))
    if len(found) > _MAX_SECTION_LINES:
        found = [*found[:_MAX_SECTION_LINES], "..."]
    return found


def _cells(line: str) -> list[str] | None:
    text = line.strip()
    if not text.startswith("|"):
        return None
    return [cell.strip().strip("`") for cell in text.strip("|").split("|")]


def _is_observation_header(cells: Sequence[str]) -> bool:
    lower = [cell.lower() for cell in cells]
    return lower[0] in ("num", "index", "idx", "no.", "#") and any(c.startswith("observation") for c in lower)


def _row(header: Sequence[str], cells: Sequence[str]) -> list[tuple[int, DocRow]]:
    """Return the numbers that a row describes: one, or several where it says `3-5`."""
    span = re.fullmatch(r"(\d+)(?:\s*(?:-|to|:)\s*(\d+))?", cells[0])
    if span is None or len(cells) < len(header):
        return []
    by_title = dict(zip(header, cells, strict=False))
    text = next(cell for title, cell in by_title.items() if title.startswith("observation"))
    owner = next((c for title, c in by_title.items() if "name" in title and c.lower() not in _NOTHING), "")
    unit = next((c for title, c in by_title.items() if "unit" in title and c.lower() not in _NOTHING), "")
    first, last = int(span[1]), int(span[2] or span[1])
    n_alike = min(last - first + 1, _MAX_ALIKE)
    text = " ".join(re.sub(r"<[^>]+>|[`$]", "", text).split())
    row = DocRow(text=text, owner=owner, unit=unit, n_alike=n_alike)
    return [(index, row) for index in range(first, first + n_alike)]
