"""Generated records: agents of several models, whose mistakes are shared within a model.

A question has a difficulty d ~ N(0, 1). An agent is right with probability Phi(ability - d),
independently of the others once d is known. A wrong one repeats, with probability `copy_share`, the
wrong answer that its model leans to on this question; else it gives any wrong answer. So votes of
one model count less than those of several, and difficulty makes all of them dependent.
"""

from collections.abc import Iterator

import numpy as np

from tasks.answer_consensus.data.records import RecordedAnswer
from tasks.answer_consensus.params import RecordedData

SYLLABLES = ("ba", "do", "fi", "gu", "ka", "lo", "mi", "nu", "pe", "ra", "so", "ti", "ve", "zu")
NUM_WORDS = 9
FIRST, NUM_OPTIONS = 100, 1001  # numbers that answers are; enough for every wrong one
TOPICS = ("easy", "middle", "hard")  # thirds of the difficulty
THIRDS = (-0.4307, 0.4307)  # of a standard normal distribution


def generate_records(data: RecordedData, seed: int) -> Iterator[RecordedAnswer]:
    """Yield one answer for each question and agent."""
    from scipy.stats import norm

    generated = data.generated
    if generated is None:
        raise AssertionError("unreachable: params need `generated` where the source is generated")
    random = np.random.default_rng((seed, 0))
    names = list(data.agents)
    models = [agent.model for agent in data.agents.values()]
    abilities = np.array([generated.talents[name].ability for name in names])
    mean_tokens = np.array([generated.talents[name].tokens for name in names])
    shape = (generated.num_questions, len(names))
    difficulties = random.normal(size=generated.num_questions)
    is_right = random.random(shape) < norm.cdf(abilities - difficulties[:, None])
    copies = random.random(shape) < generated.copy_share
    own = random.integers(generated.wrong_answers, size=shape)
    leaning = random.integers(generated.wrong_answers, size=(len(difficulties), len(models)))
    model_places = [models.index(model) for model in models]
    wrong = np.where(copies, leaning[:, model_places], own)
    tokens = 1 + random.poisson(mean_tokens - 1, shape)
    numbers = FIRST + random.random((len(difficulties), NUM_OPTIONS)).argsort(axis=1)
    syllables = random.integers(len(SYLLABLES), size=(len(difficulties), NUM_WORDS, 3))
    for number, difficulty in enumerate(difficulties):
        gold, *others = (str(option) for option in numbers[number])
        topic = TOPICS[int(np.searchsorted(THIRDS, difficulty))]
        question = _write_question(syllables[number])
        for place, name in enumerate(names):
            yield RecordedAnswer(
                place=f"generated, question {number}",
                question_id=f"q{number}",
                question=question,
                gold=gold,
                agent=name,
                answer=gold if is_right[number, place] else others[wrong[number, place]],
                tokens=int(tokens[number, place]),
                topic=topic,
                group=None,
            )


def _write_question(syllables: np.ndarray) -> str:
    words = ["".join(SYLLABLES[place] for place in word) for word in syllables]
    return f"How many {' '.join(words)}?"
