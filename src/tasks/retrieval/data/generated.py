"""The embedded data: help articles, and queries in the words of customers.

No two held-out queries of a split have an article in common. A known share of queries has another
article than the one that answers it, so that the best score of any model is known.
"""

import functools
import random
import re
from pathlib import Path
from typing import Any

from plumbline.contract.errors import ParamsError
from plumbline.contract.task import SPLITS
from plumbline.contract.yaml_file import load_yaml
from tasks.retrieval.data.pairs import PooledQuery
from tasks.retrieval.data.storage import Corpus
from tasks.retrieval.params import GeneratedQueries
from tasks.retrieval.predictor import list_words

SLOT = re.compile(r"\{(\w+)\}")
TITLE_SHARE = 0.3  # of queries that use the words of the article's title
NAME_SHARE = 0.4  # of products that are called by their own name
TYPO_SHARE = 0.03  # of words with four letters or more, of which two are swapped
Article = tuple[str, str]  # of an issue and a product
Drawn = dict[str, list[PooledQuery]]


@functools.cache
def load_articles() -> dict[str, Any]:
    """Read articles.yaml once."""
    values: dict[str, Any] = load_yaml(Path(__file__).with_name("articles.yaml"))
    return values


def draw_pool(settings: GeneratedQueries, seed: int) -> tuple[Corpus, Drawn]:
    """Return all articles, and the queries of each split.

    ParamsError where a held-out split asks for more queries than there are articles.
    """
    articles = name_articles()
    splits: Drawn = {}
    seen: set[str] = set()
    for split in SPLITS:
        num_rows = getattr(settings, split)
        rng = random.Random(f"{seed} {split}")  # noqa: S311 - data, not secrets
        order = rng.sample(list(articles), len(articles))
        if split != "train" and num_rows > len(order):
            raise ParamsError(
                f"data.generated.{split}: {num_rows}, but there are {len(order)} articles, and "
                "each is asked for once"
            )
        free = order if split == "train" else order[num_rows:]
        splits[split] = []
        for number in range(num_rows):
            first = order[number % len(order)]
            row = _seed_row(seed, split, number)
            text, asked = _draw_query(settings, row, [first], free, seen)
            passages, id_ = [articles[one] for one in asked], f"{split}:{number}"
            splits[split].append(PooledQuery(id_, text, first[0], passages, [1] * len(asked)))
            if split != "train":
                free = [one for one in free if one not in asked]
    texts = {articles[key]: write_article(*key) for key in articles}
    ids = sorted(texts)
    return Corpus(ids, [texts[id_] for id_ in ids]), splits


def find_wrong(settings: GeneratedQueries, seed: int, split: str) -> list[bool]:
    """Say of each query of a split, in order, whether its passage is not the right one."""
    return [
        _seed_row(seed, split, number).random() < settings.wrong_share
        for number in range(getattr(settings, split))
    ]


def _draw_query(
    settings: GeneratedQueries,
    rng: random.Random,
    asked: list[Article],
    free: list[Article],
    seen: set[str],
) -> tuple[str, list[Article]]:
    """Draw a query of words that none in `seen` has, and the articles that are its answers.

    `asked` is one article; in some cases another one of the `free` is added, or takes its place.
    """
    ((issue, product),) = asked
    is_wrong = rng.random() < settings.wrong_share
    if rng.random() < settings.two_share:
        asked = asked + _draw_other(rng, [one for one in free if one[0] == issue], asked)
    query = _write_query(rng, asked)
    while (words := " ".join(list_words(query))) in seen:
        query = _write_query(rng, asked)
    seen.add(words)
    if is_wrong:
        unlike = [one for one in free if one[0] != issue and one[1] != product]
        asked = _draw_other(rng, unlike, asked[:1]) or asked
    return query, asked


def _draw_other(rng: random.Random, articles: list[Article], known: list[Article]) -> list[Article]:
    others = [one for one in articles if one not in known]
    return [rng.choice(others)] if others else []


def name_articles() -> dict[Article, str]:
    """Map each article to its id, which says nothing of its text."""
    values = load_articles()
    keys = [(issue, product) for issue in values["issues"] for product in values["products"]]
    numbers = list(range(len(keys)))
    random.Random(0).shuffle(numbers)  # noqa: S311 - data, not secrets
    return {key: f"a{number:04}" for key, number in zip(keys, numbers, strict=True)}


def write_article(issue: str, product: str) -> str:
    """Return the title and the body of an article."""
    words = load_articles()["issues"][issue]
    return f"{words['title']}. {words['body']}".replace("{product}", product)


def _write_query(rng: random.Random, asked: list[Article]) -> str:
    values = load_articles()
    issue = values["issues"][asked[0][0]]
    things = []
    for _, product in asked:
        other = rng.choice(values["products"][product].split("|"))
        things.append(product if rng.random() < NAME_SHARE else other)
    lines = [issue["title"].replace("{product}", "{thing}")]
    if rng.random() >= TITLE_SHARE:
        lines = issue["says"].split("|")
    says = rng.choice(lines).replace("{thing}", " and the ".join(things))
    drawn = {
        "says": says,
        "number": str(rng.randrange(10_000, 99_999)),
        "month": rng.choice(values["months"].split()),
        "person": rng.choice(values["persons"].split()),
    }
    opening = rng.choice(values["openings"].splitlines())
    text = SLOT.sub(lambda match: drawn[match[1]], opening)
    return " ".join(_swap_letters(rng, word) for word in text.split())


def _swap_letters(rng: random.Random, word: str) -> str:
    if len(word) < 4 or not word.isalpha() or rng.random() >= TYPO_SHARE:
        return word
    at = rng.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _seed_row(seed: int, split: str, number: int) -> random.Random:
    return random.Random(f"{seed} {split} {number}")  # noqa: S311 - data, not secrets
