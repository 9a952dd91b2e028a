"""What static checks accept, what they prepare, and which sources count as the same."""

import pytest

from rewardsmith.contract.static_checks import check_source, normalised_ast, prepare_source
from rewardsmith.errors import CandidateError, FailureCode

SOURCE = '''"""Reach."""
import numpy as np; import math

K: float = 5.0


def helper(values, sharp: float = 2.0) -> "array":
    """Squash."""
    return np.exp(-sharp * values)


def compute_reward(state, action, next_state):
    # the distance
    d = np.linalg.norm(next_state.a - next_state.b, axis=-1)
    try:
        pass
    except ValueError as error:
        pass
    return helper(d) * K, {"reach": d}
'''


def test_imports_are_dropped_and_lines_stay():
    prepared = prepare_source(SOURCE)
    assert "import" not in prepared
    assert prepared.splitlines()[1] == "pass; pass"
    assert prepared.splitlines()[3:] == SOURCE.splitlines()[3:]


def test_an_import_over_several_lines_keeps_the_numbers():
    source = "import \\\n    math; é = 1\nimport numpy, math\n".replace("é", "e") + SOURCE
    prepared = prepare_source(source)
    assert prepared.splitlines()[:3] == ["pass; e = 1", "", "pass"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("helper", "aid"),
        ("d = np", "distance = np"),
        ("sharp", "steepness"),
        ("# the distance", "# another comment"),
        ('"""Squash."""', '"""Other words."""'),
        ("K: float = 5.0", "K = 5.0"),
        ("values, sharp: float", "values, sharp"),
        ("import numpy as np; import math", "import math"),
        ("as error", "as problem"),
        ("\n\n\n", "\n"),
    ],
)
def test_looks_do_not_make_a_difference(old, new):
    changed = (
        SOURCE.replace("(d)", "(distance)").replace(": d}", ": distance}") if old == "d = np" else SOURCE
    )
    assert normalised_ast(changed.replace(old, new)) == normalised_ast(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("5.0", "5.1"),
        ("next_state.a", "next_state.c"),
        ('"reach"', '"goal"'),
        ("* K", "+ K"),
        ("np.exp", "np.tanh"),
    ],
)
def test_what_is_computed_makes_a_difference(old, new):
    assert normalised_ast(SOURCE.replace(old, new)) != normalised_ast(SOURCE)


def test_bare_annotations_do_not_count():
    body = "def compute_reward(s, a, n):\n    {}return s.x, {{}}\n"
    assert normalised_ast(body.format("y: int\n    ")) == normalised_ast(body.format(""))


@pytest.mark.parametrize(
    "code",
    [
        "def unused(eval):\n    return eval\n\n\ndef compute_reward(s, a, n):\n    return eval('1'), {}\n",
        "def compute_reward(s, a, n):\n    open = s.x\n    return open, {}\n",
        "def compute_reward(s, a, n):\n    for getattr in range(2):\n        pass\n    return s.x, {}\n",
        "def compute_reward(s, a, n):\n    np = s\n    return np.x, {}\n",
        "def compute_reward(s, a, n):\n    [math := s.x]\n    return math, {}\n",
    ],
)
def test_a_name_of_ones_own_must_not_be_that_of_a_builtin_or_a_module(code):
    with pytest.raises(CandidateError, match="is taken; call it otherwise"):
        check_source(code)


@pytest.mark.parametrize(
    "use",
    [
        "m = np\n    m.load('x')",
        "[np][0].load('x')",
        "f(np)",
        "l = np.linalg",
        "np.ma.core",
        "np.polynomial.polynomial",
        "np.linalg.linalg",
        "np.fft.helper",
        "np.emath.sqrt(s.x)",
        "np.lib.npyio",
        "math",
    ],
)
def test_a_module_leads_to_nothing_but_its_own_functions(use):
    with pytest.raises(CandidateError) as caught:
        check_source(
            f"def f(x):\n    return x\n\n\ndef compute_reward(s, a, n):\n    {use}\n    return s.x, {{}}\n"
        )
    assert caught.value.code == FailureCode.FORBIDDEN


@pytest.mark.parametrize(
    "use",
    [
        "np.linalg.norm(s.x, axis=-1)",
        "np.fft.rfft(s.x)",
        "np.add.reduce(s.x)",
        "math.pi * s.x",
        "np.float64(1)",
    ],
)
def test_functions_of_numpy_and_math_are_there(use):
    check_source(f"def compute_reward(s, a, n):\n    return {use}, {{}}\n")


def test_annotations_may_name_anything():
    check_source("def compute_reward(s: eval, a: type, n) -> print:\n    y: open = s.x\n    return y, {}\n")


@pytest.mark.parametrize(
    ("source", "code", "line"),
    [
        ("def compute_reward(s, a, n): return s.__dict__", FailureCode.FORBIDDEN, 1),
        ("x = __name__\ndef compute_reward(s, a, n): pass", FailureCode.FORBIDDEN, 1),
        ("from os import path\ndef compute_reward(s, a, n): pass", FailureCode.FORBIDDEN, 1),
        ("import numpy as xp\ndef compute_reward(s, a, n): pass", FailureCode.FORBIDDEN, 1),
        ("def compute_reward(s, a, n): pass\ndef potential(s, t): pass", FailureCode.SIGNATURE, 2),
        ("@f\ndef compute_reward(s, a, n): pass", FailureCode.SIGNATURE, 2),
        ("def compute_reward(s, a, *, n): pass", FailureCode.SIGNATURE, 1),
        ("def compute_reward(s, a, n, **k): pass", FailureCode.SIGNATURE, 1),
        ("if 1:\n    def compute_reward(s, a, n): pass", FailureCode.SIGNATURE, None),
        (
            "def compute_reward(s, a, n):\n    match s:\n        case int(real=[*x], _y=1): pass",
            "forbidden",
            3,
        ),
        ("x = (1,\n", FailureCode.SYNTAX, None),
        ("x = '\ud800'", FailureCode.SYNTAX, None),
        ("def compute_reward(s, a, n):\n  pass\n pass", FailureCode.SYNTAX, 3),
        ("x" + ".a" * 300 + "\n", FailureCode.SYNTAX, 1),
        ("x = 1\n" + "y = " + "1+" * 3000 + "1\n", FailureCode.SYNTAX, 2),
        ("x" + "()" * 150 + "\n", FailureCode.SYNTAX, 1),
        ("if 1:\n  pass\n" + "elif 1:\n  pass\n" * 300, FailureCode.SYNTAX, None),
    ],
)
def test_refusals_name_reason_and_line(source, code, line):
    with pytest.raises(CandidateError) as caught:
        check_source(source)
    assert caught.value.code == code
    assert (f"(line {line})" in caught.value.message) == (line is not None)


def test_positional_only_parameters_count():
    check_source("def compute_reward(s, a, /, n):\n    return s.x, {}\n")
