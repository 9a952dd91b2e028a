"""Code is found in whatever a chat model sends; what is no code gets the right name."""

import ast
import json
import time

import pytest
from answer_shapes import (
    DRAFT,
    FAILURES,
    GOOD,
    PROSE,
    RECOVERED,
    STUB,
    USAGE,
    WRAPPERS,
    fence,
    helper,
    main,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardsmith.contract.static_checks import check_source, normalised_ast
from rewardsmith.errors import CandidateError, FailureCode
from rewardsmith.services.models.extraction import Extracted, extract_code


def has_entry(source):
    found = [
        n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "compute_reward"
    ]
    return bool(found) and len(found[-1].args.posonlyargs) + len(found[-1].args.args) == 3


def objection_to(source):
    try:
        check_source(source)
    except CandidateError as error:
        return error.code


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS.keys())
def test_the_same_function_comes_out_of(wrapper):
    found = extract_code(wrapper(GOOD))
    assert (found.failure, found.message) == (None, "")
    assert normalised_ast(found.source) == normalised_ast(GOOD)
    check_source(found.source)


@pytest.mark.parametrize("text", RECOVERED.values(), ids=RECOVERED.keys())
def test_a_function_comes_out_of(text):
    found = extract_code(text)
    assert found == Extracted(source=found.source)
    assert has_entry(found.source)
    check_source(found.source)


@pytest.mark.parametrize(("text", "failure"), FAILURES.values(), ids=FAILURES.keys())
def test_the_right_name_is_given_to(text, failure):
    found = extract_code(text)
    assert found.failure is failure
    assert found.message
    needs_source = failure in (FailureCode.SYNTAX, FailureCode.SIGNATURE, FailureCode.PLACEHOLDER)
    assert bool(found.source) is needs_source


CUT_AWAY = GOOD[: GOOD.index("    effort =")]
CUT_TO_TRUNCATED = {
    "nothing": "",
    "thoughts that never ended": f"<think>{PROSE} {PROSE}",
    "prose": PROSE,
    "a fence cut within a line": f"```python\n{GOOD[:-30]}",
    "a fence cut between two lines": f"```python\n{CUT_AWAY}",
    "a fence cut after what could be the end": f"```python\n{GOOD}",
    "bare code cut within a line": GOOD[:-30],
    "bare code cut after what could be the end": GOOD,
    "a fence cut within a needed helper": f"```python\n{main(GOOD)}\n\ndef _distance(a, b):\n    ret",
    "JSON cut within its code": json.dumps({"code": GOOD})[:-60],
    "code in thoughts cut within a line": f"<think>\n```python\n{GOOD[:-30]}",
}
CUT_BUT_WHOLE = {
    "prose after a closed fence": f"{fence(GOOD)}This reward is mad",
    "a second fence after a closed one": f"{fence(GOOD)}Or else:\n```python\n{CUT_AWAY}",
    "prose after bare code": f"{GOOD}\nThis reward is mad",
    "a demonstration after the function": f"```python\n{GOOD}\nif __name__ == '__main__':\n    print(comp",
    "a helper that nothing needs after the function": f"```python\n{GOOD}\n\ndef other(x):\n    return x +",
    "JSON after its code": json.dumps({"code": GOOD, "why": PROSE})[:-20],
    "prose after answer tags": f"<answer>{GOOD}</answer> This rew",
    "thoughts after a closed fence in them": f"<think>{fence(GOOD)}But perh",
}


@pytest.mark.parametrize("finish_reason", ["length", "max_tokens", "MAX_TOKENS"])
@pytest.mark.parametrize("text", CUT_TO_TRUNCATED.values(), ids=CUT_TO_TRUNCATED.keys())
def test_what_the_length_limit_cut_is_truncated(text, finish_reason):
    found = extract_code(text, finish_reason=finish_reason)
    assert found.failure is FailureCode.TRUNCATED
    assert "length limit" in found.message
    assert ("def compute_reward" in found.source) == ("def compute_reward" in text)


@pytest.mark.parametrize("text", CUT_BUT_WHOLE.values(), ids=CUT_BUT_WHOLE.keys())
def test_code_that_ended_before_the_length_limit_is_taken(text):
    found = extract_code(text, finish_reason="length")
    assert found == Extracted(source=found.source)
    assert normalised_ast(found.source) == normalised_ast(GOOD)


def test_the_reasoning_field_is_read_where_the_content_is_empty():
    found = extract_code("", reasoning=f"Let me see.\n{fence(GOOD)}That is it.", finish_reason="stop")
    assert normalised_ast(found.source) == normalised_ast(GOOD)


def test_the_reasoning_field_is_read_where_the_content_is_only_prose():
    found = extract_code("Here you are.", reasoning=fence(GOOD))
    assert normalised_ast(found.source) == normalised_ast(GOOD)


