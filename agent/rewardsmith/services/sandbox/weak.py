"""The subprocess backend: limits on CPU, memory and output, another user where possible, and no walls.

For systems on which neither the lock nor Docker works. Code that means harm can do it: it can read files, use
the network and start processes. So this backend is never chosen by itself, and its reports say what it is.
"""

from rewardsmith.services.launching import LaunchHere
from rewardsmith.services.sandbox.base import SelfTest
from rewardsmith.services.sandbox.forked import ForkedSandbox


class SubprocessSandbox(ForkedSandbox):
    """Starts one process per candidate that is limited, and not locked."""

    is_weak = True

    def __init__(self) -> None:
        super().__init__(
            "subprocess", LaunchHere(), arguments=("weak",), features={"isolation": "limits only"}
        )

    def self_test(self) -> SelfTest:
        """Return which denials hold; that most of them do not is what this backend is."""
        test = super().self_test()
        return SelfTest(backend=test.backend, probes=test.probes, features=test.features, is_weak=True)
