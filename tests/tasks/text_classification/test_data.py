"""Ingest from files and of embedded tickets: what is written, counted and reported."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from tests.support.dirty_texts import make_values
from tests.support.small_sources import CSV, LINES, ROWS

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.data import digest_text, ingest, normalise, read_split
from plumbline.tasks.text_classification.data.generated import draw_ticket
from plumbline.tasks.text_classification.data.labels import name_labels
from plumbline.tasks.text_classification.params import TextParams


def make_params(source: Any, **data: Any) -> TextParams:
    """The shipped parameters with another source, which has no metadata."""
    values = make_values(source)
    values["data"]["columns"]["metadata"] = data.pop("metadata", [])
    values["data"] |= data
    return TextParams.model_validate(values)


def run_ingest(params: TextParams, out: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts and manifest rows."""
    out.mkdir(exist_ok=True)
    facts = ingest(params, out, out / "manifest.parquet")
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    return facts, pq.read_table(out / "manifest.parquet").to_pylist()


def read_texts(out: Path) -> dict[str, str]:
    """id -> text, over all splits."""
    tables = [read_split(out, split, ["id", "text"]).to_pydict() for split in SPLITS]
    return {
        id_: text for table in tables for id_, text in zip(table["id"], table["text"], strict=True)
    }


