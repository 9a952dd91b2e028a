"""New genomes come from the right parents and in the right ways."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builtin.builtin_tasks import BRIEFS, HOPPER, MANIPULATION, PENDULUM, record, request
from rewardsmith.errors import FailureCode
from rewardsmith.services.models.base import CandidateRecord
from rewardsmith.services.models.builtin import BuiltinCoder
from rewardsmith.services.models.builtin.evolve import Mutator, crossover, parents_of, readable_genome
from rewardsmith.services.models.builtin.grammar import Grammar
from rewardsmith.services.models.builtin.terms import MAX_TERMS, Genome

seeds = st.integers(0, 2**32)
briefs = st.sampled_from(list(BRIEFS.values()))


@settings(max_examples=150, deadline=None)
@given(brief=briefs, seed=seeds)
def test_mutation_changes_something_and_keeps_the_bounds(brief, seed):
    rng = random.Random(seed)
    grammar = Grammar(brief)
    genome = grammar.genome(rng)
    mutant = Mutator(grammar).mutate(rng, genome)
    assert mutant != genome
    assert Genome.from_json(mutant.to_json()) == mutant


@settings(max_examples=100, deadline=None)
@given(brief=briefs, seed=seeds)
def test_mutants_of_mutants_stay_within_the_layout(brief, seed):
    rng = random.Random(seed)
    grammar = Grammar(brief)
    genome = grammar.genome(rng)
    for _ in range(30):
        genome = Mutator(grammar).mutate(rng, genome)
    candidate = CandidateRecord(id="i01c00", source="", genome=genome.to_json())
    assert readable_genome(candidate, brief.layout) == genome


@settings(max_examples=100, deadline=None)
@given(brief=briefs, seed=seeds)
def test_crossover_keeps_terms_of_both(brief, seed):
    rng = random.Random(seed)
    grammar = Grammar(brief)
    first, second = grammar.genome(rng), grammar.genome(rng)
    child = crossover(rng, first, second)
    assert set(child.terms) <= set(first.terms) | set(second.terms)
    assert set(child.terms) & set(first.terms)
    plain_shapes = {term.shape for term in first.terms if term.quantity is None}
    assert set(child.terms) & set(second.terms) or {t.shape for t in second.terms} <= plain_shapes
    assert len(child.terms) <= MAX_TERMS


def history():
    proposals = BuiltinCoder().propose(request(MANIPULATION, n=6))
    return [
        record("i01c00", proposals[0], fitness=0.2, success_rate=0.0, progress=0.4, preference=0.9),
        record("i01c01", proposals[1], fitness=0.9, success_rate=0.8, progress=0.7, preference=0.8),
        record("i01c02", proposals[2], preference=0.6),
        record("i01c03", proposals[3], preference=0.95),
        record("i01c04", proposals[4], failure=FailureCode.SLOW, fitness=5.0, preference=1.0),
        record("i01c05", proposals[5], fitness=0.2, success_rate=0.0, progress=0.6),
    ]


def test_trained_parents_rank_by_success_then_progress_and_untrained_by_preference():
    parents = parents_of(history(), MANIPULATION.layout)
    assert [parent.id for parent in parents] == ["i01c01", "i01c05", "i01c00", "i01c03", "i01c02"]


def test_the_chances_of_all_parents_add_up_to_one():
    trained_only = [r for r in history() if r.fitness is not None]
    untrained_only = [r for r in history() if r.fitness is None]
    for records in (history(), trained_only, untrained_only):
        assert sum(p.weight for p in parents_of(records, MANIPULATION.layout)) == pytest.approx(1.0)


def test_trained_parents_are_drawn_more_often_than_untrained_ones():
    chance = {parent.id: parent.weight for parent in parents_of(history(), MANIPULATION.layout)}
    assert chance["i01c01"] > chance["i01c05"] > chance["i01c03"] > chance["i01c02"]


def test_a_fitness_that_is_not_a_number_ranks_nobody():
    odd = record("i01c00", BuiltinCoder().propose(request(MANIPULATION, n=1))[0], fitness=float("nan"))
    assert parents_of([odd], MANIPULATION.layout) == []


def test_candidates_of_another_coder_or_layout_are_passed_over():
    foreign = [
        CandidateRecord(id="i01c00", source="", genome=None, fitness=1.0),
        CandidateRecord(id="i01c01", source="", genome={"terms": "many"}, fitness=1.0),
        *(
            record(f"i01c{i + 2:02}", proposal, fitness=1.0)
            for i, proposal in enumerate(BuiltinCoder().propose(request(MANIPULATION, n=30)))
            if any("quantity" in term for term in proposal.genome["terms"])
        ),
    ]
    assert parents_of(foreign, PENDULUM.layout) == []
    assert parents_of(foreign, HOPPER.layout) == []


@pytest.mark.parametrize(
    "quantity",
    [
        {"kind": "distance", "other": "gripper"},
        {"kind": "distance", "other": "nowhere"},
        {"kind": "distance", "other": "goal_pos", "axes": [3]},
        {"kind": "offset", "axes": [3]},
        {"kind": "offset", "axes": []},
        {"kind": "length", "field": "gripper"},
    ],
)
def test_a_quantity_that_the_layout_does_not_have_is_not_bred_from(quantity):
    full = {"field": "hand_pos", "other": None, "axes": [], "target": 0.0, "span": 1.0} | quantity
    term = {"shape": "exp", "weight": 1.0, "sharpness": 1.0, "quantity": full}
    candidate = CandidateRecord(id="i01c00", source="", genome={"terms": [term]})
    assert readable_genome(candidate, MANIPULATION.layout) is None
