"""params.yaml is checked whole, and every problem is told at once."""

import re
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT

from plumbline.contract.errors import ParamsError
from plumbline.contract.loading import load_params
from plumbline.contract.variables import NAMES, PREFIX, refuse_misspelt_variables

GOOD = (ROOT / "recipes/text_classification.yaml").read_text(encoding="utf-8")


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        load_params(path)
    assert caught.value.exit_code == 2
    return str(caught.value)


SHIPPED = [
    *sorted((ROOT / "recipes").glob("*.yaml")),
    *sorted((ROOT / "src").glob("**/tasks/*/faults/params.yaml")),
]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_shipped_file_is_valid(path: Path) -> None:
    params = load_params(path)
    assert params.candidates
    with pytest.raises(ValueError, match="frozen"):
        params.seed = 1


def test_all_problems_at_once_by_dotted_key_with_the_nearest_name(tmp_path: Path) -> None:
    text = GOOD.replace("seed: 7", "seed: seven").replace("max_features:", "max_feature:")
    text = text.replace("device: auto", "device: gpu").replace(
        "    kind: pretrained", "    kind: pretraned"
    )
    said = refused(tmp_path, text)
    assert "seed: input should be a valid integer; found 'seven'" in said
    assert "candidates.linear.max_feature: unknown key (did you mean max_features?)" in said
    assert "candidates.linear.max_features: missing" in said
    assert "training.device: input should be 'auto', 'cuda', 'mps' or 'cpu'; found 'gpu'" in said
    kinds = "linear, transformer, pretrained, module, ensemble"
    assert f"candidates.minilm.kind: expected one of {kinds}; found 'pretraned'" in said
    assert "(did you mean pretrained?)" in said
    assert "5 problems; nothing was started" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("learning_rate: 0.05", "learning_rate: .nan", "finite number"),
        ("learning_rate: 0.05", "learning_rate: 0", "greater than 0"),
        ("floor: 0.80", "floor: 0,80", "found '0,80'"),
        ("validation: 0.15", "validation: 0,15",
            "data.split.15: a key is text; if this ends a number, write a point"),
        ("max_epochs: 30", "max_epochs: 1:30", "valid integer; found '1:30'"),
        ("seed: 7", "seed: &s 7\nextra: *s", "aliases (*s) are not allowed"),
        ("seed: 7", "seed: !!bool seven", "params.yaml: a value cannot be read: 'seven'"),
        ("seed: 7", "seed: !!python/object:os.system 7",
            "line 4: could not determine a constructor for the tag"),
        ("seed: 7", f"seed: {'[' * 5000}{']' * 5000}", "a value cannot be read: maximum recursion"),
        ("task: text_classification", "task: text_clasification",
            "did you mean text_classification?"),
        ("task: text_classification", "task: ../../etc", "there is no task '../../etc'"),
        ("  minilm:", "  ../minilm:", "candidates"),
        ("max_features:", "forms: [int8, fp32]\n    max_features:",
            "candidates.linear.forms.0: input should be 'fp32'; found 'int8'"),
        ("forms: [int8, fp32]", "forms: [int8]", "fp32 must be one of them"),
        ("forms: [int8, fp32]", "forms: [int8, fp32, int8]", "a form is named twice"),
        ("planned_looks: 20", f"planned_looks: {'9' * 401}",
            "evaluation.planned_looks: input should be less than or equal to 1000000"),
        ("version: 1", "version: 2", "version: input should be 1; found 2"),
        ("    label: label", "    label: output.label",
            "a model must not learn from its own answers"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    assert said in refused(tmp_path, GOOD.replace(old, new, 1))


def test_values_that_are_not_valid_together_are_named(tmp_path: Path) -> None:
    text = (ROOT / "recipes/label_sets.yaml").read_text(encoding="utf-8")
    said = refused(tmp_path, text.replace("heads: 4", "heads: 5", 1))
    assert "hidden (128) must be a multiple of heads (5)" in said


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{train: generated, validation: null, test: b.csv}", "data.source: train: generated has"),
        ("{train: 3, validation: null, test: b.csv}", "data.source.train: input should be a valid"),
        ("{train: a.csv, test: b.csv}", "data.source.validation: missing"),
        ("3", "data.source: input should be keys and values; found 3"),
        ("{train: {}, train: 3}", 'line 7: found duplicate key "train"'),
    ],
)
def test_a_message_names_keys_of_the_file_and_nothing_of_python(
    tmp_path: Path, source: str, said: str
) -> None:
    message = refused(tmp_path, GOOD.replace("source: generated", f"source: {source}", 1))
    assert said in message
    for word in ("function-", "Sources", "instance of", "dictionary", "{}"):
        assert word not in message


def test_numbers_mean_what_yaml_1_2_and_dvc_say(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(
        GOOD.replace("learning_rate: 0.05", "learning_rate: 5e-2").replace("seed: 7", "seed: 010"),
        "utf-8",
    )
    params = load_params(path)
    assert params.candidates["linear"].learning_rate == 0.05  # type: ignore[attr-defined]
    assert params.seed == 10


@pytest.mark.parametrize("content", [b"", b"- a\n- b\n", b"\xff\xfe\x00", b"task: 7\n"])
def test_a_file_that_is_no_params_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "params.yaml"
    path.write_bytes(content)
    with pytest.raises(ParamsError, match=r"params\.yaml"):
        load_params(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="run from the top of the repository"):
        load_params(tmp_path / "params.yaml")


def test_each_variable_that_is_read_is_known() -> None:
    read: set[str] = set()
    for path in (ROOT / "src/plumbline").rglob("*.py"):
        read |= set(re.findall(rf'"{PREFIX}([A-Z_]+)"', path.read_text(encoding="utf-8")))
    assert read == set(NAMES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("PUBLICKEY", "PUBLIC_KEY"), ("JOURNAL_URL", "JOURNAL_URI"), ("CACHE_DIR", "CACHE")],
)
def test_a_misspelt_variable_is_an_error(
    name: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"PLUMBLINE_{name}", "x")
    with pytest.raises(ParamsError, match=rf"PLUMBLINE_{name} is .*mean PLUMBLINE_{meant}\?"):
        refuse_misspelt_variables()


def test_other_variables_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PORT", "SERVICE_HOST", "RUNNER", "TEST_DATA"):
        monkeypatch.setenv(f"PLUMBLINE_{name}", "x")
    refuse_misspelt_variables()
