"""`[sources]` tables: what triggers that name one share, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, complaints, loaded, trigger, warned
from tocsin.presets import STANDARD
from tocsin.signature import Scheme
from tocsin.trigger import Kind, Overlap, Scope

DOWNLOADS = '[sources.downloads]\nfiles = { path = "in", match = ["*.pdf"] }\n'
NAMED = '[triggers.t]\nworkflow = "w"\nsource = "downloads"\n'


def test_a_trigger_that_names_one_has_its_settings(tmp_path: Path) -> None:
    spec = trigger(tmp_path, 'source = "downloads"', workflow=WORKFLOW + DOWNLOADS)
    assert (spec.source, spec.component, spec.kind) == ("downloads", "files", Kind.FILE)
    assert (spec.scope, spec.overlap) == (Scope.DESKTOP, Overlap.ALLOW)
    assert spec.props["paths"] == [str(tmp_path / "in")]
    assert spec.props["match"] == ["*.pdf"]


def test_one_that_nobody_names_is_allowed(tmp_path: Path) -> None:
    gone = f"sources.downloads.files.path: saw {tmp_path}/in, which is not there now"
    assert warned(tmp_path, WORKFLOW + DOWNLOADS) == [gone]
    assert warned(tmp_path, WORKFLOW + DOWNLOADS + NAMED) == [gone]
    assert set(loaded(tmp_path, WORKFLOW + DOWNLOADS).configuration.sources) == {"downloads"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            DOWNLOADS + NAMED.replace("downloads", "download"),
            "7: triggers.t.source: saw 'download', expected the name of a source (did you mean 'downloads'?)",
        ),
        (NAMED, "5: triggers.t.source: saw 'downloads', expected the name of a source (there is none)"),
        (
            "[sources.x]\n",
            "3: sources.x: saw nothing that happens, expected exactly one of ",
        ),
        (
            '[sources.x]\nfile = { path = "in" }\n',
            "4: sources.x.file: unknown key 'file' (did you mean 'files'?)",
        ),
        ("[sources.x]\nfiles = {}\n", "4: sources.x.files.path: "),
        (
            '[sources.x]\nfiles = { path = "in", match = ["!"] }\n',
            "4: sources.x.files.match[0]: saw '!', expected a pattern as in a .gitignore file",
        ),
        ("[sources]\nx = 1\n", "4: sources.x: saw 1, expected a table [sources.x]"),
    ],
)
def test_one_mistake_is_one_complaint(tmp_path: Path, text: str, complaint: str) -> None:
    [found] = complaints(tmp_path, WORKFLOW + text)
    assert found.startswith(complaint)


def test_a_trigger_of_a_faulty_source_hides_none_of_its_own_faults(tmp_path: Path) -> None:
    text = WORKFLOW + "[sources.downloads]\nfiles = {}\n" + NAMED + "max_attempts = 0\n"
    assert [line.split(":")[1].strip() for line in complaints(tmp_path, text)] == [
        "sources.downloads.files.path",
        "triggers.t.max_attempts",
    ]


def test_keys_that_do_nothing_for_its_kind_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert warned(tmp_path, WORKFLOW + DOWNLOADS + NAMED + 'misfire = "skip"\n') == [
        "triggers.t.misfire: has no effect on a trigger with files"
    ]


PARTNER = '[sources.partner]\nwebhook = { secret = "store:partner" }\n'
SHOPS = (
    '[connections.a]\nprovider = "shopify"\naccount = "a.example"\nwebhook_secret = "env:A"\n'
    '[connections.gh]\nprovider = "github"\nwebhook_secret = ["env:G", "env:H"]\n'
)


def named(source: str) -> str:
    return f'source = "{source}"'


def test_a_webhook_of_its_own_address_is_signed_as_standard_webhooks(tmp_path: Path) -> None:
    spec = trigger(tmp_path, named("partner"), workflow=WORKFLOW + PARTNER)
    assert (spec.kind, spec.component, spec.overlap) == (Kind.WEBHOOK, "webhook", Overlap.ALLOW)
    told = {key: spec.props[key] for key in ("mode", "auth", "secrets")}
    assert told == {"mode": "instance", "auth": "signed", "secrets": ["store:partner"]}
    assert Scheme.of(spec.props["scheme"]) == STANDARD  # type: ignore[arg-type]


def test_a_shared_one_has_the_accounts_that_it_names(tmp_path: Path) -> None:
    source = '[sources.shop]\nshared = { use = "shopify", connections = ["a"], rate = "60/min" }\n'
    props = trigger(tmp_path, named("shop"), workflow=WORKFLOW + SHOPS + source).props
    assert (props["mode"], props["provider"], props["secrets"]) == ("shared", "shopify", [])
    assert props["connections"] == [{"name": "a", "account": "a.example", "secrets": ["env:A"]}]
    assert props["rate"] == {"count": 60, "per_ms": 60_000}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[sources.x]\nwebhook = {}\n", "webhook: saw no secret, expected one"),
        ('[sources.x]\nwebhook = { auth = "token", secret = "env:A" }\n', "saw secret without a signature"),
        (
            '[sources.x]\nshared = { use = "shopify", connections = ["b"] }\n',
            "shared.connections[0]: saw 'b', expected the name of a connection (there are: a, gh)",
        ),
        (
            '[sources.x]\nshared = { use = "shopify", connections = ["gh"] }\n',
            "shared.connections[0]: saw 'gh', a connection of github, expected one of shopify",
        ),
        (
            '[sources.x]\nfiles = { path = "in" }\ndedupe = { payload = "id" }\n',
            "dedupe: saw dedupe beside files",
        ),
        ('[connections.c]\nprovider = "shopify"\n', "connections.c.webhook_secret: "),
        ('[connections.c]\nprovider = "x"\nwebhook_secret = "env:A"\n', "connections.c.provider: saw 'x'"),
        ("[connections]\nc = 1\n", "connections.c: saw 1, expected a table [connections.c]"),
    ],
)
def test_a_webhook_source_that_cannot_be_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    found = complaints(tmp_path, WORKFLOW + SHOPS + text)
    assert any(complaint in line for line in found), found
