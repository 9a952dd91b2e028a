"""Undoes what chat formatting does to code: prefixes, typography, entities, lost indentation."""

import re
import textwrap

from rewardsmith.services.models.extraction.syntax import parse, parses, unknown_names

_TYPOGRAPHY: dict[str, str | int | None] = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    **dict.fromkeys("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a", " "),
    **dict.fromkeys("\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u2028\u2029\u0085", "\n"),
    **{chr(0xFF01 + n): chr(0x21 + n) for n in range(94)},
    "\u00d7": "*",
    "\u2217": "*",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
    "\u2026": "...",
}
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": " "}
_ENTITIES |= {"#34": '"', "#39": "'", "#x27": "'", "#x22": '"', "#60": "<", "#62": ">", "#38": "&"}
_ENTITY = re.compile("&(" + "|".join(_ENTITIES) + ");", re.IGNORECASE)
_BREAK = re.compile(r"<br ?/?>\n?", re.IGNORECASE)
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.|In \[\d{1,4}\]:|\.\.\.:)(?: |$)")
_NUMBER = re.compile(r"[ \t]*(\d{1,4})(?:[ \t]?[|:\u2502)]|\.(?=[ \t])|(?=[ \t])|$)")
_DIFF_NOISE = ("+++", "---", "@@", "diff ", "index ", "\\ No newline")


def mend(text: str) -> str:
    """Return code that parses, if undoing the usual damage gets there; else the text, only dedented.

    Undoing goes on from one kind of damage to the next, as an answer may have several.
    """
    plain = mended = textwrap.dedent(text.strip("\n")).strip()
    for undo in () if parses(plain) else _UNDO:
        changed = undo(mended)
        if changed != mended and parses(changed):
            return changed
        mended = changed
    tabs = (mended.expandtabs(width) for width in (4, 8) if "\t" in mended)
    found = next(filter(parses, tabs), plain)
    return _entities(found) if _has_hidden_entities(found) else found


def _has_hidden_entities(text: str) -> bool:
    """Tell whether `a &lt; b` hides in code that parses all the same, as `a & lt; b`."""
    if not _ENTITY.search(text) or not parses(text) or not parses(_entities(text)):
        return False
    return not unknown_names(parse(text)).isdisjoint(_ENTITIES)


def _typography(text: str) -> str:
    return text.translate(str.maketrans(_TYPOGRAPHY))


def _entities(text: str) -> str:
    return _ENTITY.sub(lambda found: _ENTITIES[found[1].lower()], _BREAK.sub("\n", text))


def _diff(text: str) -> str:
    lines = text.split("\n")
    full = [line for line in lines if line.strip()]
    if sum(line.startswith("+") for line in full) * 2 < len(full):
        return text
    new = [line for line in lines if not line.startswith(("-", *_DIFF_NOISE))]
    return textwrap.dedent("\n".join(line[1:] if line[:1] in ("+", " ") else line for line in new)).strip(
        "\n"
    )


def _quoted(text: str) -> str:
    lines = text.split("\n")
    if not all(line.startswith(">") for line in lines if line.strip()) or text.startswith(">>>"):
        return text
    return textwrap.dedent("\n".join(line[1:] for line in lines)).strip("\n")


def _numbered(text: str) -> str:
    lines = text.split("\n")
    found = [_NUMBER.match(line) for line in lines]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) < 2 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return text
    if any(line.strip() and not match for line, match in zip(lines, found, strict=True)):
        return text
    bare = [line[match.end() :] if match else line for line, match in zip(lines, found, strict=True)]
    return textwrap.dedent("\n".join(bare)).strip("\n")


def _prompts(text: str) -> str:
    lines = text.split("\n")
    found = [(line, _PROMPT.match(line)) for line in lines if line.strip()]
    inputs = [line[match.end() :] for line, match in found if match]
    # A few prompts among other lines are an example in a docstring.
    return "\n".join(inputs) if len(inputs) * 2 > len(found) else text


def with_line_ends(text: str) -> str:
    r"""Break a text that holds its line ends as `\n`."""
    if text.count("\\n") <= 2 * text.count("\n") + 1:
        return text
    return text.strip("\"'").replace("\\n", "\n").replace("\\t", "    ").replace('\\"', '"')


def _first_line(text: str) -> str:
    """Bring the rest in line with a first line that lost its indentation."""
    first, _, rest = text.partition("\n")
    return f"{first}\n{textwrap.dedent(rest)}" if re.search(r"^[ \t]+(?:def|import) ", rest, re.M) else text


_UNDO = (_diff, _quoted, _numbered, _prompts, _typography, _entities, with_line_ends, _first_line)
