"""Increments must cancel out on the way back, or going to and fro would pay."""

import random

import numpy as np
from builtin_tasks import MANIPULATION, call, compile_reward

from rewardsmith.services.models.builtin.grammar import Grammar
from rewardsmith.services.models.builtin.render import render


def increment_rewards(n):
    grammar, rng = Grammar(MANIPULATION), random.Random(0)
    found = []
    while len(found) < n:
        genome = grammar.genome(rng)
        if all(term.shape == "progress" and term.gate is None for term in genome.terms):
            found.append(compile_reward(render(genome, MANIPULATION.layout, MANIPULATION.action)))
    return found


def test_going_slowly_and_coming_back_at_once_pays_nothing():
    rng = np.random.default_rng(0)
    start, end = rng.uniform(-0.3, 0.3, size=(2, MANIPULATION.layout.dim))
    slow = np.linspace(start, end, 200)
    way = np.concatenate([slow, start[None]])
    for reward in increment_rewards(50):
        answer, _ = call(
            reward, MANIPULATION, way[:-1], np.zeros((200, 4)), way[1:], np.zeros(200, dtype=bool)
        )
        assert abs(answer.sum()) < 1e-6 * max(1.0, np.abs(answer).sum())


def test_staged_rewards_that_pay_increments_only_are_common():
    grammar, rng = Grammar(MANIPULATION), random.Random(1)
    genomes = [grammar.genome(rng) for _ in range(300)]
    stepwise = [g for g in genomes if sum(term.shape == "progress" for term in g.terms) >= 2]
    assert len(stepwise) > 60
