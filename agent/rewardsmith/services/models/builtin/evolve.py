"""How new genomes come from old ones: parents, mutation, crossover."""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rewardsmith.contract.layout import StateLayout
from rewardsmith.services.models.base import CandidateRecord
from rewardsmith.services.models.builtin.grammar import Grammar
from rewardsmith.services.models.builtin.terms import (
    MAX_SHARPNESS,
    MAX_TERMS,
    MAX_WEIGHT,
    SIGNED_SHAPES,
    Gate,
    Genome,
    Quantity,
    Term,
    round3,
    tidy,
)

_TRAINED_PARENTS = 8
_RANKED_PARENTS = 12
_DECAY = 0.75
_TRAINED_SHARE = 0.75
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """An earlier candidate to breed from, with its chance to be drawn."""

    id: str
    genome: Genome
    weight: float


def parents_of(history: Iterable[CandidateRecord], layout: StateLayout) -> list[Parent]:
    """Return whom to breed from: the trained candidates by how they did, then the untrained by preference.

    Candidates that failed, or whose genome is not of this grammar and layout, are passed over.
    """
    trained, ranked = [], []
    for record in history:
        genome = readable_genome(record, layout)
        if genome is None or record.failure is not None:
            continue
        if record.fitness is not None and math.isfinite(record.fitness):
            trained.append((record, genome))
        elif record.preference is not None and math.isfinite(record.preference):
            ranked.append((record, genome))
    trained.sort(key=lambda pair: _merit(pair[0]), reverse=True)
    ranked.sort(key=lambda pair: pair[0].preference or 0.0, reverse=True)
    trained_share = _TRAINED_SHARE if ranked else 1.0
    return [
        *_weighted(trained[:_TRAINED_PARENTS], trained_share),
        *_weighted(ranked[:_RANKED_PARENTS], 1.0 - trained_share if trained else 1.0),
    ]


def readable_genome(record: CandidateRecord, layout: StateLayout) -> Genome | None:
    """Return the genome of a record where it has one that fits the layout."""
    if record.genome is None:
        return None
    try:
        genome = Genome.from_json(record.genome)
    except ValueError:
        return None
    return genome if all(_fits(q, layout) for q in _quantities(genome)) else None


def crossover(rng: random.Random, first: Genome, second: Genome) -> Genome:
    """Return a genome with some terms of each, at least one of either unless the second adds nothing."""
    room = MAX_TERMS // 2
    chosen = _some(rng, first.terms, room)
    new = tidy((*chosen, *second.terms))[len(chosen) :]
    return Genome((*chosen, *_some(rng, new, room)))


class Mutator:
    """Changes genomes within a grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._changes: tuple[tuple[Callable[[random.Random, Term], Term], float], ...] = (
            (self._reweigh, 3.0),
            (self._resharpen, 3.0),
            (self._reshape, 2.0),
            (self._remeasure, 1.5),
            (self._regate, 1.5),
        )

    def mutate(self, rng: random.Random, genome: Genome) -> Genome:
        """Return a genome that differs from the given one by one to three changes."""
        mutant = genome
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            mutant = self._change(rng, mutant)
        for _ in range(_TRIES):
            if mutant != genome:
                break
            mutant = self._change(rng, mutant)
        return mutant

    def _change(self, rng: random.Random, genome: Genome) -> Genome:
        terms = list(genome.terms)
        draw = rng.random()
        if draw < 0.15 and len(terms) < MAX_TERMS:
            extra = self._grammar.genome(rng).terms if rng.random() < 0.5 else (self._grammar.term(rng),)
            terms.append(rng.choice(extra))
        elif draw < 0.25 and len(terms) > 1:
            terms.pop(rng.randrange(len(terms)))
        else:
            index = rng.randrange(len(terms))
            changes, weights = zip(*self._changes, strict=True)
            terms[index] = rng.choices(changes, weights=weights)[0](rng, terms[index])
        return Genome(tidy(terms))

    def _reweigh(self, rng: random.Random, term: Term) -> Term:
        weight = term.weight * math.exp(rng.gauss(0.0, 0.8))
        if term.shape in SIGNED_SHAPES and rng.random() < 0.15:
            weight = -weight
        return replace(term, weight=round3(max(-MAX_WEIGHT, min(MAX_WEIGHT, weight))) or term.weight)

    def _resharpen(self, rng: random.Random, term: Term) -> Term:
        if term.quantity is None or term.shape in ("linear", "value"):
            return self._reweigh(rng, term)
        if term.gate is not None and rng.random() < 0.5:
            return replace(term, gate=replace(term.gate, sharpness=_scaled(rng, term.gate.sharpness)))
        return replace(term, sharpness=_scaled(rng, term.sharpness))

    def _reshape(self, rng: random.Random, term: Term) -> Term:
        if term.quantity is None:
            return self._grammar.plain(rng)
        shape = rng.choice([shape for shape in term.quantity.shapes if shape != term.shape])
        fresh = self._grammar.shaped(rng, shape, term.quantity)
        return fresh.gated(term.gate)

    def _remeasure(self, rng: random.Random, term: Term) -> Term:
        """Keep the shape and look at another quantity with it."""
        fresh = self._grammar.term(rng)
        if term.quantity is None or fresh.quantity is None or term.shape not in fresh.quantity.shapes:
            return fresh
        return replace(term, quantity=fresh.quantity)

    def _regate(self, rng: random.Random, term: Term) -> Term:
        open_up = term.gate is not None and rng.random() < 0.6
        return term.gated(None if open_up else self._grammar.gate(rng))


def _merit(record: CandidateRecord) -> tuple[float, float, float]:
    return (record.success_rate or 0.0, record.fitness or 0.0, record.progress or 0.0)


def _weighted(ranked: list[tuple[CandidateRecord, Genome]], share: float) -> list[Parent]:
    total = sum(_DECAY**rank for rank in range(len(ranked)))
    return [
        Parent(id=record.id, genome=genome, weight=share * _DECAY**rank / total)
        for rank, (record, genome) in enumerate(ranked)
    ]


def _some(rng: random.Random, terms: tuple[Term, ...], room: int) -> list[Term]:
    """Return one to `room` of the terms in their order; none where there are none."""
    if not terms:
        return []
    count = rng.randint(1, min(room, len(terms)))
    return [terms[index] for index in sorted(rng.sample(range(len(terms)), count))]


def _scaled(rng: random.Random, sharpness: float) -> float:
    return round3(max(0.1, min(MAX_SHARPNESS, sharpness * math.exp(rng.gauss(0.0, 0.7)))))


def _quantities(genome: Genome) -> list[Quantity]:
    owners: list[Term | Gate] = [*genome.terms, *(term.gate for term in genome.terms if term.gate)]
    return [owner.quantity for owner in owners if owner.quantity is not None]


def _fits(quantity: Quantity, layout: StateLayout) -> bool:
    fields = {field.name: field for field in layout.fields}
    field = fields.get(quantity.field)
    if field is None:
        return False
    if quantity.kind == "distance":
        other = fields.get(quantity.other or "")
        same = other is not None and other.shape == field.shape and len(field.shape) <= 1
        return same and all(axis < field.size for axis in quantity.axes)
    if quantity.kind == "length":
        return len(field.shape) == 1
    in_range = all(axis < size for axis, size in zip(quantity.axes, field.shape, strict=False))
    return len(quantity.axes) == len(field.shape) and in_range
