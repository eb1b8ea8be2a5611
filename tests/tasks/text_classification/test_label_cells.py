"""Sets of labels from sources: a separator, lists or a column each; what is kept and refused."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from tests.support.small_label_sets import make_set_params
from tests.support.small_texts import SHIPPED

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import ingest, list_rows, read_label_sets
from plumbline.tasks.text_classification.params import TextParams

SETS = [["refund", "billing"], ["login"], [], ["login", "refund", "login"]] * 30
EXPECTED = ["billing|refund", "login", "(none)", "login|refund"] * 30
TEXTS = [f"ticket number {number}" for number in range(len(SETS))]
GENERATED = {"num_rows": 2000, "label_noise": 0.1, "drift": 0.0, "max_labels": 3}
LINEAR = SHIPPED.candidates["linear"].model_dump(mode="json", exclude={"search"})
COLUMNS = SHIPPED.data.columns.model_dump(mode="json") | {"label_separator": "|"}


@pytest.fixture
def folder(folder: Path) -> Path:
    (folder / "out").mkdir()
    return folder


def _make_params(source: str, **columns: Any) -> TextParams:
    values = SHIPPED.model_dump(mode="json")
    values["data"] |= {"source": source, "watch": "."}
    values["data"]["columns"] |= {"metadata": []} | columns
    values["evaluation"]["slices"] = []
    return TextParams.model_validate(values)


def _ingest(params: TextParams) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return facts and manifest, in the order of the source."""
    facts = ingest(params, Path("out"), Path("out/manifest.parquet"))
    return facts, pd.read_parquet("out/manifest.parquet")


def _write_csv(cells: list[str], header: str = "text,label") -> None:
    rows = [f"{text},{cell}" for text, cell in zip(TEXTS, cells, strict=False)]
    Path("a.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def test_labels_between_separators(folder: Path) -> None:
    _write_csv([" ; ".join(labels) or "(none)" for labels in SETS])
    facts, manifest = _ingest(_make_params("a.csv", label_separator=";"))
    assert manifest["label"].tolist() == EXPECTED
    sets = [json.loads(labels) for labels in manifest["label_set"]]
    assert sets == [sorted(set(labels)) for labels in SETS]
    counts = {label: sum(splits.values()) for label, splits in facts["classes"].items()}
    assert counts == {"billing": 30, "login": 60, "refund": 60}
    for split in SPLITS:
        rows = manifest[manifest["split"] == split]
        again = pd.concat(list_rows(Path("out"), split))
        assert again["label_set"].tolist() == rows["label_set"].tolist()
        assert set().union(*read_label_sets(Path("out"), split)) == set(counts)


def test_lists_in_json_and_parquet(folder: Path) -> None:
    rows = [{"text": text, "label": labels} for text, labels in zip(TEXTS, SETS, strict=True)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), "a.parquet")
    for source in ("a.jsonl", "a.parquet"):
        _, manifest = _ingest(_make_params(source, label_separator="|"))
        assert manifest["label"].tolist() == EXPECTED
    with pytest.raises(DataError, match="expected text or a number, found a list"):
        _ingest(_make_params("a.jsonl"))


def test_a_column_for_each_label(folder: Path) -> None:
    names = ["refund", "billing", "login"]
    flags = [[str(int(name in labels)) for name in names] for labels in SETS]
    _write_csv([",".join(row) for row in flags], "text,refund,billing,login")
    _, manifest = _ingest(_make_params("a.csv", label=names))
    assert manifest["label"].tolist() == EXPECTED
    _write_csv([*[",".join(row) for row in flags[:-1]], "1,maybe,0"], "text,refund,billing,login")
    with pytest.raises(DataError, match=r"a.csv:121: billing is 'maybe'; expected 1 or 0"):
        _ingest(_make_params("a.csv", label=names))


def test_an_empty_cell_is_a_missing_label_and_not_an_empty_set(folder: Path) -> None:
    _write_csv(["", *["|".join(labels) or "[]" for labels in SETS[1:]]])
    facts, manifest = _ingest(_make_params("a.csv", label_separator="|"))
    assert facts["dropped"]["null_label"] == {"rows": 1, "first": ["a.csv:2"], "found": {"": 1}}
    assert manifest["label"].tolist() == EXPECTED[1:]


@pytest.mark.parametrize(
    ("cell", "separator", "words"),
    [
        ("billing||refund", "|", "a label that is empty or not text"),
        ("[1.5]", "|", "a label that is empty or not text"),
        ("[billing", "|", "begins as a JSON list and is none; write it with double quotes"),
        ("['billing']", "|", "begins as a JSON list and is none; write it with double quotes"),
        ("[" * 100_000, "|", "begins as a JSON list and is none"),
        ("billing;(none)", ";", "call it something else"),
        ("billing|refund", ";", "set data.columns.label_separator: '|'"),
    ],
)
def test_cells_that_hold_no_set_are_refused(
    folder: Path, cell: str, separator: str, words: str
) -> None:
    _write_csv([cell, *["|".join(labels) or "(none)" for labels in SETS[1:]]])
    with pytest.raises(DataError) as error:
        _ingest(_make_params("a.csv", label_separator=separator))
    assert str(error.value).startswith("a.csv:2")
    assert words in str(error.value)


def test_splits_are_not_divided_by_one_of_several_labels() -> None:
    values = SHIPPED.model_dump(mode="json")
    values["data"]["columns"]["label"] = ["billing", "refund"]
    values["data"]["split"] |= {"by": "group", "column": "billing"}
    with pytest.raises(ValidationError, match="billing is one of several labels"):
        TextParams.model_validate(values)


def test_a_rare_label_is_in_every_split(folder: Path) -> None:
    cells = ["common"] * 100
    cells[10:16] = ["common|rare"] * 6
    _write_csv(cells)
    facts, _ = _ingest(_make_params("a.csv", label_separator="|"))
    assert min(facts["classes"]["rare"].values()) >= 1
    assert set(facts["classes"]["rare"]) == set(SPLITS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"evaluation": {"metric": "balanced_accuracy"}}, "choose another metric"),
        (
            {"evaluation": {"metric": "expected_cost", "costs": {"a": {"b": 2.0}}}},
            "such as macro_f1",
        ),
        ({"candidates": {"linear": LINEAR | {"class_weights": "balanced"}}}, "leave the key out"),
        (
            {"candidates": {"linear": {"kind": "ensemble", "members": 3, "member": LINEAR}}},
            "an ensemble cannot learn sets",
        ),
        ({"data": {"columns": COLUMNS | {"label": ["a", "b"]}}}, "is for one column"),
    ],
)
def test_what_is_not_built_for_sets_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        make_set_params(**changes)


def test_jaccard_and_several_labels_need_sets() -> None:
    for section, change in (
        ("evaluation", {"metric": "jaccard"}),
        ("data", {"generated": GENERATED}),
    ):
        values = SHIPPED.model_dump(mode="json")
        values[section] |= change
        with pytest.raises(ValidationError, match="label_separator"):
            TextParams.model_validate(values)
