"""Every faulty file of the shared folder through ingest and validate: where it is stopped."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.checkouts import DATA
from tests.support.dirty_texts import read_checks, run_stages

DIRTY = DATA / "dirty"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.shared,
    pytest.mark.skipif(
        not DIRTY.is_dir(), reason="PLUMBLINE_TEST_DATA names no folder with dirty/"
    ),
]


@dataclass(frozen=True)
class Fault:
    """One file, the outcome, the checks that fail (blocking or not), and words of the message."""

    file: str
    outcome: str
    words: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    test: str = "base_test.csv"


FAULTS = [
    Fault("base_train.csv", "accepted"),
    Fault("01a_missing_label_column.csv", "refused", ("no column 'label'", "'text'")),
    Fault("01b_missing_text_column.csv", "refused", ("no column 'text'", "'label'")),
    Fault("03_renamed_label.csv", "refused", ("no column 'label'", "data.columns.label: category")),
    Fault("04_unseen_label__test.csv", "rejected",
        ("62 of", "'crypto_wallet': 22 held out", "'mortgage_rate': 21", "'fraud_report': 19"),
        ("unseen_labels",)),
    Fault("05a_nulls_5pct.csv", "accepted", ("null-like text: 57", "null-like label: 58")),
    Fault("05b_null_tokens_5pct.csv", "accepted",
        ("null-like text: 57", "null-like label: 58", "'N/A'", "'null'")),
    # 990 copies; those of validation are gone before, since there a text counts once.
    Fault("06a_duplicates_30pct.csv", "rejected", ("836 of",), ("duplicates",)),
    Fault("07a_leakage_exact__test.csv", "rejected", ("231 of 770 rows (30.0 %)",),
        ("leakage_test",)),
    Fault("07b_leakage_near__test.csv", "rejected", ("of 770 rows (30.", "base_train.csv:"),
        ("near_duplicates_test",)),
    Fault("08_label_flip_40pct.csv", "accepted", ("reads like",), ("label_noise",)),
    Fault("09a_non_utf8_bytes.csv", "accepted", ("not UTF-8: 31", "Windows-1252")),
    Fault("09b_all_latin1.csv", "rejected", ("not UTF-8: ", "iconv"), ("encoding",)),
    Fault("10_embedded_nuls.csv", "accepted", ("NUL characters, which were kept: 40",)),
    Fault("11_unbalanced_quotes.csv", "refused", ("11_unbalanced_quotes.csv:", "double quote")),
    Fault("12_empty_file.csv", "refused", ("12_empty_file.csv", "empty (0 bytes)")),
    Fault("13_header_only.csv", "refused", ("13_header_only.csv",)),
    Fault(
        "14_one_class.csv",
        "rejected",
        ("at least two classes",),
        (
            "classes",
            "classes_validation",
            "unseen_labels",
            "near_duplicates_validation",
            "unknown_words_test",
        ),
    ),
    Fault("15_cell_2mb.csv", "accepted", ("cut to data.policies.max_chars", "15_cell_2mb.csv:")),
    Fault("16b_crlf.csv", "accepted"),
    Fault("17_bom.csv", "accepted"),
    Fault("18_unicode_rtl_emoji.csv", "accepted"),
    Fault(
        "19_all_identical_text.csv",
        "rejected",
        ("all texts are the same", "missing: validation"),
        (
            "splits",
            "distinct_texts",
            "duplicates",
            "conflicting_duplicates",
            "unknown_words_test",
            "label_noise",
        ),
    ),
    Fault("20a_label_int.csv", "accepted", ("names of classes",), test="20a_label_int__test.csv"),
    Fault(
        "20c_label_float_continuous.csv",
        "rejected",
        ("regression target",),
        (
            "classes",
            "rare_labels",
            "unseen_labels",
            "absent_labels_validation",
            "absent_labels_test",
            "continuous_labels",
        ),
    ),
    Fault("21a_drifted_test_other_domain.csv", "rejected", ("unknown to train",),
        ("unknown_words_test",)),
    Fault("21b_drifted_test_half_tweets.csv", "rejected", ("unknown to train",),
        ("unknown_words_test",)),
    Fault("x01_semicolon.csv", "accepted", ("semicolons",)),
    Fault("x02_tab_in_csv_name.csv", "accepted", ("tabs",)),
    Fault(
        "x05_label_whitespace_case.csv",
        "rejected",
        ("spelled 4 ways", "lost blanks around it"),
        (
            "rare_labels",
            "unseen_labels",
            "absent_labels_validation",
            "absent_labels_test",
            "near_identical_labels",
            "label_noise",
        ),
    ),
    Fault("x08_spreadsheet_formula_text.csv", "accepted"),
    Fault("x10_lfs_pointer.csv", "refused", ("Git LFS pointer", "git lfs pull")),
    Fault("x13_no_header.csv", "refused",
        ("Is there a way to lookup where funds came from?", "header")),
    Fault("x15_fake_pii.csv", "accepted", ("card number", "e-mail address", "IBAN"),
        ("personal_data",)),
    Fault("x16_blank_and_short_text.csv", "rejected", ("null-like text: 386",),
        ("nulls", "blanks", "conflicting_duplicates", "label_noise")),
]  # fmt: skip


def test_every_file_is_tested() -> None:
    inputs = {path.name for path in DIRTY.glob("*.csv") if not path.stem.endswith("__truth")}
    tested = {fault.file for fault in FAULTS} | {fault.test for fault in FAULTS}
    assert tested == inputs


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_a_faulty_file(
    fault: Fault,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "raw").symlink_to(DIRTY)
    as_test = "__test" in fault.file or "_test_" in fault.file
    train, test = ("base_train.csv", fault.file) if as_test else (fault.file, fault.test)

    source = {"train": f"raw/{train}", "validation": None, "test": f"raw/{test}"}
    outcome, error = run_stages(source)

    message = error + capsys.readouterr().out
    assert outcome == fault.outcome, message
    for words in fault.words:
        assert words in message
    if outcome != "refused":
        assert {name for name, check in read_checks().items() if not check["passed"]} == set(
            fault.failed
        )


@pytest.mark.parametrize(("name", "near"), [("banking77", 53), ("clinc150", 57)])
def test_real_data_is_accepted_and_its_known_repeats_are_counted(
    name: str, near: int, folder: Path
) -> None:
    (folder / "raw").symlink_to(DATA / name)
    validation = "raw/validation.csv" if (DATA / name / "validation.csv").exists() else None

    outcome, error = run_stages(
        {"train": "raw/train.csv", "validation": validation, "test": "raw/test.csv"}
    )

    assert outcome == "accepted", error
    assert read_checks()["near_duplicates_test"]["num_failing"] == near
    assert all(check["passed"] for check in read_checks().values())
