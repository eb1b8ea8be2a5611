"""The manifest and the examples say the same of every row, in both tasks; or validate stops."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.dirty_texts import make_values, run_stages
from tests.support.example_rows import read_rows, write_rows
from tests.support.small_signals import small_params

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.process.files import digest_path, read_json, write_json
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK as TEXTS
from tasks.signal_extraction.data.windows import read_windows, write_windows
from tasks.signal_extraction.task import TASK as SIGNALS


@pytest.fixture
def texts(folder: Path) -> TextParams:
    """Tickets that were ingested into the current folder."""
    values = make_values("generated")
    values["data"]["generated"]["num_rows"] = 900
    values["data"]["columns"]["metadata"] = ["channel"]
    params = TextParams.model_validate(values)
    ingest(params, TEXTS)
    return params


def seal_source() -> None:
    seal = {"digest": digest_path(layout.EXAMPLES), "manifest": digest_path(layout.MANIFEST)}
    write_json(layout.SOURCE, read_json(layout.SOURCE) | seal)


def edit_examples(split: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    write_rows(layout.EXAMPLES, split, change(read_rows(layout.EXAMPLES, split)))
    seal_source()


def exchange_labels(rows: pd.DataFrame) -> pd.DataFrame:
    first, second = sorted(set(rows["label"]))[:2]
    return rows.assign(label=rows["label"].replace({first: second, second: first}))


def test_labels_that_are_exchanged_are_named_with_row_and_both_values(texts: TextParams) -> None:
    split = "validation"
    before = read_rows(layout.EXAMPLES, split)
    edit_examples(split, exchange_labels)
    after = read_rows(layout.EXAMPLES, split)
    row = int((before["label"] != after["label"]).to_numpy().argmax())

    with pytest.raises(DataError) as caught:
        validate(texts, TEXTS)

    message = str(caught.value)
    assert message.startswith(f"data/examples: {split}, row {row + 1} ({before['id'][row]}): ")
    assert f"label is {after['label'][row]!r} there and {before['label'][row]!r}" in message
    assert message.endswith("run `dvc repro -f ingest`")
    assert read_json(layout.VALIDATION)["accepted"] is False


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (lambda rows: rows.assign(text=rows["text"].str.replace("e", "a", n=1)), "digest"),
        (lambda rows: rows.assign(channel=rows["channel"].to_numpy()[::-1]), "channel"),
        (lambda rows: rows[1:], "test has"),
        (lambda rows: rows.assign(text=rows["text"].where(rows.index > 0, None)), "`dvc repro"),
        (lambda rows: rows.drop(columns="id"), "run `dvc repro"),
    ],
)
def test_nothing_else_can_be_exchanged_either(
    texts: TextParams, change: Callable[[pd.DataFrame], pd.DataFrame], column: str
) -> None:
    edit_examples("test", change)
    with pytest.raises(DataError, match=column):
        validate(texts, TEXTS)


def test_labels_of_the_manifest_alone_are_compared_too(texts: TextParams) -> None:
    manifest = pd.read_parquet(layout.MANIFEST)
    exchange_labels(manifest).to_parquet(layout.MANIFEST, index=False)
    seal_source()
    with pytest.raises(DataError, match="label is"):
        validate(texts, TEXTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: pd.concat([rows, rows[:1]]), "fewer rows than data/manifest.parquet"),
        (
            lambda rows: rows.assign(split=rows["split"].replace("test", "later")),
            "test has more rows than data/manifest.parquet",
        ),
    ],
)
def test_rows_that_nothing_is_asked_about_are_refused(
    texts: TextParams, change: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    change(pd.read_parquet(layout.MANIFEST)).to_parquet(layout.MANIFEST, index=False)
    seal_source()
    with pytest.raises(DataError, match=message):
        validate(texts, TEXTS)


def test_odd_texts_and_empty_metadata_are_the_same_on_both_sides(folder: Path) -> None:
    odd = ["\N{COMBINING ACUTE ACCENT}", "\N{GRINNING FACE}\u200d", "a\x00b", '"', "x" * 5000]
    rows = [f"{sign} text of row {row}\t{row % 2}" for row in range(300) for sign in [odd[row % 5]]]
    Path("raw.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")
    _, message = run_stages("raw.tsv")
    assert "data/manifest.parquet" not in message


@pytest.mark.parametrize("split", ["train", "test"])
def test_answers_of_signals_that_are_exchanged_are_named(folder: Path, split: str) -> None:
    params = small_params()
    ingest(params, SIGNALS)
    validate(params, SIGNALS)
    before = read_windows(layout.EXAMPLES, split)
    components = np.ascontiguousarray(before.components[:, ::-1])
    write_windows(layout.EXAMPLES, split, before.signals, components)
    seal_source()
    with pytest.raises(DataError, match=rf"{split}, row 1 .*: answer is '\w+'? there and"):
        validate(params, SIGNALS)


@pytest.mark.parametrize(("change", "is_same"), [(1 + 1e-15, True), (1 + 1e-6, False)])
def test_the_last_digit_of_a_float_may_differ(folder: Path, change: float, is_same: bool) -> None:
    """Sums differ in it between processors."""
    params = small_params()
    ingest(params, SIGNALS)
    manifest = pd.read_parquet(layout.MANIFEST)
    manifest["furthest"] *= change
    manifest.to_parquet(layout.MANIFEST, index=False)
    seal_source()
    if is_same:
        validate(params, SIGNALS)
    else:
        with pytest.raises(DataError, match="furthest is"):
            validate(params, SIGNALS)
