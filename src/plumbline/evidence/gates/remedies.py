"""What to do where a gate refuses, and where that gate is explained."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path("docs/evidence.md")  # of this checkout; it has an anchor for each gate
TRAIN_AGAIN = "`plumbline run --force --single-item train@{winner}`, then `make run`"

# One for each gate; docs/evidence.md has the same with links. `{winner}` is the winner's name.
REMEDIES: Mapping[str, str] = {
    "accepted": "`make run` validates these data again; of data that it rejects "
    "reports/validation.html has the rows, and a remedy for each check",
    "coverage": "add rows of that class to the split that lacks it, or take it out of train; or "
    "name all files as one `data.source`, which is divided so that every split has every class",
    "leakage": "the reason names rows: remove them from one of the two files. Copies between given "
    "splits: `data.policies.leakage: drop`. Near copies, customers, documents: `data.split.by: "
    "group`, and their column in `data.split.column`. A value that gives the label away: take it "
    "out of the texts and of `data.columns.metadata`",
    "consistency": "compare the splits in reports/validation.html (unknown words, classes); let "
    "`data.split` divide all rows in place of given files. An honest difference, by time or "
    "group: set `evaluation.max_validation_gap` to it and have that reviewed",
    "baselines": "the model learns too little: read what label_noise and conflicting_duplicates "
    "found in reports/validation.html, collect rows of train, try another candidate or other "
    "values (`plumbline tune {winner}`). Significantly worse than `evaluation.simple_candidate`: "
    "validation misled, so collect validation rows",
    "bounds": "look for traces of the answer in the inputs (codes, numbers of customers, copies), "
    "take them out, then `make run`. Generated data: `plumbline run --force --single-item ingest`, "
    "then `make run`. Weights that learned from these rows: name others",
    "control": "a model of shuffled labels knows the answers from elsewhere: pretrained weights "
    "that were fine-tuned on these rows (name others), or copies across splits (as of leakage). In "
    "a task of your own: shuffle_labels, and whatever the learner reads beside it",
    "floor": "look at the worst mistakes and the confusions in reports/report.html; correct "
    "labels, collect rows of the classes that are mixed up, try another candidate or other values "
    "(`plumbline tune {winner}`). A score above the floor with an interval below: collect test "
    "rows",
    "test_split": "put the champion's test rows back as they were, and append new rows in place of "
    "rewriting old ones. Another test split is meant: `evaluation.max_test_changes: 1.0` for one "
    "run, reviewed, then back",
    "champion": "nothing is broken: the champion stays. For a real gain collect rows of train or "
    "try other values on validation; for a small one, collect test rows. An equal model is wanted "
    "for another reason: `evaluation.champion: {policy: not-worse, margin: 0.01}`, before you look",
    "slices": "collect and check rows of train of the group that is named. Too small to judge, or "
    "a loss could go unseen: collect test rows of it, or name a column with fewer values in "
    "`evaluation.slices`",
    "calibration": "collect validation rows, on which the temperature is chosen; set "
    "`class_weights: none`, or try another `label_smoothing`. Answers without a probability: "
    "`evaluation.max_calibration_error: null`",
    "uncertainty": "more `members`, or another `member`, so that they differ where they err; else "
    "a single model, which claims no more than a confidence",
    "selective": "collect validation rows: a risk of 0.02 takes 300 right answers and no wrong "
    "one. Or state what you can keep: a larger `evaluation.selective.risk`, or a smaller "
    "`evaluation.selective.min_coverage`. Against its own threshold: " + TRAIN_AGAIN,
    "behaviour": "read the failed cases in reports/report.html: what is right there, the model has "
    "to learn. Add such texts to train (typing errors, other names, short forms), or try a "
    "pretrained candidate",
    "budget": "the reason names the limit. Smaller and faster: `int8` first in the `forms` of "
    "{winner}, fewer `max_tokens`, `members`, `layers`, `hidden` or `max_features`. Measured on a "
    "busy machine: `plumbline run --force --single-item evaluate`, then `make run`. Where "
    "production allows more, raise the limit in `evaluation.budget`",
    "parity": "put `fp32` first in the `forms` of {winner}",
    "export": "the graph does not follow from these weights: " + TRAIN_AGAIN + ". Again: "
    "`forms: [fp32]`, and report it with the reason. In a task of your own: compare the graph with "
    "the module, in evaluation mode",
    "answers": "the reason names row and rule. A predictor of plumbline: " + TRAIN_AGAIN + ". "
    "Your own: its predictor.py gives scores that are not sorted, do not sum to 1, or contradict "
    "the label",
    "replay": "the answer depends on other rows, their order, the time, or files that are not in "
    "the bundle; or faulty input is answered. Correct predictor.py, and the task's requirements",
    "power": "collect new test rows (`data.split.test`, or a larger test file); never move rows of "
    "train there. Worn out: draw a new split from new data. Another plan than at first: set "
    "`evaluation.planned_looks` back to the number in the reason",
}


@dataclass(frozen=True)
class Failure:
    """A gate that refuses, as a person reads it."""

    gate: str
    reason: str
    remedy: str
    page: str

    @property
    def lines(self) -> tuple[str, str]:
        """The reason, and what to do with where to read more."""
        return f"{self.gate}: {self.reason}", f"  what to do: {self.remedy} [{self.page}]"


def list_failures(evidence: Mapping[str, Any]) -> Iterator[Failure]:
    """List the gates of `evidence` that refuse, of any format, with their remedies."""
    for gate in evidence["gates"]:
        if gate["status"] == "fail":
            name = gate["name"]
            yield Failure(name, gate["reason"], describe_remedy(evidence, name), name_page(name))


def describe_remedy(evidence: Mapping[str, Any], gate: str) -> str:
    """Return what to do where `gate` refuses; empty for a gate that is not of this version."""
    return REMEDIES.get(gate, "").replace("{winner}", evidence.get("winner") or "NAME")


def name_page(gate: str) -> str:
    """Name the page that explains `gate`, or the command that prints it where no page is here."""
    return f"{PAGE}#{gate}" if PAGE.exists() else f"plumbline docs {PAGE.stem}"
