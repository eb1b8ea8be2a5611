"""params.yaml for a file that was looked at: the shipped one, with values that fit it and why."""

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbline.contract.yaml_file import load_yaml, open_editor
from plumbline.init.answers import InitAnswers
from plumbline.init.repository_files import find_root
from plumbline.statistics import power

TOKENS_PER_WORD = 1.3  # of the shipped encoders, on English
TOKEN_STEP, MAX_TOKENS = 16, 256
SPECIAL_TOKENS = 2
MIN_ENGLISH = 0.05  # share of function words; English texts have 0.2 to 0.5
VALIDATION, TEST = 0.15, 0.2  # shares of rows, where the file is all there is
VALIDATION_BESIDE_TEST = 0.1
LEAST_SHARE = 0.8  # of the rows that train has now
# In place of the recipe's, which let a first run on generated texts end in minutes.
ALL_LAYERS = {"learning_rate": 2.0e-4, "batch_size": 32}
# Has the candidate that takes the place of minilm where the texts are not English.
OTHER_RECIPE = Path("recipes/label_sets.yaml")
# Rows that an encoder sees in training, in all epochs; early stopping ends sooner.
PRETRAINED_ROWS, SCRATCH_ROWS = 45_000, 120_000
FLOOR_GAINS = 2  # how many times what the gate `baselines` asks for
HIGHEST_FLOOR = 0.99
# Of pairs for a search: below so many a test split shows no usual gain of training.
FEW_PAIRS = 2000
VALIDATION_OF_FEW, TEST_OF_FEW, LEAST_OF_FEW, INVARIANCE_OF_FEW = 0.35, 0.35, 20, 0.7
PAIRS = 3000  # that training sees, in all epochs
FIRST_LINE = "# {file}: `plumbline init` wrote these values; all of them are yours to change.\n"
COMMENT_COLUMN = 32


@dataclass(frozen=True)
class Proposal:
    """The text of params.yaml, and what to say of it: one line for each choice."""

    text: str
    reasons: list[str]


def propose_params(template: str, answers: InitAnswers) -> Proposal:
    """Return params.yaml for the file that was looked at.

    `template` is the text of a complete params.yaml. Equal answers give an equal text.
    """
    yaml = open_editor()
    params = yaml.load(template)
    choices = _Choices(params)
    choose = _fit_classifier if answers.passage is None else _fit_search
    choose(choices, params, answers)
    params["registry"]["model"] = answers.name
    stream = io.StringIO()
    yaml.dump(params, stream)
    _, _, text = stream.getvalue().partition("\n")  # without the comment on the shipped data
    return Proposal(FIRST_LINE.format(file=answers.file) + text, choices.reasons)


def _fit_classifier(choices: "_Choices", params: Any, answers: InitAnswers) -> None:
    _set_data(params, answers)
    has_test = not isinstance(answers.source, str)
    share = 1 - (VALIDATION_BESIDE_TEST if has_test else VALIDATION + TEST)
    num_train = max(1, round(share * answers.num_rows))
    _choose_candidates(choices, answers, num_train)
    _set_lengths(choices, answers)
    _set_least_rows(choices, params["validation"], num_train)
    _set_floor(choices, params["evaluation"], answers)
    if not has_test:
        _set_reach(choices, params, round(TEST * answers.num_rows))


