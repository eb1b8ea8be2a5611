"""Tables of the documentation that list what the code has: nothing is missing, or there no more."""

from tests.support.doc_tables import read_table

from plumbline.evidence.gates import GATES
from plumbline.tasks.text_classification.task import TASK


def test_every_gate_is_explained_and_has_a_remedy() -> None:
    names = [name for name, _, _ in GATES]
    assert [row[0] for row in read_table("evidence", "The gates")] == names
    remedies = read_table("evidence", "When a gate refuses")
    assert [row[0] for row in remedies] == names
    assert all(len(remedy) > 40 for _, remedy in remedies), "say what to change, open or collect"


def test_the_columns_and_parameters_of_an_answer_are_those_of_the_signature() -> None:
    signature = TASK.signature
    heading = "What an answer contains"
    columns = [row[0] for row in read_table("text_classification", heading)]
    assert columns == [f"`{field.name}`" for field in signature.outputs]
    params = [row[:2] for row in read_table("text_classification", heading, 1)]
    assert params == [[f"`{param.name}`", str(param.default)] for param in signature.params]
