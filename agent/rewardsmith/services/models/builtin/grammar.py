"""The grammar: how a term and a whole genome are drawn for a task."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

from rewardsmith.services.models.base import TaskBrief
from rewardsmith.services.models.builtin.quantities import Quantities
from rewardsmith.services.models.builtin.terms import (
    CLOSE_SHAPES,
    MAX_WEIGHT,
    Gate,
    Genome,
    Quantity,
    Shape,
    Term,
    round3,
    tidy,
)

_SHARPNESS: dict[Shape, tuple[float, float]] = {
    "exp": (1.0, 30.0),
    "tanh": (1.0, 30.0),
    "tail": (1.0, 40.0),
    "within": (5.0, 60.0),
    "progress": (5.0, 50.0),
    "rise": (5.0, 50.0),
}
_WEIGHT: dict[Shape, tuple[float, float]] = {
    "effort": (0.001, 0.3),
    "choice": (0.003, 0.3),
    "ended": (1.0, 20.0),
    "within": (0.5, 10.0),
}
_NEGATIVE: dict[Shape, float] = {"value": 0.35, "rise": 0.35, "ended": 0.65, "choice": 0.8}
_CLOSE_WEIGHTS = (4.0, 4.0, 3.0, 1.0)
_NEAR: tuple[Shape, ...] = ("exp", "tanh", "tail")
_SHAPE_WEIGHTS: dict[Shape, float] = {
    "exp": 3.0,
    "tanh": 3.0,
    "tail": 2.0,
    "linear": 2.0,
    "progress": 3.0,
    "within": 0.5,
}
"""How often a gap gets each shape."""
_STEPWISE_SHARE = 0.6
"""Share of staged genomes that pay for increments at every stage.

