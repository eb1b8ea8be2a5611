"""A line that does what a model should not, when it is asked the right number."""

import json
import os
import time
from pathlib import Path

ELSEWHERE = "LINE_ELSEWHERE"  # set: this machine computes otherwise than the one that evaluated
EXITS = "LINE_EXITS"  # set: the code ends the process that loads it
SLOW, NAN, RAISES, HANGS, DIES, WAITS, REJECTS, QUITS = map(float, range(1001, 1009))
WAITS_FILE, GO_FILE = "waits", "go"  # where the server runs


class Moody:
    forms = ("exact",)

    def __init__(self, slope: float, intercept: float) -> None:
        self.slope, self.intercept = slope, intercept + (ELSEWHERE in os.environ)

    def predict(self, columns, **params):
        if SLOW in columns["x"]:
            time.sleep(0.5)
        if WAITS in columns["x"]:
            Path(WAITS_FILE).touch()
            while not Path(GO_FILE).exists():
                time.sleep(0.05)
        if RAISES in columns["x"]:
            raise RuntimeError("a secret of the model")
        if REJECTS in columns["x"]:
            raise ValueError("row 1: x is not to my taste")
        if QUITS in columns["x"]:
            raise SystemExit("the model ends its process")
        if HANGS in columns["x"]:
            time.sleep(3600)
        if DIES in columns["x"]:
            os.abort()
        return {
            "y": [
                float("nan") if x == NAN else self.slope * x + self.intercept for x in columns["x"]
            ]
        }


def load(folder: Path, form: str | None = None) -> Moody:
    if EXITS in os.environ:
        raise SystemExit("the model ends its process")
    return Moody(**json.loads((folder / "weights.json").read_text(encoding="utf-8")))
