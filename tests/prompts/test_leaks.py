"""No prompt tells how a task is judged, nor what its authors paid for: every task, every prompt."""

import inspect
import re
import sys
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import pytest

from prompts.cases import brief_of, prompts_of
from rewardsmith.contract.layout import StateLayout
from rewardsmith.resources import search_dirs
from rewardsmith.services import prompting
from rewardsmith.services.tasks.catalog import load_task, missing_extras
from rewardsmith.services.tasks.drafting.by_model import words_prompt
from rewardsmith.services.tasks.drafting.draft import draft_task
from rewardsmith.services.tasks.measured import REFERENCE_FILE
from rewardsmith.services.tasks.schema import FITNESS_FILE, find_code_file
from rewardsmith.worker.trainer import introspection
from rewardsmith.worker.trainer.spaces import action_spec
from rewardsmith.worker.trainer.taskenv import EnvMaker
from shipped_tasks import SOME_OF_EACH_SUITE

TASKS = SOME_OF_EACH_SUITE
TO_CATCH = ("classic/pendulum", "metaworld/drawer-open", "robotics/fetch-push")
"""Tasks that show that what is looked for would be found."""
N_STEPS = 40
"""Of the random play in which a draft is made."""
N_LINES = 3
"""So many lines in a row are no accident."""
_MIN_CHARS = 12
_NOT_THE_TASKS_OWN = ("gymnasium.core", "gymnasium.utils", "typing", "builtins", "abc")


class Known:
    """A task and what a coder must not be told of it."""

    def __init__(self, name):
        self.task = load_task(name)
        env = EnvMaker(self.task).make()
        self.env_class = type(env.unwrapped)
        self.brief = brief_of(self.task, action_spec(env.action_space, name))
        env.close()
        self.prompts = prompts_of(self.brief) | {"task/words": self._words()}

    def _words(self):
        """The prompt that asks for names of an environment's state, as `task new` makes it."""
        env = self.task.file.env
        with patch.object(introspection, "N_STEPS", N_STEPS):
            facts = introspection.introspect(env, self.task.folder, self.task.name)
        keys = env.model_dump(mode="json", exclude_defaults=True)
        return words_prompt(draft_task(facts, env=keys, goal=self.task.file.goal))

    @property
    def secrets(self):
        """Source texts by where they stand."""
        found = {module.__name__: inspect.getsource(module) for module in _reward_modules(self.env_class)}
        file = self.task.file
        measures = [file.fitness, file.success and file.success.source, file.progress and file.progress.source]
        own = [source for source in dict.fromkeys(measures) if source and source.endswith(".py")]
        return found | {
            name: find_code_file(self.task.folder, name).read_text() for name in (*own, REFERENCE_FILE)
        }


def _reward_modules(env_class):
    """The modules of an environment and of its bases, and helpers for rewards that they import."""
    own = [sys.modules[c.__module__] for c in env_class.__mro__]
    own = [m for m in dict.fromkeys(own) if not m.__name__.startswith(_NOT_THE_TASKS_OWN)]
    helpers = [
        value
        for module in own
        for name, value in vars(module).items()
        if inspect.ismodule(value) and "reward" in name
    ]
    return list(dict.fromkeys([*own, *helpers]))


@cache
def known(name):
    missing = missing_extras(load_task(name))
    if missing:
        pytest.skip(f"needs the extra {', '.join(missing)}")
    return Known(name)


def telling_lines(text):
    """Lines without comments and with single spaces; those too short to tell anything are left out."""
    lines = [" ".join(re.sub(r"#.*", "", line).split()) for line in text.splitlines()]
    return [line for line in lines if len(line) >= _MIN_CHARS and not line.startswith(("import ", "from "))]


def readings(prompt):
    """A prompt as one line: as it is, without what looks like comments, and with its telling lines alone."""
    bare = re.sub(r"#.*", "", prompt)
    return [" ".join(text.split()) for text in (prompt, bare, " ".join(telling_lines(prompt)))]


def copied_lines(prompt, source):
    """The first lines of a source that stand in a prompt in a row, or None."""
    lines, texts = telling_lines(source), readings(prompt)
    for start in range(max(1, len(lines) - N_LINES + 1) if lines else 0):
        run = " ".join(lines[start : start + N_LINES])
        if any(run in text for text in texts):
            return run
    return None


