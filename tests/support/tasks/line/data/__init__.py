"""Points on a line, with noise."""

from pathlib import Path

import numpy as np
import pandas as pd

from plumbline.contract.task import SPLITS


def ingest(params, examples: Path, manifest: Path) -> dict:
    rng = np.random.default_rng(params.seed)
    x = rng.uniform(-1, 1, params.data.num_rows)
    y = 2 * x + 1 + rng.normal(0, params.data.noise, len(x))
    split = np.array(SPLITS)[np.arange(len(x)) % 3]
    table = pd.DataFrame({"id": [f"p{i}" for i in range(len(x))], "split": split, "x": x, "y": y})
    for name, part in table.groupby("split"):
        part.to_parquet(examples / f"{name}.parquet", index=False)
    side = np.where(x > 0, "right", "left")
    facts = {"label": side, "length": 1, "digest": table["id"], "side": side}
    table.assign(**facts).drop(columns="y").to_parquet(manifest, index=False)
    return {"rows_read": len(x)}


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    for split in ("train", "validation"):
        table = read_points(examples, split).head(max_rows)
        table["y"] = np.random.default_rng(seed).permutation(table["y"])
        table.to_parquet(target / f"{split}.parquet", index=False)


def list_rows(examples: Path, split: str) -> pd.DataFrame:
    rows = read_points(examples, split).drop(columns=["split", "y"])
    return rows.assign(label=np.where(rows["x"] > 0, "right", "left"))


def read_inputs(examples: Path, split: str) -> dict[str, list[float]]:
    return {"x": read_points(examples, split)["x"].tolist()}


def read_points(examples: Path, split: str) -> pd.DataFrame:
    return pd.read_parquet(examples / f"{split}.parquet")
