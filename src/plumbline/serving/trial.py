"""A canary's trial: tests find out whether it is worse, or becomes worse, as long as it lasts."""

from plumbline.statistics.betting import ALPHA, ShareTest


class Trial:
    """Two tests on the same requests, each at half of the level (Bonferroni)."""

    def __init__(self, max_disagreement: float, alpha: float = ALPHA) -> None:
        self.failures = ShareTest(0.001, 0.019, alpha / 2)
        self.rows = ShareTest(max_disagreement, 0.15, alpha / 2)

    def add_failure(self) -> None:
        """Count one request that the canary failed to answer."""
        self.failures.add(1, 1)

    def add_answer(self, num_rows: int, num_differing: int) -> None:
        """Count one request that both answered."""
        self.failures.add(1, 0)
        self.rows.add(num_rows, num_differing)

    @property
    def verdict(self) -> str | None:
        """Why the canary is worse than the champion, or None."""
        if self.failures.failed:
            return f"failures: {self.failures.num_bad} of {self.failures.num_events} requests"
        return None

    @property
    def question(self) -> str | None:
        """Why a person has to look which of the two is right, or None."""
        if self.rows.failed:
            return (
                f"answers that differ from the champion's: {self.rows.num_bad} of "
                f"{self.rows.num_events} rows, more than {self.rows.limit:.3g} of them"
            )
        return None