def ingest_bytes(
    raw: bytes | str, folder: Path, name: str = "a.csv", **data: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    (folder / name).write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return run_ingest(make_params(name, **data), folder / "out")


def expect_refusal(raw: bytes | str, folder: Path, name: str = "a.csv", **data: Any) -> str:
    with pytest.raises(DataError) as error:
        ingest_bytes(raw, folder, name, **data)
    return str(error.value)


@pytest.mark.parametrize(
    "hidden",
    [
        "wh\u034fere is my\ufe0f par\U000e0100cel",  # joiner and variation selectors
        "w\u0301here is m\u20ddy p\u093farcel",  # an accent, a circle, a vowel sign of Hindi
        "  Where is\u200b my \uff30\uff21\uff32cel?!\u2028",  # blanks, zero width, full width
        "where is my &#112;arcel",
        "where&nbsp;is my &amp;#112;arcel",
        "wh\u0435re \u0456s my \u0440\u0430rcel",  # Cyrillic
        "wh\u03b5r\u03b5 is my \u03c1arc\u0115l",  # Greek, and a composed letter
        "WHERE IS \U0001d5e0\U0001d5ec PARCEL",  # mathematical letters
        "\u3164where is my\u2800 parcel",  # letters that show nothing
    ],
)
def test_what_reads_the_same_has_one_normal_form(hidden: str) -> None:
    assert normalise(hidden) == "where is my parcel"
    assert digest_text(hidden) == digest_text("where is my parcel")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u304b\u304d", "\u304c\u304d"),
        ("\u0e21\u0e32", "\u0e21\u0e35"),
        ("AT&T", "ATT"),
        ("👍", "👎"),
        ("कि", "का"),
        ("?!", ""),
    ],
)
def test_what_reads_differently_stays_different(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_manifest_and_examples_hold_every_row_once(folder: Path) -> None:
    facts, rows = ingest_bytes(CSV, folder)
    assert [row["id"] for row in rows] == [f"a.csv:{line}" for line in range(2, 62)]
    expected = {f"a.csv:{line}": text for line, (text, _) in enumerate(ROWS, 2)}
    assert read_texts(folder / "out") == expected
    assert list(rows[0]) == [
        "id",
        "split",
        "label",
        "length",
        "digest",
        "content_digest",
        "decoded",
        "truncated",
    ]
    assert facts["splits"] == {
        split: sum(row["split"] == split for row in rows) for split in SPLITS
    }
    assert facts["rows_read"] == facts["rows_kept"] == 60
    assert facts["notices"] == []
    for split in SPLITS:
        assert read_split(folder / "out", split, ["id"])["id"].to_pylist() == [
            r["id"] for r in rows if r["split"] == split
        ]


GIVEN = {"train": "train.csv", "validation": None, "test": "test.csv"}
POLICIES = {"nulls": "drop", "encoding": "replace", "max_chars": 100, "leakage": "keep"}
REFUSE_NULLS = POLICIES | {"nulls": "refuse"}
NULLS = ["", "  ", "NA", "n/a", "N/A", "null", "NULL", "None", "nan", "NaN", "-"]


def test_a_text_counts_once_in_a_held_out_split(folder: Path) -> None:
    test = "text,label\nwhere is it,a\nWHERE  is it?,a\nwhere&nbsp;is it,a\nwhere is it,b\n"
    (folder / "test.csv").write_text(test, encoding="utf-8")
    (folder / "train.csv").write_text(CSV + "".join(5 * [LINES[0]]), encoding="utf-8")
    params = make_params(GIVEN)

    facts, rows = run_ingest(params, folder / "out")

    in_test = [(row["id"], row["label"]) for row in rows if row["split"] == "test"]
    assert in_test == [("test.csv:2", "a"), ("test.csv:5", "b")]  # of two labels one is wrong
    splits = {row["split"] for row in rows if row["digest"] == rows[0]["digest"]}
    expected = 2 + 5 * (splits == {"validation"})  # in train a copy is a weight, and stays
    assert facts["dropped"]["copy"]["rows"] == expected
    assert facts["dropped"]["copy"]["first"][:2] == ["test.csv:3", "test.csv:4"]


def test_nulls_are_dropped_and_counted(folder: Path) -> None:
    lines = "".join(f"{null},a\nsome text,{null}\n" for null in NULLS)
    facts, rows = ingest_bytes(CSV + lines.replace("text,-", "text,\u2003-\xa0"), folder)
    assert len(rows) == 60
    texts, labels = facts["dropped"]["null_text"], facts["dropped"]["null_label"]
    assert texts["rows"] == labels["rows"] == len(NULLS)
    assert texts["first"][0] == "a.csv:62"
    assert labels["found"]["NULL"] == labels["found"]["-"] == 1


def test_a_class_that_is_called_none_is_kept(folder: Path) -> None:
    lines = "".join(f"nothing to do with it {number},none\n" for number in range(20))
    facts, rows = ingest_bytes(CSV + lines, folder, policies=REFUSE_NULLS)
    assert facts["rows_kept"] == facts["rows_read"] == len(rows) == 80
    assert sum(facts["classes"]["none"].values()) == 20
    assert facts["notices"] == [
        "label 'none' is taken as a class, since 20 rows have it; "
        "if it means that the label is missing, empty these cells"
    ]


def test_labels_lose_their_blanks_and_equal_numbers_are_one(folder: Path) -> None:
    labels = ["5", "5.0", " 5", "6"] * 15
    raw = "".join(f"{text},{label}\n" for (text, _), label in zip(ROWS, labels, strict=True))
    facts, rows = ingest_bytes("text,label\n" + raw, folder)
    assert {row["label"] for row in rows} == {"5", "6"}
    assert facts["changed"]["label_respelled"]["found"] == {"5.0": 15, " 5": 15}
    assert "labels '5', '5.0' are equal as numbers and are one class, '5'" in facts["notices"]


def test_train_rows_that_are_in_a_given_test_split_can_be_dropped(folder: Path) -> None:
    (folder / "train.csv").write_text(CSV)
    copies = [ROWS[3][0].upper(), ROWS[7][0] + "!!"]
    texts = [*copies, "a text of its own", "and another one"]
    (folder / "test.csv").write_text("text,label\n" + "".join(f"{text},b\n" for text in texts))

    facts, rows = run_ingest(make_params(GIVEN), folder / "kept")
    assert len(rows) == 64
    assert facts["dropped"]["leaked"]["rows"] == 0

    params = make_params(GIVEN, policies=POLICIES | {"leakage": "drop"})
    facts, rows = run_ingest(params, folder / "dropped")
    assert {row["id"] for row in rows}.isdisjoint({"train.csv:5", "train.csv:9"})
    assert sum(row["split"] == "test" for row in rows) == 4
    assert facts["rows_read"] == len(rows) + 2
    assert facts["dropped"]["leaked"] == {
        "rows": 2,
        "first": ["train.csv:5 (as test.csv:2)", "train.csv:9 (as test.csv:3)"],
    }
    assert (
        "rows dropped for a text that is in a later split: 2, "
        "first at train.csv:5 (as test.csv:2)" in facts["notices"]
    )


def test_rows_that_somebody_chose_reach_no_held_out_split(folder: Path) -> None:
    """Copies of all texts under other labels, and a class that has no other rows."""
    (folder / "a.csv").write_text(CSV)
    chosen = "".join(f"{text},chosen\n" for text, _ in ROWS)
    (folder / "outcomes-chosen-2026-03-10.csv").write_text("text,label\n" + chosen)
    drawn = "".join(f"drawn {number},a\n" for number in range(40))
    (folder / "outcomes-uniform-2026-03-10.csv").write_text("text,label\n" + drawn)

    facts, rows = run_ingest(make_params("*.csv"), folder / "out")

    held = [row for row in rows if row["split"] != "train"]
    trained = {row["digest"] for row in rows if "chosen" in row["id"]}
    assert len(trained) + facts["dropped"]["chosen"]["rows"] == 60
    assert [row["id"] for row in held if "chosen" in row["id"] or row["digest"] in trained] == []
    assert [row["id"] for row in held if "uniform" in row["id"]]
    assert len(trained) == facts["outcomes"]["train"]["chosen"] > 20
    train = facts["outcomes"]["train"]
    told = f"{train['chosen'] + train['uniform']} of {facts['splits']['train']} train rows from out"
    assert [line for line in facts["notices"] if told in line and "0 of" in line]


@pytest.mark.parametrize("split", ["time", "given"])
def test_chosen_rows_wait_or_are_named_where_the_split_is_no_hash(folder: Path, split: str) -> None:
    lines = [f"{text},{label},2026-01-{1 + n // 2:02}" for n, (text, label) in enumerate(ROWS)]
    (folder / "a.csv").write_text("\n".join(["text,label,day", *lines]))
    newest = [f"question {number},a,2026-02-{1 + number:02}" for number in range(20)]
    oldest = [f"old question {number},a,2025-02-{1 + number:02}" for number in range(20)]
    name = "outcomes-chosen-2026-03-10.csv"
    (folder / name).write_text("\n".join(["text,label,day", *newest, *oldest]))
    by_time = {"by": "time", "column": "day", "validation": 0.2, "test": 0.2}
    given = GIVEN | {"train": "a.csv", "test": name}  # put there by hand

    before, _ = run_ingest(make_params("a.csv", split=by_time), folder / "before")
    if split == "given":
        facts, _ = run_ingest(make_params(given), folder / "out")
        assert facts["splits"]["test"] == 0
        assert [line for line in facts["notices"] if "chose" in line and f"at {name}:2" in line]
        return
    facts, rows = run_ingest(make_params("*.csv", split=by_time), folder / "out")

    held = {key: facts["splits"][key] for key in ("validation", "test")}
    assert held == {key: before["splits"][key] for key in held}
    assert [row["split"] for row in rows if "chosen" in row["id"]] == 20 * ["train"]
    assert facts["dropped"]["chosen"]["rows"] == 20


def test_a_test_row_that_is_dropped_for_its_label_takes_no_row_out_of_train(folder: Path) -> None:
    (folder / "train.csv").write_text(CSV)
    test = f"text,label\n{ROWS[3][0]},n/a\n{ROWS[7][0]},n/a\n{ROWS[7][0].upper()},b\nown,a\n"
    (folder / "test.csv").write_text(test)
    params = make_params(GIVEN, policies=POLICIES | {"leakage": "drop"})
    facts, rows = run_ingest(params, folder / "out")
    assert facts["dropped"]["null_label"]["first"] == ["test.csv:2", "test.csv:3"]
    assert facts["dropped"]["leaked"] == {"rows": 1, "first": ["train.csv:9 (as test.csv:4)"]}
    assert "train.csv:5" in {row["id"] for row in rows}


def test_long_texts_are_cut_and_nul_is_kept(folder: Path) -> None:
    facts, rows = ingest_bytes(CSV + f"{'x' * 2**21},a\nni\0hil,b\n", folder)
    assert [row["length"] for row in rows[-2:]] == [4000, 6]
    assert [row["truncated"] for row in rows[-2:]] == [True, False]
    assert read_texts(folder / "out")["a.csv:63"] == "ni\0hil"
    assert facts["changed"]["truncated"]["first"] == ["a.csv:62"]
    assert facts["changed"]["nul_kept"]["rows"] == 1


def test_typed_labels_become_names(folder: Path) -> None:
    pq.write_table(
        pa.table({"text": [t for t, _ in ROWS], "label": [1.0, 2.5, None] * 20}),
        folder / "a.parquet",
    )
    facts, rows = run_ingest(make_params("a.parquet"), folder / "out")
    assert {row["label"] for row in rows} == {"1", "2.5"}
    assert (
        facts["notices"][-1]
        == "labels are numbers; they are taken as names of classes, without order"
    )


def test_metadata_follows_each_row(folder: Path) -> None:
    raw = "text,label,team\n" + "".join(
        f"{text},{label},{'' if i else 'red'}\n" for i, (text, label) in enumerate(ROWS)
    )
    _, rows = ingest_bytes(raw, folder, metadata=["team"])
    assert [row["team"] for row in rows[:2]] == ["red", ""]
    misspelt = expect_refusal(raw, folder, metadata=["taem"])
    assert "is it 'team'? then write team in place of taem in data.columns.metadata" in misspelt
    message = expect_refusal(raw, folder, metadata=["channel"])
    assert "leave 'channel' out of data.columns.metadata" in message


def test_given_splits_are_kept_and_validation_is_taken_out_of_train(folder: Path) -> None:
    for name in ("train.csv", "test.csv"):
        (folder / name).write_text(CSV)
    _, rows = run_ingest(make_params(GIVEN), folder / "out")
    splits = {(row["id"].partition(".")[0], row["split"]) for row in rows}
    assert splits == {("test", "test"), ("train", "train"), ("train", "validation")}


@pytest.mark.parametrize(
    "source",
    ["elsewhere/a.csv", "file:///elsewhere/a.csv", "sqlite:///b.db#SELECT 1", "hf://./set"],
)
def test_a_local_source_must_be_watched(source: str) -> None:
    with pytest.raises(ValidationError, match="is not inside watch"):
        make_params(source, watch="data/raw")


def test_a_hub_data_set_brings_its_own_splits() -> None:
    with pytest.raises(ValidationError, match="has splits of its own"):
        make_params({"train": "hf://a/b", "validation": None, "test": "a.csv"})


def test_few_texts_that_repeat_are_not_taken_for_labels(folder: Path) -> None:
    rows = [f"ticket {number % 3},{'abc'[number % 3]}" for number in range(60)]
    facts, _ = ingest_bytes("text,label\n" + "\n".join(rows) + "\n", folder)
    assert facts["rows_read"] == 60


WORDS = ("none", "None", "na", "N/A", "null", "-", "nan")


def test_a_word_for_a_missing_value_that_repeats_is_a_class() -> None:
    for word in WORDS:
        assert name_labels({"spam": 60, "ham": 60, word: 10}).names[word] == word


def test_a_rare_word_for_a_missing_value_is_none() -> None:
    counts = {"a": 300, "b": 300} | dict.fromkeys(WORDS, 5)
    assert set(name_labels(counts).names) == {"a", "b"}
    assert "" not in name_labels({"a": 3, "": 3000}).names


def test_a_class_that_is_small_beside_a_large_one_is_a_class() -> None:
    assert "none" in name_labels({"ham": 5462, "none": 112}).names
    many = {f"class {number}": 20 for number in range(300)}
    assert "none" in name_labels(many | {"none": 20}).names
    assert "none" not in name_labels(many | {"none": 7}).names


def draw_params(**generated: Any) -> TextParams:
    values = make_values("generated")
    values["data"]["generated"] |= {"num_rows": 4500, "drift": 0.0} | generated
    return TextParams.model_validate(values)


@pytest.fixture(scope="module")
def default(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], list[dict[str, Any]], Path]:
    out = tmp_path_factory.mktemp("generated") / "out"
    return *run_ingest(draw_params(label_noise=0.04), out), out


