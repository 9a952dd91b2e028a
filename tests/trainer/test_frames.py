"""Pictures of recorded episodes, by playing them again."""

import importlib.util
import os
import sys
from unittest import mock

import numpy as np
import pytest

from rewardsmith.arrays import load_arrays
from rewardsmith.errors import TaskError
from rewardsmith.services.executor.trainers import TrainerHost
from rewardsmith.services.tasks.catalog import load_task
from rewardsmith.trajectories import dump_trajectories, load_trajectories
from rewardsmith.worker.trainer import frames
from rewardsmith.worker.trainer.episodes import NoiseActor, play_episodes
from rewardsmith.worker.trainer.frames import Projector, choose_gl, fit
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import EnvMaker
from toy_tasks import WALK_ENV
from trainer.test_jobs import run
from trainer.walks import CART_POLE

SEED = 7

DRAWN_WALK = """
class Drawn(gym.Wrapper):
    def __init__(self, size, **kwargs):
        super().__init__(Walk(**kwargs))
        self.size = size

    def render(self):
        assert self.env.render_mode == "rgb_array"
        return np.full((*self.size, 3), self.env.position, dtype=np.uint8)


def make_drawn(size=(3, 4), **kwargs):
    return Drawn(size, **kwargs)


class Mute(Drawn):
    def render(self):
        return None


def make_mute(**kwargs):
    return Mute((3, 4), **kwargs)


class Choosy(Drawn):
    action_space = gym.spaces.Discrete(3)

    def step(self, action):
        assert type(action) is int
        self.env.position += action
        return super().step(np.zeros(2))


def make_choosy(**kwargs):
    return Choosy((3, 4), **kwargs)
"""


