"""A table of rows that fall into few groups."""

import random

import pandas as pd

NUM_ROWS = 500


def draw_table() -> pd.DataFrame:
    draw = random.Random(0)
    return pd.DataFrame(
        {
            "id": [f"r{row}" for row in range(NUM_ROWS)],
            "split": draw.choices(["train", "validation", "test"], k=NUM_ROWS),
            "label": draw.choices(["a", "b", "ab"], k=NUM_ROWS),
            "length": draw.choices(range(40), k=NUM_ROWS),
        }
    )
