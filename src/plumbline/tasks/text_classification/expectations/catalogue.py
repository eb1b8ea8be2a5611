"""What each check means to a person, and what to do when it fails, in the order of a report."""

from collections.abc import Mapping

REMOVE_COPIES = (
    "remove these rows from one of the two files, or set data.policies.leakage: drop, which "
    "removes them from the earlier split"
)
REMOVE_SIMILAR = (
    "with files given for each split, remove these rows from one of them; where data.split divided "
    "the rows, remove near copies from the source, or set data.split.by: group and name a column "
    "that similar rows share"
)
SPLIT_AGAIN = "a split with only one class measures nothing: split the data again"
ADD_OR_DIVIDE = (
    "nothing could be said of these classes, and the gate `coverage` would refuse every model: add "
    "rows of them, remove them from train, or name all files as one data.source, which is divided "
    "so that every split has every class"
)

SPLIT_BY_GROUP = (
    "set data.split: {by: group, column: ...}, or take the value out of the texts and of "
    "data.columns.metadata: the gate `leakage` would refuse every model"
)

# check -> (title, remedy)
CATALOGUE: Mapping[str, tuple[str, str]] = {
    "rows": (
        "Train has enough rows",
        "add rows to the source, or lower validation.min_rows",
    ),
    "nulls": (
        "Share of rows dropped for an empty or null-like text or label",
        "fill them in at the source, or raise validation.max_null_share",
    ),
    "encoding": (
        "Rows with bytes that are not UTF-8",
        "convert the source (`iconv -f ENCODING -t UTF-8 FILE > NEW`; bytes do not say which), or, "
        "if reports/validation.html shows the right letters, add encoding to validation.warnings",
    ),
    "truncated": (
        "Texts cut at data.policies.max_chars",
        "check whether these cells contain more than one text",
    ),
    "blanks": (
        "Texts with at most one letter, digit or symbol",
        "remove these rows from the source",
    ),
    "distinct_texts": (
        "Train has more than one text",
        "all texts are the same: check which column data.columns.text names",
    ),
    "classes": (
        "Number of classes in train",
        "at least two classes are needed; too many suggest that data.columns.label names the "
        "wrong column",
    ),
    "classes_validation": ("Number of classes in validation", SPLIT_AGAIN),
    "classes_test": ("Number of classes in test", SPLIT_AGAIN),
    "rare_labels": (
        "Classes with too few rows in train",
        "add rows, merge or remove these classes, or lower validation.min_rows_per_class",
    ),
    "unseen_labels": (
        "Held-out rows whose label is not in train",
        "add rows of these classes to train, or remove them from validation and test",
    ),
    "absent_labels_validation": ("Classes of train that validation does not have", ADD_OR_DIVIDE),
    "absent_labels_test": ("Classes of train that test does not have", ADD_OR_DIVIDE),
    "continuous_labels": (
        "Labels that look like measured values",
        "this is a regression target, not a class: set data.columns.label to another column, or "
        "group the values into classes",
    ),
    "label_words": (
        "Rows of train with a word that nearly alone predicts a label",
        "if the word is a trace of how the data were made (a tag, a code, a template), remove it "
        "from the texts: later texts will not have it",
    ),
    "near_identical_labels": (
        "Labels that read the same, or differ only in case, spaces, hyphens or accents",
        "use one spelling for each class at the source; now each spelling is a class of its own",
    ),
    "duplicates": (
        "Rows that repeat an earlier one",
        "remove the copies, or raise validation.max_duplicate_share",
    ),
    "conflicting_duplicates": (
        "The same text with two labels",
        "decide on one label for each of these texts; where most rows are listed, does "
        "data.columns name text and label the wrong way round?",
    ),
    "leakage_validation": ("Validation rows whose text is in train", REMOVE_COPIES),
    "leakage_test": ("Test rows whose text is in train or validation", REMOVE_COPIES),
    "near_duplicates_validation": (
        "Validation rows that nearly repeat a text of train, or too often of validation",
        REMOVE_SIMILAR,
    ),
    "near_duplicates_test": (
        "Test rows that nearly repeat a text of train or validation, or too often of test",
        REMOVE_SIMILAR,
    ),
    "groups_validation": (
        "Validation rows that a value they share with train gives away",
        SPLIT_BY_GROUP,
    ),
    "groups_test": (
        "Test rows that a value they share with train or validation gives away",
        SPLIT_BY_GROUP,
    ),
    "unknown_words_validation": (
        "Share of validation's words unknown to train, beyond what train shows against itself",
        "validation has another origin than train: draw both from the same source",
    ),
    "unknown_words_test": (
        "Share of test's words unknown to train, beyond what train shows against itself",
        "test has another origin than train: draw both from the same source",
    ),
    "personal_data": (
        "Texts with a card number, an e-mail address or an IBAN",
        "mask them at the source before a model memorises them",
    ),
    "label_noise": (
        "Labels that cross-validated predictions contradict",
        "have these rows labelled again; scores on noisy test labels mean little",
    ),
}

# check -> those whose failure explains that it fails too: with too few rows, nothing else is known
TOO_FEW = ("rows",)
FOLLOWS_FROM: Mapping[str, tuple[str, ...]] = {
    "distinct_texts": TOO_FEW,
    "classes": TOO_FEW,
    "classes_validation": (*TOO_FEW, "classes"),
    "classes_test": (*TOO_FEW, "classes"),
    "rare_labels": TOO_FEW,
    "unseen_labels": TOO_FEW,
    "absent_labels_validation": TOO_FEW,
    "absent_labels_test": TOO_FEW,
    "unknown_words_validation": TOO_FEW,
    "unknown_words_test": TOO_FEW,
}
