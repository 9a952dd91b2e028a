"""The shapes that answers of chat models have, around one piece of good code or without any."""

import html
import json

from rewardsmith.errors import FailureCode

GOOD = '''\
import numpy as np

SCALE = 10.0


def _distance(a, b):
    return np.sqrt(np.sum((a - b) ** 2, axis=-1))


def compute_reward(state, action, next_state):
    """Reward what brings the hand nearer to the goal."""
    before = _distance(state.hand, state.goal)
    after = _distance(next_state.hand, next_state.goal)
    near = np.where((after < 0.05) & (before > 0.01), 1.0, 0.0)
    effort = np.sum(action**2, axis=-1)
    reward = SCALE * (before - after) + near - 0.01 * effort
    return reward, {"progress": before - after, "near": near}
'''
DRAFT = """\
def compute_reward(state, action, next_state):
    return -next_state.hand[..., 0], {"draft": next_state.hand[..., 0]}
"""
USAGE = "reward, parts = compute_reward(state, action, next_state)\nprint(reward)\n"
STUB = "def compute_reward(state, action, next_state):\n"
PROSE = "The reward should fall with the distance from the hand to the goal."


def fence(code, info="python", mark="```"):
    return f"{mark}{info}\n{code}{mark}\n"


def each_line(code, prefix):
    return "".join(f"{prefix}{line}\n" for line in code.splitlines())


def helper(code):
    return code.partition("def compute_reward")[0]


def main(code):
    return code.removeprefix(helper(code))


def numbered(code, form):
    return "".join(form.format(n, line) + "\n" for n, line in enumerate(code.splitlines(), 1))


def prompts(code):
    return "".join(
        (">>> " if line and line[0] not in " )" else "... ") + line + "\n" for line in code.splitlines()
    )


def in_docstring(code):
    return code.replace(
        '"""Reward what',
        '"""Example:\n\n    ```python\n    compute_reward(s, a, n)\n    ```\n\n    Reward what',
    )


