"""What is trained, exported and sealed answers alike; what was changed afterwards is seen."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from tests.support.resumed import check_resumed
from tests.support.small_retrieval import TUNED, build_encoder_params
from tests.support.task_examples import write_examples
from transformers import AutoModel, AutoTokenizer

from plumbline.contract import layout
from plumbline.contract.records import Learner
from plumbline.process.files import read_json, write_json
from plumbline.training import fitting
from tasks.retrieval.data.storage import read_corpus, read_queries
from tasks.retrieval.models import build_learner, compare_export
from tasks.retrieval.models.encoding import SentenceEncoder, TorchEncoder, load_model, pad_tokens
from tasks.retrieval.params import RetrievalParams
from tasks.retrieval.predictor import load, share_calls
from tasks.retrieval.scoring import build_baselines, score

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def params(tmp_path_factory: pytest.TempPathFactory) -> RetrievalParams:
    return build_encoder_params(tmp_path_factory.mktemp("weights"))


def build(folder: Path, params: RetrievalParams, candidate: str) -> Learner:
    """The learner of a candidate, with examples in the current folder."""
    if not layout.EXAMPLES.exists():
        write_examples(params, folder / "data")
    return build_learner(params, candidate, layout.EXAMPLES)


def save(folder: Path, params: RetrievalParams, candidate: str) -> Path:
    learner = build(folder, params, candidate)
    bundle = folder / candidate
    bundle.mkdir()
    learner.save(bundle)
    return bundle


def test_the_bundle_finds_what_the_model_finds(folder: Path, params: RetrievalParams) -> None:
    bundle = save(folder, params, "base")
    corpus = read_corpus(layout.EXAMPLES)
    queries = read_queries(layout.EXAMPLES, "test")["query"].tolist()[:20]
    config = params.candidates["base"]
    encoder = TorchEncoder(config, load_model(config))  # type: ignore[arg-type]
    cosines = (
        encoder.encode(queries, passages=False) @ encoder.encode(corpus.texts, passages=True).T
    )
    answers = load(bundle).predict({"query": queries}, top_k=1)
    best = cosines.max(axis=1)
    assert np.array([row[0] for row in answers["scores"]]) == pytest.approx(best, abs=2e-3)
    baseline = build_baselines(params, layout.EXAMPLES)["base"]
    ours, theirs = (score(layout.EXAMPLES, "test", each) for each in (load(bundle), baseline))
    assert ours.metrics["ndcg_at_10"] == pytest.approx(theirs.metrics["ndcg_at_10"], abs=0.02)


def test_another_corpus_is_searched_as_if_sealed_with_it(
    folder: Path, params: RetrievalParams
) -> None:
    sealed = load(save(folder, params, "both"))
    queries = read_queries(layout.EXAMPLES, "test")["query"].tolist()[:20]
    texts = [*sealed.texts[:-1], "parcel 4711 and invoice 4712"]
    few = sealed.search_corpus({"ids": sealed.ids, "texts": texts})
    again = few.search_corpus({"ids": sealed.ids, "texts": sealed.texts})
    found = [each.predict({"query": [*queries, texts[-1]]})["ids"] for each in (sealed, few, again)]
    assert found[1][-1][0] == sealed.ids[-1]
    assert found[0] == found[2]


def test_an_answer_is_the_same_alone_and_in_company(folder: Path, params: RetrievalParams) -> None:
    predictor = load(save(folder, params, "both"))
    queries = read_queries(layout.EXAMPLES, "test")["query"].tolist()[:16]
    assert predictor.predict({"query": []}, vectors=True)["ids"] == []
    together = predictor.predict({"query": queries}, vectors=True)
    for row, query in enumerate(queries):
        alone = predictor.predict({"query": [query]}, vectors=True)
        assert all(alone[name][0] == together[name][row] for name in together)


def test_the_vector_of_a_passage_has_the_same_bits_in_any_company(
    folder: Path, params: RetrievalParams
) -> None:
    predictor = load(save(folder, params, "base"))
    asked = {"top_k": 0, "vectors": True, "passages": True}
    together = predictor.predict({"query": predictor.texts}, **asked)
    lengths = Counter(together["tokens"])
    assert max(lengths.values()) > 1
    for row, text in enumerate(predictor.texts):
        alone = predictor.predict({"query": [text]}, **asked)
        assert alone["vector"][0] == together["vector"][row]


def test_texts_share_a_call_by_their_length_up_to_a_number_of_tokens() -> None:
    assert share_calls([5, 3, 5, 5, 9], 10) == [[1], [0, 2], [3], [4]]
    assert share_calls([5, 3, 5], 0) == [[1], [0], [2]]


def test_the_library_of_the_encoder_loads_the_bundle(folder: Path, params: RetrievalParams) -> None:
    bundle = save(folder, params, "base")
    body = AutoModel.from_pretrained(bundle, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(bundle, local_files_only=True)
    assert len(tokenizer("parcel " * 100, truncation=True)["input_ids"]) == TUNED["max_tokens"]
    rows = [[1, 5, 6, 2], [1, 7, 2]]
    with torch.no_grad():
        found = SentenceEncoder(body, "mean")(**pad_tokens(rows))
        expected = load_model(params.candidates["base"]).eval()(**pad_tokens(rows))  # type: ignore[arg-type]
    assert torch.allclose(found, expected, atol=1e-5)


ENCODE = """
import json, sys, sentence_transformers
model = sentence_transformers.SentenceTransformer("base", device="cpu")
vectors = model.encode(json.load(sys.stdin), normalize_embeddings=True)
print(json.dumps(vectors.tolist()))
"""


@pytest.mark.slow
def test_sentence_transformers_gives_the_vectors_of_the_bundle(
    folder: Path, params: RetrievalParams
) -> None:
    """The library is installed beside the environment, whose other packages it uses."""
    install = ["uv", "pip", "install", "-q", "--no-deps", "--target", "beside"]
    python = ["--python", sys.executable, "sentence-transformers"]
    if subprocess.run([*install, *python], check=False).returncode:
        pytest.skip("there is no index of packages")
    texts = ["money back", "parcel 1 and invoice 2", "account " * 100]
    vectors = load(save(folder, params, "base")).predict({"query": texts}, vectors=True)["vector"]
    environment = os.environ | {"PYTHONPATH": str(folder / "beside")}
    command = [sys.executable, "-c", ENCODE]
    told = subprocess.check_output(command, input=json.dumps(texts).encode(), env=environment)
    assert np.array(json.loads(told)) == pytest.approx(np.array(vectors), abs=1e-5)


def name_beyond(params: RetrievalParams, bundle: Path) -> list[str]:
    """The parts of a bundle that do not follow from data, params and weights."""
    differences = compare_export(params, "base", bundle, {})
    return [each.form for each in differences if not each.largest <= each.limit]


def test_what_was_changed_in_a_bundle_is_seen(folder: Path, params: RetrievalParams) -> None:
    bundle = save(folder, params, "base")
    assert name_beyond(params, bundle) == []
    other = shutil.copytree(bundle, folder / "other")
    vectors = load_file(other / "vectors.safetensors")["vectors"]
    save_file({"vectors": vectors[::-1].copy()}, other / "vectors.safetensors")
    assert name_beyond(params, other) == ["the vectors of passages"]
    settings = read_json(other / "search.json")
    encoder = settings["encoder"] | {"query_prefix": "passage: "}
    for change in ({"max_chars": 9}, {"words": {}}, {"forms": ["int8"]}, {"encoder": encoder}):
        write_json(other / "search.json", settings | change)
        assert "how it searches" in name_beyond(params, other)
    corpus = read_json(other / "corpus.json")
    corpus["texts"][3] += " And more."
    write_json(other / "corpus.json", corpus)
    assert name_beyond(params, other)[:2] == ["the corpus", "how it searches"]
    weights = load_file(bundle / "model.safetensors")
    name = next(name for name in weights if "dense.weight" in name)
    weights[name] = weights[name] * np.float32(1.1)
    save_file(weights, bundle / "model.safetensors")
    assert name_beyond(params, bundle)[0] == "fp32"


@pytest.mark.parametrize(("min_agreement", "served"), [(0.5, "int8"), (1.0, "fp32")])
def test_int8_is_served_where_parity_is_shown(
    folder: Path, params: RetrievalParams, min_agreement: float, served: str
) -> None:
    """A few rows never show that all answers agree."""
    values = params.model_dump()
    values["candidates"]["base"]["int8"] = True
    values["evaluation"]["parity"] = {"max_loss": 0.5, "min_agreement": min_agreement}
    changed = RetrievalParams.model_validate(values)
    bundle = save(folder, changed, "base")
    assert load(bundle).forms[0] == served
    assert set(load(bundle).forms) == {"int8", "fp32"}
    answers = [load(bundle, form).predict({"query": ["parcel"]}) for form in ("int8", "fp32")]
    assert answers[0]["scores"][0] == pytest.approx(answers[1]["scores"][0], abs=0.05)
    assert answers[0]["scores"] != answers[1]["scores"]
    compared = compare_export(changed, "base", bundle, {})
    assert all(each.largest <= each.limit for each in compared)
    shutil.copy(bundle / "model.onnx", bundle / "model.int8.onnx")
    compared = compare_export(changed, "base", bundle, {})
    assert [each.form for each in compared if each.largest > each.limit] == ["int8 (nodes)"]


def test_training_brings_queries_to_their_passages(folder: Path, params: RetrievalParams) -> None:
    learner = build(folder, params, "tuned")
    fitting.fit(learner, params, "tuned", must_learn=True)
    bundle = folder / "tuned"
    bundle.mkdir()
    learner.save(bundle)
    answers = load(bundle).predict({"query": ["money back"]})
    assert len(answers["ids"][0]) == 10


def test_padding_changes_no_vector(params: RetrievalParams) -> None:
    config = params.candidates["base"]
    model = load_model(config)  # type: ignore[arg-type]
    encoder = TorchEncoder(config, model)  # type: ignore[arg-type]
    texts = ["parcel 1", "invoice 2 and then password 3 and then parcel 4"]
    together = encoder.encode(texts, passages=False)
    alone = np.concatenate([encoder.encode([text], passages=False) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)


def test_another_answer_of_the_batch_is_no_negative(folder: Path, params: RetrievalParams) -> None:
    learner = build(folder, params, "tuned")
    rows = read_queries(layout.EXAMPLES, "train")
    two = next(row for row, ids in enumerate(rows["passages"]) if len(ids) == 2)
    first = sum(map(len, rows["passages"][:two]))
    batch = learner.data.train_dataloader().dataset.__getitems__([first, first + 1, 0])
    assert batch["is_answer"][:2, :2].all()
    logits, own = learner.module._compare(batch)
    assert logits[0, 1] == logits[1, 0] == -torch.inf
    assert torch.isfinite(logits[own, own]).all()


def test_named_negatives_are_compared_beside_the_batch(
    folder: Path, params: RetrievalParams
) -> None:
    write_examples(params, folder / "data")
    rows, ids = read_queries(layout.EXAMPLES, "train"), read_corpus(layout.EXAMPLES).ids
    right = set().union(*rows["passages"][:2])
    wrong = [id_ for id_ in ids if id_ not in right][:2]
    other = rows["passages"][1][0]
    rows["negatives"] = [[wrong[0], other], wrong[1:], *[[]] * (len(rows) - 2)]
    rows.to_parquet(layout.EXAMPLES / "train.parquet")
    learner = build(folder, params, "tuned")
    batch = learner.data.train_dataloader().dataset.__getitems__([0, len(rows["passages"][0])])
    assert batch["is_answer"].shape == (2, 5)
    assert batch["is_answer"][1].tolist()[3]  # what is wrong for one query is right for another
    logits, own = learner.module._compare(batch)
    assert (own.tolist(), logits.shape) == ([0, 1], (2, 5))
    assert torch.isfinite(logits[:, [2, 4]]).all()
    assert logits[1, 3] == -torch.inf


def test_a_killed_training_resumes_bit_for_bit(folder: Path, params: RetrievalParams) -> None:
    learners = [build(folder, params, "tuned") for _ in range(3)]
    check_resumed(*learners, folder, stop=2, end=4)
