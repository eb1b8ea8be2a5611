"""An encoder tuned on pairs beside sentence-transformers: CPU seconds, and nDCG@10 by query.

    python benchmarks/retrieval.py [--only generated torch scientific] [--pairs 1200]

Pairs are those of the recipe, and summaries of documentation strings of installed packages with
what follows them. Both train all layers for an epoch: the same pairs, batch, tokens and rate.
"""

import argparse
import ast
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from machine import describe_machine
from processes import ROOT, open_folder

from plumbline.entrypoint import THREADS

PACKAGES = {"torch": ("torch",), "scientific": ("numpy", "scipy", "sklearn")}  # all BSD-3-Clause
SETS = ("generated", *PACKAGES)
PEER = "sentence-transformers"
RATE = 1e-4  # of training on documentation strings: with that of the recipe it learns nothing
MIN_CHARS = 100  # of a passage
ENCODED = "peer.npz"
HEAD = ("", "nDCG@10", "plumbline is better by", "CPU s to train", "CPU s to encode")


def main() -> None:
    """Train, encode and compare on each set."""
    parser = argparse.ArgumentParser(description=f"Retrieval beside {PEER}.")
    parser.add_argument("--only", choices=SETS, nargs="+", default=SETS)
    parser.add_argument("--pairs", type=int, default=1200, help="of documentation strings")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ |= THREADS
    if options.peer:
        train_peer(json.loads(sys.stdin.read()))
        return
    with open_folder("plumbline-retrieval-") as folder:
        beside = folder / "beside"  # what the environment lacks
        install = ["uv", "pip", "install", "--quiet", "--no-deps", "--target", str(beside)]
        subprocess.run([*install, "--python", sys.executable, PEER], check=True)
        for name in options.only:
            with open_folder("plumbline-retrieval-") as own, contextlib.chdir(own):
                compare(name, options.pairs, beside)
    print(f"\n{describe_machine()}")


def compare(name: str, num_pairs: int, beside: Path) -> None:
    """Train and encode with both, in the current folder, and print the figures of one set."""
    from plumbline.contract.task import SPLITS
    from plumbline.process.files import read_json
    from plumbline.training import fitting
    from tasks.retrieval.data.storage import read_corpus, read_queries
    from tasks.retrieval.models import build_learner
    from tasks.retrieval.predictor import GraphEncoder, Predictor, load
    from tasks.retrieval.scoring import build_baselines, score

    params, examples = write_examples(name, num_pairs), Path("examples")
    corpus = read_corpus(examples)
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    asked: dict[str, Any] = {"config": params.candidates["tuned"].model_dump(), "seed": params.seed}
    for split in SPLITS:
        table = read_queries(examples, split)
        asked["queries"] = table["query"].tolist()  # of the last split, which is test
        pairs = table[["query", "passages"]].explode("passages").itertuples(index=False)
        asked[split] = [(query, texts[id_]) for query, id_ in pairs]
    start = time.process_time()
    learner = build_learner(params, "tuned", examples)
    hardware = fitting.fit(learner, params, "tuned", must_learn=False)
    seconds = {"plumbline": [time.process_time() - start]}
    learner.save(Path.cwd())
    encoder = GraphEncoder(Path.cwd(), read_json(Path("search.json"))["encoder"], "fp32")
    start = time.process_time()
    encoder.encode(corpus.texts, passages=True)
    seconds["plumbline"].append(time.process_time() - start)
    asked |= {"passages": corpus.texts, "precision": hardware.precision}
    environment = os.environ | {"PYTHONPATH": f"{beside}{os.pathsep}{ROOT / 'src'}"}
    command, told = [sys.executable, __file__, "--peer"], json.dumps(asked)
    subprocess.run(command, input=told, text=True, env=environment, check=True, stdout=2)
    peer = np.load(ENCODED)
    seconds[PEER] = peer["seconds"].tolist()
    known = SimpleNamespace(encode=lambda *_, **_options: peer["queries"])
    found = Predictor(vars(corpus), None, known, peer["passages"], params.data.max_chars)
    models: dict[str, Any] = build_baselines(params, examples)
    models |= {PEER: found, "plumbline": load(Path.cwd())}
    scores = {}
    for key, model in models.items():
        scores[key] = score(examples, "test", model).per_example["ndcg_at_10"]
    print(f"\n{name}, {len(asked['train'])} pairs, {asked['precision']}\n")
    print_table(scores, seconds)