@pytest.mark.parametrize(
    ("text", "failure"), [(GOOD, None), (GOOD.replace("))", ")"), FailureCode.SYNTAX)], ids=["good", "broken"]
)
def test_the_reasoning_field_is_left_alone_where_the_content_has_code(text, failure):
    found = extract_code(fence(text), reasoning=fence(DRAFT))
    assert found.failure is failure
    assert "draft" not in found.source


def test_reasoning_without_code_beside_no_content_is_an_empty_answer():
    assert extract_code("", reasoning=PROSE).failure is FailureCode.EMPTY


def test_the_refusal_field_is_told():
    found = extract_code("", refusal="I can't help with weapons.")
    assert found.failure is FailureCode.REFUSED
    assert "I can't help with weapons." in found.message


@pytest.mark.parametrize(
    "text", ["", PROSE, f"```python\n{CUT_AWAY}"], ids=["nothing", "prose", "half a function"]
)
def test_a_filtered_answer_is_refused(text):
    assert extract_code(text, finish_reason="content_filter").failure is FailureCode.REFUSED


def test_code_counts_more_than_a_refusal_beside_it():
    assert extract_code(fence(GOOD), refusal="no", finish_reason="content_filter").failure is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (FAILURES["two parameters"][0], "compute_reward(obs, action)"),
        (FAILURES["only a function of one parameter"][0], "f(x)"),
        (FAILURES["a method that uses self"][0], "uses self"),
        (FAILURES["a static method that uses its class"][0], "uses its class R"),
        (FAILURES["an async function"][0], "must not be async"),
        (FAILURES["a missing colon"][0], "(line 10)"),
        (FAILURES["an ellipsis between statements"][0], "(line 14)"),
        (FAILURES["a comment in place of the terms"][0], "lift, reach"),
    ],
)
def test_the_message_tells_what_to_mend(text, part):
    assert part in extract_code(text).message


def test_the_last_of_several_broken_attempts_is_told():
    found = extract_code(fence(f"{STUB}    ...\n") + fence(GOOD.replace("next_state):", "next_state)")))
    assert found.failure is FailureCode.SYNTAX


def test_comments_survive_what_is_changed_around_them():
    code = GOOD.replace("    near =", "    # near counts twice\n    near =").replace(
        "compute_reward", "reward_fn"
    )
    found = extract_code(fence(f"from typing import Dict\n{code}\nprint(reward_fn(s, a, n))\n"))
    assert "# near counts twice" in found.source
    assert "print" not in found.source
    assert "typing" not in found.source


def test_an_import_that_running_code_needs_is_left_for_the_static_check():
    found = extract_code(fence(f"import torch\n\n{main(GOOD).replace('np.sum', 'torch.sum')}"))
    assert found.failure is None
    assert "import torch" in found.source


def test_a_potential_in_a_fence_of_its_own_is_kept():
    potential = "def potential(state):\n    return state.hand[:, 0]"
    found = extract_code(f"{fence(GOOD)}And:\n{fence(potential + chr(10))}")
    assert potential in found.source
    assert has_entry(found.source)


def test_a_constant_that_is_filled_in_later_keeps_its_values():
    head = 'W = {}\nW["a"] = 2.0\nW.update(b=1.0)\n'
    found = extract_code(fence(f"{head}{STUB}    return W['a'] * state.x, {{}}\n\n\nprint(W)\n"))
    assert head in found.source
    assert "print" not in found.source


def test_a_whole_but_broken_block_before_the_length_limit_is_truncated_too():
    found = extract_code(f"{fence(GOOD.replace('next_state):', 'next_state)'))}Now I", finish_reason="length")
    assert found.failure is FailureCode.TRUNCATED
    assert "(line 10)" in found.message


