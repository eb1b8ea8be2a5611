"""What a server of lines logs."""

from pathlib import Path

import pandas as pd


def write_requests(folder: Path, day: int, low: float, num_rows: int = 300) -> None:
    """A day's log of requests to version 1, as the server writes it."""
    folder.mkdir(exist_ok=True)
    x = [low + (row + day / 10) / 301 * (1 - low) for row in range(num_rows)]
    at = pd.Timestamp.now(tz="UTC")
    about = {"at": at, "model": "line", "version": "1", "side": "champion", "ms": 1.0}
    pd.DataFrame({"input.x": x, "output.y": [2 * one + 1 for one in x]}).assign(**about).to_parquet(
        folder / f"requests-{at:%Y%m%dT%H%M%S}-1-{day}.parquet"
    )
