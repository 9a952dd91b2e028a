"""Pictures of a candidate's rollouts, for an evaluator that takes images."""

from rewardsmith.arrays import load_arrays
from rewardsmith.errors import BudgetExhausted, MissingExtraError, TaskError, TrainerError
from rewardsmith.loop.candidates import Candidate
from rewardsmith.loop.session import Session
from rewardsmith.loop.state import STORE_TIMEOUT_S, SearchState, judge_seeds
from rewardsmith.services.contact_sheet import contact_sheet
from rewardsmith.services.executor.trainers import Message
from rewardsmith.services.journal.journal import Effect, JsonObject
from rewardsmith.services.journal.ledger import Usage

N_FRAMES = 6
_WIDTH, _HEIGHT = 320, 240
_TITLES = ("Highest return", "Lowest return")


def picture_rollouts(
    session: Session, state: SearchState, candidate: Candidate, episodes: tuple[int, int]
) -> tuple[bytes | None, str]:
    """Return a PNG of two of a candidate's last judged episodes, or None and why there is none.

    The policy is gone; its recorded actions are played again. Pictures are an extra: an environment that
    cannot draw itself must not end a search.

    Args:
        session: the services.
        state: how long an episode may be.
        candidate: one that was trained.
        episodes: the rollouts of highest and lowest return.
    """
    key = f"i{state.iteration:02d}/frames"
    ref = candidate.checkpoints[-1]["trajectories"]
    shown = list(dict.fromkeys(episodes))
    try:
        session.ledger.reserve(key, Usage(env_steps=len(shown) * state.horizon))
    except BudgetExhausted as verdict:
        return None, str(verdict)

    def run() -> JsonObject:
        try:
            return _film(session, ref, shown)
        except (TaskError, TrainerError, MissingExtraError) as error:
            return {"png": None, "message": str(error), "env_steps": 0}

    request = {"trajectories": ref, "episodes": shown}
    answer = session.journal.effect(Effect(key=key, request=request, run=run))
    session.ledger.settle(key, Usage(env_steps=answer["env_steps"]))
    if answer["png"] is None:
        return None, answer["message"]
    return session.objects.get_bytes(answer["png"]), ""


def _film(session: Session, ref: str, shown: list[int]) -> JsonObject:
    session.scratch.mkdir(parents=True, exist_ok=True)
    out_file = session.scratch / "frames.npz"
    seeds, file = judge_seeds(session), str(session.objects.path(ref))
    job: Message = {
        "kind": "frames",
        "episodes": [{"file": file, "index": i, "seed": seeds[i]} for i in shown],
        "n_frames": N_FRAMES,
        "width": _WIDTH,
        "height": _HEIGHT,
        "out_file": str(out_file),
    }
    (answer,) = session.host.run(job, STORE_TIMEOUT_S)
    frames = load_arrays(out_file.read_bytes())
    rows, steps = [], []
    for i, (title, episode) in enumerate(zip(_TITLES, answer["episodes"], strict=False)):
        remark = "" if episode["replayed_exactly"] else " (played again, and not exactly as recorded)"
        rows.append((title + remark, frames[f"frames_{i}"]))
        steps.append(episode["steps"])
    png = session.objects.put_bytes(contact_sheet(rows, steps=steps))
    return {"png": png, "message": "", "env_steps": answer["env_steps"]}
