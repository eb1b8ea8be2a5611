"""An address is shown without what can be secret in it, wherever that is written."""

from pathlib import Path

import pytest

from plumbline.contract.yaml_file import load_yaml
from plumbline.sources.addresses import hide_secrets, hide_secrets_in_text
from plumbline.sources.shown_params import (
    digest_shown_params,
    hide_secrets_in_values,
    read_shown_params,
)

SECRET = "hunter2"  # noqa: S105  to look for it in what is shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (
            "postgresql+psycopg2://me:{}@db:5432/x#SELECT 1",
            "postgresql+psycopg2://db:5432/x#SELECT 1",
        ),
        ("postgresql://me:a/{}@db/x#SELECT '@'", "postgresql://db/x#SELECT '@'"),
        ("postgresql://me:a#{}@db/x#SELECT 1", "postgresql://db/x#SELECT 1"),
        ("postgresql://me:a@{}@db/x", "postgresql://db/x"),
        ("mysql://db:3306/x?password={}#SELECT 'a@b'", "mysql://db:3306/x#SELECT 'a@b'"),
        ("s3://key:a/{}@bucket/part-?.csv", "s3://bucket/part-?.csv"),
        ("abfs://box/x.csv?sig={}", "abfs://box/x.csv"),
        ("https://{}@host:80/a@b.csv?{}", "https://host:80/a@b.csv"),
        ("zip://a.csv::https://me:{}@host/a.zip?t={}", "zip://a.csv::https://host/a.zip"),
        ("simplecache::ftp://me:{}@host/a.csv", "simplecache::ftp://host/a.csv"),
    ],
)
def test_neither_user_nor_password_nor_query_string_is_shown(address: str, shown: str) -> None:
    secret = address.replace("{}", SECRET)
    assert hide_secrets(secret) == shown
    assert hide_secrets(shown) == shown
    assert SECRET not in hide_secrets_in_text(f"{secret}: connection refused")
    assert SECRET not in hide_secrets(secret)


@pytest.mark.parametrize(
    "address",
    [
        "generated",
        "data/raw/part-?.csv",
        "file:///data/part-?.csv",
        "hf://org/name@main",
        "hf://name@main",
        "sqlite:///t.db?mode=ro#SELECT a::text FROM t WHERE b = 'x@y'",
        "postgresql://db:5432/x#SELECT 'a@b'",
        "memory://bucket/*.csv",
    ],
)
def test_an_address_without_secrets_is_shown_as_it_is(address: str) -> None:
    assert hide_secrets(address) == address


def test_params_without_secrets_are_kept_to_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    text = "# as in https://host/x and hf://org/name@main\nsource:   hf://org/name@main  # here\n"
    path.write_text(text, encoding="utf-8")
    assert read_shown_params(path) == text.encode()


def test_another_password_makes_no_other_digest(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    digests = set()
    for password in ("one", "two"):
        path.write_text(f"source: ftp://me:{password}@host/x\n", encoding="utf-8")
        digests.add(digest_shown_params(path))
    assert len(digests) == 1
    assert hide_secrets_in_values({"ftp://a:b@h/x": ["ftp://a:b@h/y", 1]}) == {
        "ftp://h/x": ["ftp://h/y", 1]
    }


@pytest.mark.parametrize(
    "line",
    [
        '"https://me:hunter\\x32@host/x"',  # an escape
        '"https://me:hunter2\\\n  @host/x"',  # over two lines
        "x.csv #was https://host/x?token=hunter2",
        '"x # y" ## https://hunter2@host/x',
    ],
)
def test_an_address_in_any_way_of_yaml_is_shown_without_secrets(tmp_path: Path, line: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(f"a: 1\nsource: {line}\n", encoding="utf-8")
    values = hide_secrets_in_values(load_yaml(path))
    shown = read_shown_params(path).decode()
    assert "hunter" not in shown
    path.write_text(shown, encoding="utf-8")
    assert load_yaml(path) == values