WRAPPERS = {
    # fences
    "code in a python fence": lambda c: f"{PROSE}\n\n{fence(c)}\n{PROSE}",
    "code in a fence without a language": lambda c: f"{PROSE}\n{fence(c, '')}",
    "code in a py fence": lambda c: fence(c, "py"),
    "code in a Python3 fence": lambda c: fence(c, "Python3"),
    "code in a tilde fence": lambda c: fence(c, "python", "~~~"),
    "code in a four-backtick fence": lambda c: fence(c, "python", "````"),
    "a four-backtick fence around a three-backtick one": lambda c: fence(fence(c), "markdown", "````"),
    "a markdown fence around a python one": lambda c: fence(f"# Title\n\n{fence(c)}", "markdown"),
    "a fence with attributes": lambda c: fence(c, 'python title="reward.py" {.numberLines}'),
    "an indented fence in a list item": lambda c: f"1. Code:\n\n{each_line(fence(c), '   ')}\n2. Done.",
    "a fence right after a list marker": lambda c: f"- ```python\n{each_line(c, '  ')}  ```\n",
    "a fence in a quotation": lambda c: each_line(f"{PROSE}\n{fence(c)}", "> "),
    "a fence that is never closed": lambda c: f"{PROSE}\n```python\n{c}",
    "a fence closed on the last line of code": lambda c: f"```python\n{c.rstrip()}```\n{PROSE}",
    "code that begins on the fence's own line": lambda c: f"```python {c}```",
    "an answer that begins inside a fence": lambda c: f"{c}```\n\nThis works well.",
    "a draft fence first, then the final one": lambda c: f"{fence(DRAFT)}Better:\n{fence(c)}",
    "a draft fence that was never closed, then the final one": lambda c: (
        f"```python\n{DRAFT}\nNow:\n{fence(c)}"
    ),
    "a broken fence first, then the final one": lambda c: f"{fence('def compute_reward(:')}\n{fence(c)}",
    "the final fence first, then one that calls it": lambda c: f"{fence(c)}Use it:\n{fence(USAGE)}",
    "the final fence first, then a shell command": lambda c: f"{fence(c)}{fence('pip install numpy', 'sh')}",
    "the final fence first, then a stub": lambda c: f"{fence(c)}{fence(STUB + '    ...' + chr(10))}",
    "a stub first, then the final fence": lambda c: f"{fence(STUB + '    pass' + chr(10))}{fence(c)}",
    "a fence after prose on the same line": lambda c: f"Here it is: {fence(c)}",
    "a fence that is never closed, then prose": lambda c: f"```python\n{c}\nThis pulls the hand nearer.\n",
    "an answer that begins inside a fence closed on the last line": lambda c: f"{c.rstrip()}```\nDone.",
    "YAML in a fence": lambda c: fence(f"why: near\ncode: |\n{each_line(c, '  ')}", "yaml"),
    "the name of the language in place of a fence": lambda c: f"python\nCopy code\n{c}",
    "a snippet to tweak after the code": lambda c: f"{fence(c)}Or:\n{fence('SCALE = 20.0' + chr(10))}",
    "a helper of three parameters in a later fence": lambda c: (
        fence(c) + fence("def mix(a, b, c):\n    # for compute_reward\n    return a\n")
    ),
    "prose within the fence": lambda c: fence(f"Here is the code:\n\n{c}\nIt works.\n", ""),
    # no fence
    "code and nothing else": lambda c: c,
    "code between prose": lambda c: f"{PROSE}\n\n{c}\nThis pulls the hand to the goal.",
    "code after prose that looks like an assignment": lambda c: f"reward = the negative distance here\n\n{c}",
    "code between headings and bullets": lambda c: f"### Reward\n\n* near\n* fast\n\n{c}\n## Notes\n\n- x\n",
    "code followed by indented bullets": lambda c: f"{c}\n  - The first term\n  - The second term\n",
    "code indented by four spaces": lambda c: f"{PROSE}\n\n{each_line(c, '    ')}\n{PROSE}",
    "code whose first line lost its indentation": lambda c: fence(each_line(c, "    ").lstrip()),
    # tags
    "think tags with a draft, then the answer": lambda c: f"<think>\n{fence(DRAFT)}</think>\n{fence(c)}",
    "the answer, then think tags with a draft": lambda c: f"{fence(c)}<think>{fence(DRAFT)}</think>",
    "a think tag that is only closed": lambda c: f"Try:\n{fence(DRAFT)}No.\n</think>\n\n{fence(c)}",
    "code only inside think tags": lambda c: f"<think>I write\n{fence(c)}</think>\nDone.",
    "a think tag that is never closed": lambda c: f"<think>\nFirst {PROSE}\n{fence(c)}",
    "thinking tags, unfenced answer": lambda c: f"<thinking>\n{DRAFT}</thinking>\n{c}",
    "reasoning tags": lambda c: f"<reasoning>{fence(DRAFT)}</reasoning>{fence(c)}",
    "thought tags": lambda c: f"<thought>\n{fence(DRAFT)}\n</thought>\n{fence(c)}",
    "bracketed think tags": lambda c: f"[THINK]{fence(DRAFT)}[/THINK]{c}",
    "harmony channels": lambda c: (
        f"<|channel|>analysis<|message|>Maybe\n{fence(DRAFT)}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{fence(c)}<|return|>"
    ),
    "answer tags around bare code": lambda c: f"{fence(DRAFT)}So:\n<answer>\n{c}</answer>",
    "answer tags around a fence, then a worse variant": lambda c: (
        f"<answer>{fence(c)}</answer>\nNot:\n{fence(DRAFT)}"
    ),
    "an answer tag that is never closed": lambda c: f"{PROSE}<answer>{c}",
    "code tags": lambda c: f"{PROSE}\n<code>{c}</code>\n{PROSE}",
    "pre and code tags with entities": lambda c: (
        f'<pre><code class="language-python">{html.escape(c)}</code></pre>'
    ),
    "code in CDATA": lambda c: f"<reward><code><![CDATA[{c}]]></code></reward>",
    "a tool call": lambda c: f"<tool_call>{json.dumps({'name': 'f', 'arguments': {'code': c}})}</tool_call>",
    "HTML with line breaks": lambda c: f"<pre>{html.escape(c)}</pre>".replace("\n", "<br/>\n"),
    "a token that ends the turn": lambda c: f"{c.rstrip()}<|im_end|>",
    # JSON
    "a JSON object": lambda c: json.dumps({"thoughts": PROSE, "code": c}),
    "a JSON object in a fence": lambda c: fence(json.dumps({"code": c}, indent=2) + "\n", "json"),
    "a JSON object between prose": lambda c: f"{PROSE}\n{json.dumps({'reward_function': c})}\n{PROSE}",
    "a JSON object with the key source": lambda c: json.dumps({"source": c}),
    "a JSON object with the key python": lambda c: json.dumps({"answer": {"python": c}}),
    "a JSON object with an unknown key": lambda c: json.dumps({"rewardSource": c}),
    "a JSON object with a fence in its value": lambda c: json.dumps({"code": fence(c)}),
    "a list of JSON objects": lambda c: json.dumps([{"note": PROSE}, {"code": c}]),
    "broken JSON with numbered escapes": lambda c: (
        json.dumps({"code": c})[:-1].replace("<", r"\u003c") + ",}"
    ),
    "a JSON list of lines": lambda c: json.dumps({"code": c.splitlines()}),
    "a JSON string": lambda c: json.dumps(c),
    "a JSON object with a trailing comma": lambda c: json.dumps({"code": c})[:-1] + ",\n}",
    "a JSON object with raw line ends": lambda c: '{"code": "' + c.replace('"', '\\"') + '", "n": 1}',
    "a JSON object with nothing escaped": lambda c: '{\n"code": "' + c + '"\n}',
    "a JSON object with bad escapes": lambda c: json.dumps({"a": "x", "code": c}).replace('"x"', r'"\d \_"'),
    "a JSON object that is never closed": lambda c: json.dumps({"code": c})[:-2],
    "a Python dict": lambda c: repr({"code": c}),
    "a triple-quoted JSON value": lambda c: '{"code": """' + c.replace('"""', "'''") + '"""}',
    "line ends that were left escaped": lambda c: c.replace("\n", "\\n"),
    # characters
    "Windows line ends": lambda c: fence(c).replace("\n", "\r\n"),
    "old Mac line ends": lambda c: fence(c).replace("\n", "\r"),
    "smart quotes": lambda c: fence(
        c.replace('{"', "{\u201c").replace('":', "\u201d:").replace('"near', "\u201cnear")
    ),
    "non-breaking spaces": lambda c: fence(c.replace(" ", "\u00a0")),
    "en-dash minus signs": lambda c: fence(c.replace(" - ", " \u2013 ")),
    "true minus signs": lambda c: fence(c.replace(" - ", " \u2212 ")),
    "a byte order mark and zero-width characters": lambda c: "\ufeff" + fence(c.replace("= ", "=\u200b ")),
    "NUL bytes": lambda c: fence(c.replace("= ", "=\x00 ")),
    "full-width punctuation": lambda c: fence(c.replace("(", "\uff08").replace(",", "\uff0c")),
    "HTML entities": lambda c: fence(html.escape(c)),
    "HTML entities in one harmless place": lambda c: fence(c.replace("after <", "after &lt;")),
    # line prefixes
    "REPL prompts": lambda c: fence(prompts(c)),
    "REPL prompts with the output after": lambda c: fence(prompts(c + "1 + 1\n") + "2\n", "pycon"),
    "line numbers with bars": lambda c: fence(numbered(c, "{:>3} | {}")),
    "line numbers with colons": lambda c: fence(numbered(c, "{}: {}")),
    "line numbers with tabs": lambda c: fence(numbered(c, "{}\t{}")),
    "a diff in which every line is new": lambda c: fence(each_line(c, "+"), "diff"),
    "a diff with its header": lambda c: fence(
        "--- a/reward.py\n+++ b/reward.py\n@@ -1,1 +1,18 @@\n-old = 1\n" + each_line(c, "+"), "diff"
    ),
    "tabs for indentation": lambda c: fence(c.replace("    ", "\t")),
    "tabs mixed with spaces": lambda c: fence(
        c.replace("    before", "\tbefore").replace("    near", "\tnear")
    ),
    # several places
    "helper and main function in two fences": lambda c: f"Helper:\n{fence(helper(c))}Then:\n{fence(main(c))}",
    "main function first, helper in a later fence": lambda c: (
        f"{fence(main(c))}It needs:\n{fence(helper(c))}"
    ),
    "import, helper and main function in three fences": lambda c: (
        fence("import numpy as np\n") + fence(helper(c).replace("import numpy as np\n", "")) + fence(main(c))
    ),
    "helper, main function and usage in three fences": lambda c: (
        fence(helper(c)) + fence(main(c)) + fence(USAGE)
    ),
    "a function that goes on in the next fence": lambda c: (
        fence(c.split("    near")[0]) + "and then\n" + fence("    near" + c.split("    near")[1])
    ),
    # what stands after the functions
    "a main guard": lambda c: fence(f"{c}\nif __name__ == '__main__':\n    {USAGE.splitlines()[0]}\n"),
    "a printed call": lambda c: fence(f"{c}\nprint(compute_reward(s, a, n))\n"),
    "assertions and sample data": lambda c: fence(
        f"{c}\nstate = np.zeros(3)\naction = state + 1\nout = compute_reward(state, action, state)\n"
        "assert out\n"
    ),
    "a test function": lambda c: fence(
        f"{c}\ndef test_it():\n    assert compute_reward(1, 2, 3)\n\ntest_it()\n"
    ),
    "a demonstration with its own import": lambda c: fence(
        f"import random\n{c}\nfor _ in range(3):\n    print(random.random())\n"
    ),
    "imports for the type checker": lambda c: fence(
        f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from env import State\n{c}"
    ),
    "the function wrapped again": lambda c: fence(f"{c}\ncompute_reward = jax.jit(compute_reward)\n"),
    "the state class of the prompt": lambda c: fence(f"class State:\n    hand: object\n\n\n{c}"),
    # decorations
    "a decorator": lambda c: fence(c.replace("def compute", "@torch.jit.script\ndef compute")),
    "decorators on all functions": lambda c: fence(c.replace("def ", "@njit(cache=True)\ndef ")),
    "annotations with unknown names": lambda c: fence(
        "from __future__ import annotations\nfrom typing import Dict, Tuple\nimport numpy.typing as npt\n"
        + c.replace(
            "compute_reward(state, action, next_state)",
            "compute_reward(state: State, action: npt.NDArray, next_state: State) "
            "-> Tuple[object, Dict[str, float]]",
        )
    ),
    "an annotation alias": lambda c: fence(
        "from typing import Dict\nParts = Dict[str, float]\n"
        + c.replace("next_state):", "next_state) -> Parts:")
    ),
    "another function name": lambda c: fence(c.replace("compute_reward", "reward_fn")),
    "another function name that is called after": lambda c: fence(
        c.replace("compute_reward", "get_reward") + "\nprint(get_reward(s, a, n))\n"
    ),
    "another function name with an alias": lambda c: fence(
        c.replace("compute_reward", "my_reward") + "\ncompute_reward = my_reward\n"
    ),
    "a static method of a class": lambda c: fence(
        helper(c) + "class Reward:\n    @staticmethod\n" + each_line(main(c), "    ")
    ),
    "a method that does not use self": lambda c: fence(
        helper(c)
        + "class Reward(Base):\n    def __init__(self):\n        self.x = 1\n\n"
        + each_line(main(c).replace("(state,", "(self, state,", 1), "    ")
    ),
    "a method with tabs that is called reward": lambda c: fence(
        helper(c) + "class R:\n" + each_line(main(c).replace("compute_reward", "reward"), "\t")
    ),
    "a lifted method without its class": lambda c: fence(c.replace("(state, action", "(self, state, action")),
}
"""What models put around code, or do to it; each must give back the same function."""

