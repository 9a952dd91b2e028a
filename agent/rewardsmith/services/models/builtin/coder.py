"""The coder that needs no model: it draws, mutates and crosses reward genomes."""

import random
from collections.abc import Sequence

from rewardsmith.config import ProposeConfig
from rewardsmith.services.chat.calls import Ask, no_calls
from rewardsmith.services.models.base import Broken, Proposal, ProposeRequest
from rewardsmith.services.models.builtin.evolve import Mutator, Parent, crossover, parents_of, readable_genome
from rewardsmith.services.models.builtin.grammar import Grammar
from rewardsmith.services.models.builtin.render import render, render_potential
from rewardsmith.services.models.builtin.terms import Genome, Term, as_potential
from rewardsmith.services.models.islands import of_island

_FRESH, _CROSSOVER = 0.4, 0.2
"""Shares of proposals; the rest are mutations. Where more is to be joined, less is fresh."""
_TRIES_PER_PROPOSAL = 20


class BuiltinCoder:
    """Proposes rewards by a seeded evolutionary search over a grammar of terms.

    Args:
        config: shares and islands.
    """

    name = "builtin"
    preferred_candidates = 1000
    reads_feedback = False

    def __init__(self, config: ProposeConfig | None = None) -> None:
        self._config = config or ProposeConfig()

    def propose(self, request: ProposeRequest, ask: Ask = no_calls) -> list[Proposal]:
        """Return `request.n` different proposals, fewer where the grammar has no more to offer."""
        # Scalar draws are an order of magnitude faster here than from a NumPy generator.
        rng = random.Random(request.seed)
        brief = request.brief
        grammar = Grammar(brief)
        draw_up = render_potential if brief.shaping else render
        mutator = Mutator(grammar)
        islands = [
            parents_of(of_island(request.history, i, self._config.islands), brief.layout)
            for i in range(self._config.islands)
        ]
        joined = _CROSSOVER if self._config.crossover is None else self._config.crossover
        earlier = (readable_genome(record, brief.layout) for record in request.history)
        seen = {_identity(genome) for genome in earlier if genome is not None}
        proposals: list[Proposal] = []
        for _ in range(request.n * _TRIES_PER_PROPOSAL):
            if len(proposals) == request.n:
                break
            parents = islands[len(proposals) % len(islands)]
            drawn, origin, names = _draw(rng, grammar, mutator, parents, joined)
            genome = as_potential(drawn) if brief.shaping else drawn
            if genome is None or _identity(genome) in seen:
                continue
            seen.add(_identity(genome))
            source = draw_up(genome, brief.layout, brief.action)
            proposals.append(Proposal(source=source, origin=origin, parents=names, genome=genome.to_json()))
        return proposals

    def repair(
        self, request: ProposeRequest, broken: Sequence[Broken], attempt: int, ask: Ask = no_calls
    ) -> list[Proposal]:
        """Mend nothing: what the grammar renders fails only where the task lets it."""
        return []


def _draw(
    rng: random.Random, grammar: Grammar, mutator: Mutator, parents: list[Parent], crossover_share: float
) -> tuple[Genome, str, tuple[str, ...]]:
    """Return a genome, how it came to be, and the ids of its parents."""
    weights = [parent.weight for parent in parents]
    draw = rng.random()
    if not parents or draw < min(_FRESH, 1.0 - crossover_share):
        return grammar.genome(rng), "fresh", ()
    first = rng.choices(parents, weights=weights)[0]
    second = rng.choices(parents, weights=weights)[0]
    if draw < 1.0 - crossover_share or first.id == second.id:
        return mutator.mutate(rng, first.genome), "mutation", (first.id,)
    return crossover(rng, first.genome, second.genome), "crossover", (first.id, second.id)


def _identity(genome: Genome) -> frozenset[Term]:
    """Return what makes two genomes the same reward: their terms in any order."""
    return frozenset(genome.terms)
