"""Secrets by reference: each kind, what is missing, and how long a value is held."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fakes import FakeClock, FakeSecrets
from tocsin.engine.secret_refs import SecretRefs
from tocsin.errors import SecretMissing


class Bed:
    def __init__(self) -> None:
        self.clock, self.store = FakeClock(), FakeSecrets()
        self.environ: dict[str, str] = {}
        self.refs = SecretRefs(store=self.store, environ=self.environ, monotonic=self.clock.monotonic)

    def missing(self, reference: str) -> str:
        with pytest.raises(SecretMissing) as caught:
            self.refs.values([reference])
        assert caught.value.reference == reference
        return str(caught.value)


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_each_kind_is_found_without_blanks_around_it(bed: Bed, tmp_path: Path) -> None:
    bed.environ["KEY"] = " one\n"
    bed.store.put("acme/key", "two")
    (tmp_path / "key").write_text("three\n")
    program = f"{sys.executable} -c \"print('four'); print('more')\""
    wanted = ["env:KEY", "store:acme/key", f"file:{tmp_path}/key", f"cmd:{program}"]
    assert bed.refs.values(wanted) == ["one", "two", "three", "four"]


def test_what_is_missing_is_named_with_the_reason(bed: Bed, tmp_path: Path) -> None:
    bed.environ["EMPTY"] = " "
    assert bed.missing("env:KEY") == "the secret env:KEY cannot be had: it is not set"
    assert bed.missing("env:EMPTY").endswith("it is empty")
    assert bed.missing("store:key").endswith("`tocsin secret set key` keeps it")
    assert bed.missing(f"file:{tmp_path}/none").endswith("No such file or directory")
    assert "FileNotFoundError" in bed.missing("cmd:no-such-program")
    assert "CalledProcessError" in bed.missing("cmd:false")
    assert "ValueError" in bed.missing('cmd:"')
    assert "expected env:" in bed.missing("vault:x")


def test_no_value_is_in_an_error(bed: Bed, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"sesame\xff")
    assert "sesame" not in bed.missing(f"file:{tmp_path}/key")
    (tmp_path / "tell").write_text("echo sesame >&2; echo sesame; exit 1")
    assert "sesame" not in bed.missing(f"cmd:sh {tmp_path}/tell")


def test_a_value_is_held_for_half_a_minute(bed: Bed) -> None:
    bed.environ["KEY"] = "one"
    bed.refs.values(["env:KEY"])
    bed.environ["KEY"] = "two"
    bed.clock.advance(29)
    assert bed.refs.values(["env:KEY"]) == ["one"]
    bed.clock.advance(1)
    assert bed.refs.values(["env:KEY"]) == ["two"]


def test_one_that_was_missing_is_asked_for_again(bed: Bed) -> None:
    bed.missing("env:KEY")
    bed.environ["KEY"] = "one"
    assert bed.refs.values(["env:KEY"]) == ["one"]