@pytest.fixture(autouse=True)
def _environment():
    """What a job sets for its own process is not left to other tests."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture
def drawn(toy_task):
    """A factory of walks that draw their position as a grey level: `drawn(factory, **kwargs) -> Task`."""

    def make(factory="make_drawn", **kwargs):
        changes = {"env": {"factory": f"env.py:{factory}", "kwargs": kwargs}}
        return toy_task(changes, {"env.py": WALK_ENV + DRAWN_WALK})

    return make


def record(task, seed=SEED):
    """A random episode."""
    env = EnvMaker(task).make()
    (episode,) = play_episodes([env], [seed], NoiseActor(env.action_space, [seed]), Measures(task), "random")
    env.close()
    return episode


def film(task, episode, n_frames=6, width=4, height=3, seed=SEED):
    projector = Projector(EnvMaker(task), width=width, height=height)
    try:
        return projector.film(episode, seed, n_frames)
    finally:
        projector.close()


def greys(found):
    return found.frames[:, 0, 0, 0].tolist()


def test_pictures_are_spaced_evenly_from_the_first_state_to_the_last(drawn):
    task = drawn(length=10)
    found = film(task, record(task), n_frames=3)
    assert found.steps == [0, 5, 10]
    assert greys(found) == [SEED, SEED + 5, SEED + 10]
    assert found.frames.shape == (3, 3, 4, 3)
    assert found.env_steps == 10


def test_an_episode_of_few_states_has_one_picture_of_each(drawn):
    task = drawn(length=2)
    assert film(task, record(task)).steps == [0, 1, 2]


def test_a_replay_through_the_recorded_states_is_exact(drawn):
    task = drawn()
    assert film(task, record(task)).replayed_exactly is True


def test_a_replay_through_other_states_is_told(drawn):
    task = drawn()
    assert film(task, record(task), seed=SEED + 1).replayed_exactly is False


def test_a_replay_that_ends_early_is_told_and_stops_there(drawn):
    found = film(drawn(length=4), record(drawn(length=8)), n_frames=5)
    assert found.steps == [0, 2, 4]
    assert found.replayed_exactly is False


def test_discrete_actions_are_played_as_integers(drawn):
    task = drawn("make_choosy", length=6)
    episode = record(task)
    assert np.ptp(episode.state[:, 0]) > 6, "it chose"
    assert film(task, episode).replayed_exactly is True


def test_a_replay_has_the_dtype_of_the_actions_that_were_applied(drawn):
    seen = []
    task = drawn()
    maker = EnvMaker(task)
    made = maker.make

    def watched(**kwargs):
        env = made(**kwargs)
        step = env.step
        env.step = lambda action: (seen.append(action.dtype), step(action))[1]
        return env

    maker.make = watched
    Projector(maker, width=4, height=3).film(record(task), SEED, 2)
    assert set(seen) == {np.dtype(np.float32)}


def test_each_of_several_episodes_is_played_from_its_own_seed(drawn):
    task = drawn()
    projector = Projector(EnvMaker(task), width=4, height=3)
    found = [projector.film(record(task, seed), seed, 2) for seed in (30, 20)]
    assert [greys(f) for f in found] == [[30, 33], [20, 23]]
    assert all(f.replayed_exactly for f in found)


def test_a_job_writes_pictures_and_tells_their_steps(drawn, tmp_path):
    task = drawn(length=4)
    file, out_file = tmp_path / "episodes.npz", tmp_path / "frames.npz"
    file.write_bytes(dump_trajectories([record(task, seed) for seed in (10, 20, 30)]))
    job = {
        "kind": "frames",
        "episodes": [{"file": str(file), "index": k, "seed": 10 * k + 10} for k in (2, 0)],
        "n_frames": 3,
        "width": 8,
        "height": 6,
        "out_file": str(out_file),
    }
    first, last = run(task, job)
    assert first == {
        "event": "frames",
        "episodes": [{"steps": [0, 2, 4], "replayed_exactly": True}] * 2,
        "env_steps": 8,
    }
    assert last == {"event": "done"}
    pictures = load_arrays(out_file.read_bytes())
    assert {name: p.shape for name, p in pictures.items()} == {
        "frames_0": (3, 6, 8, 3),
        "frames_1": (3, 6, 8, 3),
    }
    assert pictures["frames_0"][:, 0, 0, 0].tolist() == [30, 32, 34]
    assert pictures["frames_1"].dtype == np.uint8


@pytest.mark.parametrize(
    ("factory", "what"),
    [
        ("make", r"the environment cannot draw itself \(NotImplementedError"),
        ("make_mute", r"render\(\) must answer uint8 \(height, width, 3\); it answered None$"),
        (
            "make_silent",
            r"unexpected keyword argument 'render_mode'\); pictures need render_mode='rgb_array'",
        ),
    ],
)
def test_an_environment_that_draws_nothing_is_an_error_of_one_line(drawn, factory, what):
    episode = record(drawn())
    with pytest.raises(TaskError, match=what) as error:
        film(drawn(factory), episode)
    assert "\n" not in str(error.value)
    assert "MUJOCO_GL" not in str(error.value)


def test_a_missing_pygame_is_said_with_its_remedy(toy_task, monkeypatch):
    task = toy_task(CART_POLE)
    episode = record(task)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(TaskError, match=r"; pip install pygame$"):
        film(task, episode)


@pytest.mark.parametrize(
    ("works", "chosen"), [(("egl", "osmesa"), "egl"), (("osmesa",), "osmesa"), ((), None)]
)
def test_the_first_way_to_draw_that_works_is_chosen(monkeypatch, works, chosen):
    monkeypatch.setattr(frames, "_PROBE", f"assert '{{}}' in {works!r}")
    if chosen is not None:
        assert choose_gl("toy/walk") == chosen
        return
    with pytest.raises(TaskError, match=r"MUJOCO_GL=egl .*libegl1.* MUJOCO_GL=osmesa .*libosmesa6") as error:
        choose_gl("toy/walk")
    assert "\n" not in str(error.value)


def test_a_way_to_draw_that_hangs_is_passed_over(monkeypatch):
    monkeypatch.setattr(frames, "_PROBE", "import time\nif '{}' == 'egl': time.sleep(60)")
    monkeypatch.setattr(frames, "_PROBE_TIMEOUT_S", 1.0)
    assert choose_gl("toy/walk") == "osmesa"


def test_a_picture_that_fits_is_not_touched():
    picture = np.zeros((3, 4, 3), dtype=np.uint8)
    assert fit(picture, 4, 3) is picture


def test_a_picture_of_other_proportions_is_centred_on_white():
    fitted = fit(np.full((50, 50, 3), 40, dtype=np.uint8), 32, 24)
    assert fitted.shape == (24, 32, 3)
    assert (fitted[:, 4:28] == 40).all()
    assert (fitted[:, :4] == 255).all()
    assert (fitted[:, 28:] == 255).all()


def test_a_picture_shrinks_to_the_mean_of_what_each_pixel_covers():
    picture = np.zeros((2, 6, 3), dtype=np.uint8)
    picture[:, 3:] = 90
    np.testing.assert_array_equal(fit(picture, 3, 1)[0, :, 0], [0, 45, 90])


def filmed_by_a_trainer(name, tmp_path):
    """Two random episodes of a shipped task and their pictures, made in a trainer process."""
    host = TrainerHost(load_task(name))
    file, out_file = tmp_path / "store.npz", tmp_path / "frames.npz"
    try:
        host.run({"kind": "store", "seeds": [1, 2], "expert_seeds": [], "out_file": str(file)}, timeout_s=60)
        episodes = [{"file": str(file), "index": k, "seed": k + 1} for k in range(2)]
        job = {"kind": "frames", "episodes": episodes, "n_frames": 6, "width": 320, "height": 240}
        (message,) = host.run(job | {"out_file": str(out_file)}, timeout_s=120)
        said = host._server.stderr_tail()
    finally:
        host.close()
    length = len(load_trajectories(file.read_bytes())[0])
    pictures = load_arrays(out_file.read_bytes())
    steps = [length * k // 5 for k in range(6)]
    assert message["episodes"] == [{"steps": steps, "replayed_exactly": True}] * 2
    assert [p.shape for p in pictures.values()] == [(6, 240, 320, 3)] * 2
    assert said == ""
    return pictures


@pytest.mark.slow
def test_the_pendulum_is_drawn(tmp_path):
    pytest.importorskip("pygame", reason="drawing the pendulum needs pygame")
    pictures = filmed_by_a_trainer("classic/pendulum", tmp_path)
    assert all(np.any(p[0] != p[-1]) and p[0].std() > 5 for p in pictures.values())


@pytest.mark.slow
def test_the_drawer_is_drawn_upright(tmp_path, monkeypatch):
    if importlib.util.find_spec("metaworld") is None:
        pytest.skip("needs Meta-World: pip install 'rewardsmith[metaworld]'")
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    try:
        choose_gl("metaworld/drawer-open")
    except TaskError as error:
        pytest.skip(str(error))
    first, _ = (p[0].astype(int) for p in filmed_by_a_trainer("metaworld/drawer-open", tmp_path).values())
    red, green, blue = np.moveaxis(first, -1, 0)
    drawer = (green > red + 30) & (green > blue + 30)
    arm = (red > green + 60) & (red > blue + 60)
    assert drawer.mean() > 0.01
    assert arm.nonzero()[0].min() < drawer.nonzero()[0].min(), "the arm reaches down"
