"""Renders the prompts: Jinja2 templates in `prompts/`, the user's own before those that are shipped."""

import math
import re
import traceback
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardsmith.errors import ConfigError
from rewardsmith.resources import search_dirs
from rewardsmith.services.sandbox.untrusted import clean

if TYPE_CHECKING:
    import jinja2

_MAX_PLAIN_CHARS = 600
_MAX_FENCED_CHARS = 20_000


def render(template: str, /, **values: Any) -> str:
    """Return a rendered prompt.

    Args:
        template: its file below `prompts/`, such as `coder/system.j2`.
        values: what it may use; a name that it uses and that is not given is an error.

    Raises:
        ConfigError: there is no such template, or it is wrong; the message names file and line.
    """
    import jinja2

    folders = tuple(search_dirs("prompts"))
    environment = _environment(folders)
    try:
        text = environment.get_template(template).render(values)
    except jinja2.TemplateNotFound as error:
        raise ConfigError(f"the prompt {error.name} is missing in prompts/") from None
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(f"{error.filename or template}:{error.lineno}: {error.message}") from None
    except Exception as error:  # a template of the user's own may do anything
        place = _place(error, folders) or template
        raise ConfigError(f"{place}: the prompt cannot be rendered: {error}") from error
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def check_templates() -> None:
    """Parse every template that there is, so that a wrong one is told before a run begins.

    Raises:
        ConfigError: one does not parse; the message names file and line.
    """
    import jinja2

    environment = _environment(tuple(search_dirs("prompts")))
    for name in environment.list_templates(extensions=["j2"]):
        try:
            environment.get_template(name)
        except jinja2.TemplateSyntaxError as error:
            raise ConfigError(f"{error.filename or name}:{error.lineno}: {error.message}") from None


def fenced(text: str, language: str = "") -> str:
    """Return text as a fenced block that it cannot end by itself."""
    text = clean(text, _MAX_FENCED_CHARS)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def plain(text: str) -> str:
    """Return text of a model or of a candidate as part of one line, without what could look like markup."""
    return re.sub(r"\s+", " ", clean(str(text), _MAX_PLAIN_CHARS)).replace("`", "'")


def num(value: float | None) -> str:
    """Return a number with three significant digits; `unknown` for None."""
    if value is None:
        return "unknown"
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    return f"{value:.3g}"


def _place(error: Exception, folders: tuple[Path, ...]) -> str | None:
    """Return file and line of the template in which an error was raised, or None."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if any(Path(frame.filename).is_relative_to(folder) for folder in folders):
            return f"{frame.filename}:{frame.lineno}"
    return None


@lru_cache(maxsize=4)
def _environment(folders: tuple[Path, ...]) -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # prompts are no HTML
    )
    environment.filters |= {"fenced": fenced, "plain": plain, "num": num}
    return environment
