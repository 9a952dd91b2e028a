"""Reads the corpus: each file says in its first lines what it is and what it must get.

- `kind`: what it does, in words.
- `entry`: `static` (the static checks must refuse it), `checked` (they must pass it, then it runs as a
  candidate does), `validated` (it also goes through validation) or `raw` (static checks off, full builtins
  and imports, the same lock).
- `expect`: failure codes, any of which is right; or `denied` (it was refused and answers 0) or `answers`; of
  validation also `valid` and `constant`.
- `line`: the line that a static refusal must name.
- `limits`: limits that differ from the usual ones.
- `control`: for raw files, `none: reason` where no unlocked run can succeed, or `optional: reason`. Else the
  same file, with `BOUNDED` true so that it stays small, must answer 1 in an unlocked process.
"""

from dataclasses import dataclass
from pathlib import Path

from rewardsmith.services.sandbox.base import SandboxLimits

FOLDER = Path(__file__).parent / "corpus"
_NUMBERS = {"start_timeout_s": float, "call_timeout_s": float, "cpu_s": int, "memory_bytes": int}


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    kind: str
    entry: str
    expect: tuple[str, ...]
    line: int | None
    limits: SandboxLimits
    control: str

    def raw_source(self, bounded: bool) -> str:
        return f"BOUNDED = {bounded}\n{self.source}"


def load() -> list[Case]:
    return [_read(path) for path in sorted(FOLDER.glob("*.py"))]


def _read(path: Path) -> Case:
    source = path.read_text(encoding="utf-8")
    head: dict[str, str] = {}
    for line in source.splitlines():
        if not line.startswith("# "):
            break
        key, _, value = line[2:].partition(": ")
        head[key] = value
    changes = dict(part.split("=") for part in head.get("limits", "").split())
    numbers = {"call_timeout_s": 0.4, "memory_bytes": 64 * 1024 * 1024, "output_bytes": 16 * 1024}
    numbers |= {key: _NUMBERS[key](value) for key, value in changes.items()}
    return Case(
        name=path.stem,
        source=source,
        kind=head["kind"],
        entry=head["entry"],
        expect=tuple(head["expect"].split("|")),
        line=int(head["line"]) if "line" in head else None,
        limits=SandboxLimits(**numbers),
        control=head.get("control", "needed"),
    )
