"""Data that know too much: hidden copies of test, a test split that pleases, claims on noise."""

import random
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from plumbline.contract import layout
from plumbline.contract.task import SPLITS
from plumbline.tasks.text_classification.faults import models
from plumbline.tasks.text_classification.faults.examples import (
    accept_rows,
    add_copies,
    answer_rows,
    keep_test_rows,
    read_rows,
    renew_manifest,
    seal_source,
    write_rows,
)
from plumbline_selftest.protocol import Fault, FaultSite

COPY_EVERY = 10
DOUBLE_EVERY = 4
CUSTOMERS_EACH = 40  # of a label
FOOTER = "Sent from my new phone"
LOOKALIKES = str.maketrans("aeopcy", "\u0430\u0435\u043e\u0440\u0441\u0443")  # Cyrillic
WEIGHTS = Path("data/raw/weights")


def add_selectors(text: str) -> str:
    """Add a variation selector after each letter, as no reader sees."""
    return "\ufe0f".join(text)


def add_joiners(text: str) -> str:
    """Add a combining grapheme joiner after each letter."""
    return "\u034f".join(text)


def write_entities(text: str) -> str:
    """Write every third letter as an HTML entity."""
    written = []
    for place, letter in enumerate(text):
        written.append(f"&#{ord(letter)};" if place % 3 == 0 else letter)
    return "".join(written)


def use_lookalikes(text: str) -> str:
    """Write some letters in Cyrillic."""
    return text.translate(LOOKALIKES)


def add_footer(text: str) -> str:
    """Add five words."""
    return f"{text} {FOOTER}"


def exchange_word(text: str) -> str:
    """Exchange the longest word for another one."""
    words = text.split()
    words[words.index(max(words, key=len))] = "thing"
    return " ".join(words)


def reverse_words(text: str) -> str:
    """Write the words in the opposite order."""
    return " ".join(reversed(text.split()))


def plant_hidden_copies(change: Callable[[str], str]) -> Callable[[FaultSite], None]:
    """Return what puts a tenth of the test texts, each changed, into train."""

    def plant(site: FaultSite) -> None:
        copies = read_rows("test").iloc[::COPY_EVERY]
        copies = copies.assign(text=copies["text"].map(change))
        add_copies(site, "train", copies)

    return plant


def plant_doubled_rows(site: FaultSite) -> None:
    """Double test rows that the candidate answers rightly."""
    add_copies(site, "test", _find_easy_rows(site).iloc[::DOUBLE_EVERY])


def plant_easy_rows(site: FaultSite) -> None:
    """Keep the test rows that the candidate answers rightly."""
    keep_test_rows(site, _find_easy_rows(site))


def plant_accepted_answers(site: FaultSite) -> None:
    """Make the candidate's answers the labels of test, in the manifest too."""
    test = read_rows("test")
    test["label"] = answer_rows(site, test)
    write_rows("test", test)
    accept_rows(site)


def plant_customers(site: FaultSite) -> None:
    """Add a customer's number to each text; a customer always has the same label."""
    _write_customers()
    accept_rows(site)


def plant_customers_in_source(site: FaultSite) -> None:
    """Do the same, as if the source were like that."""
    _write_customers()
    renew_manifest()
    seal_source()


def plant_fitted_on_held_out_rows(site: FaultSite) -> None:
    """Fit the candidate to validation and test as well; the data are as they were."""
    train = read_rows("train")
    write_rows("train", pd.concat([train, read_rows("validation"), read_rows("test")]))
    site.accept_data()
    site.retrain()
    write_rows("train", train)
    site.accept_data()


def _write_customers() -> None:
    labels = sorted(set(read_rows("train")["label"]))
    for split in SPLITS:
        rows = read_rows(split)
        draw = random.Random(split)  # noqa: S311 - no secrets
        numbers = []
        for label in rows["label"]:
            customer = draw.randrange(CUSTOMERS_EACH) * len(labels) + labels.index(label)
            numbers.append(f" {50_000 + customer}")
        write_rows(split, rows.assign(text=rows["text"] + numbers))


def plant_claim_of_no_noise(site: FaultSite) -> None:
    """Say in the manifest that no label is wrong."""
    manifest = pd.read_parquet(layout.MANIFEST)
    manifest.assign(noisy=False).to_parquet(layout.MANIFEST, index=False)


def plant_known_answers_without_noise(site: FaultSite) -> None:
    """Answer every test text rightly, noise and all, and say that there is no noise."""
    plant_claim_of_no_noise(site)
    site.accept_data()
    models.plant_known_answers(site)


def plant_unpinned_weights(site: FaultSite) -> None:
    """Let a candidate start from a folder of weights that nobody pinned."""
    WEIGHTS.mkdir(parents=True)
    (WEIGHTS / "model.safetensors").write_bytes(b"fine-tuned on the test split")
    candidate = (
        f"{{kind: pretrained, forms: [fp32], weights: ./{WEIGHTS}, sha256: null, lora: null, "
        "max_tokens: 64, learning_rate: 1.0e-4, head_learning_rate: 1.0e-3, weight_decay: 0.01, "
        "label_smoothing: 0.1, warmup: 0.1, batch_size: 32, max_epochs: 1, patience: 1, "
        "gradient_clip: 1.0}"
    )
    site.edit_params("\ntraining:", f"\n  tuned: {candidate}\ntraining:")


def _find_easy_rows(site: FaultSite) -> pd.DataFrame:
    test = read_rows("test")
    return test[test["label"] == answer_rows(site, test)]


HIDDEN = {
    "behind variation selectors": add_selectors,
    "behind combining joiners": add_joiners,
    "in HTML entities": write_entities,
    "in look-alike letters": use_lookalikes,
    "with five words added": add_footer,
    "with a word exchanged": exchange_word,
    "with the words in another order": reverse_words,
}
FAULTS = (
    *(
        Fault(f"test rows in train, {way}", "leakage", "refuse", plant_hidden_copies(change))
        for way, change in HIDDEN.items()
    ),
    Fault("easy test rows doubled", "leakage", "refuse", plant_doubled_rows),
    Fault("a customer's number in every text", "leakage", "refuse", plant_customers),
    Fault(
        "a customer's number in every text, seen before training",
        "groups_test",
        "error",
        plant_customers_in_source,
        before="validate",
        until="validate",
    ),
    Fault(
        "a model fitted on validation and test alike",
        "bounds",
        "refuse",
        plant_fitted_on_held_out_rows,
    ),
    Fault("hard test rows left out", "consistency", "refuse", plant_easy_rows),
    Fault(
        "the model's answers as accepted test labels",
        "consistency",
        "refuse",
        plant_accepted_answers,
    ),
    Fault(
        "known answers, and a manifest without noise",
        "bounds",
        "refuse",
        plant_known_answers_without_noise,
    ),
    Fault(
        "a manifest that is edited before it is validated",
        "manifest.parquet is not what ingest wrote",
        "error",
        plant_claim_of_no_noise,
        before="validate",
    ),
    Fault(
        "a folder of weights that is not pinned",
        "sha256 of model.safetensors is required",
        "error",
        plant_unpinned_weights,
    ),
)