HUGE = {
    "number signs": fence(DRAFT + "#" * 60_000 + "\n"),
    "long functions": fence("def compute_reward(a, b, c):\n" + "    x = a.b + (c.d * 2)\n" * 2_400) * 7,
    "long functions that could be": fence("def f(a, b):\n" + "    x = a.b + (c.d * 2)\n" * 2_400) * 7,
    "broken long functions": fence("def f(a, b):\n" + "    x = a.b + (c.d * 2)\n" * 2_400 + "x x\n") * 7,
    "small functions": fence("def f(a, b, c):\n    return g + 1\n") * 10_000,
    "letters": "a" * 1_000_000,
    "words": "the def of it " * 70_000,
    "backticks": "`" * 100_000,
    "backticks on lines": "```\n" * 100_000,
    "fences": fence("x = 1\n") * 10_000,
    "fences with functions": fence(DRAFT) * 10_000,
    "fences with broken functions": fence("def f(:\n    '''\n") * 10_000,
    "open brackets": "```python\ndef f():\n    return " + "(" * 300_000,
    "nested lists": "[" * 100_000 + "]" * 100_000 + " def f",
    "nested objects": '{"code":' * 100_000 + ' "def f"',
    "minus signs": "def compute_reward(a, b, c):\n    return " + "-" * 50_000 + "1\n",
    "attribute chain": f"def compute_reward(a, b, c):\n    return a{'.b' * 20_000}\n",
    "white space": " " * 1_000_000,
    "white space before a fence": (" " * 1000 + "`` def\n") * 900,
    "tabs and quotes": "\t>" * 400_000,
    "line starts": "def compute_reward(a, b, c):\n" * 30_000,
    "think tags": "<think>" * 100_000 + "</think>" * 20_000,
    "half a tag": "<think " * 100_000,
    "tags": "<code>def f(): pass</code>\n" * 20_000,
    "docstring openings": '```\n"""\ndef f():\n' * 30_000,
    "one long function": "def compute_reward(a, b, c):\n" + "    x = a.b + (c.d * 2)\n" * 40_000,
    "assignments": "x = [1]\n" * 60_000 + "def f(): pass\n",
    "JSON values": '"code": "def x", ' * 50_000,
    "entities": "def f &lt; &gt;\n" * 60_000,
    "prompts": ">>> def f\n" * 60_000,
    "diff lines": "+def f(x):\n+  return (\n" * 40_000,
}


PROCESSOR_SECONDS = 10.0
"""Under coverage on a slow machine; what backtracks takes minutes."""


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE.keys())
def test_a_huge_answer_is_read_quickly(text):
    start = time.process_time()
    extract_code(text, reasoning=text)
    assert time.process_time() - start < PROCESSOR_SECONDS


def test_code_at_the_end_of_a_huge_answer_is_found():
    found = extract_code("word " * 300_000 + "\n" + fence(GOOD))
    assert normalised_ast(found.source) == normalised_ast(GOOD)


PIECES = [
    GOOD,
    DRAFT,
    helper(GOOD),
    main(GOOD),
    USAGE,
    CUT_AWAY,
    PROSE,
    STUB,
    "\n",
    "\n\n",
    "    ",
    "\t",
    "...",
    "`",
    "```",
    "```python\n",
    "````",
    "~~~\n",
    "\n```\n",
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<code>",
    "</code>",
    "<|channel|>final<|message|>",
    '{"code": "',
    '"}',
    "{'python': '",
    '"""',
    "'''",
    "\\n",
    "\\",
    "&lt;",
    "\u201c",
    "\u2019",
    "\u00a0",
    "\ufeff",
    "\x00",
    "\ud800",
    "\u202e",
    ">>> ",
    "+",
    "1 | ",
    "12: ",
    "> ",
    "- ",
    "def f(x):",
    "class A:\n",
    "async ",
    "@jit\n",
    "lambda a, b, c: ",
    "compute_reward",
    " = ",
    "if __name__ == '__main__':\n",
    "# rest of code",
    "import numpy as np\n",
    "from typing import Dict\n",
    "return",
    "pass",
    "self",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ";",
    "d\u00e9f = 1\n",
    "I'm sorry, but I can't",
    "\r\n",
    "\x0c",
    "\u2028",
    "1" * 5000,
]
ANSWERS = st.one_of(
    st.text(st.characters(), max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=5), max_size=12).map("".join),
)


@given(
    text=ANSWERS,
    reasoning=st.just("") | ANSWERS,
    finish_reason=st.sampled_from([None, "stop", "length", "content_filter"]),
    refusal=st.none() | st.text(st.characters(), max_size=20),
)
@settings(max_examples=400, deadline=None)
def test_no_text_raises_and_what_is_taken_is_a_function_of_three(text, reasoning, finish_reason, refusal):
    found = extract_code(text, reasoning=reasoning, finish_reason=finish_reason, refusal=refusal)
    assert bool(found.message) == (found.failure is not None)
    found.source.encode()
    found.message.encode()
    if found.failure is None:
        assert has_entry(found.source)
        assert objection_to(found.source) in (None, FailureCode.FORBIDDEN)


@given(
    wrapper=st.sampled_from(list(WRAPPERS)),
    weight=st.floats(0.001, 1000),
    before=st.sampled_from(["", f"{PROSE}\n\n", "Sure!\n", f"<think>{DRAFT}</think>\n"]),
)
@settings(max_examples=150, deadline=None)
def test_any_wrapper_gives_back_what_was_put_in(wrapper, weight, before):
    code = GOOD.replace("SCALE = 10.0", f"SCALE = {weight!r}")
    found = extract_code(before + WRAPPERS[wrapper](code))
    assert normalised_ast(found.source) == normalised_ast(code)
