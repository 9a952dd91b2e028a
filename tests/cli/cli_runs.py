"""Run folders written by hand, as a search would write them."""

from pathlib import Path
from typing import Any

from rewardsmith.config import BudgetConfig
from rewardsmith.loop.setup import resolve
from rewardsmith.services.journal.folder import RunFolder, write_json_atomic
from rewardsmith.services.journal.journal import Effect, Journal

SOURCE = "def compute_reward(state, action, next_state):\n    return np.zeros(len(action)), {}\n"


def new_run(root: Path, name: str) -> RunFolder:
    config = resolve(
        task="classic/pendulum",
        method="rewardsmith",
        settings=["final.seeds=0", "train.rungs=[0.5, 1.0]"],
        model="builtin",
        seed=3,
        workers=1,
        sandbox="auto",
        budget=BudgetConfig(),
    )
    return RunFolder.create(root, name, config.model_dump(mode="json"))


def searched_run(root: Path, name: str, *, origin: str = "fresh", failure: str | None = None) -> RunFolder:
    """Write a run of one iteration: of three proposals two trained, the second was stopped after a rung."""
    folder = new_run(root, name)
    with folder.writer() as journal:
        _record(journal, "store", {"env_steps": 100})
        proposals = [
            {"source": SOURCE, "origin": origin, "parents": parents, "genome": None}
            for parents in ([], ["i00c00"], [])
        ]
        _record(journal, "i01/propose", {"proposals": folder.objects.put_json(proposals)})
        chosen = [{"id": "i01c00", "preference": 0.9}, {"id": "i01c01", "preference": 0.8}]
        journal.decide(
            "i01/prefer",
            {
                "n_proposed": 3,
                "failures": {"raised": 1},
                "n_trajectories": 6,
                "n_pairs": 15,
                "undetermined": False,
                "chosen": chosen,
            },
        )
        _record(journal, "i01/c00/train/r1", _answer(1000, 0.5))
        _record(journal, "i01/c01/train/r1", _answer(1000, 0.1, failure))
        journal.decide("i01/rung1", {"judged": {}, "kept": ["i01c00"]})
        _record(journal, "i01/c00/train/r2", _answer(2000, 0.7))
        journal.decide("i01/rung2", {"judged": {}, "kept": []})
        journal.decide("i01/select", {"best": "i01c00", "fitness": 0.7, "progress": 0.8})
    return folder


def end_run(folder: RunFolder, winner: str | None) -> dict[str, Any]:
    """Let a run end without a final comparison."""
    result = {
        "task": "classic/pendulum",
        "model": "builtin",
        "evaluator": None,
        "reduced_isolation": False,
        "method": "rewardsmith",
        "seed": 3,
        "expert_episodes": 0,
        "iterations": 1,
        "ended": "count: 1 iterations",
        "winner": winner
        and {"id": winner, "origin": "fresh", "fitness": 0.7, "progress": 0.8, "confirmed_seeds": 0},
        "final": None,
        "totals": {
            "proposals": 3,
            "trainings": 2,
            "env_steps": 3100,
            "tokens": 0,
            "usd": None,
            "calls_of_unknown_cost": 0,
        },
    }
    with folder.writer() as journal:
        journal.decide("stop", {"reason": result["ended"], "best": winner})
        journal.decide("result", result)
    write_json_atomic(folder.path / "result.json", result)
    return result


def confirm(folder: RunFolder, *, fitness: float, failure: str | None = None) -> None:
    """Train the first candidate once more at full budget."""
    with folder.writer() as journal:
        _record(journal, "i01/c00/confirm/s0", _answer(5000, fitness, failure))
        journal.decide("i01/confirm", {"judged": {} if failure else {"i01c00": {"fitness": fitness}}})


def _record(journal: Journal, key: str, answer: dict[str, Any]) -> None:
    journal.effect(Effect(key=key, request={}, run=lambda: answer))


def _answer(step: int, fitness: float, failure: str | None = None) -> dict[str, Any]:
    checkpoint = {
        "step": step,
        "fitness": [fitness, fitness],
        "progress": [0.8, 0.8],
        "success": [True, False],
        "success_last": [False, False],
        "length": [200, 200],
    }
    failed = failure and {"code": "drift", "message": failure}
    return {"checkpoints": [checkpoint], "failure": failed, "env_steps": 1000}
