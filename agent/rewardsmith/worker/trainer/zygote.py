"""The trainer's warm process: everything imported once, environments made, a fork for each job.

Run as `python -m rewardsmith.worker.trainer.zygote TASK_JSON FD`.
"""

import json
import socket
import sys
from typing import Any

import torch

from rewardsmith.errors import RewardsmithError
from rewardsmith.services.sandbox.client import RewardClient
from rewardsmith.services.sandbox.cores import FollowingClient
from rewardsmith.services.tasks.schema import Task
from rewardsmith.worker.forkserver import serve
from rewardsmith.worker.trainer.jobs import SocketChannel, run_job
from rewardsmith.worker.trainer.measures import Measures
from rewardsmith.worker.trainer.taskenv import EnvMaker


def warm_up() -> None:
    """Do what torch puts off until its first optimiser step, so that no child pays for it."""
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.Adam([weight])
    torch.autograd.backward(weight.sum())
    optimiser.step()


def main(argv: list[str]) -> int:
    """Prepare the task's environment, then serve forks until the driver goes away."""
    control = socket.socket(fileno=int(argv[1]))
    task = Task.model_validate_json(argv[0])
    try:
        maker, measures = EnvMaker(task), Measures(task)
        maker.prepare(2 * task.file.training.n_envs)
    except RewardsmithError as error:
        control.send(json.dumps({"refusal": str(error)}).encode())
        return 2
    warm_up()

    def run(job: dict[str, Any], fds: list[int]) -> None:
        client = RewardClient.from_wire(job["box"], fds[1:]) if job.get("box") else None
        with socket.socket(fileno=fds[0]) as connection:
            channel = SocketChannel(connection)
            run_job(job, maker, measures, channel, FollowingClient(client) if client else None)

    serve(control, run)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
