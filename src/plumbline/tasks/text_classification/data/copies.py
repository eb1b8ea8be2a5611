"""Copies in held-out splits: each text counts once in a score."""

import hashlib


class HeldOutRows:
    """The rows of validation and test, by what they say and their label.

    Doubled rows would let a few texts decide a score. In train a copy may stay: there it is a
    weight that the data have.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()  # 64-bit digests: there may be millions of rows

    def is_copy(self, split: str, label: str, compact: int) -> bool:
        """Whether an earlier row of this held-out split has the text and the label.

        `compact` is that of the text (`digest_forms`).
        """
        if split == "train":
            return False
        digest = hashlib.sha256(f"{split} {label}\0{compact}".encode()).digest()
        key = int.from_bytes(digest[:8])
        if key in self._seen:
            return True
        self._seen.add(key)
        return False
