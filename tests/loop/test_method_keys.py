"""Every key of a method does something: changing it changes what the loop asks for, decides or says."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from chat_server import ChatServer
from loop.scripted import ScriptedModel
from loop.test_model_runs import model_of, new_run, run
from loop.tiny import tiny_config
from rewardsmith.config import MethodConfig
from rewardsmith.loop.reporter import SilentReporter
from rewardsmith.loop.run import execute
from rewardsmith.loop.setup import flat
from rewardsmith.services.journal.folder import RunFolder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CHEAP = ("final.seeds=0", "select.finalists=0", "stop.iterations=1", "propose.candidates=6", "train.keep=2")


@dataclass(frozen=True)
class Change:
    """One key set to another value: where the journals of both runs must differ, and what else both set."""

    value: str
    where: str
    also: tuple[str, ...] = ()


BUILTIN = {
    "store.episodes": Change("8", "request store"),
    "store.expert_episodes": Change("4", "request store"),
    "store.ranked_on": Change("3", "decision i01/prefer"),
    "propose.candidates": Change("5", "request i01/propose"),
    "propose.carry": Change("0", "request i02/screen", ("stop.iterations=2",)),
    "propose.crossover": Change("1.0", "answer i02/propose", ("stop.iterations=2",)),
    "propose.parent": Change("none", "answer i02/propose", ("stop.iterations=2",)),
    "propose.islands": Change("3", "answer i02/propose", ("stop.iterations=2",)),
    "gate.rule": Change("card_code", "decision i01/prefer"),
    "gate.threshold": Change("1.0", "decision i01/prefer"),
    "gate.min_gap": Change("1.0", "decision i01/prefer", ("task.fitness=success",)),
    "gate.min_pairs": Change("10000", "decision i01/prefer"),
    "gate.when_undetermined": Change("skip", "decision i01/prefer", ("gate.rule=card_paper",)),
    "train.keep": Change("1", "decision i01/prefer"),
    "train.max_correlation": Change("0.001", "decision i01/prefer"),
    "train.budget": Change("0.2", "request i01/*/train/r1"),
    "train.rungs": Change("[1.0]", "request i01/*/train/r1"),
    "train.survivors": Change("1.0", "decision i01/rung1"),
    "train.shaping": Change("potential", "request i01/*/train/r1"),
    "train.checkpoints_per_rung": Change("2", "request i01/*/train/r1"),
    "select.finalists": Change("1", "decision i01/confirm"),
    "select.confirm_seeds": Change("2", "request i01/*/confirm/s1", ("select.finalists=1",)),
    "select.checkpoint": Change("last", "decision i01/select", ("train.checkpoints_per_rung=4",)),
    "stop.iterations": Change("2", "request i02/propose"),
    "stop.at_target": Change("true", "decision stop", ("stop.iterations=2", "task.target_fitness=-1000")),
    "stop.patience": Change("1", "decision stop", ("stop.iterations=4", "train.budget=0.1")),
    "final.seeds": Change("1", "decision final"),
    "final.baselines": Change("false", "decision final", ("final.seeds=1",)),
}
MODEL = {
    "propose.temperature": Change("0.5", "request i01/c00/propose"),
    "propose.output": Change("template", "request i01/c00/propose"),
    "propose.few_shot": Change("false", "request i01/c00/propose"),
    "propose.history_turns": Change("0", "request i02/c00/propose", ("stop.iterations=2",)),
    "propose.failures": Change("0", "request i02/c00/propose", ("stop.iterations=2",)),
    "repair.attempts": Change("0", "request i01/repair1"),
    "feedback.process": Change("false", "request i02/c00/propose", ("stop.iterations=2",)),
    "feedback.trajectory": Change("false", "request i02/c00/propose", ("stop.iterations=2",)),
    "feedback.preference": Change("false", "request i02/c00/propose", ("stop.iterations=2",)),
    "feedback.critique": Change("false", "request i01/critique", ("stop.iterations=2",)),
    "feedback.visual": Change("true", "request i01/frames", ("stop.iterations=2",)),
}
ELSEWHERE = {
    "propose.parent": "test_whose_code_is_to_be_improved_is_for_the_method_to_say",
}


def journal_of(folder: RunFolder) -> dict[str, object]:
    """Return what stands in a journal by kind and key, candidates' own numbers as `*`."""
    found: dict[str, list[object]] = {}
    for line in folder.journal_path.read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "header":
            continue
        parts = event["key"].split("/")
        starred = ["*" if p[0] == "c" and p[1:].isdigit() and parts[-1] != "propose" else p for p in parts]
        data = event.get("request", event.get("answer", event.get("payload")))
        found.setdefault(f"{event['type']} {'/'.join(starred)}", []).append(data)
    return {key: json.dumps(sorted(map(json.dumps, values))) for key, values in found.items()}


def builtin_run(root: Path, *settings: str) -> dict[str, object]:
    config = tiny_config(*CHEAP, *settings)
    folder = RunFolder.create(root, f"run{len(list(root.iterdir()))}", config.model_dump(mode="json"))
    execute(folder, SilentReporter())
    return journal_of(folder)


def model_run(root: Path, *settings: str) -> dict[str, object]:
    # The first answer fails, so that there is something to mend and to remember.
    with ChatServer(ScriptedModel(), lambda n: "nan" if n == 0 else None) as server:
        name = f"run{len(list(root.iterdir()))}"
        folder = new_run(root, *CHEAP, "propose.candidates=1", *settings, name=name, model=model_of(server))
        run(folder)
    return journal_of(folder)


@pytest.fixture(scope="module")
def journals(tmp_path_factory):
    """Make every run that is compared, two at a time; return its journal, or raise what it raised."""
    wanted = {
        (make, settings)
        for make, changes in ((builtin_run, BUILTIN), (model_run, MODEL))
        for key, change in changes.items()
        for settings in (change.also, (*change.also, f"{key}={change.value}"))
    }
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = {
            (make, settings): pool.submit(make, tmp_path_factory.mktemp("run"), *settings)
            for make, settings in sorted(wanted, key=lambda one: (one[0].__name__, one[1]))
        }
    return lambda make, *settings: running[make, settings].result()


@pytest.mark.parametrize("key", BUILTIN)
def test_a_key_changes_what_the_loop_does(key, journals):
    change = BUILTIN[key]
    before = journals(builtin_run, *change.also)
    after = journals(builtin_run, *change.also, f"{key}={change.value}")
    assert before.get(change.where) != after.get(change.where)


@pytest.mark.parametrize("key", MODEL)
def test_a_key_changes_what_a_model_is_asked(key, journals):
    change = MODEL[key]
    before = journals(model_run, *change.also)
    after = journals(model_run, *change.also, f"{key}={change.value}")
    assert before.get(change.where) != after.get(change.where)


def test_every_key_of_a_method_has_such_a_test():
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert set(flat(MethodConfig().model_dump())) == set(BUILTIN) | set(MODEL) | set(ELSEWHERE)
    assert not [name for name in ELSEWHERE.values() if f"def {name}(" not in tests]
