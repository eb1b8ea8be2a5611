"""The embedded data: help articles, and queries in the words of customers.

No two held-out queries of a split have an article in common. A known share of queries has another
article than the one that answers it, so that the best score of any model is known.
"""

import functools
import random
import re
from pathlib import Path
from typing import Any

from plumbline.contract.task import SPLITS
from plumbline.contract.yaml_file import load_yaml
from tasks.retrieval.data.pooling import PooledQuery
from tasks.retrieval.params import GeneratedQueries
from tasks.retrieval.predictor import list_words

SLOT = re.compile(r"\{(\w+)\}")
TITLE_SHARE = 0.3  # of queries that use the words of the article's title
NAME_SHARE = 0.4  # of products that are called by their own name
TYPO_SHARE = 0.03  # of words with four letters or more, of which two are swapped
Article = tuple[str, str]  # of an issue and a product


def draw_pool(
    settings: GeneratedQueries, seed: int
) -> tuple[dict[str, str], dict[str, list[PooledQuery]]]:
    """Return the texts of all articles by their ids, and the queries of each split."""
    texts = {id_: _write_article(*article) for article, id_ in _name_articles().items()}
    seen: set[str] = set()
    return texts, {split: _draw_split(settings, seed, split, seen) for split in SPLITS}


def find_wrong(settings: GeneratedQueries, seed: int, split: str) -> list[bool]:
    """Say of each query of a split, in order, whether its passage is not the right one."""
    return [
        _seed(seed, split, number).random() < settings.wrong_share
        for number in range(getattr(settings, split))
    ]


@functools.cache
def _load_articles() -> dict[str, Any]:
    values: dict[str, Any] = load_yaml(Path(__file__).with_name("articles.yaml"))
    return values


def _name_articles() -> dict[Article, str]:
    """Map each article to its id, which says nothing of its text."""
    values = _load_articles()
    articles = [(issue, product) for issue in values["issues"] for product in values["products"]]
    numbers = list(range(len(articles)))
    random.Random(0).shuffle(numbers)  # noqa: S311 - data, not secrets
    return {article: f"a{number:04}" for article, number in zip(articles, numbers, strict=True)}


def _write_article(issue: str, product: str) -> str:
    words = _load_articles()["issues"][issue]
    return f"{words['title']}. {words['body']}".replace("{product}", product)


def _draw_split(
    settings: GeneratedQueries, seed: int, split: str, seen: set[str]
) -> list[PooledQuery]:
    """Draw the queries of a split; those of train may have an article in common."""
    num_rows, ids = getattr(settings, split), _name_articles()
    order = _seed(seed, split).sample(list(ids), len(ids))
    free = order if split == "train" else order[num_rows:]
    queries = []
    for number in range(num_rows):
        first = order[number % len(order)]
        text, asked = _draw_query(settings, _seed(seed, split, number), first, free, seen)
        if split != "train":
            free = [one for one in free if one not in asked]
        grades = {ids[article]: 1 for article in asked}
        queries.append(PooledQuery(f"{split}:{number}", text, first[0], grades))
    return queries


def _draw_query(
    settings: GeneratedQueries,
    rng: random.Random,
    first: Article,
    free: list[Article],
    seen: set[str],
) -> tuple[str, list[Article]]:
    """Draw a query of words that none in `seen` has, and the articles that are its answers.

    In some cases another one of the `free` is added to the first, or takes its place.
    """
    is_wrong = rng.random() < settings.wrong_share
    asked = [first]
    if rng.random() < settings.two_share:
        asked += _pick(rng, [one for one in free if one[0] == first[0] and one != first])
    query = _write_query(rng, asked)
    while (words := " ".join(list_words(query))) in seen:
        query = _write_query(rng, asked)
    seen.add(words)
    if is_wrong:
        unlike = [one for one in free if one[0] != first[0] and one[1] != first[1]]
        asked = _pick(rng, unlike) or asked
    return query, asked


def _pick(rng: random.Random, articles: list[Article]) -> list[Article]:
    return [rng.choice(articles)] if articles else []


def _write_query(rng: random.Random, asked: list[Article]) -> str:
    values = _load_articles()
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


def _seed(*parts: object) -> random.Random:
    return random.Random(" ".join(map(str, parts)))  # noqa: S311 - data, not secrets
