"""A warm process for the tests of the fork server: `python -m trainer.sleepy_jobs MODE FD`."""

import os
import signal
import socket
import subprocess
import sys
import time

from rewardsmith.worker.forkserver import serve


def run(job, fds):
    """Do what the job says, and tell so through its first descriptor."""
    what = job["do"]
    if what == "report":
        text = f"{job['text']} {os.getpgrp() == os.getpid()} {os.getppid()} {sorted(os.environ)}"
        os.write(fds[0], text.encode())
    elif what == "exit":
        os._exit(job["code"])
    elif what == "hang up":
        os.close(fds[0])
        time.sleep(0.2)
        os._exit(job["code"])
    elif what == "raise":
        raise RuntimeError("the job is broken")
    elif what == "die":
        os.kill(os.getpid(), job["signal"])
    elif what == "burn":
        block = bytearray(64 * 1024 * 1024)
        end = time.process_time() + job["cpu_s"]
        while time.process_time() < end:
            block[0] ^= 1
    elif what == "sleep":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        grandchild = subprocess.Popen(["sleep", "60"])
        os.write(fds[0], str(grandchild.pid).encode())
        time.sleep(60)


if __name__ == "__main__":
    if sys.argv[1] == "fails":
        sys.exit("the libraries are missing")
    if sys.argv[1] == "hangs":
        time.sleep(60)
    serve(socket.socket(fileno=int(sys.argv[2])), run)
