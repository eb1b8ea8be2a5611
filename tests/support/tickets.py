"""A small file of tickets that a linear model learns: what a user brings to `plumbline init`."""

import random
from pathlib import Path

import pandas as pd

SIGNS = {
    "billing": ["invoice", "charged", "refund", "payment", "amount", "price"],
    "delivery": ["parcel", "late", "courier", "tracking", "arrived", "address"],
    "login": ["password", "locked", "account", "reset", "code", "browser"],
}
SYLLABLES = ["ba", "ko", "li", "mu", "ne", "ro", "sa", "ti", "vu", "za"]
OTHERS = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES[:3]]
COMMON = ["the", "my", "is", "please", "and", "it", "for", "hello"]


def write_tickets(path: Path, num_rows: int) -> Path:
    """Write a CSV file with the columns id, body and queue."""
    draw, rows = random.Random(1), []
    for number in range(num_rows):
        label = sorted(SIGNS)[number % 3]
        words = draw.sample(SIGNS[label], 3) + draw.sample(COMMON, 3) + draw.sample(OTHERS, 6)
        draw.shuffle(words)
        rows.append({"id": number, "body": " ".join(words), "queue": label})
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def write_set_tickets(path: Path, num_rows: int) -> None:
    """Write a CSV file of tickets about up to three matters, with the columns body and queues."""
    draw, rows = random.Random(1), []
    for _ in range(num_rows):
        labels = draw.sample(sorted(SIGNS), draw.randrange(len(SIGNS) + 1))
        words = draw.sample(COMMON, 3) + draw.sample(OTHERS, 6)
        for label in labels:
            words += draw.sample(SIGNS[label], 3)
        draw.shuffle(words)
        rows.append({"body": " ".join(words), "queues": ";".join(labels) or "(none)"})
    pd.DataFrame(rows).to_csv(path, index=False)
