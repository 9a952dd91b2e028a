"""Pictures of recorded episodes: their actions are played again and the environment draws itself.

Policies are not stored, but trajectories hold every applied action and resets obey their seeds.
"""

import importlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from rewardsmith.errors import TaskError
from rewardsmith.trajectories import load_trajectories
from rewardsmith.types import Trajectory
from rewardsmith.worker.trainer.taskenv import STATE_KEY, EnvMaker

UInt8Array = npt.NDArray[np.uint8]

GL_BACKENDS = ("egl", "osmesa")
GL_HINT = (
    "MuJoCo draws with OpenGL: set MUJOCO_GL=egl (apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri) "
    "or MUJOCO_GL=osmesa (apt-get install libosmesa6)"
)
PYGAME_HINT = "pip install pygame"
_PROBE_TIMEOUT_S = 30.0
_PROBE = "from mujoco.{} import GLContext as C; c = C(8, 8); c.make_current(); c.free()"
_QUIET = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
_BACKGROUND = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """Pictures of one episode.

    Attributes:
        frames: shape `(n, height, width, 3)`.
        steps: after how many policy steps each was taken; 0 is the first state.
        replayed_exactly: whether the replay went through the recorded states.
        env_steps: policy steps that were played.
    """

    frames: UInt8Array
    steps: list[int]
    replayed_exactly: bool
    env_steps: int


class Projector:
    """One environment that plays recorded episodes again and draws them.

    Args:
        maker: makes the task's environments.
        width: of a picture, in pixels.
        height: of a picture, in pixels.

    Raises:
        TaskError: the environment cannot be made for drawing.
    """

    def __init__(self, maker: EnvMaker, *, width: int, height: int) -> None:
        self._name, self._width, self._height = maker.task.name, width, height
        # Without a display SDL would search for one, and for a sound card.
        for variable, value in _QUIET.items():
            os.environ.setdefault(variable, value)
        try:
            self._env = maker.make(render_mode="rgb_array")
        except TaskError as error:
            raise TaskError(f"{error}; pictures need render_mode='rgb_array'{_hint(error)}") from error
        self._mujoco = getattr(self._env.unwrapped, "mujoco_renderer", None)
        if self._mujoco is not None:
            self._prepare_mujoco()
        self._is_warm = False

    def film(self, episode: Trajectory, seed: int, n_frames: int) -> Film:
        """Play an episode again and draw evenly spaced steps, the first and the last state among them.

        Where the replay ends before the record does, the pictures after its end are left out.

        Args:
            episode: as it was recorded.
            seed: what the environment was reset with.
            n_frames: how many pictures; an episode of fewer states has one of each.

        Raises:
            TaskError: the environment cannot draw.
        """
        wanted = set(np.linspace(0, len(episode), n_frames).round().astype(int).tolist())
        _, info = self._env.reset(seed=seed)
        self._warm_up()
        states, frames, steps = [info[STATE_KEY]], [], []
        actions, ended = _applied(episode, self._env.action_space), False
        for step in range(len(episode) + 1):
            if step > 0:
                _, _, terminated, truncated, info = self._env.step(actions[step - 1])
                states.append(info[STATE_KEY])
                ended = bool(terminated or truncated)
            if step in wanted:
                frames.append(fit(self._draw(), self._width, self._height))
                steps.append(step)
            if ended:
                break
        return Film(
            frames=np.stack(frames),
            steps=steps,
            replayed_exactly=len(states) == len(episode.state)
            and np.allclose(np.stack(states), episode.state, rtol=1e-6, atol=1e-8),
            env_steps=len(states) - 1,
        )

    def close(self) -> None:
        """Close the environment and what it draws with."""
        self._env.close()

    def _draw(self) -> UInt8Array:
        try:
            picture: Any = self._env.render()
        except Exception as error:
            reason = textwrap.shorten(f"{type(error).__name__}: {error}", 300, placeholder=" ...")
            raise TaskError(
                f"{self._name}: the environment cannot draw itself ({reason}){_hint(error, self._mujoco)}"
            ) from error
        if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.shape[2:] != (3,):
            what = f"{picture.dtype}{list(picture.shape)}" if isinstance(picture, np.ndarray) else picture
            raise TaskError(
                f"{self._name}: with render_mode='rgb_array', render() must answer uint8 (height, width, 3); "
                f"it answered {textwrap.shorten(str(what), 80, placeholder=' ...')}"
            )
        return picture

    def _prepare_mujoco(self) -> None:
        assert self._mujoco is not None
        visual = self._mujoco.model.vis
        # Drawn in software, this takes most of the time; the context takes it over when it is made.
        visual.quality.offsamples = 0
        self._mujoco.width, self._mujoco.height = self._width, self._height
        visual.global_.offwidth = max(visual.global_.offwidth, self._width)
        visual.global_.offheight = max(visual.global_.offheight, self._height)
        if not os.environ.get("MUJOCO_GL"):
            os.environ["MUJOCO_GL"] = choose_gl(self._name)

    def _warm_up(self) -> None:
        """Draw once, which makes MuJoCo's scene, and leave out of the next pictures what takes long."""
        if self._is_warm:
            return
        self._is_warm = True
        self._draw()
        scene = getattr(getattr(self._mujoco, "viewer", None), "scn", None)
        if scene is not None:
            flags = importlib.import_module("mujoco").mjtRndFlag
            scene.flags[flags.mjRND_SHADOW] = 0
            scene.flags[flags.mjRND_REFLECTION] = 0


