"""What a learned vote and a learned policy gain on recorded answers of real language models.

`python benchmarks/consensus.py FOLDER` reads answers.parquet (dataset, id, agent, answer, chars)
and questions.parquet (dataset, id, question, gold), draws halves several times, learns on one and
tests on the other, and prints means, and the range of p of McNemar's exact test. The last lines say
what a benchmark of 198 questions can show.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from plumbline.statistics import intervals, power
from tasks.answer_consensus.data import (
    Answers,
    AnswerSetting,
    find_normaliser,
    play,
)
from tasks.answer_consensus.models.choice_model import fit_choice_model
from tasks.answer_consensus.models.logit import fit_logit
from tasks.answer_consensus.models.policy import (
    build_config,
    build_learned_config,
    choose_by_accuracy,
)
from tasks.answer_consensus.models.subsets import build_agent_choices, list_prefixes
from tasks.answer_consensus.models.tallies import Tallies, count_answers
from tasks.answer_consensus.models.votes import (
    calibrate_vote,
    choose_best_set,
)
from tasks.answer_consensus.params import LogitConfig
from tasks.answer_consensus.predictor import Predictor

NUM_HALVES = 5
MEAN_COSTS = (0.004, 0.012, 0.030)  # dollars of a question
RIDGE = 1e-3
CHARS_A_TOKEN = 4
PRICES = {"gpt4": 0.06, "gpt-3.5-turbo": 0.002, "text": 0.02, "code": 0.02}  # $ of 1000 tokens
ONE_STRONG = ("gpt4_COT", "gpt-3.5-turbo_COT", "code002_COT", "text002_noNL", "text002_NL+SL")
EIGHT = (
    "gpt4_COT", "gpt4_NL+SL", "gpt4_noNL", "gpt4_LtM",
    "gpt-3.5-turbo_COT", "gpt-3.5-turbo_NL+SL", "gpt-3.5-turbo_LtM", "gpt-3.5-turbo_noNL",
)  # fmt: skip


def read_answers(
    folder: Path, datasets: Sequence[str], agents: Sequence[str] | None
) -> tuple[Answers, list[str]]:
    """Read the questions, and the names of the agents; None: all that were asked everywhere."""
    rows = pd.read_parquet(folder / "answers.parquet")
    rows = rows[rows["dataset"].isin(datasets)]
    if agents is None:  # those that were asked in all of the data sets
        counts = rows.groupby("agent")["dataset"].nunique()
        agents = sorted(counts[counts == len(datasets)].index)
    rows = rows[rows["agent"].isin(agents)]
    key = rows["dataset"] + " " + rows["id"]
    texts = rows.assign(key=key).pivot_table(
        index="key", columns="agent", values="answer", aggfunc="first", dropna=False
    )
    chars = rows.assign(key=key).pivot_table(index="key", columns="agent", values="chars")
    asked = pd.read_parquet(folder / "questions.parquet")
    asked.index = asked["dataset"] + " " + asked["id"]
    asked = asked.loc[texts.index]
    recorded = Answers(
        ids=texts.index.to_numpy(object),
        questions=asked["question"].to_numpy(object),
        golds=asked["gold"].astype(str).to_numpy(object),
        labels=asked["dataset"].to_numpy(object),
        groups=np.full(len(asked), "", object),
        answers=texts[list(agents)].fillna("").astype(str).to_numpy(object),
        tokens=np.ceil(chars[list(agents)].fillna(0).to_numpy() / CHARS_A_TOKEN).astype(int),
        confidences=np.full(texts[list(agents)].shape, np.nan),
    )
    return recorded, list(agents)


def build_setting(answers: Answers, agents: list[str], mean_cost: float) -> AnswerSetting:
    """Return who was asked, at list prices; asking costs what it costs in the mean of `answers`."""
    models = [name.rpartition("_")[0] or name for name in agents]
    prices = [next(p for start, p in PRICES.items() if name.startswith(start)) for name in agents]
    costs = (answers.tokens.mean(axis=0) * np.array(prices) / 1000).tolist()
    stated = [0.0] * len(agents)
    return AnswerSetting(agents, models, prices, costs, None, mean_cost, stated, "number", None)


def learn_vote(setting: AnswerSetting, train: Tallies) -> Predictor:
    """Fit a conditional logit to the answers of all agents at once."""
    everyone = list(range(len(setting.agents)))
    examples = list_prefixes(train, everyone)[-len(train.right) :]
    choices = build_agent_choices(examples)
    weights = fit_choice_model(choices, RIDGE, np.zeros(choices.features.shape[2]))
    size = len(everyone)
    scorer = {
        "kind": "additive",
        "favour": weights[:size].tolist(),
        "none": float(weights[-1]),
        "none_each": weights[size : 2 * size].tolist(),
    }
    return Predictor(build_config(setting, train, scorer, everyone))


def rate_vote(predictor: Predictor, tallies: Tallies) -> np.ndarray:
    """Say of each question whether the vote of all agents is right [Q]."""
    everyone = np.ones(tallies.groups.shape[1], bool)
    states = [tallies.mask_state(row, everyone) for row in range(len(tallies.right))]
    shares = predictor.compute_shares([state for state, _ in states])
    return np.array(
        [
            bool(one[:-1].size) and int(one[:-1].argmax()) == place
            for one, (_, place) in zip(shares, states, strict=True)
        ],
        float,
    )


def compare_votes(
    folder: Path, title: str, datasets: Sequence[str], agents: Sequence[str] | None
) -> None:
    """Print best single, plurality, learned vote and any right, over several halves."""
    answers, names = read_answers(folder, datasets, agents)
    rows = []
    for seed in range(NUM_HALVES):
        order = np.random.default_rng(seed).permutation(len(answers.ids))
        halves = [answers.take(half) for half in np.array_split(order, 2)]
        setting = build_setting(halves[0], names, mean_cost=1e9)
        train, test = (count_answers(setting, half) for half in halves)
        best = int(np.argmax(train.accuracy))
        everyone = list(range(len(names)))
        plurality = rate_plurality(setting, train, test, everyone)
        learned = rate_vote(learn_vote(setting, train), test)
        single = test.hits[:, best].astype(float)
        rows.append(
            (
                single.mean(),
                plurality.mean(),
                learned.mean(),
                test.hits.any(axis=1).mean(),
                intervals.compute_mcnemar_p_value(plurality, single),
                intervals.compute_mcnemar_p_value(learned, plurality),
                intervals.compute_mcnemar_p_value(learned, single),
            )
        )
    mean, low, high = np.mean(rows, axis=0), np.min(rows, axis=0), np.max(rows, axis=0)
    print(f"{title}: {len(names)} agents, {len(test.right)} questions to test, {NUM_HALVES} halves")
    for name, place in zip(
        ("best single", "plurality", "learned", "any right"), range(4), strict=True
    ):
        print(f"  {name:12s} {100 * mean[place]:.1f}")
    for name, place in (
        ("plurality - single", 4),
        ("learned - plurality", 5),
        ("learned - single", 6),
    ):
        print(f"  {name:20s} p from {low[place]:.2g} to {high[place]:.2g}")


def rate_plurality(
    setting: AnswerSetting, train: Tallies, test: Tallies, plan: list[int]
) -> np.ndarray:
    """Say of each question whether the plurality of `plan` is right [Q]."""
    predictor = Predictor(calibrate_vote(setting, train, plan, np.ones(len(setting.agents))))
    return rate_vote(predictor, test)


def compare_prices(folder: Path) -> None:
    """Print a cascade and fixed sets of eight agents at several mean costs.

    fixed: the best of all sets by plurality on the learning half · best agents: the plurality of
    the most accurate ones, as long as the money pays for them. The last lines are of one cascade
    beside what more money buys.
    """
    answers, names = read_answers(folder, ("GSM8K",), EIGHT)
    print("eight agents of GSM8K, a cascade against the best fixed set at the same mean cost:")
    normalise = find_normaliser("number")
    config = LogitConfig(kind="logit", order="cheap_first", stop_at=None, subsets=8, ridge=RIDGE)
    measured = {}
    for mean_cost in MEAN_COSTS:
        rows = []
        for seed in range(NUM_HALVES):
            order = np.random.default_rng(seed).permutation(len(answers.ids))
            learn, test = (answers.take(half) for half in np.array_split(order, 2))
            fit, tune = learn.take(np.arange(440)), learn.take(np.arange(440, len(learn.ids)))
            setting = build_setting(learn, names, mean_cost)
            train = count_answers(setting, fit)
            scorer = fit_logit(config, train, seed)
            policy = Predictor(build_learned_config(setting, train, scorer, config, tune, 0.95))
            everything = count_answers(setting, learn)
            plan = choose_best_set(setting, everything, list(range(len(names))))
            costs = setting.compute_costs(test)
            course = play(setting, test, policy)
            pairs = zip(course.answers, test.golds, strict=True)
            hits = [normalise(one) == normalise(gold) for one, gold in pairs]
            tested = count_answers(setting, test)
            best = choose_by_accuracy(setting, everything.accuracy)
            row = [np.mean(hits), course.sum_costs(costs).mean()]
            for chosen in (plan, best):
                row += [rate_plurality(setting, everything, tested, chosen).mean()]
                row += [costs[:, chosen].sum(axis=1).mean()]
            rows.append(row)
        measured[mean_cost] = np.array(rows)
        ours, price, fixed, fixed_price, top, top_price = np.mean(rows, axis=0)
        print(
            f"  at most {mean_cost:.3f} $: cascade {100 * ours:.1f} for {price:.4f} $, "
            f"fixed {100 * fixed:.1f} for {fixed_price:.4f} $, "
            f"best agents {100 * top:.1f} for {top_price:.4f} $"
        )
    little, much = measured[0.012], measured[0.030]
    gain = little[:, 0] - much[:, 4]
    print(
        f"a cascade for {little[:, 1].mean():.4f} $ beside the plurality of the best agents for "
        f"{much[:, 5].mean():.4f} $: {little[:, 0].mean():.3f} and {much[:, 4].mean():.3f}; "
        f"gain from {gain.min():+.3f} to {gain.max():+.3f} over {NUM_HALVES} halves, of "
        f"{len(test.ids)} questions each"
    )


def describe_claim(num_rows: int = 198, ours: int = 173, theirs: int = 170) -> None:
    """Print what 87.4 against 85.9 on 198 questions can show."""
    low, high = intervals.compute_proportion_interval(ours, num_rows, 0.95)
    print(f"{ours} against {theirs} of {num_rows} right:")
    print(f"  95 % interval of {ours / num_rows:.1%}: {low:.1%} to {high:.1%}")
    for both_wrong_less in (0, 5, 10):
        one = np.zeros(num_rows)
        one[:ours] = 1.0
        other = np.zeros(num_rows)
        other[both_wrong_less + ours - theirs : ours + both_wrong_less] = 1.0
        p_value = intervals.compute_mcnemar_p_value(one, other)
        least = power.compute_detectable_difference(one, other, "binary", 0.05)
        disagreement = float((one != other).mean())
        print(
            f"  {disagreement:.1%} disagreement: p = {p_value:.2f}; "
            f"it can tell {least:.1%} at 80 % power"
        )


def main() -> None:
    """Run every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="answers.parquet and questions.parquet")
    folder = parser.parse_args().folder
    compare_votes(folder, "GSM8K, one strong and four weak", ("GSM8K",), ONE_STRONG)
    compare_votes(folder, "GSM8K + SVAMP, all agents", ("GSM8K", "SVAMP"), None)
    compare_prices(folder)
    describe_claim()


if __name__ == "__main__":
    main()
