"""One question's course in the report: of validation, in the words of agents, made harmless."""

from pathlib import Path

import numpy as np
import pytest
from tests.support.small_answers import small_params, write_examples

from plumbline.contract.records import Candidate
from plumbline.process.files import read_json
from tasks.answer_consensus.data import read_answers
from tasks.answer_consensus.data.storage import write_answers
from tasks.answer_consensus.models import build_learner
from tasks.answer_consensus.predictor import load
from tasks.answer_consensus.scoring import draw_figures, score
from tasks.answer_consensus.scoring.one_question import shorten


@pytest.mark.filterwarnings("ignore")  # of glyphs that a font lacks
def test_the_course_of_one_question(tmp_path: Path) -> None:
    params = small_params()
    examples = write_examples(params, tmp_path)
    for split in ("validation", "test"):
        few = read_answers(examples, split).take(np.arange(60))
        few.answers[:, 4] = [f"$\\frac{{<b>\x1b[31m\x00{text}" for text in few.answers[:, 4]]
        write_answers(examples, split, few)
    learner = build_learner(params, "logit", examples)
    assert learner.solve is not None
    learner.solve()
    folder = tmp_path / "logit"
    learner.save(folder)
    predictor = load(folder)
    validation, test = (score(examples, split, predictor) for split in ("validation", "test"))
    assert not [name for name in test.tables if name.startswith("one_question")]
    rounds, shares = (validation.tables[name] for name in ("one_question", "one_question_shares"))
    assert len(rounds) == validation.per_example["asked"].max()
    assert all(text.isprintable() for text in [*rounds["answer"], *rounds["best"]])
    sums = shares.groupby("round")["share"].sum()
    assert (sums <= 1 + 1e-9).all()
    assert rounds["confidence"].tolist() == pytest.approx(
        shares.groupby("round")["share"].max().tolist()
    )
    config = read_json(folder / "config.json")
    assert rounds["agent"].tolist() == [config["agents"][n] for n in config["plan"]][: len(rounds)]
    blank = dict.fromkeys(Candidate.__dataclass_fields__)
    winner = Candidate(**blank | {"name": "logit", "validation": validation, "test": test})
    figures = {figure.name: figure for figure in draw_figures(params, [winner])}
    svg = figures["one_question"].svg
    assert "<b>" not in svg
    assert "\x1b" not in svg
    assert "small:" in svg


def test_a_long_answer_keeps_its_end() -> None:
    assert shorten("so it is\n 42\x07") == "so it is 42"
    assert shorten("x" * 30 + "42") == "…" + "x" * 21 + "42"
