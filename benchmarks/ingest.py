"""Memory and speed of the ingest stage on CSV files of growing size.

The peak of its memory must not grow with the file.

python benchmarks/ingest.py [MB ...]
"""

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ruamel.yaml import YAML

from plumbline.tasks.text_classification.data.generated import draw_ticket

ROOT = Path(__file__).resolve().parents[1]
NUM_TICKETS = 20_000  # drawn once; rows repeat them with a number of their own


def main() -> None:
    """Print one line a size, then the ratio of the largest peak to the smallest."""
    parser = argparse.ArgumentParser(
        description="Peak memory and speed of the ingest stage on CSV files."
    )
    parser.add_argument("sizes", metavar="MB", type=int, nargs="*", default=[50, 150, 500])
    sizes = parser.parse_args().sizes
    tickets = [draw_ticket(random.Random(number), 0.0) for number in range(NUM_TICKETS)]
    peaks = []
    print(f"{'CSV':>8} {'rows':>12} {'peak RSS':>10} {'seconds':>8} {'MB/s':>7}")
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="plumbline-ingest-") as folder:
            num_rows = _write_csv(Path(folder) / "tickets.csv", size * 10**6, tickets)
            _write_params(Path(folder))
            peak, seconds = _run_ingest(Path(folder))
        peaks.append(peak)
        print(
            f"{size:>5} MB {num_rows:>12,} {peak:>7.0f} MB {seconds:>8.1f} {size / seconds:>7.1f}",
            flush=True,
        )
    print(f"peak RSS, largest to smallest: {max(peaks) / min(peaks):.2f}")


def _write_csv(path: Path, num_bytes: int, tickets: list) -> int:
    number = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "channel"])
        while file.tell() < num_bytes:
            ticket = tickets[number % len(tickets)]
            number += 1
            writer.writerow([f"{ticket.text} ({number})", ticket.intent, ticket.channel])
    return number


def _write_params(folder: Path) -> None:
    yaml = YAML(typ="safe")
    params = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["data"] |= {"source": "tickets.csv", "watch": "tickets.csv"}
    params["data"]["columns"]["metadata"] = ["channel"]
    params["evaluation"]["slices"] = ["channel"]
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(params, file)


def _run_ingest(folder: Path) -> tuple[float, float]:
    """Run the real stage in a separate process; return peak RSS in MB and seconds."""
    start = time.perf_counter()
    command = [sys.executable, "-P", str(ROOT / "pipelines/ingest.py")]
    process = subprocess.Popen(command, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    # wait4 has taken the status, so Popen can no longer ask for it.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"ingest failed with exit code {process.returncode}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return kilobytes * 1024 / 1e6, time.perf_counter() - start


if __name__ == "__main__":
    main()
