import json

import pytest
import yaml
from cli_runs import end_run, new_run, searched_run
from typer.testing import CliRunner

from rewardsmith import __version__
from rewardsmith.cli.app import app
from rewardsmith.resources import shipped_dir

PENDULUM = shipped_dir("tasks") / "classic" / "pendulum"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def invoke(*args):
    return CliRunner().invoke(app, list(args))


def refused(*args):
    """Return the one line of an error that ends with exit code 2."""
    result = invoke(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def own_task(tmp_path, name="mine", **changes):
    folder = tmp_path / "tasks" / "own" / name
    folder.mkdir(parents=True)
    for name_of_code in ("fitness.py", "expert.py"):
        (folder / name_of_code).write_bytes((PENDULUM / name_of_code).read_bytes())
    data = yaml.safe_load((PENDULUM / "task.yaml").read_text(encoding="utf-8")) | changes
    (folder / "task.yaml").write_text(yaml.safe_dump(data))
    return folder


def test_the_version_is_shown():
    assert invoke("--version").stdout == f"rewardsmith {__version__}\n"


def test_tasks_are_listed_with_their_goal():
    rows = json.loads(invoke("task", "list", "--json").stdout)

    (pendulum,) = (row for row in rows if row["name"] == "classic/pendulum")
    assert pendulum["error"] is None
    assert "classic/pendulum" in invoke("task", "list").stdout


def test_a_broken_task_is_listed_with_its_error_beside_the_others(tmp_path):
    (own_task(tmp_path) / "task.yaml").write_text("goal: [unclosed\n")

    text = invoke("task", "list").stdout
    rows = {row["name"]: row for row in json.loads(invoke("task", "list", "--json").stdout)}

    assert "broken" in text
    assert "classic/pendulum" in text
    assert "task.yaml:2: broken YAML" in rows["own/mine"]["error"]


def test_a_missing_extra_is_told_in_the_list(tmp_path):
    own_task(tmp_path, requires=["not-installed-extra"])

    assert "rewardsmith[not-installed-extra]" in invoke("task", "list").stdout


def test_a_task_is_shown_with_units_and_baselines():
    text = invoke("task", "show", "pendulum").stdout
    document = json.loads(invoke("task", "show", "pendulum", "--json").stdout)

    assert "rad/s" in text
    assert "human, sparse, zero, progress" in text
    assert document["name"] == "classic/pendulum"
    assert document["training"]["algorithm"] == "PPO"


@pytest.mark.slow
def test_a_sound_task_passes_its_check():
    result = invoke("task", "check", "pendulum", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["passed"] is True


@pytest.mark.slow
def test_a_task_with_a_wrong_shape_fails_its_check(tmp_path):
    own_task(tmp_path, name="wrong", state=[{"name": "heading", "source": "obs[0:2]", "shape": [3]}])

    result = invoke("task", "check", "own/wrong")

    assert result.exit_code == 2
    assert "error    own/wrong: the sources answer 2 values, the fields declare 3" in result.stdout


def test_an_unknown_task_names_near_matches():
    assert (
        refused("run", "pendullum") == "error: there is no task 'pendullum'; did you mean classic/pendulum?"
    )


def test_an_unknown_setting_names_the_key_that_was_meant():
    line = refused("run", "pendulum", "-s", "stop.iteratons=2")

    assert line == "error: --set stop.iteratons: unknown key; did you mean iterations?"


def test_an_unknown_key_in_a_method_file_is_told_with_its_line(tmp_path):
    (tmp_path / "my method.yaml").write_text("description: mine\nstop:\n  iteratons: 2\n")

    line = refused("run", "pendulum", "--method", "my method.yaml")

    assert line.startswith("error: my method.yaml:3: stop.iteratons: unknown key")


def test_a_broken_task_file_is_told_with_its_line(tmp_path):
    folder = own_task(tmp_path)
    (folder / "task.yaml").write_text("goal: [unclosed\n")

    assert "task.yaml:2: broken YAML" in refused("run", "own/mine")


def test_a_missing_extra_is_told_with_its_remedy(tmp_path):
    own_task(tmp_path, requires=["not-installed-extra"])

    assert "pip install 'rewardsmith[not-installed-extra]'" in refused("run", "own/mine")
    assert "pip install 'rewardsmith[not-installed-extra]'" in refused("task", "check", "own/mine")


def test_an_unknown_model_leaves_no_run_behind(tmp_path):
    assert "no provider is known for the model 'nobody'" in refused("run", "pendulum", "--model", "nobody")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["a/b", "..", "-x", ""])
def test_a_name_is_not_a_path(name):
    assert invoke("run", "pendulum", f"--name={name}").exit_code == 2


def test_a_folder_that_is_in_use_by_something_else_is_left_alone(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")

    assert "exists and is not an empty folder" in refused("run", "pendulum", "--out", "full")


def test_a_run_that_a_newer_version_wrote_is_refused(tmp_path):
    file = new_run(tmp_path / "runs", "new").path / "run.yaml"
    file.write_text(file.read_text().replace("schema_version: 1", "schema_version: 99", 1))

    assert "written by a newer rewardsmith" in refused("resume", "new")
    listed = json.loads(invoke("runs", "list", "--json").stdout)
    assert listed[0]["status"] == "broken"
    assert "newer rewardsmith" in invoke("runs", "list").stdout


def test_a_run_that_another_process_works_on_is_refused(tmp_path):
    folder = searched_run(tmp_path / "runs", "busy")

    with folder.writer():
        assert "is in use by process" in invoke("resume", "busy").stderr
        assert invoke("resume", "busy").exit_code == 2
        assert json.loads(invoke("runs", "list", "--json").stdout)[0]["status"] == "running"


def test_an_unknown_run_and_an_ambiguous_prefix_are_refused(tmp_path):
    searched_run(tmp_path / "runs", "alpha-1")
    searched_run(tmp_path / "runs", "alpha-2")

    assert "no run 'beta'" in refused("runs", "show", "beta")
    assert "could be any of these runs: alpha-1, alpha-2" in refused("runs", "show", "alpha")


def test_no_runs_are_no_error():
    assert invoke("runs", "list").stdout == "No runs in runs\n"
    assert json.loads(invoke("runs", "list", "--json").stdout) == []


def test_runs_are_listed_the_newest_first(tmp_path):
    searched_run(tmp_path / "elsewhere", "old")
    searched_run(tmp_path / "elsewhere", "new")

    rows = json.loads(invoke("runs", "list", "--json", "--root", "elsewhere").stdout)

    assert [row["name"] for row in rows] == ["new", "old"]
    assert rows[0]["best"]["fitness"] == 0.7
    assert "interrupted" in invoke("runs", "list", "--root", "elsewhere").stdout


def test_a_run_is_shown_with_what_it_trained(tmp_path):
    searched_run(tmp_path / "runs", "one")

    text = invoke("runs", "show", "o").stdout
    document = json.loads(invoke("runs", "show", "one", "--json").stdout)

    assert "3 proposed, 1 turned down, 2 chosen for training" in text
    assert "stopped after rung 1 of 2" in text
    assert document["iterations"][0]["trained"][1]["parents"] == ["i00c00"]


def test_text_that_a_model_wrote_cannot_steer_the_terminal(tmp_path):
    origin = "\x1b]0;owned\x07\x1b[31mred\x1b[0m [bold]loud[/bold]"
    searched_run(tmp_path / "runs", "one", origin=origin, failure="\x1b[2Jgone\nsecond line")

    text = invoke("runs", "show", "one").stdout

    assert "\x1b" not in text
    assert "\x07" not in text
    assert "red [bold]loud[/bold]" in text
    assert "failed, drift: gone second line" in text


def test_resuming_a_finished_run_shows_its_result_and_runs_nothing(tmp_path):
    folder = searched_run(tmp_path / "runs", "done")
    result = end_run(folder, "i01c00")
    before = folder.journal_path.read_bytes()

    shown = invoke("resume", "done", "--json")

    assert json.loads(shown.stdout).items() >= result.items()
    assert folder.journal_path.read_bytes() == before
    assert "unknown cost" in invoke("resume", "done").stdout


def test_a_reward_is_exported_from_the_journal(tmp_path):
    searched_run(tmp_path / "runs", "one")

    text = invoke("reward", "export", "one").stdout
    assert invoke("reward", "export", "one", "-o", "my reward.py").exit_code == 0

    assert "def compute_reward" in text
    assert (tmp_path / "my reward.py").read_text() == text
    compile(text, "reward.py", "exec")


def test_an_export_overwrites_a_file_only_when_told(tmp_path):
    searched_run(tmp_path / "runs", "one")
    (tmp_path / "reward.py").write_text("mine")

    assert "--force overwrites it" in refused("reward", "export", "one", "-o", "reward.py")
    assert (tmp_path / "reward.py").read_text() == "mine"
    assert invoke("reward", "export", "one", "-o", "reward.py", "--force").exit_code == 0


def test_an_export_of_a_run_without_winner_says_so(tmp_path):
    new_run(tmp_path / "runs", "empty")

    assert "has no winner" in refused("reward", "export", "empty")


@pytest.mark.slow
def test_the_doctor_finds_a_working_sandbox_and_shows_its_probes():
    result = invoke("doctor", "--json")
    report = json.loads(result.stdout)

    local = next(sandbox for sandbox in report["sandboxes"] if sandbox["name"] == "local")
    assert result.exit_code == (0 if any(s["available"] for s in report["sandboxes"]) else 3)
    assert local["available"] is all(probe["passed"] for probe in local["probes"])
    assert report["packages"]["numpy"]
    assert report["runs_folder"]["writable"] is True
