"""Where tasks, prompts and sandbox data are found: the user's folders, then the checkout, then the wheel."""

from pathlib import Path
from typing import Literal

ResourceKind = Literal["tasks", "prompts", "sandboxes"]

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]


def shipped_dir(kind: ResourceKind) -> Path:
    """Return the folder that rewardsmith itself ships.

    A checkout comes before the installed copy, which an editable install may leave stale.
    """
    if (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / kind).is_dir():
        return _CHECKOUT / kind
    return _PACKAGE / "_resources" / kind


def search_dirs(kind: ResourceKind) -> list[Path]:
    """Return the folders to search, first match wins: `./<kind>` of the user, then what is shipped."""
    own, shipped = Path.cwd() / kind, shipped_dir(kind)
    dirs = [shipped] if own.resolve() == shipped.resolve() else [own, shipped]
    return [folder for folder in dirs if folder.is_dir()]
