"""What each check means to a person, and what to do when it fails: in the order in which a report shows them."""

from collections.abc import Mapping

CATALOGUE: Mapping[str, tuple[str, str]] = {
    "schema": (
        "The manifest has the columns of this task",
        "run `dvc repro ingest` with this version",
    ),
    "rows": ("Train has enough rows", "add rows to the source, or lower validation.min_rows"),
    "splits": (
        "Train, validation and test all have rows",
        "give each split a share in data.split, or a source",
    ),
    "nulls": (
        "Share of rows dropped for an empty or null-like text or label",
        "fill them in at the source, or raise validation.max_null_share",
    ),
    "encoding": (
        "Rows with bytes that are not UTF-8",
        "convert the source to UTF-8 (iconv -f WINDOWS-1252 -t UTF-8), or raise validation.max_decoded_share",
    ),
    "truncated": (
        "Texts cut at data.policies.max_chars",
        "see whether these cells hold more than one text",
    ),
    "blanks": (
        "Texts of at most one character that says something",
        "remove these rows from the source",
    ),
    "distinct_texts": (
        "Texts in train differ",
        "all texts are the same: check which column data.columns.text names",
    ),
    "classes": (
        "Number of classes in train",
        "at least two classes are needed; too many speak for the wrong column in data.columns.label",
    ),
    "classes_validation": (
        "Number of classes in validation",
        "a split of one class measures nothing: split anew",
    ),
    "classes_test": (
        "Number of classes in test",
        "a split of one class measures nothing: split anew",
    ),
    "rare_labels": (
        "Classes with too few rows in train",
        "add rows, merge or remove these classes, or lower validation.min_rows_per_class",
    ),
    "unseen_labels": (
        "Held-out rows whose label is not in train",
        "add rows of these classes to train, or remove them from validation and test",
    ),
    "continuous_labels": (
        "Labels that look like measured values",
        "this is a regression target, not a class: name another data.columns.label, or bin the values",
    ),
    "near_identical_labels": (
        "Labels that differ in case, spaces or hyphens alone",
        "spell each class one way at the source; now they are learned as classes of their own",
    ),
    "duplicates": (
        "Rows that repeat an earlier one",
        "remove the copies, or raise validation.max_duplicate_share",
    ),
    "conflicting_duplicates": (
        "The same text under two labels",
        "decide on one label for each of these texts",
    ),
    "leakage_validation": (
        "Validation rows whose text is in train",
        "remove these rows from one of the two",
    ),
    "leakage_test": (
        "Test rows whose text is in train or validation",
        "remove these rows from one of the two",
    ),
    "near_duplicates_validation": (
        "Validation rows that nearly repeat a text of train",
        "remove these rows from one of the two, or let data.split divide them",
    ),
    "near_duplicates_test": (
        "Test rows that nearly repeat a text of train or validation",
        "remove these rows from one of the two, or let data.split divide them",
    ),
    "unknown_words_validation": (
        "Share of validation's words unknown to train, beyond what train shows against itself",
        "validation comes from elsewhere than train: draw both from the same source",
    ),
    "unknown_words_test": (
        "Share of test's words unknown to train, beyond what train shows against itself",
        "test comes from elsewhere than train: draw both from the same source",
    ),
    "label_drift": (
        "Distance of the label distribution from the reference (total variation)",
        "see whether classes were added, lost or renamed; if this is meant, name a newer validation.reference",
    ),
    "length_drift": (
        "Distance of text lengths from the reference (Kolmogorov-Smirnov)",
        "see whether texts are cut or joined; if this is meant, name a newer validation.reference",
    ),
    "vocabulary_drift": (
        "Share of words unknown to the reference, beyond what it shows against itself",
        "texts speak of new things: label and train on them; then name a newer validation.reference",
    ),
    "personal_data": (
        "Texts with a card number, an e-mail address or an IBAN",
        "mask them at the source before a model learns them by heart",
    ),
    "label_noise": (
        "Labels that cross-validated predictions contradict",
        "have these rows labelled again; scores on noisy test labels say little",
    ),
}
