"""Lets workers of Ray Train be the processes of a training, in the cluster that RAY_ADDRESS names:

    export PLUMBLINE_LAUNCH="python deploy/launchers/on_ray.py"

Machines need the same environment, and the folder of the checkout under the same path.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import ray
from ray.train import ScalingConfig
from ray.train.collective import broadcast_from_rank_zero
from ray.train.torch import TorchTrainer

PASSED_ON = ("PLUMBLINE_", "MLFLOW_", "DVC_", "PYTHONSAFEPATH", "OMP_NUM_THREADS")


def main() -> None:
    """Run the script and its arguments in as many workers as there are processes."""
    ray.init(log_to_driver=True)
    variables = {name: os.environ[name] for name in os.environ if name.startswith(PASSED_ON)}
    config = {"folder": str(Path.cwd()), "variables": variables, "command": sys.argv[1:]}
    processes = int(os.environ["PLUMBLINE_PROCESSES"])
    use_gpu = ray.cluster_resources().get("GPU", 0) >= processes
    scaling = ScalingConfig(num_workers=processes, use_gpu=use_gpu)
    TorchTrainer(run_script, train_loop_config=config, scaling_config=scaling).fit()


def run_script(config: dict[str, Any]) -> None:
    """Run in a worker, in a process of its own: the worker's has threads, and holds MASTER_PORT."""
    port = broadcast_from_rank_zero(find_free_port())
    variables = {**os.environ, **config["variables"], "MASTER_PORT": port}
    command = [sys.executable, "-P", *config["command"]]
    subprocess.run(command, cwd=config["folder"], env=variables, check=True)


def find_free_port() -> str:
    """Find a port that nothing listens on here, for the first process."""
    with socket.socket() as free:
        free.bind(("", 0))
        return str(free.getsockname()[1])


if __name__ == "__main__":
    main()
