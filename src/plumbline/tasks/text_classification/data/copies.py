"""Copies in held-out splits: each text counts once in a score."""

from plumbline.tasks.text_classification.data.normalisation import digest_compact
from plumbline.tasks.text_classification.data.policies import TextExample


class HeldOutRows:
    """The rows of validation and test, by what they say and their label.

    Doubled rows would let a few texts decide a score. In train a copy may stay: there it is a
    weight that the data have.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()  # 64-bit digests: there may be millions of rows

    def is_copy(self, example: TextExample, split: str) -> bool:
        """Whether an earlier row of this held-out split has the text and the label."""
        if split == "train":
            return False
        key = int(digest_compact(f"{split} {example.label}", example.text), 16)
        if key in self._seen:
            return True
        self._seen.add(key)
        return False
