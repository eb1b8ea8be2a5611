"""What the clean process runs: it writes a package, asks it, and writes down what it answered.

rehearsal.py passes its text to an isolated Python, so it imports nothing of plumbline. First it
takes away what a user of the model does not have: packages that the model does not require.
"""

import contextlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

MAX_SINGLES_S = 2.0  # of asking rows one by one
MIN_SINGLES = 100  # that are asked in any case
NUM_TIMED = 3  # calls with the longest input,
MAX_TIMED_S = 1.0  # if the first ones do not take longer


def main(folder: str) -> None:
    """Write the package that asked.json in `folder` describes; ask it that file and rows.json.

    The answers are written to answered.json.
    """
    asked = json.loads(Path(folder, "asked.json").read_text(encoding="utf-8"))
    for name in asked["blocked"]:
        sys.modules[name] = None  # type: ignore[assignment]  # importing it is an error
    import mlflow
    import pandas as pd

    package = str(Path(folder, "package"))
    mlflow.pyfunc.save_model(package, **build_arguments(asked["described"]))
    model = mlflow.pyfunc.load_model(package)
    # Asked where the time of MLflow is in the way.
    predictor = model.unwrap_python_model().predictor

    def ask(columns: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, list[Any]]:
        table = model.predict(pd.DataFrame(columns), params=dict(params))
        answers: dict[str, list[Any]] = table.to_dict("list")
        return answers

    golden = asked["golden"]
    result: dict[str, Any] = {"answers": ask(golden["inputs"], golden["params"])}
    result["errors"] = collect_errors(ask, asked["faulty"], golden["params"])
    result["longest_ms"], result["longest_error"] = time_longest(predictor, asked["longest"])
    result["rss_mb"] = read_peak_memory() / 1e6  # before the rows of the test split are in memory
    rows = json.loads(Path(folder, "rows.json").read_text(encoding="utf-8"))
    result["batches"] = [list_rows(ask(**question)) for question in rows["batches"]]
    result["singles"] = answer_singles(predictor, rows["singles"])
    with Path(folder, "answered.json").open("w", encoding="utf-8") as file:
        json.dump(result, file, default=convert)


def build_arguments(described: Mapping[str, Any]) -> dict[str, Any]:
    """Build the arguments with which MLflow saves or logs a package."""
    import pandas as pd
    from mlflow.models import ModelSignature

    return dict(described) | {
        "signature": ModelSignature.from_dict(described["signature"]),
        "input_example": pd.DataFrame(described["input_example"]),
    }


def collect_errors(
    ask: Any, faulty: Mapping[str, Any], params: Mapping[str, Any]
) -> dict[str, str]:
    """Return the error that each faulty input gets; an empty one where it is answered."""
    errors = {}
    for name, columns in faulty.items():
        try:
            ask(columns, params)
            errors[name] = ""
        except Exception as error:  # noqa: BLE001  any error is a refusal
            errors[name] = str(error).strip() or type(error).__name__
    return errors


def time_longest(
    predictor: Any, columns: Mapping[str, Any] | None
) -> tuple[float | None, str | None]:
    """Return the milliseconds of the fastest of several calls with the longest input, or why not.

    None and None where no longest input is asked.
    """
    if columns is None:
        return None, None
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < NUM_TIMED and (not times or time.perf_counter() - start < MAX_TIMED_S):
        try:
            times.append(time_call(lambda: predictor.predict(columns))[0])
        except Exception as error:  # noqa: BLE001  the model's own code
            return None, f"{type(error).__name__}: {error}"
    return min(times), None


def time_call(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the milliseconds that `call` takes where no other program wants a CPU, and took here.

    The first are at least the second less what threads of this process waited for a CPU, which
    Linux counts, and at least its CPU time, divided among all CPUs.
    """
    opened = read_idle_seconds()
    before, computed, start = read_waited_seconds(), time.process_time(), time.perf_counter()
    outside = read_idle_seconds() - opened
    call()
    seconds = time.perf_counter() - start
    closed = read_idle_seconds()
    computed = time.process_time() - computed
    waited = sum(now - before.get(name, 0.0) for name, now in read_waited_seconds().items())
    outside += read_idle_seconds() - closed  # waited, but not in the call
    least = max(seconds - max(waited - outside, 0.0), computed / count_cpus())
    return 1000 * min(least, seconds), 1000 * seconds


def read_idle_seconds() -> float:
    """Return the seconds that this thread had no CPU, counted from an arbitrary start."""
    return time.perf_counter() - time.thread_time()


def read_waited_seconds() -> dict[str, float]:
    """Return for how long each thread of this process was ready, and had no CPU.

    Empty where the system does not say so.
    """
    seconds = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # the thread has ended
            nanoseconds = int(path.read_text(encoding="utf-8").split()[1])
            seconds[path.parent.name] = nanoseconds / 1e9
    return seconds


def count_cpus() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_peak_memory() -> int:
    """Return the bytes that this process has had at most."""
    try:  # Linux: its ru_maxrss is at least the peak of the process that started this one
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        status = dict(line.split(":", 1) for line in lines)
        return int(status["VmHWM"].split()[0]) * 1024
    except (FileNotFoundError, KeyError):  # macOS: in bytes
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def answer_singles(predictor: Any, questions: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Answer one row after another until the time is over."""
    rows: list[list[str]] = []
    start = time.monotonic()
    for question in questions:
        if len(rows) >= MIN_SINGLES and time.monotonic() - start > MAX_SINGLES_S:
            break
        rows.append(list_rows(predictor.predict(question["columns"], **question["params"])))
    return rows


def list_rows(answers: Mapping[str, list[Any]]) -> list[str]:
    """Return the answer of each row as JSON."""
    rows = zip(*answers.values(), strict=True)
    return [json.dumps(dict(zip(answers, row, strict=True)), default=convert) for row in rows]


def convert(value: Any) -> Any:
    """Return an array or a number of NumPy as JSON has it."""
    return value.tolist()


if __name__ == "__main__":
    main(*sys.argv[1:])
