"""params.yaml fits the file: lengths, epochs and candidates, each with its reason."""

from pathlib import Path

from ruamel.yaml import YAML
from tests.support.checkouts import RECIPE, ROOT

from plumbline.contract.loading import load_params
from plumbline.contract.yaml_file import load_yaml
from plumbline.init.answers import InitAnswers
from plumbline.init.proposal import OTHER_RECIPE, Proposal, propose_params

TEMPLATE = RECIPE.read_text(encoding="utf-8")


def propose(
    num_rows: int,
    length: int = 20,
    english: float = 0.3,
    source: str | dict[str, str | None] = "data/raw/a.csv",
    majority: float = 0.3,
    label: str | list[str] = "queue",
    separator: str | None = None,
) -> Proposal:
    seen = (num_rows, length, english, majority, separator)
    answers = InitAnswers("my-router", None, "a.csv", source, "body", label, *seen)
    return propose_params(TEMPLATE, answers)


def load(proposal: Proposal, folder: Path):
    path = folder / "params.yaml"
    path.write_text(proposal.text, encoding="utf-8")
    return load_params(path)


def test_a_proposal_is_valid_and_names_the_columns(tmp_path: Path) -> None:
    proposal = propose(10_000)
    params = load(proposal, tmp_path)
    assert (params.data.columns.text, params.data.columns.label) == ("body", "queue")
    assert params.registry.model == "my-router"
    assert params.evaluation.slices == []
    assert set(params.candidates) == {"linear", "minilm"}
    # All but the chosen values, and the comments, are as they are shipped.
    assert "confidence: 0.95" in proposal.text
    assert "planned_looks: 20             # how often" in proposal.text


def test_a_proposal_for_sets_of_labels_is_valid(tmp_path: Path) -> None:
    cells = propose(10_000, separator="|")
    columns = load(cells, tmp_path).data.columns
    assert (columns.label, columns.label_separator) == ("queue", "|")
    assert any("always the most frequent set of labels is right" in each for each in cells.reasons)
    flags = propose(10_000, label=["billing", "yes"])
    columns = load(flags, tmp_path).data.columns
    assert (columns.label, columns.label_separator) == (["billing", "yes"], None)
    assert "label_separator" not in propose(10_000).text


def test_texts_are_read_whole_up_to_a_limit(tmp_path: Path) -> None:
    assert load(propose(10_000, length=20), tmp_path).candidates["minilm"].max_tokens == 32
    assert load(propose(10_000, length=60), tmp_path).candidates["minilm"].max_tokens == 80
    long = propose(10_000, length=900)
    assert load(long, tmp_path).candidates["minilm"].max_tokens == 256
    assert "longer ones are cut" in long.text


def test_fewer_rows_are_seen_more_often(tmp_path: Path) -> None:
    epochs = [
        load(propose(rows), tmp_path).candidates["minilm"].max_epochs
        for rows in (1000, 20_000, 200_000)
    ]
    assert epochs == [10, 3, 1]
    assert "\n\ntraining:" in propose(1000).text  # a block ends with an empty line


def test_all_layers_of_the_encoder_learn_from_own_data(tmp_path: Path) -> None:
    proposed = propose(1000)
    minilm = load(proposed, tmp_path).candidates["minilm"]
    assert (minilm.frozen_layers, minilm.batch_size, minilm.learning_rate) == (0, 32, 2e-4)
    assert "frozen_layers" not in proposed.text


def test_an_encoder_of_own_words_takes_the_place_of_an_english_one(tmp_path: Path) -> None:
    foreign = propose(3000, length=60, english=0.01)
    candidates = load(foreign, tmp_path).candidates
    assert set(candidates) == {"linear", "transformer"}
    assert (candidates["transformer"].max_tokens, candidates["transformer"].max_epochs) == (80, 30)
    assert "no candidate minilm: 1% of the words" in foreign.reasons[0]
    page = (ROOT / "docs/tasks/text_classification.md").read_text(encoding="utf-8")
    pasted = page.partition("```yaml\n  transformer:")[2].partition("```")[0]
    other = load_yaml(ROOT / OTHER_RECIPE)["candidates"]["transformer"]
    assert YAML(typ="safe").load(pasted) == other | {"max_tokens": 64}


def test_a_file_of_test_rows_is_the_test_split(tmp_path: Path) -> None:
    source = {"train": "data/raw/a.csv", "validation": None, "test": "data/raw/b.csv"}
    data = load(propose(10_000, source=source), tmp_path).data
    assert data.source.test == "data/raw/b.csv"
    assert data.split.test == 0


def test_a_floor_asks_for_more_than_the_most_frequent_class(tmp_path: Path) -> None:
    assert load(propose(10_000, majority=0.3), tmp_path).evaluation.floor == 0.44
    unbalanced = propose(10_000, majority=0.95)
    assert load(unbalanced, tmp_path).evaluation.floor == 0.96
    assert load(propose(10_000, majority=0.999), tmp_path).evaluation.floor == 0.99
    assert any(
        "in 95%, and 20% of the rest is asked for; set what you need" in reason
        for reason in unbalanced.reasons
    )


def test_a_small_file_is_not_refused_for_its_size(tmp_path: Path) -> None:
    assert load(propose(300), tmp_path).validation.min_rows == 156  # of about 195
    assert load(propose(2000), tmp_path).validation.min_rows == 200


def test_a_small_test_split_is_asked_for_what_it_can_show(tmp_path: Path) -> None:
    few = propose(2000)
    assert load(few, tmp_path).evaluation.max_detectable_difference == 0.14
    assert any("about 400 test rows can show no smaller one" in reason for reason in few.reasons)
    assert load(propose(10_000), tmp_path).evaluation.max_detectable_difference == 0.1
    source = {"train": "data/raw/a.csv", "validation": None, "test": "data/raw/b.csv"}
    given = propose(2000, source=source)
    assert load(given, tmp_path).evaluation.max_detectable_difference == 0.1


def propose_search(num_rows: int, english: float = 0.3, **held_out: int) -> Proposal:
    seen = (num_rows, 20, english, 0.0, None, "p", "n", held_out)
    answers = InitAnswers("help", None, "a.csv", "data/raw/a.csv", "q", [], *seen)
    return propose_params((ROOT / "recipes/retrieval.yaml").read_text(encoding="utf-8"), answers)


def test_few_pairs_may_be_won_by_what_does_not_learn(tmp_path: Path) -> None:
    few = load(propose_search(300), tmp_path)
    assert few.evaluation.simple_candidate == "bm25"
    assert few.control.candidates == []
    columns = few.data.columns
    assert (columns.query, columns.passage, columns.negative) == ("q", "p", "n")
    many = load(propose_search(5000), tmp_path)
    assert many.evaluation.simple_candidate is None
    assert many.control.candidates == ["tuned"]
    assert list(load(propose_search(5000, english=0.0), tmp_path).candidates) == ["bm25"]


def test_splits_that_a_folder_has_are_reckoned_with(tmp_path: Path) -> None:
    assert load(propose_search(5000, test=60), tmp_path).validation.min_rows == 30
    assert "for about 450 pairs of train" in " ".join(propose_search(1500).reasons)
    assert "for about 975 pairs of train" in " ".join(propose_search(1500, test=300).reasons)
    for num_rows in (1500, 5000):
        told = "\n".join(propose_search(num_rows, test=300).reasons)
        assert "about 300 test rows can show no smaller one" in told
