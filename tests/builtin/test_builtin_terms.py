"""A genome survives JSON, and what is not a genome is refused."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builtin.builtin_tasks import BRIEFS
from rewardsmith.services.models.builtin.grammar import Grammar
from rewardsmith.services.models.builtin.terms import MAX_TERMS, Genome, Quantity, Term, tidy

QUANTITY = {"kind": "distance", "field": "a", "other": "b", "axes": [], "target": 0.0, "span": 1.0}
TERM = {"shape": "exp", "weight": 1.0, "sharpness": 2.0, "quantity": QUANTITY}


@settings(max_examples=100, deadline=None)
@given(brief=st.sampled_from(list(BRIEFS.values())), seed=st.integers(0, 2**32))
def test_a_genome_survives_json(brief, seed):
    genome = Grammar(brief).genome(random.Random(seed))
    assert Genome.from_json(json.loads(json.dumps(genome.to_json()))) == genome


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"terms": []},
        {"terms": [TERM] * (MAX_TERMS + 1)},
        {"terms": ["exp"]},
        {"terms": [TERM | {"shape": "exec"}]},
        {"terms": [TERM | {"shape": "rise"}]},
        {"terms": [TERM | {"weight": 1e9}]},
        {"terms": [TERM | {"weight": True}]},
        {"terms": [TERM | {"weight": float("nan")}]},
        {"terms": [TERM | {"sharpness": 0.0}]},
        {"terms": [TERM | {"quantity": None}]},
        {"terms": [TERM | {"quantity": QUANTITY | {"kind": "area"}}]},
        {"terms": [TERM | {"quantity": QUANTITY | {"other": None}}]},
        {"terms": [TERM | {"quantity": QUANTITY | {"axes": "xy"}}]},
        {"terms": [TERM | {"quantity": QUANTITY | {"axes": [-1]}}]},
        {"terms": [TERM | {"quantity": QUANTITY | {"span": 0}}]},
        {"terms": [TERM | {"gate": {"shape": "linear", "quantity": QUANTITY, "sharpness": 1.0}}]},
        {
            "terms": [
                TERM
                | {
                    "gate": {
                        "shape": "exp",
                        "quantity": QUANTITY | {"kind": "value", "other": None},
                        "sharpness": 1.0,
                    }
                }
            ]
        },
    ],
)
def test_what_is_not_a_genome_is_refused(data):
    with pytest.raises(ValueError):  # noqa: PT011  (each case has a message of its own)
        Genome.from_json(data)


def test_a_second_effort_is_dropped_and_a_second_choice_kept():
    terms = [
        Term(shape="effort", weight=0.1),
        Term(shape="effort", weight=0.2),
        Term(shape="choice", weight=0.1, index=0),
        Term(shape="choice", weight=0.1, index=1),
    ]
    assert tidy(terms) == (terms[0], *terms[2:])


def test_a_cost_is_never_gated():
    gap = Quantity(kind="offset", field="a")
    gate = Grammar(BRIEFS["toy/drawer"]).gate(random.Random(0))
    assert Term(shape="linear", weight=1.0, quantity=gap).gated(gate).gate is None
    assert Term(shape="alive", weight=1.0).gated(gate).gate is None
    assert Term(shape="exp", weight=1.0, quantity=gap).gated(gate).gate == gate
