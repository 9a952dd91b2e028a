"""NumPy works behind the lock, where nothing can be loaded any more."""

import numpy as np
import pytest

from rewardsmith.errors import CandidateError
from rewardsmith.services.sandbox.base import SandboxLimits
from rewardsmith.services.sandbox.local import LocalSandbox
from sandbox.helpers import SPEC, batch, candidate

LIMITS = SandboxLimits()

EXPRESSIONS = [
    "np.linalg.inv(m)", "np.linalg.eigh(m)", "np.linalg.lstsq(m, v)", "np.linalg.svd(m)",
    "np.linalg.det(m)", "np.linalg.qr(m)", "np.linalg.pinv(m)", "np.linalg.matrix_rank(m)",
    "np.linalg.norm(m, ord=2)", "np.linalg.multi_dot([m, m, m])", "np.linalg.cholesky(m)",
    "np.linalg.eigvals(m)", "np.cross(v, v[::-1])", "np.fft.fft(v)", "np.fft.irfft(v)",
    "np.einsum('ij,jk,kl->il', m, m, m, optimize=True)", "np.tensordot(m, m)", "np.kron(m, m)",
    "np.outer(v, v)", "np.ones((300, 300)) @ np.ones((300, 300))", "np.median(m)", "np.percentile(m, 30)",
    "np.quantile(m, 0.3, axis=0)", "np.nanmean(m)", "np.nanmax(m)", "np.nanmedian(m)",
    "np.nanpercentile(m, 5)", "np.histogram(v)", "np.histogram2d(v, v)", "np.digitize(v, v)",
    "np.bincount([1, 2])", "np.cov(m)", "np.corrcoef(m)", "np.interp(v, v, v)", "np.gradient(v)",
    "np.diff(v)", "np.trapezoid(v)", "np.convolve(v, v)", "np.polyfit(v, v, 1)", "np.polyval([1, 2], v)",
    "np.roots([1, -3, 2])", "np.poly1d([1, 2])(v)", "np.polynomial.Polynomial([1, 2])(v)",
    "np.polynomial.chebyshev.chebval(v, [1, 2])", "np.unique(v, return_counts=True)", "np.isin(v, v)",
    "np.union1d(v, v)", "np.setdiff1d(v, v)", "np.sort(v)", "np.argsort(v, kind='stable')",
    "np.lexsort((v, v))", "np.partition(v, 1)", "np.searchsorted(v, 2.0)", "np.select([v > 1], [v])",
    "np.piecewise(v, [v > 1], [1.0, lambda x: x])", "np.choose([0, 1], [v[:2], v[:2]])", "np.where(v > 1)",
    "np.vectorize(lambda x: x + 1)(v)", "np.apply_along_axis(np.sum, 0, m)", "np.pad(v, 2, mode='reflect')",
    "np.pad(v, 2)", "np.roll(v, 1)", "np.lib.stride_tricks.sliding_window_view(v, 2)", "np.meshgrid(v, v)",
    "np.mgrid[0:2, 0:2]", "np.r_[v, v]", "np.c_[v, v]", "np.ix_([0], [1])", "np.block([[m, m]])",
    "np.stack([v, v])", "np.array_split(v, 2)", "np.insert(v, 1, 2.0)", "np.delete(v, 1)",
    "np.append(v, 1.0)", "np.tile(v, 2)", "np.repeat(v, 2)", "np.clip(v, 0, 1)", "np.allclose(v, v)",
    "np.isclose(v, v)", "np.nan_to_num(v)", "np.emath.sqrt(-v)", "np.logaddexp(v, v)", "np.hypot(v, v)",
    "np.arctan2(v, v)", "np.unwrap(v)", "np.sinc(v)", "np.i0(v)", "np.heaviside(v, 0.5)",
    "np.add.at(v.copy(), [0], 1.0)", "np.maximum.reduce(v)", "np.add.accumulate(v)",
    "np.add.reduceat(v, [0, 1])", "np.cumsum(v)", "np.prod(v)", "np.ptp(v)", "np.average(v, weights=v)",
    "np.floor_divide(v, 2)", "np.divmod(v, 2)", "np.float32(v[0])", "v.astype(np.float16)", "v.astype(str)",
    "np.array2string(m, precision=2)", "str(np.ones((60, 60)))", "f'{np.float64(1.5)!r}'",
    "f'{v[0]:.3f} {v} {m.shape}'", "'%s' % v", "np.finfo(float).eps", "np.iinfo(int).max", "np.errstate()",
    "np.broadcast_to(v, (2, 3))", "np.broadcast_arrays(v, m)", "np.ndindex(2, 2)",
    "list(np.ndenumerate(v))", "np.triu(m)", "np.tril_indices(3)", "np.diag(v)", "np.trace(m)", "np.eye(3)",
    "np.linspace(0, 1, 5)", "np.geomspace(1, 2, 3)", "np.count_nonzero(v)", "np.flatnonzero(v)",
    "np.argmax(v)", "np.packbits([1, 0])", "np.dtype([('a', float)])",
    "np.zeros(2, dtype=[('a', float)])['a']", "np.strings.upper(np.array(['a']))",
    "np.datetime64('2020-01-01')", "math.gamma(2.5)", "math.dist([1], [2])", "'ä'.upper()", "'a b'.split()",
    "'é'.encode('latin-1')", "int('3') + float('1.5')", "sum(x for x in v)", "{x: 1 for x in v}",
    "np.matvec(m, v)" if hasattr(np, "matvec") else "v",
]  # fmt: skip

MISTAKES = [
    ("np.ones(2) + np.ones(3)", "could not be broadcast"),
    ("np.linalg.inv(np.zeros((2, 2)))", "LinAlgError: Singular matrix"),
    ("np.ones(2).reshape(3)", "cannot reshape"),
    ("np.concatenate([1, 2])", "zero-dimensional"),
    ("np.ones(3)[5]", "out of bounds"),
    ("np.nothing", "no attribute 'nothing'"),
    ("np.array(['a']) - 2", "UFunc"),
    ("np.sum(v, axis=3)", "AxisError"),
    ("np.zeros(2, dtype='nonsense')", "not understood"),
]


@pytest.fixture(scope="module")
def sandbox():
    with LocalSandbox() as backend:
        yield backend


def test_ordinary_numpy_runs_behind_the_lock(sandbox):
    setup = "m = np.eye(3) * 2\nv = np.array([1.0, 2.0, 3.0])\nout = []\n"
    body = setup + "".join(f"out.append({expression})\n" for expression in EXPRESSIONS)
    with sandbox.open(candidate(body + "return state.speed, {}"), SPEC, LIMITS) as process:
        assert process.call(batch(2)).reward.shape == (2,)
        assert process.printed() == ""


@pytest.mark.parametrize(("expression", "text"), MISTAKES)
def test_numpy_explains_mistakes_behind_the_lock(sandbox, expression, text):
    source = candidate(f"v = np.ones(2)\nreturn {expression}, {{}}")
    with sandbox.open(source, SPEC, LIMITS) as process, pytest.raises(CandidateError, match=text):
        process.call(batch(2))