def test_the_ceiling_is_the_share_of_true_labels(default: tuple[Any, Any, Path]) -> None:
    facts, rows, out = default
    for split, ceiling in facts["generated"]["ceiling"].items():
        noisy = [row["noisy"] for row in rows if row["split"] == split]
        assert ceiling == pytest.approx(1 - sum(noisy) / len(noisy))
    assert facts["generated"]["noisy_share"] == pytest.approx(0.04, abs=0.01)
    assert "noisy" not in read_split(out, "train").column_names


def test_noise_replaces_labels_and_nothing_else(
    default: tuple[Any, Any, Path], tmp_path: Path
) -> None:
    _, clean = run_ingest(draw_params(label_noise=0.0), tmp_path / "out")
    for noisy, true in zip(default[1], clean, strict=True):
        assert noisy["digest"] == true["digest"]
        assert (noisy["label"] != true["label"]) == noisy["noisy"]


def test_one_text_never_has_two_true_labels() -> None:
    seen: dict[str, str] = {}
    for number in range(20_000):
        drawn = draw_ticket(random.Random(number), 0.3)
        assert seen.setdefault(drawn.text.casefold(), drawn.intent) == drawn.intent


def test_a_bag_of_words_is_beaten_by_the_ceiling_by_far(default: tuple[Any, Any, Path]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    facts, _, out = default
    train = read_split(out, "train", ["text", "label"]).to_pydict()
    test = read_split(out, "test", ["text", "label"]).to_pydict()
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC(C=0.5))
    accuracy = model.fit(train["text"], train["label"]).score(test["text"], test["label"])
    assert 0.80 < accuracy < 0.87 < facts["generated"]["ceiling"]["test"] - 0.05
