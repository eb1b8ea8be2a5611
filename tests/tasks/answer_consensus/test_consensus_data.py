"""Records in long form: every source gives the same, and what is wrong is said with its row."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.small_answers import file_params, list_rows, small_params, write_rows
from tests.support.task_examples import write_examples

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from tasks.answer_consensus.data import list_rows as list_manifest_rows
from tasks.answer_consensus.data import shuffle_labels
from tasks.answer_consensus.data.ingestion import ingest
from tasks.answer_consensus.data.storage import read_answers, read_setting
from tasks.answer_consensus.expectations import find_leaks
from tasks.answer_consensus.predictor import find_normaliser

AGENTS = {"ada": "ada", "bob": "bob"}


def read_file(path: Path, folder: Path, **data: Any) -> Path:
    return write_examples(file_params(path, AGENTS, **data), folder)


def list_questions(examples: Path) -> pd.DataFrame:
    """All rows of the manifest, by their ids."""
    return pd.concat([list_manifest_rows(examples, split) for split in SPLITS]).set_index("id")


def ingest_file(path: Path, folder: Path) -> dict[str, Any]:
    """Return the facts."""
    (folder / "examples").mkdir()
    return ingest(file_params(path, AGENTS), folder / "examples", folder / "manifest.parquet")


def spoil(number: int, **changes: Any) -> list[dict[str, Any]]:
    rows = list_rows()
    rows[number] |= changes
    return rows


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (spoil(5, gold=""), r"row 7: question q2 has no gold; grade it, or leave it out"),
        (spoil(5, gold="41"), r"row 7: gold of question q2 is '41', and '9' in .*row 6"),
        (spoil(4, gold="none"), r"row 6: gold 'none' of question q2 holds no number"),
        (spoil(5, tokens=0), r"row 7: 0 tokens for an answer of 2 characters"),
        (spoil(5, tokens="many"), r"row 7: tokens: expected a whole number, found 'many'"),
        (spoil(5, tokens=-3), r"row 7: tokens: expected a whole number"),
        (spoil(5, agent="ada"), r"row 7: agent ada answered question q2 already in .*row 6"),
        (spoil(5, agent="bobby"), r"question q2 \(.*row 6\) has no row of bob, and 1 of 60"),
        (spoil(5, question=" "), r"row 7: question is empty"),
        (
            [row | {"agent": row["agent"].replace("bob", "bobby")} for row in list_rows()],
            r"no answer of bob, as which data.agents.bob is recorded \(did you mean bobby\?\)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_row_and_a_remedy(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_file(write_rows(tmp_path / "a.csv", rows), tmp_path)


def test_gold_may_be_written_in_another_form(tmp_path: Path) -> None:
    rows = list_rows()
    rows[0]["gold"], rows[1]["gold"] = "1,000", "1000.0"
    rows[0]["answer"], rows[1]["answer"] = "it is 1000", "1,000.00"
    examples = read_file(write_rows(tmp_path / "a.csv", rows), tmp_path)
    seen = list_questions(examples)
    assert len(seen) == 60
    assert seen.loc["q0", "num_missing"] == 0


def test_a_failed_answer_is_an_empty_one_and_costs_nothing_to_say_so(tmp_path: Path) -> None:
    examples = read_file(write_rows(tmp_path / "a.csv", spoil(5, answer="", tokens=0)), tmp_path)
    assert list_questions(examples).loc["q2", "num_missing"] == 1


def test_without_tokens_each_answer_counts_as_one(tmp_path: Path) -> None:
    """Raters are paid by the answer: `price` is for 1000 of them."""
    rows = spoil(5, answer="")
    for row in rows:
        del row["tokens"]
    path = write_rows(tmp_path / "a.csv", rows)
    columns = file_params(path, AGENTS).data.columns.model_dump() | {"tokens": None}
    examples = read_file(path, tmp_path, columns=columns)
    counts = {}
    for split in SPLITS:
        part = read_answers(examples, split)
        counts |= {name: tuple(row) for name, row in zip(part.ids, part.tokens, strict=True)}
    assert counts.pop("q2") == (1, 0)
    assert set(counts.values()) == {(1, 1)}
    assert read_setting(examples).costs[0] == pytest.approx(0.01 / 1000)


def test_answers_of_other_agents_are_left_out_and_counted(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.csv", list_rows(agents=("ada", "bob", "cyd")))
    facts = ingest_file(path, tmp_path)
    assert facts["notices"] == ["60 answers of agents that params do not name: cyd"]


def test_a_question_under_two_ids_is_kept_once(tmp_path: Path) -> None:
    rows = list_rows()
    rows += [
        row | {"question_id": "again", "question": row["question"].upper()} for row in rows[:2]
    ]
    facts = ingest_file(write_rows(tmp_path / "a.csv", rows), tmp_path)
    assert sum(facts["questions"].values()) == 60
    assert "1 questions repeat another one's text" in facts["notices"][0]


def test_questions_of_one_group_are_in_one_split(tmp_path: Path) -> None:
    rows = [row | {"template": f"t{int(row['question_id'][1:]) // 3}"} for row in list_rows()]
    path = write_rows(tmp_path / "a.csv", rows)
    columns = file_params(path, AGENTS).data.columns.model_dump() | {"group": "template"}
    params = file_params(path, AGENTS, columns=columns)
    examples = write_examples(params, tmp_path)
    groups = [set(read_answers(examples, split).groups) for split in ("train", "test")]
    assert not groups[0] & groups[1]
    leaks = find_leaks(params, examples)
    assert {leak.kind for leak in leaks} == {"exact", "near", "group", "copy"}
    assert not any(leak.num_leaked for leak in leaks if leak.kind != "near")


def test_the_control_has_the_gold_of_other_questions(tmp_path: Path) -> None:
    examples = write_examples(small_params(), tmp_path)
    target = tmp_path / "control"
    target.mkdir()
    shuffle_labels(examples, target, seed=1, max_rows=100)
    before, after = read_answers(examples, "train"), read_answers(target, "train")
    assert len(after.ids) == 100
    assert sorted(after.golds) == sorted(before.golds[:100])
    assert (after.golds != before.golds[:100]).mean() > 0.9
    assert not (target / "test.parquet").exists()


def test_numbers_are_compared_by_their_value() -> None:
    assert find_normaliser("number")("The answer is 1,000.50 dollars") == "1000.5"
    assert find_normaliser("number")("-0.00001") == "0"