def _fit_search(choices: "_Choices", params: Any, answers: InitAnswers) -> None:
    """Fit a search to pairs; with few, what is as good as a trained one and costs less may win."""
    data, limits = params["data"], params["evaluation"]
    data.update(source=answers.source, generated=None)
    data["columns"].update(query=answers.text, passage=answers.passage)
    if answers.negative:
        data["columns"]["negative"] = answers.negative
    if answers.english < MIN_ENGLISH:
        for candidate in ("base", "tuned"):
            choices.remove(candidate, "its encoder knows English; name weights of your language")
    _set_lengths(choices, answers)
    limits["slices"] = ["overlap"]
    floor = FLOOR_GAINS * limits["min_gain_over_baseline"]
    choices.set(limits, "evaluation", "floor", floor, "of use at all; set what you need")
    held_out = answers.held_out
    if answers.num_rows < FEW_PAIRS or "base" not in choices.candidates:
        data["split"].update(validation=VALIDATION_OF_FEW, test=TEST_OF_FEW)
        params["validation"]["min_rows"] = LEAST_OF_FEW
        params["control"]["candidates"] = []
        limits["min_behaviour"]["invariance"] = INVARIANCE_OF_FEW
        reason = "wins unless another is significantly better on validation"
        choices.set(limits, "evaluation", "simple_candidate", "bm25", reason)
        _set_reach(choices, params, held_out.get("test", round(TEST_OF_FEW * answers.num_rows)))
    elif "test" in held_out:
        _set_reach(choices, params, held_out["test"])
    least = [params["validation"]["min_rows"], *(max(1, size // 2) for size in held_out.values())]
    params["validation"]["min_rows"] = min(least)
    taken = [data["split"][name] for name in ("validation", "test") if name not in held_out]
    num_train = max(1, round((1 - sum(taken)) * answers.num_rows))
    epochs = min(5, max(1, round(PAIRS / num_train)))
    reason = f"for about {num_train:,} pairs of train"
    choices.set_candidate("tuned", "max_epochs", epochs, reason)


class _Choices:
    """Sets values of params, with the reason beside them."""

    def __init__(self, params: Any) -> None:
        self.candidates = params["candidates"]
        self.reasons: list[str] = []

    def set_candidate(self, candidate: str, key: str, value: int, reason: str) -> None:
        if candidate in self.candidates:
            self.set(self.candidates[candidate], candidate, key, value, reason)

    def set(self, section: Any, title: str, key: str, value: float | str, reason: str) -> None:
        section[key] = value
        *_, before, _ = section.ca.items.get(key, [None] * 4)
        blank = before.value.partition("\n")[2] if before else ""  # a line below, as it was
        section.yaml_add_eol_comment(f"# {reason}\n{blank}", key, column=COMMENT_COLUMN)
        self.reasons.append(f"{title}.{key}: {value}: {reason}")

    def remove(self, candidate: str, reason: str) -> None:
        del self.candidates[candidate]
        self.reasons.append(f"no candidate {candidate}: {reason}")


def _set_data(params: Any, answers: InitAnswers) -> None:
    params["data"]["source"] = answers.source
    columns = params["data"]["columns"]
    columns["text"] = answers.text
    columns["label"] = answers.label
    if answers.label_separator is not None:
        columns.insert(2, "label_separator", answers.label_separator)
    columns["metadata"] = []
    params["evaluation"]["slices"] = []
    if not isinstance(answers.source, str):
        params["data"]["split"].update(validation=VALIDATION_BESIDE_TEST, test=0.0)


def _set_lengths(choices: _Choices, answers: InitAnswers) -> None:
    """Let all but 1 % of the texts be read whole."""
    needed = answers.long_text * TOKENS_PER_WORD + SPECIAL_TOKENS
    tokens = min(MAX_TOKENS, TOKEN_STEP * math.ceil(needed / TOKEN_STEP))
    reason = f"99 % of the texts have at most {answers.long_text} words and marks"
    if needed > MAX_TOKENS:
        reason += "; longer ones are cut"
    for candidate in ("transformer", "minilm", "base", "tuned"):
        choices.set_candidate(candidate, "max_tokens", tokens, reason)


def _choose_candidates(choices: _Choices, answers: InitAnswers, num_train: int) -> None:
    from ruamel.yaml.comments import CommentedMap

    if answers.english < MIN_ENGLISH:
        choices.remove(
            "minilm",
            f"{answers.english:.0%} of the words are English function words, and it knows English; "
            "transformer learns from your rows alone",
        )
        recipe = load_yaml(find_root() / OTHER_RECIPE)
        choices.candidates["transformer"] = CommentedMap(recipe["candidates"]["transformer"])
    else:
        minilm = choices.candidates["minilm"]
        minilm.ca.items.pop("sha256", None)  # the comment that explains frozen_layers
        del minilm["frozen_layers"]
        minilm.update(ALL_LAYERS)
    reason = f"for about {num_train:,} rows of train"
    for candidate, num_rows, most in (
        ("transformer", SCRATCH_ROWS, 30),
        ("minilm", PRETRAINED_ROWS, 10),
    ):
        epochs = min(most, max(1, round(num_rows / num_train)))
        choices.set_candidate(candidate, "max_epochs", epochs, reason)


def _set_least_rows(choices: _Choices, limits: Any, num_train: int) -> None:
    """Accept the file as it is: copies are dropped, and a split by hash is not exact."""
    least = round(LEAST_SHARE * num_train)
    if least < limits["min_rows"]:
        reason = f"train has about {num_train:,}; a file that shrinks is refused"
        choices.set(limits, "validation", "min_rows", least, reason)


def _set_floor(choices: _Choices, limits: Any, answers: InitAnswers) -> None:
    """Ask for little more than that the model is of use: how good it must be, its owner knows.

    That is twice what the gate `baselines` asks for, of all rows: the test split has other shares
    of classes, and a floor that does not exceed the other gate's limit cannot fail.
    """
    gain = FLOOR_GAINS * limits["min_gain_over_baseline"]
    lowest = answers.majority + gain * (1 - answers.majority)
    floor = min(math.ceil(round(100 * lowest, 6)) / 100, HIGHEST_FLOOR)
    has_sets = answers.label_separator is not None or not isinstance(answers.label, str)
    kind = "set of labels" if has_sets else "class"
    reason = (
        f"least score to be registered: always the most frequent {kind} is right in "
        f"{answers.majority:.0%}, and {gain:.0%} of the rest is asked for; set what you need"
    )
    choices.set(limits, "evaluation", "floor", floor, reason)


def _set_reach(choices: _Choices, params: Any, num_test: int) -> None:
    """Ask of the test split what so many rows can show, where that is less than is shipped."""
    limits = params["evaluation"]
    level = power.spend_level(1, limits["planned_looks"], 1 - limits["confidence"])
    level /= len(choices.candidates)
    # Errors differ the most where half of the answers are wrong.
    ours, theirs = np.resize([0.0, 1.0], num_test), np.resize([0.0, 0.0, 1.0, 1.0], num_test)
    try:
        least = power.compute_detectable_difference(ours, theirs, "binary", level)
    except ValueError:  # `make run` refuses so few rows
        return
    reach = math.ceil(100 * least) / 100
    if reach > limits["max_detectable_difference"]:
        reason = f"about {num_test:,} test rows can show no smaller one; lower it with more rows"
        choices.set(limits, "evaluation", "max_detectable_difference", reach, reason)
