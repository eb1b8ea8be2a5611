"""What the four parts of a task offer; each is a sub-package of the task, with these functions."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from plumbline.contract.records import (
    Bound,
    Candidate,
    Case,
    Check,
    ExportDifference,
    Figure,
    Leak,
    Learner,
    Scores,
)
from plumbline.contract.task import Columns, P, Predictor

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from plumbline.tables.manifest_file import Manifest


class DataPart(Protocol[P]):
    """`task.data`: from a source to examples on disk, and back."""

    def ingest(self, params: P, examples: Path, manifest: Path) -> dict[str, Any]:
        """Write the folder `examples` and the table `manifest`; return facts about the source.

        Files of the test split are named `test.*`: those who learn do not get them.
        """
        ...

    def shuffle_labels(self, examples: Path, target: Path, seed: int, max_rows: int) -> None:
        """Write train (`max_rows` of it) and validation to `target` with their answers shuffled."""
        ...

    def list_rows(self, examples: Path, split: str) -> "pd.DataFrame | Iterator[pd.DataFrame]":
        """Return the rows of one split as the manifest has them, in order.

        They may come in several tables that follow each other. The columns are `id` and all others
        that follow from the examples: the manifest is compared with them.
        """
        ...

    def read_inputs(self, examples: Path, split: str) -> dict[str, list[Any]]:
        """Return the predictor's columns for one split, in order."""
        ...


class ExpectationsPart(Protocol[P]):
    """`task.expectations`: what examples must be before a model may learn from them."""

    def build_table(
        self, params: P, examples: Path, manifest: "Manifest", facts: Mapping[str, Any]
    ) -> "pd.DataFrame | Iterator[pa.RecordBatch]":
        """Return the table that checks look at; `facts` is what `ingest` returned.

        A table in batches may have any number of rows.
        """
        ...

    def build_checks(self, params: P, table: "pd.DataFrame") -> list[Check]:
        """Return the suite.

        `table` has `split` and `label` of each held-out row, and of one train row for each label.
        """
        ...

    def find_leaks(self, params: P, examples: Path) -> list[Leak]:
        """Count the examples of held-out splits that an earlier split also has."""
        ...


class ModelsPart(Protocol[P]):
    """`task.models`: the candidates."""

    def build_learner(self, params: P, candidate: str, examples: Path) -> Learner:
        """Return the model and batches of `candidate`, ready to train."""
        ...

    def compare_export(
        self, params: P, candidate: str, folder: Path, columns: Columns
    ) -> list[ExportDifference]:
        """Answer `columns` with the trained weights in the bundle `folder`, and with each form.

        Other numbers in the bundle that follow from the examples may be derived again too. Empty
        where the predictor itself reads the weights.
        """
        ...


class ScoringPart(Protocol[P]):
    """`task.scoring`: how good a predictor is, and how good it could be."""

    def score(self, examples: Path, split: str, predictor: Predictor) -> Scores:
        """Score every example of `split`; raises ValueError for an answer of the wrong form."""
        ...

    # Optional: `plumbline outcomes` calls it where a task has it.
    #     score_answer(answer: Mapping[str, Any], truth: str) -> float
    # How right one answer is, all outputs of a row, from 0 to 1, and 1 for a right one. ValueError
    # for a truth that is none.
    #     find_unknown(truths: Sequence[str], bundle: Path) -> dict[str, str]
    # Optional too: truths that no answer of the bundle can be, each with what is meant, or "".

    def build_baselines(self, params: P, examples: Path) -> dict[str, Predictor]:
        """Return the trivial predictors that a candidate has to beat, by name."""
        ...

    def compute_bound(self, params: P, examples: Path, split: str) -> Bound:
        """Return the best score that is possible on `split`."""
        ...

    def check_answers(
        self, columns: Columns, params: Mapping[str, Any], answers: Mapping[str, list[Any]]
    ) -> list[str]:
        """Return what contradicts itself in the answers to `columns`; each problem names its row.

        A label is that of the best score, a probability is from 0 to 1 ... `params` are those of
        the call.
        """
        ...

    def build_longest_input(self, predictor: Predictor) -> Columns:
        """Return one row, the longest that `predictor` must answer in time; values are JSON."""
        ...

    def check_behaviour(self, params: P, examples: Path, predictor: Predictor) -> list[Case]:
        """Run every behavioural test of `predictor` on the test split."""
        ...

    def draw_figures(self, params: P, candidates: list[Candidate]) -> list[Figure]:
        """Draw the figures of the report; the winner is the first of `candidates`."""
        ...
