"""The built-in coder proposes many different rewards, by seed alone, and learns from history."""

from collections import Counter

import pytest

from builtin.builtin_tasks import BRIEFS, HOPPER, LANDER, MANIPULATION, PENDULUM, record, request
from rewardsmith.contract.layout import ActionSpec, StateLayout
from rewardsmith.services.models.base import TaskBrief
from rewardsmith.services.models.builtin import BuiltinCoder

coder = BuiltinCoder()


@pytest.mark.parametrize("name", BRIEFS)
def test_the_same_request_gets_the_same_proposals(name):
    first = coder.propose(request(BRIEFS[name], seed=3))
    assert first == coder.propose(request(BRIEFS[name], seed=3))
    assert first != coder.propose(request(BRIEFS[name], seed=4))


@pytest.mark.parametrize("name", BRIEFS)
def test_as_many_different_rewards_as_asked_for(name):
    proposals = coder.propose(request(BRIEFS[name], n=1000))
    assert len({proposal.source for proposal in proposals}) == len(proposals) == 1000


def test_none_asked_for_is_none_proposed():
    assert coder.propose(request(PENDULUM, n=0)) == []


def test_without_history_everything_is_fresh():
    proposals = coder.propose(request(MANIPULATION))
    assert {(proposal.origin, proposal.parents) for proposal in proposals} == {("fresh", ())}


def test_children_of_winners_appear_and_name_their_parents():
    parents = coder.propose(request(MANIPULATION, n=4))
    history = [record(f"i01c{i:02}", p, fitness=float(i), progress=0.1) for i, p in enumerate(parents)]
    proposals = coder.propose(request(MANIPULATION, n=500, seed=1, iteration=2, history=history))
    origins = Counter(proposal.origin for proposal in proposals)
    assert set(origins) == {"fresh", "mutation", "crossover"}
    assert all(len(p.parents) == {"fresh": 0, "mutation": 1, "crossover": 2}[p.origin] for p in proposals)
    named = Counter(parent for proposal in proposals for parent in proposal.parents)
    assert named.most_common()[0][0] == "i01c03"
    assert set(named) == {entry.id for entry in history}


def test_nothing_from_history_is_proposed_again():
    brief = TaskBrief(name="toy/blind", goal="", layout=StateLayout(()), action=ActionSpec(dim=1), ranges={})
    known = coder.propose(request(brief, n=20))
    history = [record(f"i01c{i:02}", proposal) for i, proposal in enumerate(known)]
    again = coder.propose(request(brief, n=20, history=history))
    assert not {str(p.genome) for p in known} & {str(p.genome) for p in again}


def test_staged_rewards_are_common_where_there_is_a_hand_a_thing_and_a_goal():
    proposals = coder.propose(request(MANIPULATION, n=500))
    staged = [
        p
        for p in proposals
        if {("hand_pos", "drawer_pos"), ("drawer_pos", "goal_pos")} <= {_fields(t) for t in p.genome["terms"]}
    ]
    assert len(staged) > 75


def test_swinging_up_and_running_are_within_reach_of_the_grammar():
    upright = [
        t
        for p in coder.propose(request(PENDULUM, n=300))
        for t in p.genome["terms"]
        if _fields(t)[0] == "pole" and t["quantity"]["axes"] == [0] and t["quantity"]["target"] == 1.0
    ]
    forward = [
        t
        for p in coder.propose(request(HOPPER, n=300))
        for t in p.genome["terms"]
        if _fields(t)[0] == "velocity" and t["shape"] == "value" and t["weight"] > 0
    ]
    assert len(upright) > 20
    assert len(forward) > 20


def test_a_choice_of_actions_is_never_charged_as_effort():
    terms = [t for p in coder.propose(request(LANDER, n=300)) for t in p.genome["terms"]]
    assert {t.get("index", 0) for t in terms if t["shape"] == "choice"} == {0, 1, 2, 3}
    assert all(t["shape"] != "effort" for t in terms)


def _fields(term):
    quantity = term.get("quantity") or {}
    return quantity.get("field"), quantity.get("other")


def test_choices_are_made_of_every_part_of_an_action():
    sources = [proposal.source for proposal in BuiltinCoder().propose(request(BRIEFS["toy/switches"], n=400))]
    for part in ("action[:, 0] == 1", "action[:, 1] == 4"):
        assert any(part in source for source in sources)
    assert not any("action[:, 0] == 2" in source for source in sources)
