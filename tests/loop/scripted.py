"""A model that writes rewards for the pendulum and criticises them: what a loopback server answers."""

import json
import threading

REWARD = """\
def compute_reward(state, action, next_state):
    before = 1.0 - state.heading[:, 0]
    after = 1.0 - next_state.heading[:, 0]
    rise = {rise} * (before - after)
    still = -{still} * np.square(next_state.angular_velocity) * np.exp(-after)
    effort = -0.001 * np.mean(np.square(action), axis=-1)
    return rise + still + effort, {{"rise": rise, "still": still, "effort": effort}}
"""

RUBRIC = {"criteria": [{"name": "upright", "question": "Is the pole upright in the last half?"}]}
CRITIQUE = {
    "diagnosis": "The pendulum swings and does not stay up, since rise pays both ways.",
    "components": [{"name": "rise", "verdict": "keep", "reason": "It brings 0.9 of the variance."}],
    "changes": ["Weigh still more."],
    "hacking_suspicion": "none",
    "hacking_reason": "",
}


class ScriptedModel:
    """Answers every question honestly; no two rewards are alike."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self, body):
        system = body["messages"][0]["content"]
        last = body["messages"][-1]["content"]
        text = last if isinstance(last, str) else last[0]["text"]
        if "You review" in system:
            return json.dumps(RUBRIC if "write the rubric" in text else CRITIQUE)
        with self._lock:
            self._count += 1
            count = self._count
        code = REWARD.format(rise=1.0 + 0.25 * count, still=round(0.01 * (1 + count % 7), 3))
        return f"Here is my reward.\n\n```python\n{code}```\n"
