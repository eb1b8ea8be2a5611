"""CPU seconds to search 30,000 generated tickets for test rows that are nearly in earlier splits.

python benchmarks/leaks.py [ROWS]
"""

import argparse
import random
import time

import pandas as pd
import pyarrow as pa

from plumbline.contract.row_groups import BATCH_ROWS
from plumbline.contract.rows import ROW, RowBatches, read_rows
from plumbline.tasks.text_classification.data import normalise
from plumbline.tasks.text_classification.data.generated import draw_ticket
from plumbline.tasks.text_classification.expectations.duplicates import find_near_leaks

SHARES = {"train": 0.65, "validation": 0.15, "test": 0.2}


def main() -> None:
    """Print how many rows are searched, what is found, and the CPU seconds."""
    parser = argparse.ArgumentParser(description="CPU seconds of the search for near copies.")
    parser.add_argument("rows", metavar="ROWS", type=int, nargs="?", default=30_000)
    num_rows = parser.parse_args().rows
    rows = draw_rows(num_rows)
    start = time.process_time()
    findings = find_near_leaks(rows, "test", ("train", "validation"))
    seconds = time.process_time() - start
    print(f"{num_rows:,} rows: {len(findings):,} near copies, {seconds:.1f} CPU s")


def draw_rows(num_rows: int) -> RowBatches:
    """Draw tickets, and divide them at random."""
    texts = [draw_ticket(random.Random(number), 0.0).text for number in range(num_rows)]
    rows = pd.DataFrame({"text": texts})
    rows["id"] = [f"r{row}" for row in range(num_rows)]
    rows["split"] = random.Random(0).choices(list(SHARES), list(SHARES.values()), k=num_rows)
    rows["normal"] = rows["text"].map(normalise)
    rows["compact"] = rows["normal"].str.replace(" ", "")
    rows[ROW] = range(num_rows)
    table = pa.Table.from_pandas(rows, preserve_index=False)
    return read_rows(lambda: iter(table.to_batches(BATCH_ROWS)))


if __name__ == "__main__":
    main()
