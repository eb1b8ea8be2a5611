"""What `make census` counts: rooms where they are, and a stage's calls from module to module."""

from pathlib import Path

from tests.support.budgets import Weight, count_commands, count_keys, list_grown, weigh_rooms
from tests.support.census import ROOT
from tests.support.walk import Walk


def write_modules(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_no_part_grows_beyond_its_ceiling() -> None:
    grown = list_grown(ROOT)
    assert not grown, f"take as much away as was added (tests/support/ceilings.json): {grown}"


def test_a_room_is_counted_where_it_is(tmp_path: Path) -> None:
    source = write_modules(
        tmp_path,
        {
            "plumbline/__init__.py": "\n",
            "plumbline/contract/task.py": "\n" * 1_700,
            "plumbline/attic/old.py": "\n" * 7,
            "plumbline/tasks/text_classification/task.py": "\n" * 20,
            "plumbline/tasks/filter_design/task.py": "\n" * 3,
            "tasks/filter_design/models/gan.py": "\n" * 30,
            "plumbline_consult/route.py": "\n" * 5,
        },
    )
    weights = {weight.name: weight for weight in weigh_rooms(source)}
    assert weights["plumbline/contract"].surplus == 90
    assert weights["plumbline/tables"] == Weight("plumbline/tables", 0, 1_100)
    assert weights["plumbline/attic"].surplus == 7  # a room without a budget is to go
    assert weights["plumbline/(files at the top)"].value == 1
    assert weights["plumbline without tasks, lines"].value == 1_708
    assert weights["text_classification"].value == 20
    assert weights["the other tasks"].value == 33
    assert weights["plumbline_consult"].value == 5
    assert weights["src, lines"].value == 1_766


def test_keys_that_hold_a_value_are_counted() -> None:
    assert count_keys({"seed": 7, "data": {"source": "a.csv", "sha256": {}, "rows": [1, 2]}}) == 4


def test_commands_of_groups_and_options_without_arguments_are_counted() -> None:
    num_commands, num_options = count_commands(ROOT / "src")
    assert num_commands > 20
    assert num_options > 8


def test_a_walk_follows_calls_in_their_order_and_each_function_once(tmp_path: Path) -> None:
    write_modules(
        tmp_path,
        {
            "house/__init__.py": "",
            "house/hall.py": """
import json
from house import kitchen
from house.cellar import Shelf, fetch as bring

def enter():
    kitchen.cook(bring())
    kitchen.wash()
    json.dumps({})
    close()

def close():
    from house.attic import Attic
    Attic.open("box")
    bring()
""",
            "house/kitchen.py": """
from house.cellar import fetch

def cook(what):
    fetch()
    wash()

def wash():
    pass
""",
            "house/cellar.py": "def fetch():\n    return Shelf()\n\nclass Shelf:\n    pass\n",
            "house/attic.py": """
class Attic:
    @classmethod
    def open(cls, name):
        cls.clean()

    @classmethod
    def clean(cls):
        from house.hall import close
        from house.kitchen import wash
        wash()
        close()
""",
        },
    )
    walk = Walk(tmp_path)
    walk.follow("house.hall", "enter")
    assert walk.entered == ["house.cellar", "house.kitchen", "house.attic"]
    assert ("house.attic", "Attic.clean") in walk.followed
