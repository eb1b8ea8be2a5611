"""Lets tasks of Spark be the processes of a training. With the address of your Spark:

    export PLUMBLINE_LAUNCH="spark-submit --master spark://HOST:7077 deploy/launchers/on_spark.py"

Executors need the same environment, and the folder of the checkout under the same path.
"""

import os
import runpy
import sys
from pathlib import Path

from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import SparkSession

PASSED_ON = ("PLUMBLINE_", "MLFLOW_", "DVC_", "PYTHONSAFEPATH", "OMP_NUM_THREADS")


def main() -> None:
    """Run the script and its arguments in as many barrier tasks as there are processes."""
    spark = SparkSession.builder.appName("plumbline").getOrCreate()
    uses_gpu = spark.conf.get("spark.task.resource.gpu.amount", None) is not None
    variables = {name: os.environ[name] for name in os.environ if name.startswith(PASSED_ON)}
    TorchDistributor(
        num_processes=int(os.environ["PLUMBLINE_PROCESSES"]), local_mode=False, use_gpu=uses_gpu
    ).run(run_script, str(Path.cwd()), variables, sys.argv[1:])


def run_script(folder: str, variables: dict[str, str], command: list[str]) -> None:
    """Run in a process that torchrun started in a task."""
    os.chdir(folder)
    os.environ.update(variables)
    sys.argv = command
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    main()
