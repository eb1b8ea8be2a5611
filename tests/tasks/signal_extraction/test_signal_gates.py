"""The right gate refuses what is too good to be true, leaks, or is no better than a filter."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.small_signals import asked, small_params, write_examples

from plumbline.contract.task import Columns, Predictor
from tasks.signal_extraction.data.windows import read_windows, write_windows
from tasks.signal_extraction.models.fir import solve_filters
from tasks.signal_extraction.params import SignalParams
from tasks.signal_extraction.predictor import Filters, Row
from tasks.signal_extraction.scoring.scores import score
from tasks.signal_extraction.task import TASK


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[SignalParams, Path]:
    """Examples with enough windows for filters of as many taps as a window has samples."""
    realisations = {"train": 3000, "validation": 60, "test": 800}
    params = small_params(window=100, realisations=realisations)
    return params, write_examples(params, tmp_path_factory.mktemp("drawn"))


class Knows:
    """Answers with what it has by heart, and an error of the size `mse`."""

    forms = ("exact",)

    def __init__(self, examples: Path, mse: float) -> None:
        self._answers: dict[Any, np.ndarray] = {}
        random = np.random.default_rng(0)
        for split in ("train", "test"):
            found = read_windows(examples, split)
            for signal, parts in zip(found.signals, found.components, strict=True):
                for frequency, part in zip(found.setting.frequencies_hz, parts, strict=True):
                    said = part + random.normal(0, np.sqrt(mse), len(part))
                    self._answers[signal.tobytes(), frequency] = said

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        pairs = zip(columns["signal"], columns["frequency_hz"], strict=True)
        return {"component": [self._answers[np.array(s).tobytes(), f] for s, f in pairs]}


class Linear:
    """The FIR of equal context, on so many taps."""

    forms = ("exact",)

    def __init__(self, examples: Path, taps: int) -> None:
        train = read_windows(examples, "train")
        self._frequencies = list(train.setting.frequencies_hz)
        self._filters = Filters(solve_filters(train.signals, train.components, taps, 1e-3))

    def predict(self, columns: Columns, **_: Any) -> dict[str, list[Any]]:
        pairs = zip(columns["signal"], columns["frequency_hz"], strict=True)
        rows = [Row(np.array(s), self._frequencies.index(f), np.empty(0)) for s, f in pairs]
        return {"component": [said for said, _ in self._filters.answer(rows)]}


def _scores(examples: Path, predictor: Predictor) -> np.ndarray:
    return score(examples, "test", predictor).per_example["mse"]


@pytest.mark.slow
@pytest.mark.parametrize(("share", "status"), [(0.5, "fail"), (1.1, "pass"), (3.0, "pass")])
def test_less_than_the_floor_is_too_good_to_be_true(
    drawn: tuple[SignalParams, Path], share: float, status: str
) -> None:
    params, examples = drawn
    bound = TASK.scoring.compute_bound(params, examples, "test")
    assert isinstance(bound.limit, float)
    claimed = _scores(examples, Knows(examples, share * bound.limit))
    gate = asked("bounds", params, winner=claimed, bound=bound)
    assert gate.status == status, gate.reason
    assert ("too good to be true" in gate.reason) == (status == "fail")


def test_a_window_on_both_sides_is_refused_by_leakage(tmp_path: Path) -> None:
    params = small_params()
    examples = write_examples(params, tmp_path)
    leaks = TASK.expectations.find_leaks(params, examples)
    assert asked("leakage", params, leaks=leaks).status == "pass"
    train = read_windows(examples, "train")
    write_windows(examples, "validation", train.signals[:60], train.components[:60])
    leaks = TASK.expectations.find_leaks(params, examples)
    assert [leak.num_leaked for leak in leaks] == [60, 0]
    assert "also in train" in leaks[0].examples[0]
    assert asked("leakage", params, leaks=leaks).status == "fail"


@pytest.mark.slow
def test_who_is_worse_than_the_fir_of_equal_context_is_refused(
    drawn: tuple[SignalParams, Path],
) -> None:
    """A winner that is significantly worse, equal, better by chance, or significantly better."""
    params, examples = drawn
    fir = _scores(examples, Linear(examples, 100))
    trivial = {
        name: _scores(examples, found)
        for name, found in TASK.scoring.build_baselines(params, examples).items()
    }
    assert fir.mean() < 0.95 * trivial["gain"].mean()
    # The filter itself gains little over the trivial gain: a limit that it reaches.
    limits = params.evaluation.model_copy(update={"min_gain_over_baseline": 0.02})
    params = params.model_copy(update={"evaluation": limits})
    for winner, status in (
        (_scores(examples, Linear(examples, 10)), "fail"),
        (fir, "pass"),  # which of the two wins was chosen on validation
        (fir + np.random.default_rng(0).normal(-0.0001, 0.05, fir.size), "pass"),
        (_scores(examples, Knows(examples, 0.5 * float(fir.mean()))), "pass"),
    ):
        gate = asked("baselines", params, winner=winner, baselines=trivial, simple=fir)
        assert gate.status == status, gate.reason
