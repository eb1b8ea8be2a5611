"""Memory and speed of the ingest stage on CSV files of growing size.

The peak of its memory must not grow with the file.

python benchmarks/ingest.py [MB ...]
"""

import argparse
import csv
import random
import sys
from pathlib import Path

from processes import measure_process, open_folder
from ruamel.yaml import YAML

from plumbline.tasks.text_classification.data.generated import draw_ticket

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-P", str(ROOT / "pipelines/ingest.py")]
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
    print(f"{'CSV':>8} {'rows':>12} {'peak RSS':>10} {'seconds':>8} {'MB/s':>7} {'CPU s':>7}")
    for size in sizes:
        with open_folder("plumbline-ingest-") as folder:
            num_rows = _write_csv(folder / "tickets.csv", size * 10**6, tickets)
            _write_params(folder)
            cost = measure_process(COMMAND, folder)
        peaks.append(cost.peak_mb)
        print(
            f"{size:>5} MB {num_rows:>12,} {cost.peak_mb:>7.0f} MB {cost.seconds:>8.1f} "
            f"{size / cost.seconds:>7.1f} {cost.cpu_seconds:>7.1f}",
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


if __name__ == "__main__":
    main()
