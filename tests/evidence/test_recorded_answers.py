"""What candidates answer while they are scored is kept for the rehearsal, and not in memory."""

import tracemalloc

from plumbline.evidence.predictors import Recording
from plumbline.registry.package.rehearsal import Call

NUM_CALLS = 50
LONG = "x" * 1_000_000


def record(split: str) -> Recording:
    recording = Recording()
    for number in range(NUM_CALLS):
        columns = {"x": [number, -0.5]}
        answers = {"y": [f"{x} {LONG}" for x in columns["x"]]}
        recording.add_call(lambda *_: ["odd"], split, columns, {"top_k": 2}, answers)
    return recording


def test_recorded_answers_are_not_in_memory() -> None:
    tracemalloc.start()
    try:
        recordings = [record("test"), record("test")]
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(recordings) == 2
    assert kept < 20 * len(LONG)  # all answers together have 200 times that length


def test_recorded_calls_are_read_as_they_were_asked() -> None:
    recording = record("test")
    calls = recording.read_calls()
    assert calls == recording.read_calls()
    assert len(calls) == NUM_CALLS
    answers = [f'{{"y": "7 {LONG}"}}', f'{{"y": "-0.5 {LONG}"}}']
    assert calls[7] == Call({"x": [7, -0.5]}, {"top_k": 2}, answers)
    assert recording.problems == ["test: odd"] * NUM_CALLS


def test_of_validation_only_problems_are_recorded() -> None:
    recording = record("validation")
    assert recording.read_calls() == []
    assert recording.problems[0] == "validation: odd"
