"""How long the long tests are: shorter by default, in full where REWARDSMITH_LONG_TESTS=1 asks for it."""

import os

IS_LONG = os.environ.get("REWARDSMITH_LONG_TESTS", "") not in ("", "0")
