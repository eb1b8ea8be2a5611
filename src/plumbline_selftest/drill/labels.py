"""Answers of some days ago, and the labels that came back for them."""

import csv
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from plumbline.process.files import read_json
from plumbline_selftest.drill.scene import Scene
from plumbline_selftest.protocol import SourceRow

LOG = "answers"
OUTCOMES = Path("reports/outcomes.json")


def answer_and_label(scene: Scene, rows: Sequence[SourceRow], days: int, *options: str) -> float:
    """Serve `rows`, let `days` pass, write their labels; return the share of right answers."""
    scoring: Any = scene.task.scoring
    before = set((scene.folder / LOG).glob("*"))
    with scene.run_server("--log-folder", LOG, *options) as server:
        answers = server.ask_singly(rows)
    if days:
        for path in set((scene.folder / LOG).glob("*")) - before:
            _set_back(path, timedelta(days=days))
        scene.say(f"     {days} days pass: the times in the log are set back, and nothing else")
    with (scene.folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["request_id", "label"])
        for (request_id, _), row in zip(answers, rows, strict=True):
            writer.writerow([request_id, row["label"]])
    right = [
        scoring.score_answer(answer, row["label"])
        for (_, answer), row in zip(answers, rows, strict=True)
    ]
    return float(sum(right) / len(right))


def read_live_score(scene: Scene) -> tuple[float, float]:
    """The interval of the champion's live score in reports/outcomes.json."""
    score = read_json(scene.folder / OUTCOMES)["champion"]
    return score["low"], score["high"]


def _set_back(path: Path, wait: timedelta) -> None:
    """Write a file of the log as if it were older, under the name that it would have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    place = table.schema.get_field_index("at")
    times = [time - wait for time in table["at"].to_pylist()]
    older = table.set_column(place, table.field("at"), pa.array(times, table.field("at").type))
    written = datetime.now(UTC) - wait
    pq.write_table(older, path.with_name(f"requests-{written:%Y%m%dT%H%M%S}-{path.name[-20:]}"))
    path.unlink()
