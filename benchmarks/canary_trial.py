"""After how long a canary's trial notices that it is worse, and how often it returns a sound one.

    python benchmarks/canary_trial.py

Prints the tables of docs/serving.md: medians of 200 simulated trials of one test each, and of 300
trials of 5,000 requests at all three limits how many were returned. Takes a minute.
"""

import copy
import random
import statistics
from collections.abc import Callable

from plumbline.serving.trial import ShareTest, Trial

NUM_TRIALS, LONGEST = 200, 20_000
ANSWERS_A_SECOND = 5
Draw = Callable[[random.Random], int]  # how many events of the next group are bad


def main() -> None:
    """Print both tables."""
    sound = Trial(0.1, 2.0)
    small = Trial(0.05, 2.0)
    second = ANSWERS_A_SECOND
    cases: list[tuple[str, ShareTest, int, Draw]] = [
        ("every request fails", sound.failures, 1, lambda dice: 1),
        ("2 % fail", sound.failures, 1, lambda dice: dice.random() < 0.02),
        ("every row differs", sound.rows, 1, lambda dice: 1),
        ("25 % differ", sound.rows, 1, lambda dice: dice.random() < 0.25),
        ("15 % of requests, all 64 rows", small.rows, 64, lambda dice: draw_group(dice, 64, 0.15)),
        ("a third of requests", small.rows, 64, lambda dice: draw_group(dice, 64, 1 / 3)),
        ("every answer is slow", sound.slow, second, lambda dice: second),
        (
            "half of them",
            sound.slow,
            second,
            lambda dice: sum(dice.random() < 0.5 for _ in range(second)),
        ),
        ("20 % of seconds", sound.slow, second, lambda dice: draw_group(dice, second, 0.2)),
    ]
    for name, test, size, draw in cases:
        delays = [measure_delay(test, size, draw, num_sound) for num_sound in (0, 1000, 100_000)]
        print(f"{name}: noticed after {delays}, at the start and after 1,000 and 100,000 sound")
    for num_rows in (1, 64):
        print(f"at all limits, requests of {num_rows}: {count_returns(num_rows)} of 300 returned")


def draw_group(dice: random.Random, size: int, share: float) -> int:
    """All events of a group are bad, or none."""
    return size * (dice.random() < share)


def measure_delay(test: ShareTest, size: int, draw: Draw, num_sound: int) -> float:
    """The median number of groups of `size` events; of requests, but for `slow` of seconds."""
    begun = copy.deepcopy(test)
    is_of_seconds = size == ANSWERS_A_SECOND
    for _ in range(num_sound // size if is_of_seconds else num_sound):
        begun.add(size, 0)
    dice = random.Random(1)
    delays = []
    for _ in range(NUM_TRIALS):
        trial = copy.deepcopy(begun)
        delay = 0
        while not trial.failed and delay < LONGEST:
            trial.add(size, draw(dice))
            delay += 1
        delays.append(delay)
    return statistics.median(delays) + is_of_seconds  # a second counts when the next one begins


def count_returns(num_rows: int) -> int:
    """Of 300 canaries at all three limits, whose requests differ on all rows or none."""
    dice = random.Random(9)
    return sum(is_returned(dice, num_rows) for _ in range(300))


def is_returned(dice: random.Random, num_rows: int) -> bool:
    """Whether one such canary is returned within 5,000 requests, one a second."""
    trial = Trial(0.05, 2.0)
    for second in range(5_000):
        if dice.random() < 0.001:
            trial.add_failure()
            continue
        differing = draw_group(dice, num_rows, 0.05)
        trial.add_answer(num_rows, differing, slow=dice.random() < 0.1, now_s=second)
        if trial.verdict:
            return True
    return False


if __name__ == "__main__":
    main()
