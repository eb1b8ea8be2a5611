"""Draw a table of houses: `python -m houses.draw data/raw/houses.csv`."""

import sys

import numpy as np
import pandas as pd


def draw(num_rows=2500, seed=7):
    prices = {"centre": 5.2, "harbour": 4.4, "hill": 3.6, "mill": 2.8, "station": 2.4}
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"area": random.uniform(30, 200, num_rows).round(1)})
    table["rooms"] = (table["area"] / 28 + random.normal(0, 0.7, num_rows)).round().clip(1)
    table["year"] = random.integers(1900, 2025, num_rows)
    table["district"] = random.choice(list(prices), num_rows)
    table["heating"] = random.choice(["gas", "oil", "pump"], num_rows)
    price = table["area"] * table["district"].map(prices) + 12 * table["rooms"]
    price += 40 * (table["heating"] == "pump") + (table["year"] - 1990).clip(0)
    table["price"] = (price + random.normal(0, 20, num_rows)).round(1)
    for name in ("rooms", "year", "heating"):
        table[name] = table[name].where(random.random(num_rows) > 0.08)
    return table


if __name__ == "__main__":
    draw().to_csv(sys.argv[1], index=False)
