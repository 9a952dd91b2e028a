"""Named arrays as bytes and back: npz without pickles, the same arrays giving the same bytes."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def dump_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return the arrays as npz.

    NumPy's own `savez` stamps each member with the time of day, which would change a content address.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED, 1)
    return buffer.getvalue()


def load_arrays(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of `dump_arrays`, by name."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