RECOVERED = {
    "a fence inside the docstring": fence(in_docstring(GOOD)),
    "a fence inside the docstring, without an outer fence": in_docstring(GOOD),
    "an ellipsis as an index": fence(GOOD.replace("state.hand, state", "state.hand[..., 0], state")),
    "a comment that says rest of before real code": fence(
        GOOD.replace("    near =", "    # rest of the terms\n    near =")
    ),
    "a comment that says same as before with nothing missing": fence(
        GOOD.replace("    near =", "    # same as before\n    near =")
    ),
    "a to-do beside real code": fence(GOOD.replace("axis=-1))", "axis=-1))  # TODO: implement smoothing")),
    "two versions in one block": fence(f"{DRAFT}\n\n{GOOD}"),
    "a simple lambda": fence(
        'compute_reward = lambda s, a, n: (-np.abs(n.hand[:, 0]), {"d": n.hand[:, 0]})\n'
    ),
    "a nested function": fence(
        "def compute_reward(s, a, n):\n    def near(x):\n        return x < 1\n\n    return near(n.x), {}\n"
    ),
    "other parameter names": fence(DRAFT.replace("next_state", "s2").replace("(state, action", "(s1, a")),
    "two versions under another name": fence(f"{DRAFT}\n\n{DRAFT}".replace("compute_reward", "my_reward")),
    "statements that share a line": fence(f"import typing; K = 2.0\n{DRAFT}print(1); print(2)\n"),
    "an entity in code that parses all the same": fence(
        DRAFT.replace("    return", "    near = next_state.hand[:, 0] &lt; 1\n    return")
    ),
    "a name with reward in it among helpers of three parameters": fence(
        "def mix(a, b, c):\n    return a + b + c\n\n\n"
        "def compute_dense_reward(s, a, n):\n    return mix(s.x, a[:, 0], n.x), {}\n"
    ),
    "a function that calls itself under its wrong name": fence(
        "def reward(s, a, n):\n    return reward(s, a, n) if a is None else (n.x, {})\n"
    ),
    "a potential beside the reward": fence(
        f"{DRAFT}\n\ndef potential(state):\n    return state.hand[:, 0]\n"
    ),
    "an apology before code": f"I'm sorry, I cannot test this, but:\n{fence(GOOD)}",
    "a smart apostrophe in a comment": fence(GOOD.replace("    near =", "    # it\u2019s near\n    near =")),
    "a local variable annotated with an unknown name": fence(GOOD.replace("effort =", "effort: Array =")),
}
"""Whole answers out of which good code comes, if not the very code above."""

