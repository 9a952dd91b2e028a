# kind: answers too late
# entry: raw
# expect: timeout
# control: none: the caller refuses it, locked or not
import os
import struct
import sys
import time

import numpy as np

ANSWER = struct.Struct("<QIIIIIQ")


def server():
    frame, found = sys._getframe(), {}
    while frame is not None:
        if type(frame.f_locals.get("self")).__name__ == "RewardServer":
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def send(seq, status=0, n=8, k=0, version=0, text=0):
    os.write(server()["self"]._answer_fd, ANSWER.pack(seq, status, n, k, version, text, 0))


def write_text(data):
    this = server()["self"]
    start = this._geometry.text_offset
    this._answer[start : start + len(data)] = data


def compute_reward(state, action, next_state):
    seq = server()["seq"]
    time.sleep(2)
    return np.zeros(len(action)), {}
