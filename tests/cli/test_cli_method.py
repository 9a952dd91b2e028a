"""`rewardsmith method`."""

import json

from test_cli_commands import invoke, refused


def test_methods_are_listed_with_what_they_do():
    rows = {row["name"]: row for row in json.loads(invoke("method", "list", "--json").stdout)}
    assert rows["eureka"]["description"].startswith("K samples")
    assert "eureka" in invoke("method", "list").stdout


def test_a_method_is_shown_with_its_source_and_every_key():
    text = invoke("method", "show", "card").stdout
    assert "CARD (Sun et al." in text
    assert "gate.rule" in text
    document = json.loads(invoke("method", "show", "card", "--json").stdout)
    assert document["keys"]["gate.rule"] == "card_code"
    assert document["keys"]["propose.candidates"] == 1


def test_two_methods_are_compared_key_by_key():
    keys = json.loads(invoke("method", "diff", "eureka", "card", "--json").stdout)["keys"]
    assert keys["gate.rule"] == ["none", "card_code"]
    assert "train.budget" not in keys
    assert "gate.rule" in invoke("method", "diff", "eureka", "card").stdout
    assert "set every key alike" in invoke("method", "diff", "card", "card").stdout


def test_a_file_is_a_method_as_well(tmp_path):
    (tmp_path / "mine.yaml").write_text("description: Mine.\ntrain: {keep: 2}\n")
    assert (
        json.loads(invoke("method", "show", str(tmp_path / "mine.yaml"), "--json").stdout)["keys"][
            "train.keep"
        ]
        == 2
    )


def test_an_unknown_method_is_told_with_one_that_is_near():
    assert "did you mean eureka?" in refused("method", "show", "eurka")