FAILURES = {
    "nothing": ("", FailureCode.EMPTY),
    "white space": (" \n\t\r\n\u200b", FailureCode.EMPTY),
    "only thoughts without code": (f"<think>{PROSE}</think>\n", FailureCode.EMPTY),
    "prose": (PROSE, FailureCode.NO_CODE),
    "prose that mentions the function": ("Call `compute_reward(s, a, n)` on each step.", FailureCode.NO_CODE),
    "only a usage example": (fence(USAGE), FailureCode.NO_CODE),
    "only a shell command": (fence("pip install numpy\n", "bash"), FailureCode.NO_CODE),
    "a JSON object without code": ('{"code": "I would take the distance"}', FailureCode.NO_CODE),
    "an apology": ("I'm sorry, but I can't help with that.", FailureCode.REFUSED),
    "an apology with a curly apostrophe": ("I\u2019m sorry, but I can\u2019t do this.", FailureCode.REFUSED),
    "a refusal in other words": ("I cannot assist with this request.", FailureCode.REFUSED),
    "a body of only an ellipsis": (fence(f"{STUB}    ...\n"), FailureCode.PLACEHOLDER),
    "a body of only pass": (fence(f"{STUB}    pass  # TODO implement\n"), FailureCode.PLACEHOLDER),
    "a body of only a docstring": (fence(f'{STUB}    """Reward."""\n'), FailureCode.PLACEHOLDER),
    "a body of only a comment": (fence(f"{STUB}    # your code here\n"), FailureCode.PLACEHOLDER),
    "a body that is not implemented": (
        fence(f"{STUB}    raise NotImplementedError\n"),
        FailureCode.PLACEHOLDER,
    ),
    "an ellipsis between statements": (
        fence(GOOD.replace("    near =", "    ...\n    near =")),
        FailureCode.PLACEHOLDER,
    ),
    "an ellipsis as a value": (fence(f"{STUB}    d = ...\n    return d, {{}}\n"), FailureCode.PLACEHOLDER),
    "an ellipsis among the components": (
        fence(f"{STUB}    return state.x, {{...}}\n"),
        FailureCode.PLACEHOLDER,
    ),
    "a comment in place of the terms": (
        fence(f"{STUB}    # ... (same as before)\n    reward = reach + lift\n    return reward, {{}}\n"),
        FailureCode.PLACEHOLDER,
    ),
    "a comment in place of the return": (
        fence(f"{STUB}    d = state.x\n    # rest of code\n"),
        FailureCode.PLACEHOLDER,
    ),
    "a comment in place of a helper": (
        fence(f"# helper functions unchanged\n{STUB}    return helper(state), {{}}\n"),
        FailureCode.PLACEHOLDER,
    ),
    "a to-do and a constant": (
        fence(f"{STUB}    # TODO: implement\n    return 0.0, {{}}\n"),
        FailureCode.PLACEHOLDER,
    ),
    "a helper that is left out": (
        fence(f"def helper(x):\n    ...\n\n\n{STUB}    return helper(state), {{}}\n"),
        FailureCode.PLACEHOLDER,
    ),
    "no return": (fence(f"{STUB}    reward = -state.x\n"), FailureCode.PLACEHOLDER),
    "a missing bracket": (fence(GOOD.replace("axis=-1))", "axis=-1)")), FailureCode.SYNTAX),
    "a missing colon": (fence(GOOD.replace("next_state):", "next_state)")), FailureCode.SYNTAX),
    "another language": (
        fence("function compute_reward(s, a, n) {\n  def x(;\n  return 0\n}\n", "js"),
        FailureCode.SYNTAX,
    ),
    "two parameters": (
        fence("def compute_reward(obs, action):\n    return obs.x, {}\n"),
        FailureCode.SIGNATURE,
    ),
    "four parameters": (
        fence("def compute_reward(s, a, n, info):\n    return n.x, {}\n"),
        FailureCode.SIGNATURE,
    ),
    "a default": (fence("def compute_reward(s, a, n=None):\n    return s.x, {}\n"), FailureCode.SIGNATURE),
    "arguments by star": (
        fence("def compute_reward(*args):\n    return args[0].x, {}\n"),
        FailureCode.SIGNATURE,
    ),
    "a lambda of two": (fence("compute_reward = lambda s, a: (s.x, {})\n"), FailureCode.SIGNATURE),
    "a decorator of its own": (
        fence(f"def twice(f):\n    return f\n\n\n@twice\n{DRAFT}"),
        FailureCode.SIGNATURE,
    ),
    "an async function": (fence(f"async {DRAFT}"), FailureCode.SIGNATURE),
    "a method that uses self": (
        fence("class R:\n    def compute_reward(self, s, a, n):\n        return self.k * n.x, {}\n"),
        FailureCode.SIGNATURE,
    ),
    "a static method that uses its class": (
        fence(
            "class R:\n    K = 1\n\n    @staticmethod\n    def compute_reward(s, a, n):\n"
            "        return R.K * n.x, {}\n"
        ),
        FailureCode.SIGNATURE,
    ),
    "a function inside a factory": (
        fence(f"def make():\n{each_line(DRAFT, '    ')}    return compute_reward\n"),
        FailureCode.SIGNATURE,
    ),
    "several functions that could be meant": (
        fence("def f(a, b, c):\n    return a\n\n\ndef g(a, b, c):\n    return b\n"),
        FailureCode.SIGNATURE,
    ),
    "only a function of one parameter": (fence("def f(x):\n    return x\n"), FailureCode.SIGNATURE),
}
"""Answers without code that could be tried, and the name of what is wrong."""
