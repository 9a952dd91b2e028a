"""What a task.yaml may and may not say."""

import pytest
from pydantic import ValidationError

from rewardsmith.errors import TaskError
from rewardsmith.services.tasks.schema import TaskFile
from toy_tasks import MEASURED, WALK

FIELD = {"name": "place", "source": "obs[0]"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"env": {}}, "give either 'id' or 'factory'"),
        ({"env": {"id": "A-v0", "factory": "a.py:b"}}, "give either 'id' or 'factory'"),
        ({"env": {"factory": "env.py"}}, "'factory' has the form file.py:function"),
        ({"env": {"id": "A-v0", "action_repeat": 0}}, "greater than 0"),
        ({"state": []}, "at least 1 item"),
        ({"state": [FIELD, FIELD]}, "the state field 'place' stands twice"),
        ({"state": [FIELD | {"name": "two words"}]}, "'two words' is not a plain Python name"),
        ({"state": [FIELD | {"name": "lambda"}]}, "'lambda' is not a plain Python name"),
        ({"state": [FIELD | {"name": "_hidden"}]}, "'_hidden' is not a plain Python name"),
        ({"state": [FIELD | {"name": "terminated"}]}, "use another name"),
        ({"state": [FIELD | {"source": "reward"}]}, "unknown source 'reward'; use obs, obs[a:b]"),
        ({"state": [{"name": "env", "source": "state.py"}]}, "'env' is taken"),
        ({"state": [FIELD | {"shape": [2, 0]}]}, "every size in 'shape' must be at least 1"),
        ({"success": {"source": "obs.done"}}, "use info.KEY or a Python file"),
        ({"fitness": "speed"}, "use success, return or a Python file"),
        ({"success": None}, "fitness 'success' and the baseline 'sparse' need the key 'success'"),
        ({"baselines": ["progress"]}, "the baseline 'progress' needs the key 'progress'"),
        ({"progress": {"source": "info.place"}}, "use a Python file"),
        ({"training": {"algorithm": "SARSA"}}, "PPO"),
        ({"goal": "?"}, "at least 3 characters"),
        ({"schema_version": 2}, "Input should be 1"),
        ({"speed": 1}, "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_task_is_refused_with_the_remedy(changes, expected):
    with pytest.raises(ValidationError) as caught:
        TaskFile.model_validate(WALK | changes)
    assert expected in str(caught.value)


def test_a_task_without_success_may_be_measured_by_its_return():
    TaskFile.model_validate(WALK | {"success": None, "fitness": "return", "baselines": ["human", "zero"]})


def test_the_layout_has_the_fields_in_their_order(toy_task):
    layout = toy_task(
        {"state": [FIELD | {"shape": [2, 3], "unit": "m", "low": -1.0}, FIELD | {"name": "b"}]}
    ).layout
    assert [(field.name, field.shape) for field in layout.fields] == [("place", (2, 3)), ("b", ())]
    assert (layout.fields[0].unit, layout.fields[0].low, layout.dim) == ("m", -1.0, 7)


def test_code_files_are_those_that_the_task_uses(toy_task):
    names = lambda task: [path.name for path in task.code_files]  # noqa: E731
    assert names(toy_task()) == ["env.py"]
    assert names(toy_task(MEASURED)) == ["fitness.py", "env.py"]
    assert names(toy_task({"env": {"id": "Pendulum-v1"}, **MEASURED})) == ["fitness.py"]
    assert names(toy_task({"env": {"factory": "gymnasium:make"}})) == []
    field = {"name": "far", "source": "state.py"}
    task = toy_task({"state": [field]}, {"state.py": "def far(obs, info, env): return 0.0"})
    assert names(task) == ["state.py", "env.py"]


def test_a_fault_in_a_task_file_names_file_line_and_key(task_folder, toy_task):
    with pytest.raises(TaskError) as caught:
        toy_task({"env": {"factory": "env.py:make", "max_steps": 3}})
    assert str(caught.value) == (
        f"{task_folder()}/task.yaml:5: env.max_steps: unknown key; did you mean max_episode_steps?"
    )
