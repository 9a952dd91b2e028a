"""Watching processes end."""

import time

import psutil


def is_gone(pid):
    """Whether a process has ended or does so within a moment; no one may have asked yet how."""
    for _ in range(300):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False
