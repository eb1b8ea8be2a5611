"""validate: what is left on disk and said, for data that is accepted, warned about and rejected."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from tests.support.dirty_texts import make_values, run_stages
from tests.support.example_rows import read_rows, write_rows

from plumbline.contract import layout
from plumbline.contract.errors import DataError, ParamsError, RejectedError
from plumbline.process.files import digest_path
from plumbline.stages.ingest import ingest
from plumbline.stages.train import refuse_unvalidated
from plumbline.stages.validate import validate
from plumbline.tasks.text_classification.params import TextParams
from plumbline.tasks.text_classification.task import TASK

ADJECTIVES = ["old", "new", "big", "fine", "odd", "tall", "wide", "calm", "warm", "cold"]
TOPICS = {
    "colour": ["red", "blue", "green", "black", "white"],
    "number": ["one", "two", "three", "four", "five"],
}


@pytest.fixture
def source(folder: Path) -> Path:
    """A clean source of 500 rows and two classes in a fresh folder, which is the cwd."""
    rows = [
        f"the {adjective} {noun} looks {word} today,{label}"
        for label, words in TOPICS.items()
        for word in words
        for adjective in ADJECTIVES
        for noun in ("house", "boat", "lamp", "road", "tree")
    ]
    path = folder / "raw.csv"
    path.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    return path


def add(source: Path, *rows: str) -> None:
    with source.open("a", encoding="utf-8") as file:
        file.writelines(f"{row}\n" for row in rows)


def report() -> dict[str, object]:
    return json.loads(layout.VALIDATION.read_text(encoding="utf-8"), parse_constant=pytest.fail)


LOOSE = {"max_near_duplicate_share": 1.0}  # sentences from a small grammar are alike


def test_accepted_data_can_be_trained_on(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_stages("raw.csv", **LOOSE) == ("accepted", "")

    found = report()
    assert found["accepted"] is True
    assert found["manifest"] == digest_path(layout.MANIFEST)
    assert sum(found["splits"].values()) == 500
    assert {entry["label"]: sum(entry["rows"].values()) for entry in found["classes"]} == {
        "colour": 250,
        "number": 250,
    }
    assert sum(bar["rows"] for bar in found["lengths"]["bins"]) == 500
    assert "accepted by 30 of 30 checks" in capsys.readouterr().out
    refuse_unvalidated()


def test_text_and_label_the_wrong_way_round_are_thought_of(source: Path) -> None:
    source.write_text(source.read_text().replace("text,label", "label,text", 1))
    _, error = run_stages("raw.csv", **LOOSE)
    assert "does data.columns name text and label the wrong way round?" in error


def test_rejected_data_cannot_be_trained_on_and_both_reports_say_why(source: Path) -> None:
    run_stages("raw.csv", **LOOSE)
    manifest = pd.read_parquet(layout.MANIFEST)
    first = manifest.loc[manifest["split"] == "train", "id"].iloc[0]  # elsewhere ingest drops them
    line = source.read_text(encoding="utf-8").splitlines()[int(first.partition(":")[2]) - 1]
    add(source, *[line] * 200)

    outcome, error = run_stages("raw.csv", **LOOSE)

    assert outcome == "rejected"
    assert error.splitlines()[0] == "rejected by 1 check of 30; see reports/validation.html"
    assert (
        "duplicates: Rows that repeat an earlier one: 200 of 700 rows (28.6 %), "
        "allowed at most 20 %" in error
    )
    assert f"raw.csv:502 repeats {first}" in error
    assert "remove the copies" in error
    assert report()["accepted"] is False
    assert "Rejected: 1 blocking check failed" in layout.VALIDATION_PAGE.read_text(encoding="utf-8")
    with pytest.raises(RejectedError):
        refuse_unvalidated()


def test_a_warning_is_said_and_does_not_block(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(source, "write to jane.doe@example.com about the red house,colour")

    assert run_stages("raw.csv", **LOOSE)[0] == "accepted"

    said = capsys.readouterr().out
    assert "note: personal_data" in said
    assert "raw.csv:502 e-mail address" in said
    assert "accepted by 29 of 30 checks" in said
    for path in (layout.VALIDATION, layout.VALIDATION_PAGE):
        assert "jane.doe" not in path.read_text(encoding="utf-8")


def test_a_note_about_limits_leaves_what_training_depends_on_as_it_is(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever follows it does not train again."""
    values = make_values("raw.csv")
    values["validation"] |= LOOSE
    ingest(TextParams.model_validate(values), TASK)
    reports = []
    for floor in (0.9, 1.0):
        values["evaluation"]["floor"] = floor
        validate(TextParams.model_validate(values), TASK)
        reports.append(layout.VALIDATION.read_bytes())
        noted = "evaluation.floor" in capsys.readouterr().out
        assert noted is (floor == 1.0)
        page = layout.VALIDATION_PAGE.read_text(encoding="utf-8")
        assert ("evaluation.floor" in page) is noted
    assert reports[0] == reports[1]


