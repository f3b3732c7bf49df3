"""Signed webhooks in the file: what can never be verified is refused, what may not be is warned of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, complaints, trigger, warned
from tocsin.presets import GITHUB, STANDARD
from tocsin.signature import Scheme

T = WORKFLOW + '[triggers.t]\nworkflow = "w"\n'


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ('preset = "github"', "saw no secret, expected one: nothing could be verified without it"),
        ('preset = "githb", secret = "env:X"', "saw 'githb', expected"),
        ('secret = "env:X"', 'saw secret without a signature, expected a preset or auth = "hmac_sha256"'),
        ('auth = "token", preset = "github"', "saw preset without a signature"),
        (
            'preset = "github", secret = "s3cr3t"',
            "saw no reference, expected where the secret is (env:",
        ),
        ('preset = "github", secret = "env:"', "saw no reference"),
        ('preset = "github", secret = []', "saw an empty list"),
        ('preset = "github", secret = "store:a b"', "saw a name that cannot be one"),
        ('preset = "github", secret = "store:token/trg_1"', "saw a name that cannot be one"),
        ('preset = "github", secret = "env:X", header = "Y"', "saw header beside preset 'github'"),
        (
            'auth = "hmac_sha256", secret = "env:X"',
            "saw no header, expected the header that holds",
        ),
        ('preset = "generic", secret = "env:X", header = "a b"', "saw 'a b', expected the name of a header"),
        (
            'preset = "generic", secret = "env:X", header = "Y", signed_text = "{timestamp}.{body}"',
            "expected {timestamp} in signed_text and timestamp_header together",
        ),
        (
            'preset = "generic", secret = "env:X", header = "Y", signed_text = "{id}.{body}"',
            "saw {id} in signed_text, expected id_header too",
        ),
        (
            'preset = "generic", secret = "env:X", header = "Y", signed_text = "hello"',
            "saw a signed_text without {body}",
        ),
        ('rate = "60/fortnight"', "saw '60/fortnight', expected so many per s, min, h or d, like \"60/min\""),
        ('rate = "0/s"', "saw '0/s', expected so many"),
    ],
)
def test_what_can_never_be_verified_is_refused(tmp_path: Path, keys: str, complaint: str) -> None:
    [found] = complaints(tmp_path, T + f"webhook = {{ {keys} }}\n")
    assert complaint in found
    assert "s3cr3t" not in found


def test_a_preset_says_it_all(tmp_path: Path) -> None:
    keys = 'webhook = { preset = "github", secret = "env:X", events = ["push"] }\nrate = "60/min"'
    props = trigger(tmp_path, keys).props
    assert (props["auth"], props["secrets"], props["events"]) == ("signed", ["env:X"], ["push"])
    assert props["rate"] == {"count": 60, "per_ms": 60_000}
    assert Scheme.of(props["scheme"]) == GITHUB  # type: ignore[arg-type]


def test_a_scheme_of_ones_own(tmp_path: Path) -> None:
    keys = (
        'webhook = { auth = "hmac_sha256", secret = ["env:A", "file:/k"], header = "X-Sig", prefix = "v=", '
        'encoding = "base64", signed_text = "{id}.{body}", id_header = "X-Id", tolerance = "1m" }'
    )
    props = trigger(tmp_path, keys).props
    scheme = Scheme.of(props["scheme"])  # type: ignore[arg-type]
    assert (scheme.header, scheme.prefix, scheme.encoding, scheme.id_header) == (
        "x-sig",
        "v=",
        "base64",
        "x-id",
    )
    assert (scheme.tolerance_s, scheme.delivery_id) == (60, ("header:x-id",))


def test_rate_belongs_to_webhooks(tmp_path: Path) -> None:
    [found] = complaints(tmp_path, T + 'manual = true\nrate = "60/min"\n')
    assert "saw rate without webhook, expected it only beside webhook" in found


def test_what_depends_on_the_machine_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # WH-07
    monkeypatch.setenv("GOOD", "key")
    monkeypatch.setenv("BLANK", "key\n")
    monkeypatch.setenv("BAD", "whsec_*")
    monkeypatch.delenv("NONE", raising=False)
    (tmp_path / "open").write_text("key")
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "line").write_text("key\n")
    (tmp_path / "line").chmod(0o600)

    def told(preset: str, reference: str) -> list[str]:
        text = T + f'webhook = {{ preset = "{preset}", secret = "{reference}" }}\n'
        return [line.partition(", ")[2] or line for line in warned(tmp_path, text)]

    assert told("github", "env:GOOD") == []
    assert told("github", "env:NONE") == ["which is not set now"]
    assert "blanks or a line end around" in told("github", "env:BLANK")[0]
    assert "others may read" in told("github", f"file:{tmp_path}/open")[0]
    assert "blanks or a line end around" in told("github", f"file:{tmp_path}/line")[0]
    assert "which cannot be read now" in told("github", f"file:{tmp_path}/none")[0]
    assert "nothing can be verified: it is not base64 after whsec_" in told(STANDARD.preset, "env:BAD")[0]
