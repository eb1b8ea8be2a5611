"""Challengers that come one after the other: each a little worse, or built on what was shown."""

import html
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.tasks.text_classification.faults.examples import read_rows
from plumbline.tasks.text_classification.faults.fixture import FEATURES, FEW_FEATURES
from plumbline.tasks.text_classification.faults.models import plant_config
from plumbline_selftest.protocol import Fault, FaultSite

MARGIN = 0.1
STEP_EVERY = 20  # half of the margin: one of twenty rows that were right is wrong
UNSURE = 0.12  # the share of rows of which a challenger gives its second answer
SHOWN = ("*.html", "*.md", "metrics.json", "plots/*")  # what people see of an evaluation


def plant_second_step(site: FaultSite) -> None:
    """Let a challenger that lost half a margin become champion, then lose half a margin more."""
    site.edit_params(
        "champion: {policy: better, margin: 0.0}",
        f"champion: {{policy: not-worse, margin: {MARGIN}}}",
    )
    _begin_as_champion(site)
    first, both = _choose_wrong_texts(site)
    plant_config(wrong=first)(site)
    for command in ("evaluate", "register", "promote"):
        site.run(command)
    plant_config(wrong=both)(site)


def plant_learner_of_shown_rows(site: FaultSite) -> None:
    """Try second answers, have them evaluated, and know by heart each test row that is shown."""
    _begin_as_champion(site)
    tried = _find_unsure_texts(site)
    plant_config(wrong=tried)(site)
    site.run("evaluate")
    pages = []
    for pattern in SHOWN:
        for path in layout.REPORT.parent.glob(pattern):
            pages.append(html.unescape(path.read_text(encoding="utf-8")))
    shown = "\n".join(pages)
    test = read_rows("test")
    known = test[test["text"].map(lambda text: text in shown)]
    learned = dict(zip(known["text"], known["label"], strict=True))
    plant_config(wrong=tried, answers=learned)(site)


def _begin_as_champion(site: FaultSite) -> None:
    """Train what the champion is; gates of single groups and of calibration are kept out of it."""
    site.edit_params(FEATURES, FEW_FEATURES)
    site.retrain()
    site.edit_params("max_slice_loss: 0.02", "max_slice_loss: 0.5")
    site.edit_params("max_calibration_error: 0.15", "max_calibration_error: 0.5")


def _choose_wrong_texts(site: FaultSite) -> tuple[list[str], list[str]]:
    """Choose held-out texts that the candidate answers rightly, for one step and for two."""
    first: list[str] = []
    both: list[str] = []
    for split in ("validation", "test"):
        rows = read_rows(split)
        answers = _ask_candidate(site, rows["text"].tolist())["label"]
        right = rows.loc[rows["label"] == answers, "text"].tolist()
        step = len(rows) // STEP_EVERY
        first += right[:step]
        both += right[: 2 * step]
    return first, both


def _find_unsure_texts(site: FaultSite) -> list[str]:
    """Find the held-out texts of whose answers the candidate is least sure."""
    texts: list[str] = []
    for split in ("validation", "test"):
        asked = read_rows(split)["text"].tolist()
        scores = _ask_candidate(site, asked)["score"]
        unsure = sorted(zip(scores, asked, strict=True))[: round(UNSURE * len(asked))]
        texts += [text for _, text in unsure]
    return texts


def _ask_candidate(site: FaultSite, texts: list[str]) -> dict[str, list[Any]]:
    return bundle.load(layout.locate_bundle(site.candidate)).predict({"text": texts})


FAULTS = (
    Fault(
        "half of a margin lost, and then half of it again",
        "champion",
        "keep",
        plant_second_step,
    ),
    Fault(
        "a challenger that learns the test rows it was shown",
        "champion",
        "keep",
        plant_learner_of_shown_rows,
    ),
)