def test_a_limit_of_cost_is_refused_before_training_where_answers_cost_nothing(
    source: Path,
) -> None:
    values = make_values("raw.csv")
    values["validation"] |= LOOSE
    values["evaluation"]["budget"]["cost"] = 0.01
    params = TextParams.model_validate(values)
    ingest(params, TASK)
    with pytest.raises(ParamsError, match=r"evaluation\.budget\.cost: .* set it to null"):
        validate(params, TASK)
    assert report()["accepted"] is False


def change_examples() -> None:
    write_rows(layout.EXAMPLES, "test", read_rows(layout.EXAMPLES, "train"))


def change_manifest() -> None:
    manifest = pd.read_parquet(layout.MANIFEST)
    manifest.assign(decoded=True).to_parquet(layout.MANIFEST, index=False)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda: layout.SOURCE.unlink(), "dvc repro ingest"),
        (lambda: layout.SOURCE.write_text("[" * 100_000), r"^data/source.json: cannot be read"),
        (change_examples, "not what ingest wrote"),
        (change_manifest, r"manifest.parquet is not what ingest wrote.*repro -f"),
    ],
    ids=["no facts", "damaged facts", "other examples", "other manifest"],
)
def test_what_ingest_did_not_write_is_refused_and_nothing_accepted(
    damage: Callable[[], object], message: str, source: Path
) -> None:
    run_stages("raw.csv", **LOOSE)
    damage()

    with pytest.raises(DataError, match=message):
        validate(TextParams.model_validate(make_values("raw.csv")), TASK)

    assert report()["accepted"] is False


def test_the_page_stands_alone_and_no_text_in_it_is_markup(source: Path) -> None:
    add(
        source,
        *[
            '"<script>alert(1)</script> =HYPERLINK(""http://x"") of jane@example.com",'
            "<img src=x onerror=alert(1)>"
        ]
        * 3,
    )
    run_stages("raw.csv", **LOOSE)

    page = layout.VALIDATION_PAGE.read_text(encoding="utf-8")

    tags = Tags()
    tags.feed(page)
    assert not tags.names & {"script", "img", "link", "iframe", "object"}
    assert not [value for value in tags.links if not value.startswith("#")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; =HYPERLINK" in page
    assert "url(" not in page


def test_metadata_may_have_the_names_of_what_is_computed(source: Path) -> None:
    lines = source.read_text(encoding="utf-8").splitlines()
    names = ["row", "normal", "duplicates", "ID", "Label"]
    rows = [f"{line},a{number},b,c,d,e" for number, line in enumerate([*lines[1:], *lines[1:40]])]
    header = ",".join(["text", "label", *names])
    source.write_text("\n".join([header, *rows]), encoding="utf-8")
    found = []
    for metadata in ([], names):
        values = make_values("raw.csv")
        values["validation"] |= LOOSE
        values["data"]["columns"]["metadata"] = metadata
        params = TextParams.model_validate(values)
        ingest(params, TASK)
        validate(params, TASK)
        found.append({check["name"]: check for check in report()["checks"]})
    assert found[0] == found[1]
    assert found[0]["duplicates"]["num_failing"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def test_a_file_of_two_rows_is_one_message(source: Path) -> None:
    source.write_text("text,label\nwhere is my parcel,parcel\nI want my money,money\n")
    outcome, error = run_stages("raw.csv")
    assert outcome == "rejected"
    lines = error.splitlines()
    assert lines[0].startswith("rejected by 1 check of ")
    assert lines[1].startswith("  rows: Train has enough rows: ")
    assert "add rows to the source" in lines[1]
    assert lines[2].startswith("  also failed, as follows from that: splits, ")
    assert len(lines) == 3


def test_what_the_gate_would_refuse_as_a_group_is_rejected_before_training(source: Path) -> None:
    """A number that comes back with its label, once in train and again in test."""
    lines = source.read_text(encoding="utf-8").splitlines()
    numbered = [lines[0]]
    for row, line in enumerate(lines[1:]):
        text, label = line.rsplit(",", 1)
        customer = 1000 + 2 * (row % 60) + (label == "number")
        numbered.append(f"{text} for customer {customer},{label}")
    source.write_text("\n".join(numbered) + "\n", encoding="utf-8")

    outcome, error = run_stages("raw.csv", **LOOSE)

    assert outcome == "rejected"
    assert "groups_test: Test rows that a value they share with train or validation" in error
    assert "the number '10" in error
    assert "set data.split: {by: group, column: ...}" in error
