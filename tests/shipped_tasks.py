"""Which of the shipped tasks the slower tests look at."""

import os

from rewardsmith.services.tasks.catalog import find_task_folders

OF_ONE_MAKE = ("drawer-open", "plate-slide", "peg-insert-side", "reach", "sweep-into")
"""Meta-World's tasks are alike; all of them are looked at where REWARDSMITH_LONG_TESTS=1 is set."""

SOME_OF_EACH_SUITE = [
    name
    for name in find_task_folders()
    if not name.startswith("metaworld/")
    or name.split("/")[1] in OF_ONE_MAKE
    or os.environ.get("REWARDSMITH_LONG_TESTS") == "1"
]