def says(prompt, sentence):
    return any(" ".join(sentence.split()).lower() in text.lower() for text in readings(prompt))


def reward_section(env_class):
    """The sentences of a docstring's section on rewards."""
    doc = inspect.getdoc(env_class) or ""
    found = re.search(r"^#+ *Rewards?\b.*?\n(.*?)(?=^#+ |\Z)", doc, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    lines = found.group(1).splitlines() if found else []
    return [line for line in (" ".join(line.split()) for line in lines) if len(line) > 2 * _MIN_CHARS]


@pytest.mark.parametrize("name", TASKS)
def test_no_prompt_holds_lines_of_the_environments_reward_or_of_the_fitness(name):
    task = known(name)
    every_prompt = "\n".join(task.prompts.values())
    for place, source in task.secrets.items():
        if copied_lines(every_prompt, source) is not None:
            found = {key: copied_lines(prompt, source) for key, prompt in task.prompts.items()}
            pytest.fail(f"prompts hold lines of {place}: {found}")


@pytest.mark.parametrize("name", TASKS)
def test_no_prompt_says_what_the_fitness_means(name):
    task = known(name)
    doc = task.task.file.fitness_doc
    if not doc:
        pytest.skip("the task does not say what its fitness means")
    assert not [prompt_name for prompt_name, prompt in task.prompts.items() if says(prompt, doc)]


@pytest.mark.parametrize("name", TASKS)
def test_no_prompt_holds_what_the_environments_docstring_says_of_rewards(name):
    task = known(name)
    for line in reward_section(task.env_class):
        assert not [prompt_name for prompt_name, prompt in task.prompts.items() if says(prompt, line)], line


@pytest.mark.parametrize("name", TO_CATCH)
def test_what_is_copied_into_a_prompt_is_caught(name):
    task = known(name)
    prompt = next(iter(task.prompts.values()))
    assert task.env_class.__module__ in task.secrets
    for place, source in task.secrets.items():
        lines = source.splitlines()
        assert copied_lines(f"{prompt}\n{source}", source), place
        # Indented otherwise, with other comments, on one line of a comment.
        assert copied_lines("\n".join(f"  {line.strip()}  # so" for line in lines), source), place
        assert copied_lines(f"class State:\n    x: int  # {' '.join(telling_lines(source))}", source), place
    for sentence in (task.task.file.fitness_doc, *reward_section(task.env_class)):
        assert not sentence or says(f"{prompt}\n# {sentence.upper()}\n{prompt}", sentence)


@pytest.mark.parametrize("name", TO_CATCH)
def test_a_task_file_that_gives_itself_away_is_caught(name):
    task = known(name)
    secret = "\n".join([task.task.file.fitness_doc, *list(task.secrets.values())[-1].splitlines()])
    first, *rest = task.brief.layout.fields
    telling = " ".join([task.task.file.fitness_doc, *telling_lines(secret)])[:500]
    layout = StateLayout((replace(first, doc=telling), *rest))
    prompt = next(iter(prompts_of(replace(task.brief, layout=layout)).values()))
    assert copied_lines(prompt, secret)
    assert says(prompt, task.task.file.fitness_doc)


def test_the_tasks_that_are_looked_at_have_secrets():
    task = known("classic/pendulum")
    assert set(task.secrets) == {
        "gymnasium.envs.classic_control.pendulum",
        FITNESS_FILE,
        REFERENCE_FILE,
    }
    assert "shared/moving.py" in known("metaworld/drawer-open").secrets
    assert any("0.001" in line for line in reward_section(task.env_class))


def test_helpers_and_bases_of_an_environment_are_looked_at():
    secrets = known("metaworld/drawer-open").secrets
    assert {"metaworld.envs.sawyer_drawer_open_v3", "metaworld.sawyer_xyz_env"} <= set(secrets)
    assert any("reward_utils" in place for place in secrets)
    assert "def tolerance" in "".join(secrets.values())


def test_every_template_is_looked_at():
    folders = tuple(search_dirs("prompts"))
    prompting._environment.cache_clear()
    known.cache_clear()
    known("classic/pendulum")
    rendered = {key[1] for key in prompting._environment(folders).cache.keys()}  # noqa: SIM118
    shipped = {str(p.relative_to(folders[-1])) for p in folders[-1].rglob("*.j2")}
    assert shipped <= rendered