def print_table(scores: dict[str, np.ndarray], seconds: dict[str, list[float]]) -> None:
    """Print the mean of each model's scores [queries], and by how much the last one is better."""
    from plumbline.statistics.intervals import compute_gain_interval, compute_mean_interval

    print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    *_, last = scores
    for key, found in scores.items():
        low, high = compute_mean_interval(found, "continuous", 0.95)
        cells = [key, f"{found.mean():.3f} ({low:.3f} to {high:.3f})", ""]
        if key != last:
            low, high = compute_gain_interval(scores[last], found, "continuous", 0.95)
            cells[2] = f"{(scores[last] - found).mean():.3f} ({low:.3f} to {high:.3f})"
        cells += [f"{value:.1f}" for value in seconds.get(key, ())] or ["", ""]
        print(f"| {' | '.join(cells)} |", flush=True)


def train_peer(asked: dict[str, Any]) -> None:
    """Train and encode as its documentation says, and leave the vectors in ENCODED."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    from plumbline.encoders.weights import find_weights
    from tasks.retrieval.models.tuning import VALIDATION_BATCH

    config = asked["config"]
    start = time.process_time()
    model = SentenceTransformer(str(find_weights(config["weights"], None)), device="cpu")
    model.max_seq_length = config["max_tokens"]
    training = SentenceTransformerTrainingArguments(
        output_dir="peer",
        num_train_epochs=config["max_epochs"],
        per_device_train_batch_size=config["batch_size"],
        per_device_eval_batch_size=VALIDATION_BATCH,
        learning_rate=config["learning_rate"],
        weight_decay=config["weight_decay"],
        warmup_steps=config["warmup"],
        bf16=asked["precision"] == "bf16",
        seed=asked["seed"],
        use_cpu=True,
        eval_on_start=True,
        eval_strategy="epoch",
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        batch_sampler="no_duplicates",
    )
    data = {}
    for split in ("train", "validation"):
        queries, passages = zip(*asked[split], strict=True)
        data[split] = Dataset.from_dict({"anchor": queries, "positive": passages})
    trainer = SentenceTransformerTrainer(
        model,
        training,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        loss=MultipleNegativesRankingLoss(model, scale=1 / config["temperature"]),
    )
    trainer.train()
    trained = time.process_time()
    vectors = model.encode(asked["passages"], normalize_embeddings=True)
    seconds = [trained - start, time.process_time() - trained]
    found = model.encode(asked["queries"], normalize_embeddings=True)
    np.savez(ENCODED, seconds=seconds, passages=vectors, queries=found)


def write_examples(name: str, num_pairs: int) -> Any:
    """Write the examples of a set as ingest does; return the parameters."""
    from plumbline.contract.yaml_file import load_yaml
    from tasks.retrieval.data import ingest
    from tasks.retrieval.params import RetrievalParams

    values = load_yaml(ROOT / "recipes/retrieval.yaml")
    values["candidates"]["tuned"]["frozen_layers"] = 0
    if name in PACKAGES:
        pairs = collect_docs(PACKAGES[name])[:num_pairs]
        Path("pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
        values["data"] |= {"source": "pairs.jsonl", "watch": "pairs.jsonl", "generated": None}
        values["candidates"]["tuned"]["learning_rate"] = RATE
    params = RetrievalParams.model_validate(values)
    Path("examples").mkdir()
    ingest(params, Path("examples"), Path("manifest.parquet"))
    return params


def collect_docs(packages: tuple[str, ...]) -> list[dict[str, str]]:
    """Return summaries of documentation strings, as queries, and the rest; nothing is imported."""
    found: dict[str, str] = {}
    for package in packages:
        folder = Path(str(find_spec(package).origin)).parent  # type: ignore[union-attr]
        for path in sorted(folder.rglob("*.py")):
            tree = ast.Module([], [])
            with contextlib.suppress(SyntaxError):  # of a later Python
                tree = ast.parse(path.read_bytes())
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    text = re.sub(r"[ \t]+", " ", ast.get_docstring(node) or "")
                    summary, _, rest = text.partition("\n\n")
                    if len(rest) >= MIN_CHARS and len(summary.split()) > 2:
                        found.setdefault(" ".join(summary.split()), rest.strip())
    # Not by the digest that divides queries into splits.
    chosen = sorted(found, key=lambda text: hashlib.blake2b(text.encode()).digest())
    return [{"query": query, "passage": found[query]} for query in chosen]


if __name__ == "__main__":
    main()
