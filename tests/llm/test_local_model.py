"""A real language model of 135 million parameters, on this machine, through both clients.

It cannot write code that runs, but it can choose terms and weights where a JSON schema holds it to them.
"""

import json

import pytest

import local_model
from loop.tiny import ListReporter, tiny_config
from rewardsmith.campaign.cells import evaluator_cells
from rewardsmith.campaign.evaluating import execute_choices
from rewardsmith.config import BudgetConfig, ModelConfig
from rewardsmith.loop.records import read_proposals, read_run
from rewardsmith.loop.run import execute
from rewardsmith.loop.transcript import read_calls
from rewardsmith.services.journal.folder import RunFolder

pytestmark = [
    pytest.mark.llm,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not local_model.is_there(), reason=local_model.REASON),
]

QUICK = ("stop.iterations=1", "final.seeds=0", "repair.attempts=1")


@pytest.fixture(scope="module")
def base_url():
    with local_model.local_model() as url:
        yield url


def run(root, base_url, name, *settings):
    # Room for all the terms that the schema admits; of code, for a beginning.
    most = 700 if "propose.output=template" in settings else 200
    model = ModelConfig(name=name, base_url=base_url, timeout_s=300.0, max_tokens=most)
    config = tiny_config(*QUICK, *settings, model=model)
    folder = RunFolder.create(root, "run", config.model_dump(mode="json"))
    reporter = ListReporter()
    result = json.loads(json.dumps(execute(folder, reporter)))
    return folder, result, reporter.lines


def test_code_of_a_tiny_model_is_useless_and_the_run_says_so(base_url, tmp_path):
    folder, result, lines = run(tmp_path, base_url, "openai/smollm2", "propose.candidates=2")
    record = read_run(folder.path)
    assert record.status == "finished"
    proposals = read_proposals(record).values()
    usable = [p for p in proposals if p.failure is None]
    failed_later = sum(record.iterations[0].failures.values())
    assert len(proposals) == 2
    assert len(usable) < 2 or failed_later
    assert any("asking to mend them" in line for line in lines)
    assert any("turned down" in line for line in lines)
    assert result["totals"]["tokens"] > 1000
    assert result["totals"]["usd"] is None


@pytest.mark.parametrize("name", ["openai/smollm2", "hosted_vllm/smollm2"])
def test_its_choice_of_terms_ends_in_a_trained_and_judged_winner(name, base_url, tmp_path):
    folder, result, _ = run(tmp_path, base_url, name, "propose.output=template", "propose.candidates=3")
    proposals = read_proposals(read_run(folder.path)).values()
    assert [p.message for p in proposals if p.failure is not None] == [], "the schema holds it to the form"
    assert result["winner"] is not None
    assert result["winner"]["fitness"] is not None
    assert result["winner"]["confirmed_seeds"] == 1
    calls = read_calls(read_run(folder.path))
    assert all(call.reply.usage.completion for call in calls)
    assert len({call.reply.text for call in calls}) > 1, "samples differ"


def test_as_a_judge_it_answers_in_the_form_and_is_measured(base_url, tmp_path):
    (cell,) = evaluator_cells(
        tasks=["classic/pendulum"],
        seed=0,
        settings=["store.episodes=20", "store.expert_episodes=10"],
        model=ModelConfig(name="openai/smollm2", base_url=base_url, timeout_s=300.0, max_tokens=200),
        sandbox="local",
        budget=BudgetConfig(),
        label="smollm2",
    )
    folder = RunFolder.create(tmp_path, cell.folder_name, cell.config.model_dump(mode="json"))
    report = execute_choices(folder, ListReporter(), n_pairs=3, with_rubric=False)["report"]
    assert report["pairs"] == 3
    assert report["unanswered"] <= 2, "the schema holds it to the form"
    assert 0.0 <= report["accuracy"] <= 1.0
    assert report["tokens"] > 1000
    assert report["usd"] is None