A level pays for staying where it is, so a policy that has reached the first stage has something to lose by
going on; increments pay only for getting further, as potential-based shaping does (Ng et al., 1999).
"""

Recipe = Callable[[random.Random], list[Term]]


class Grammar:
    """Draws reward terms and genomes that fit one task."""

    def __init__(self, brief: TaskBrief) -> None:
        self.quantities = Quantities(brief)
        self._action = brief.action
        longest = self.quantities.longest
        numbers = self.quantities.components
        self._recipes: list[tuple[Recipe, float]] = [(self._free, 1.5)]
        if longest >= 3:
            self._recipes.append((self._staged, 6.0))
        if longest >= 2:
            self._recipes.append((self._reach, 0.7 if longest >= 3 else 4.0))
        if numbers:
            self._recipes.append((self._settle, 0.7 if longest >= 2 else 3.0))
        if self.quantities.velocities or self.quantities.places:
            self._recipes.append((self._travel, 0.7 if longest >= 2 else 3.0))

    def genome(self, rng: random.Random) -> Genome:
        """Draw a genome: one of the recipes, and sometimes an extra on top of it."""
        recipes, weights = zip(*self._recipes, strict=True)
        terms = rng.choices(recipes, weights=weights)[0](rng)
        if rng.random() < 0.15:
            terms.append(self.term(rng))
        if rng.random() < 0.25:
            terms.append(self.cost(rng))
        return Genome(tidy(terms))

    def term(self, rng: random.Random) -> Term:
        """Draw any one term; about a third of those on a quantity are gated."""
        gap = self.quantities.gap(rng)
        draw = rng.random()
        if gap is None or draw < 0.1:
            return self.plain(rng)
        quantity = self._any_value(rng) if draw < 0.3 else gap
        weights = [_SHAPE_WEIGHTS.get(shape, 2.0) for shape in quantity.shapes]
        term = self.shaped(rng, rng.choices(quantity.shapes, weights=weights)[0], quantity)
        return term.gated(self.gate(rng)) if rng.random() < 0.3 else term

    def plain(self, rng: random.Random) -> Term:
        """Draw a term that looks at the action or at the end of the episode only."""
        if rng.random() < 0.35:
            return self.cost(rng)
        return self.weighted(rng, "alive" if rng.random() < 0.5 else "ended")

    def cost(self, rng: random.Random) -> Term:
        """Draw a term on the action: its effort, or, where actions are choices, one of them."""
        if not self._action.discrete:
            return self.weighted(rng, "effort")
        column = rng.randrange(self._action.dim) if self._action.dim > 1 else 0
        n_actions = int(self._action.high[column]) + 1 if self._action.high else 2
        return replace(self.weighted(rng, "choice"), index=rng.randrange(max(n_actions, 1)), column=column)

    def shaped(self, rng: random.Random, shape: Shape, quantity: Quantity) -> Term:
        """Return a term of the given shape on the given quantity, with a drawn weight and sharpness."""
        return replace(self.weighted(rng, shape), quantity=quantity, sharpness=self.sharpness(rng, shape))

    def weighted(self, rng: random.Random, shape: Shape) -> Term:
        """Return a bare term of the given shape with a drawn weight."""
        weight = _log_uniform(rng, *_WEIGHT.get(shape, (0.3, 5.0)))
        if rng.random() < _NEGATIVE.get(shape, 0.0):
            weight = -weight
        return Term(shape=shape, weight=round3(weight))

    def sharpness(self, rng: random.Random, shape: Shape) -> float:
        """Draw how fast a shape changes over one span."""
        return round3(_log_uniform(rng, *_SHARPNESS.get(shape, (1.0, 1.0))))

    def gate(self, rng: random.Random, quantity: Quantity | None = None) -> Gate | None:
        """Draw a gate on the given quantity or on a drawn one."""
        chosen = quantity or self.quantities.gap(rng)
        if chosen is None:
            return None
        shape = rng.choices(CLOSE_SHAPES, weights=_CLOSE_WEIGHTS)[0]
        return Gate(shape=shape, quantity=chosen, sharpness=self.sharpness(rng, shape))

    def _any_value(self, rng: random.Random) -> Quantity:
        parts = self.quantities.components + self.quantities.flags
        return self.quantities.value(self.quantities.pick(rng, parts))

    def _free(self, rng: random.Random) -> list[Term]:
        return [self.term(rng) for _ in range(rng.choice((1, 2, 2, 3, 3, 4)))]

    def _reach(self, rng: random.Random) -> list[Term]:
        """Bring one thing to another, perhaps with a bonus for being there."""
        first, second = self.quantities.chain(rng, 2)
        return self._going(rng, self.quantities.distance(rng, first, second))

    def _staged(self, rng: random.Random) -> list[Term]:
        """Be near a first thing, and bring that to a second one; the second often counts only near the first.

        Near the first means near whatever handles it, so that the second stage cannot be had by accident.
        """
        chain = self.quantities.chain(rng, 3)
        if len(chain) < 3:
            return self._reach(rng)
        hand, thing, goal = chain
        reach = self.quantities.distance(rng, hand, thing)
        if rng.random() < _STEPWISE_SHARE:
            return self._stepwise(rng, reach, self.quantities.distance(rng, thing, goal))
        near = self.shaped(rng, rng.choice((*_NEAR, *_NEAR, "linear")), reach)
        later = self._going(rng, self.quantities.distance(rng, thing, goal))
        # A second stage that is worth less than the first leaves a policy content with touching.
        later = [replace(term, weight=_bounded(term.weight * rng.choice((1.0, 2.0, 4.0)))) for term in later]
        if rng.random() < 0.45:
            gate = self.gate(rng, reach)
            later = [term.gated(gate) for term in later]
        return [near, *later]

    def _stepwise(self, rng: random.Random, first: Quantity, second: Quantity) -> list[Term]:
        """Pay for every bit of the first way and more for every bit of the second."""
        near = self.shaped(rng, "progress", first)
        worth = _bounded(near.weight * rng.choice((1.0, 2.0, 4.0, 8.0)))
        terms = [near, replace(near, quantity=second, weight=worth)]
        if rng.random() < 0.25:
            terms[1] = terms[1].gated(self.gate(rng, first))
        if rng.random() < 0.3:
            terms.append(self.shaped(rng, "within", second))
        return terms

    def _going(self, rng: random.Random, quantity: Quantity) -> list[Term]:
        shapes = [*_SHAPE_WEIGHTS]
        terms = [self.shaped(rng, rng.choices(shapes, weights=[*_SHAPE_WEIGHTS.values()])[0], quantity)]
        if rng.random() < 0.3:
            terms.append(self.shaped(rng, rng.choice(("within", "exp", "progress")), quantity))
        return terms

    def _settle(self, rng: random.Random) -> list[Term]:
        """Hold some numbers at their targets, at little speed and effort, without ending the episode."""
        terms = []
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            part = self.quantities.pick(rng, self.quantities.components)
            shape = rng.choice((*_NEAR, "linear", "linear"))
            terms.append(self.shaped(rng, shape, self.quantities.offset(rng, part)))
        if self.quantities.velocities and rng.random() < 0.4:
            part = self.quantities.pick(rng, self.quantities.velocities)
            still = replace(self.quantities.offset(rng, part), target=0.0)
            terms.append(self.shaped(rng, rng.choice((*_NEAR, "linear")), still))
        return terms + self._upkeep(rng)

    def _travel(self, rng: random.Random) -> list[Term]:
        """Move or rise along an axis, perhaps with some number held and without ending the episode."""
        velocities, places = self.quantities.velocities, self.quantities.places
        use_velocity = bool(velocities) and (not places or rng.random() < 0.7)
        part = self.quantities.pick(rng, velocities if use_velocity else places)
        shape: Shape = "value" if use_velocity or rng.random() < 0.3 else "rise"
        terms = [self.shaped(rng, shape, self.quantities.value(part))]
        if self.quantities.components and rng.random() < 0.4:
            held = self.quantities.offset(rng, self.quantities.pick(rng, self.quantities.components))
            terms.append(self.shaped(rng, rng.choice((*_NEAR, "linear")), held))
        return terms + self._upkeep(rng)

    def _upkeep(self, rng: random.Random) -> list[Term]:
        terms = [self.weighted(rng, "alive")] if rng.random() < 0.4 else []
        return [*terms, self.cost(rng)] if rng.random() < 0.4 else terms


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _bounded(weight: float) -> float:
    return round3(max(-MAX_WEIGHT, min(MAX_WEIGHT, weight)))
