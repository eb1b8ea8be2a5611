"""What almost nothing reaches, and what nothing can surpass: the simple baselines and the best possible score."""

import hashlib
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

from plumbline.contract import layout
from plumbline.contract.task import Bound, Columns, Predictor
from plumbline.tasks.text_classification.data import read
from plumbline.tasks.text_classification.params import TextParams


class Prior:
    """Answers without reading: always the most frequent class or, if `draws`, one drawn by the classes' frequency."""

    forms = ("exact",)

    def __init__(self, counts: Counter[str], *, draws: bool) -> None:
        total = counts.total()
        self._shares = {
            label: count / total
            for label, count in sorted(counts.items(), key=lambda c: (-c[1], c[0]))
        }
        self._draws = draws

    def predict(
        self, columns: Columns, top_k: int = 3, threshold: float = 0.0, **_: Any
    ) -> dict[str, list[Any]]:
        """The label of every text, with the class frequencies as scores."""
        labels = [self._label(text) for text in columns["text"]]
        ranked = [{"label": label, "score": share} for label, share in self._shares.items()][:top_k]
        chosen = [self._shares[label] for label in labels]
        return {
            "label": labels,
            "score": chosen,
            "scores": [ranked for _ in labels],
            "abstained": [share < threshold for share in chosen],
        }

    def _label(self, text: str) -> str:
        """The draw hangs on the text alone, so that every run tells the same."""
        names = list(self._shares)
        if not self._draws:
            return names[0]
        point = (
            int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6])
            / 2**48
        )
        return next(
            (
                n
                for n, end in zip(names, accumulate(self._shares.values()), strict=True)
                if point < end
            ),
            names[-1],
        )


def baselines(params: TextParams, examples: Path) -> dict[str, Predictor]:
    """The predictors that any candidate has to beat."""
    counts = Counter(read(examples, "train", ["label"])["label"].to_pylist())
    return {"majority": Prior(counts, draws=False), "stratified": Prior(counts, draws=True)}


def bounds(params: TextParams, examples: Path, split: str) -> Bound:
    """The Bayes ceiling of generated data, whose manifest, beside `examples`, says which labels were flipped."""
    if params.data.source != "generated":
        return Bound(
            None, "the label noise of this source is not known, so no ceiling can be stated"
        )
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows = pq.read_table(
        examples.parent / layout.MANIFEST.name, columns=["noisy"], filters=[("split", "=", split)]
    )
    flipped = pc.sum(rows["noisy"]).as_py()
    reason = f"{flipped} of {len(rows)} labels were flipped at random, and whoever knows the truth misses just these"
    return Bound(1 - flipped / len(rows), reason)
