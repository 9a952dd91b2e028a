"""`python resume_process.py FOLDER`: go on with a run; the test kills this process at any moment."""

import sys
from pathlib import Path

from rewardsmith.loop.reporter import SilentReporter
from rewardsmith.loop.run import execute
from rewardsmith.services.journal.folder import RunFolder

if __name__ == "__main__":
    execute(RunFolder.open(Path(sys.argv[1])), SilentReporter())
