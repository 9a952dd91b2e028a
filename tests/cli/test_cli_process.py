import json
import os
import shlex
import signal
import subprocess
import sys
import time

import psutil
import pytest
from cli_process import TINY_RUN, command, environment, rewardsmith
from cli_runs import searched_run

HEAVY = {"torch", "litellm", "openai", "gymnasium", "stable_baselines3", "scipy"}

_LOADED = """
import json, sys
sys.argv = ["rewardsmith", *json.loads(sys.argv[1])]
from rewardsmith.__main__ import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "args", [["--help"], ["run", "--help"], ["task", "list"], ["task", "show", "pendulum"], ["runs", "list"]]
)
def test_a_light_command_imports_nothing_heavy(tmp_path, args):
    searched_run(tmp_path / "runs", "one")
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, json.dumps(args)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(json.loads(done.stderr))


@pytest.mark.parametrize("args", [["--help"], ["runs", "list"], ["runs", "show", "one"]])
def test_a_pipe_gets_no_escape_codes(tmp_path, args):
    searched_run(tmp_path / "runs", "one")
    done = rewardsmith(*args, cwd=tmp_path)

    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    searched_run(tmp_path / "runs", "one")
    ours, theirs = os.pipe()
    os.close(ours)
    done = rewardsmith("runs", "show", "one", "--json", cwd=tmp_path, stdout=theirs)
    os.close(theirs)

    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_output_on_a_full_disk_is_one_clear_line(tmp_path):
    searched_run(tmp_path / "runs", "one")
    full = os.open("/dev/full", os.O_WRONLY)
    done = rewardsmith("reward", "export", "one", cwd=tmp_path, stdout=full)
    os.close(full)

    assert done.returncode == 2
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_an_error_has_a_traceback_only_when_asked_for(tmp_path):
    quiet, verbose = rewardsmith("resume", "x", cwd=tmp_path), rewardsmith("-v", "resume", "x", cwd=tmp_path)

    assert quiet.returncode == verbose.returncode == 2
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in verbose.stderr


@pytest.mark.slow
def test_a_run_ends_with_its_winner_beside_every_baseline(finished_run):
    folder, document = finished_run
    done = rewardsmith("resume", folder.name, "--root", str(folder.parent), cwd=folder)

    last = done.stdout.splitlines()[-4:]
    for words, line in zip(("human", "sparse", "zero", "increments"), last, strict=True):
        assert "winner" in line
        assert words in line
    assert set(document["final"]["arms"]) == {"winner", "human", "sparse", "zero", "progress"}
    assert document["run"] == str(folder)
    assert str(folder / "reward.py") in done.stdout
    assert (folder / "reward.py").read_text() == rewardsmith(
        "reward", "export", str(folder), cwd=folder.parent
    ).stdout


@pytest.mark.slow
def test_what_a_run_used_agrees_between_its_result_and_its_journal(finished_run):
    folder, document = finished_run
    (row,) = json.loads(
        rewardsmith("runs", "list", "--root", str(folder.parent), "--json", cwd=folder).stdout
    )

    assert row["status"] == "finished"
    assert row["env_steps"] == document["totals"]["env_steps"]
    assert row["trainings"] == document["totals"]["trainings"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["Playing", "training"])
def test_an_interrupted_run_leaves_nothing_running_and_resume_finishes_it(
    tmp_path, finished_run, number, moment
):
    folder = tmp_path / "cut off"
    with subprocess.Popen(
        command(*TINY_RUN, "--out", str(folder)),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        while moment not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(0.3)
        helpers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)

    _, alive = psutil.wait_procs(helpers, timeout=5)
    assert process.returncode == 130, err
    assert helpers
    assert alive == []
    assert out == ""
    assert err.splitlines()[-1] == f"interrupted; `rewardsmith resume '{folder}'` goes on from here"
    assert "Traceback" not in err
    resumed = rewardsmith("resume", str(folder), "--json", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["final"] == finished_run[1]["final"]


@pytest.mark.slow
def test_a_search_that_finds_nothing_is_no_success(tmp_path):
    done = rewardsmith(*TINY_RUN, "--max-env-steps", "0", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout)["winner"] is None
    (run,) = (tmp_path / "runs").iterdir()
    assert rewardsmith("resume", run.name, cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_an_infinite_limit_is_none(tmp_path):
    limits = ("--max-usd", "inf", "--max-wall-s", "inf", "--max-env-steps", "0")
    done = rewardsmith(*TINY_RUN, *limits, cwd=tmp_path)
    assert "Ended: budget: max_env_steps is 0" in done.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_error(tmp_path, closed):
    line = f"{shlex.join(command('task', 'list'))} {closed}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.slow
def test_training_settings_that_make_no_learner_are_a_wrong_input(tmp_path):
    wrong = ("-s", "task.training.hyperparameters.learning_rate=-1e-3")
    done = rewardsmith(*TINY_RUN, *wrong, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: classic/pendulum: training: PPO cannot be made")
