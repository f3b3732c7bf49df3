"""`secret`: values go in, names come out."""

from __future__ import annotations

import stat

from tests.cli.calling import Home


def test_a_secret_is_kept_listed_and_forgotten(home: Home) -> None:
    said = home("secret", "set", "partner", stdin=b"sesame\n")
    other = home("secret", "set", "partner", "--scope", "acme", stdin=b"other")
    assert (said.code, other.code) == (0, 0)
    assert home.ok("secret", "list", "--json").json == ["acme/partner", "partner"]
    assert home.ok("secret", "list").out.split() == ["acme/partner", "partner"]
    file = home.path / "secrets.toml"
    assert 'partner = "sesame"' in file.read_text().replace('"partner"', "partner")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "sesame" not in said.out + said.err
    home.ok("secret", "rm", "partner")
    assert home.ok("secret", "list", "--json").json == ["acme/partner"]


def test_what_cannot_be_a_secret_is_refused(home: Home) -> None:
    assert home("secret", "set", "partner", stdin=b" \n").code == 2
    for name in ("", "token/trg_1", "a b", "../x", "a/b/c"):
        assert home("secret", "set", name, stdin=b"x").code == 2, name
    missing = home("secret", "rm", "nobody")
    assert (missing.code, "no secret named 'nobody'" in missing.err) == (3, True)


def test_the_tokens_of_webhooks_are_not_among_them(home: Home) -> None:
    home.config.write_text(home.config.read_text() + '[triggers.posted]\nworkflow = "hello"\nwebhook = {}\n')
    home.ok("apply", "--yes")
    assert home.ok("secret", "list", "--json").json == []
