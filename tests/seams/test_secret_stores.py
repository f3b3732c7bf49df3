"""Every secret store: what was put is got, exactly; and what the one in a file keeps besides."""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes import FakeSecrets
from tocsin.engine.secret_store import FileSecrets
from tocsin.errors import StoreUnusable
from tocsin.seams import SecretStore

ODD = ["", " ", "a\nb", "\t", '"""', "\\", "é🔔", "\x7f\x1b\0", "a=b#c", "\u2028", "'''", "\r\n"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = ["token/trg_1", "plain", "a.b.c", 'quo"ted', "späce d", "-", "1"]


@pytest.fixture(params=["file", "fake"])
def secrets(request: pytest.FixtureRequest, tmp_path: Path) -> SecretStore:
    return FakeSecrets() if request.param == "fake" else FileSecrets(tmp_path / "home" / "secrets.toml")


class TestContract:
    def test_an_unknown_name_has_no_value(self, secrets: SecretStore) -> None:
        assert secrets.get("nothing") is None

    @pytest.mark.parametrize("value", ODD)
    def test_a_value_comes_back_exactly(self, secrets: SecretStore, value: str) -> None:
        secrets.put("name", value)
        assert secrets.get("name") == value

    def test_names_do_not_get_in_each_others_way(self, secrets: SecretStore) -> None:
        for name in NAMES:
            secrets.put(name, f"value of {name}")
        assert [secrets.get(name) for name in NAMES] == [f"value of {name}" for name in NAMES]

    def test_the_last_value_counts(self, secrets: SecretStore) -> None:
        secrets.put("name", "one")
        secrets.put("name", "two")
        assert secrets.get("name") == "two"

    def test_a_deleted_name_has_no_value_and_the_others_keep_theirs(self, secrets: SecretStore) -> None:
        secrets.put("a", "1")
        secrets.put("b", "2")
        secrets.delete("a")
        assert (secrets.get("a"), secrets.get("b")) == (None, "2")

    def test_deleting_what_is_not_there_is_no_error(self, secrets: SecretStore) -> None:
        secrets.delete("nothing")
        assert secrets.get("nothing") is None


class TestFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "home" / "secrets.toml"

    def test_it_is_private(self, path: Path) -> None:
        FileSecrets(path).put("a", "1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    def test_another_process_sees_what_was_put(self, path: Path) -> None:
        one, other = FileSecrets(path), FileSecrets(path)
        one.put("a", "1")
        assert other.get("a") == "1"
        other.put("b", "2")
        assert one.get("b") == "2"

    def test_a_person_can_read_and_write_it(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_text('# mine\nOCR_KEY = "k"\n[table]\nx = 1\n')
        secrets = FileSecrets(path)
        assert secrets.get("OCR_KEY") == "k"
        assert secrets.get("table") is None
        assert tomllib.loads(path.read_text())["OCR_KEY"] == "k"

    def test_nothing_else_is_left_beside_it(self, path: Path) -> None:
        secrets = FileSecrets(path)
        secrets.put("a", "1")
        secrets.delete("a")
        assert [file.name for file in path.parent.iterdir()] == ["secrets.toml"]

    @pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe", b'a = "1"\na = "2"'])
    def test_one_that_is_damaged_is_told_and_not_overwritten(self, path: Path, content: bytes) -> None:
        path.parent.mkdir()
        path.write_bytes(content)
        for use in self.uses(path):
            with pytest.raises(StoreUnusable, match=r"secrets\.toml cannot be read"):
                use()
        assert path.read_bytes() == content

    def test_one_that_cannot_be_written_keeps_what_it_had(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secrets = FileSecrets(path)
        secrets.put("a", "1")

        def full(_handle: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(StoreUnusable, match=r"secrets\.toml cannot be written"):
            secrets.put("a", "2")
        assert secrets.get("a") == "1"
        assert [file.name for file in path.parent.iterdir()] == ["secrets.toml"]

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
    @given(st.dictionaries(TEXT, TEXT, max_size=4))
    def test_any_names_and_values_come_back(self, tmp_path: Path, wanted: dict[str, str]) -> None:
        path = tmp_path / "any.toml"
        path.unlink(missing_ok=True)
        secrets = FileSecrets(path)
        for name, value in wanted.items():
            secrets.put(name, value)
        assert {name: secrets.get(name) for name in wanted} == wanted

    def uses(self, path: Path) -> list[Callable[[], object]]:
        secrets = FileSecrets(path)
        return [lambda: secrets.get("a"), lambda: secrets.put("a", "1"), lambda: secrets.delete("a")]
