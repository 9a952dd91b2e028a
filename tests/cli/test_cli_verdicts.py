from rewardsmith.cli.verdicts import verdicts, why_not_normalised


def arm(iqm, low=None, high=None):
    fitness = {"iqm": iqm, "low": low, "high": high, "n": 1}
    return {"fitness": [iqm], "fitness_iqm": fitness, "n_failed": 0}


FAILED = {"fitness": [], "fitness_iqm": None, "n_failed": 1}


def against(winner, baseline):
    (verdict,) = verdicts({"winner": winner, "human": baseline})
    return verdict


def test_intervals_apart_are_a_win():
    assert against(arm(0.9, 0.8, 1.0), arm(0.5, 0.4, 0.6)).outcome == "beats"


def test_overlapping_intervals_are_not_a_win():
    verdict = against(arm(0.9, 0.5, 1.0), arm(0.5, 0.4, 0.6))

    assert verdict.outcome == "ahead"
    assert "overlap" in verdict.text


def test_one_seed_is_not_a_win():
    assert against(arm(0.9), arm(0.5)).outcome == "ahead"


def test_a_tie_does_not_beat():
    verdict = against(arm(0.0, 0.0, 0.0), arm(0.0, 0.0, 0.0))

    assert verdict.outcome == "does not beat"
    assert "does not beat the environment's own (human) reward: fitness 0.00 (0.00 to 0.00)" in verdict.text


def test_an_arm_without_a_training_is_not_compared():
    assert against(FAILED, arm(0.5)).outcome == "unknown"
    assert against(arm(0.5), FAILED).outcome == "unknown"


def test_a_missing_normalised_score_is_explained():
    assert "no fitness of human" in why_not_normalised({"winner": arm(1.0), "sparse": arm(0.0)})
    assert "two standard errors" in why_not_normalised({n: arm(0.0) for n in ("winner", "human", "sparse")})


def test_a_winner_with_failed_trainings_beats_nothing():
    winner = arm(1.0, 1.0, 1.0) | {"n_failed": 3}
    verdict = against(winner, arm(0.0, 0.0, 0.0))
    assert verdict.outcome == "ahead"
    assert "3 trainings failed" in verdict.text