def choose_gl(task_name: str) -> str:
    """Return the first value of MUJOCO_GL with which a picture can be drawn here.

    Raises:
        TaskError: there is none.
    """
    for backend in GL_BACKENDS:
        # In a process of its own: PyOpenGL is bound to the first platform that it was imported for.
        command = [sys.executable, "-P", "-c", _PROBE.format(backend)]
        try:
            tried = subprocess.run(command, capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            continue
        if tried.returncode == 0:
            return backend
    raise TaskError(f"{task_name}: the environment cannot draw itself; {GL_HINT}")


def load_episode(file: str, index: int) -> Trajectory:
    """Return one trajectory of a file of `dump_trajectories`."""
    return load_trajectories(Path(file).read_bytes())[index]


def fit(picture: UInt8Array, width: int, height: int) -> UInt8Array:
    """Return a picture scaled into `width` x `height` with its proportions kept, on white."""
    if picture.shape[:2] == (height, width):
        return picture
    scale = min(width / picture.shape[1], height / picture.shape[0])
    n_rows, n_columns = (max(1, round(scale * size)) for size in picture.shape[:2])
    rows, columns = _shares(picture.shape[0], n_rows), _shares(picture.shape[1], n_columns)
    scaled = np.einsum("yic,xi->yxc", np.tensordot(rows, picture, axes=1), columns, optimize=True)
    sheet = np.full((height, width, 3), _BACKGROUND, dtype=np.uint8)
    top, left = (height - n_rows) // 2, (width - n_columns) // 2
    sheet[top : top + n_rows, left : left + n_columns] = scaled.round()
    return sheet


def _shares(n_from: int, n_to: int) -> npt.NDArray[np.float64]:
    """Return how much of each new pixel each old one covers, shape `(n_to, n_from)`."""
    edges = np.linspace(0, n_from, n_to + 1)
    old = np.arange(n_from)
    covered = np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old)
    shares: npt.NDArray[np.float64] = np.clip(covered, 0.0, None) * (n_to / n_from)
    return shares


def _applied(episode: Trajectory, space: gym.Space[Any]) -> Sequence[Any]:
    """Return the actions as the environment was given them; the record has one dtype for each kind."""
    if isinstance(space, gym.spaces.Discrete):
        return [int(action) for action in episode.action[:, 0]]
    return list(episode.action.astype(space.dtype))


def _hint(error: Exception, mujoco: Any = None) -> str:
    text = str(error)
    if "pygame" in text:
        return f"; {PYGAME_HINT}"
    drawn_with_gl = mujoco is not None or any(sign in text for sign in ("OpenGL", "EGL", "MUJOCO_GL", "GLFW"))
    return f"; {GL_HINT}" if drawn_with_gl else ""
