"""What `tocsin check` says about mistakes: every one of them, at its line, in the same manner."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, complaints

TRIGGER = WORKFLOW + '[triggers.t]\nworkflow = "w"\n'  # four lines

MANY = """\
[engine]
prot = 7766
shutdown_grace = 10

[workflows.ocr]
command = "ocrmypdf"
timeout = "25 minutes"

[triggers.one]
workflow = "orc"
cron = "0 8 * *"

[triggers.two]
workflow = "ocr"
cron = "0 8 * * *"
every = "10m"
tz = "Europe/Berln"
serialise_key = "k"

[triggers.three]
workflow = "ocr"
files = { path = "~/Inbox", on = ["creatd"], debounce = 5 }
max_attempts = "3"

[triggers.four]
worflow = "ocr"
at = 2026-12-24T18:00:00
"""


def test_one_reading_tells_every_mistake_of_every_layer_with_its_line(tmp_path: Path) -> None:
    assert [complaint.split(": ")[:2] for complaint in complaints(tmp_path, MANY)] == [
        ["2", "engine.prot"],
        ["3", "engine.shutdown_grace"],
        ["6", "workflows.ocr.command"],
        ["7", "workflows.ocr.timeout"],
        ["10", "triggers.one.workflow"],
        ["11", "triggers.one.cron"],
        ["16", "triggers.two.every"],
        ["17", "triggers.two.tz"],
        ["18", "triggers.two.serialise_key"],
        ["22", "triggers.three.files.on[0]"],
        ["22", "triggers.three.files.debounce"],
        ["23", "triggers.three.max_attempts"],
        ["26", "triggers.four.worflow"],
        ["27", "triggers.four.at"],
    ]


def test_every_complaint_says_what_was_seen_and_expected_without_a_library_speaking(tmp_path: Path) -> None:
    for complaint in complaints(tmp_path, MANY):
        assert any(word in complaint for word in ("saw ", "unknown ", "duration ", "seen"))
        assert any(word in complaint for word in ("expected", "wanted", "did you mean"))
        assert not any(
            word in complaint for word in ("Input", "Extra inputs", "type=", "validation", "Value error")
        )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[engin]\n", "1: engin: unknown key 'engin' (did you mean 'engine'?)"),
        ("engine = 5\n", "1: engine: saw 5, expected a table"),
        ("[engine]\nport = 70000\n", "2: engine.port: saw 70000, expected 65535 or less"),
        ("[engine]\nport = true\n", "2: engine.port: saw true, expected a whole number"),
        ("[engine]\nport = 1.0\n", "2: engine.port: saw 1.0, expected a whole number"),
        (
            '[engine]\nbody_limit = "5MiB"\n',
            '2: engine.body_limit: saw \'5MiB\', expected a size from "1B" to "4MiB"',
        ),
        (
            '[engine]\nbody_limit = "1MB"\n',
            '2: engine.body_limit: saw \'1MB\', expected a size like "64KiB" or "1MiB"',
        ),
        ("[workflows.w]\n", "1: workflows.w: saw neither command nor shell, expected exactly one of them"),
        (
            WORKFLOW + 'shell = "x"\n',
            "3: workflows.w.shell: saw both command and shell, expected exactly one of them",
        ),
        (
            '[workflows.w]\ncommand = "echo hi"\n',
            (
                "2: workflows.w.command: saw 'echo hi', expected a list in brackets like "
                '["echo", "{event.raw_payload.path}"]'
            ),
        ),
        (
            '[workflows.w]\ncommand = [""]\n',
            "2: workflows.w.command[0]: saw an empty text, expected the program to run",
        ),
        (WORKFLOW + "env = { A = 1 }\n", "3: workflows.w.env.A: saw 1, expected text in quotes"),
        (
            TRIGGER,
            (
                "3: triggers.t: saw nothing that fires it, expected exactly one of "
                "cron, every, at, files, webhook, after, manual, source"
            ),
        ),
        (
            WORKFLOW + "[triggers.t]\nmanual = true\n",
            "3: triggers.t: saw no workflow, expected workflow = NAME",
        ),
        (
            TRIGGER + 'cron = "0 8 * * *"\nevery = "5m"\n',
            (
                "6: triggers.t.every: saw cron and every, expected exactly one of "
                "cron, every, at, files, webhook, after, manual, source"
            ),
        ),
        (
            TRIGGER + 'overlap = "queu"\nmanual = true\n',
            (
                "5: triggers.t.overlap: saw 'queu', expected 'skip', 'queue', 'allow' or 'replace' "
                "(did you mean 'queue'?)"
            ),
        ),
        (
            TRIGGER + 'overlap = "allow"\nserialize_key = "k"\nmanual = true\n',
            (
                '5: triggers.t.overlap: saw "allow" beside a serialize_key, '
                'expected "queue", "skip" or "replace", or no serialize_key'
            ),
        ),
        (TRIGGER + "manual = false\n", "5: triggers.t.manual: saw false, expected true"),
        (
            TRIGGER + "manual = true\ndedupe = {}\n",
            "6: triggers.t.dedupe: saw dedupe without webhook, expected it only beside webhook",
        ),
        (
            TRIGGER + "manual = true\nanchor = 2026-01-01T00:00:00Z\n",
            "6: triggers.t.anchor: saw anchor without every, expected it only beside every",
        ),
        (
            TRIGGER + "webhook = {}\ndedupe = { header = 'a', payload = 'b' }\n",
            "6: triggers.t.dedupe: saw both header and payload, expected one of them",
        ),
        (
            TRIGGER + "webhook = {}\ndedupe = { header = 'a', strategy = 'greatest' }\n",
            (
                '6: triggers.t.dedupe: saw "greatest" without order, '
                'expected order = "number", "time" or "text"'
            ),
        ),
        (
            TRIGGER + "webhook = {}\ndedupe = { strategy = 'greatest', order = 'time' }\n",
            (
                '6: triggers.t.dedupe: saw "greatest" with neither header nor payload, '
                "expected one of them: a body has no order"
            ),
        ),
        (
            TRIGGER + "webhook = {}\ndedupe = { header = 'a', order = 'time' }\n",
            '6: triggers.t.dedupe: saw order beside "unique", expected it only beside "greatest"',
        ),
        (
            TRIGGER + "webhook = {}\ndedupe = { header = 'a', strategy = 'unique', n = 100 }\n",
            '6: triggers.t.dedupe: saw n beside "unique", expected it only beside "last"',
        ),
        (
            TRIGGER + "webhook = {}\ndedupe = { strategy = 'last', n = 0 }\n",
            "6: triggers.t.dedupe.n: saw 0, expected 1 or more",
        ),
        (
            TRIGGER + "webhook = {}\ndedupe = { strategy = 'lst' }\n",
            (
                "6: triggers.t.dedupe.strategy: saw 'lst', expected 'unique', 'greatest' or 'last' "
                "(did you mean 'last'?)"
            ),
        ),
        (
            TRIGGER + "after = {}\n",
            "5: triggers.t.after: saw neither workflow nor trigger, expected exactly one of them",
        ),
        (
            TRIGGER + "after = { trigger = 't' }\n",
            "5: triggers.t.after.trigger: saw this trigger itself, expected another trigger",
        ),
        (
            TRIGGER + "after = { workflow = 'w' }\n",
            (
                "5: triggers.t.after.workflow: saw 'w', which this trigger runs itself, "
                "expected another workflow"
            ),
        ),
        (
            TRIGGER + "after = { workflow = 'ww' }\n",
            "5: triggers.t.after.workflow: saw 'ww', expected the name of a workflow (did you mean 'w'?)",
        ),
        (
            TRIGGER + "files = {}\n",
            "5: triggers.t.files.path: missing, expected the folder or file to watch, or a list of them",
        ),
        (
            TRIGGER + "files = { path = 'a', settle = '11m' }\n",
            "5: triggers.t.files: saw a max_wait below debounce and settle together, expected a longer one",
        ),
        (
            TRIGGER + "manual = true\nconfig = { a = [{ b = nan }] }\n",
            "6: triggers.t.config: saw nan at a[0].b, expected a number that JSON can hold",
        ),
        (
            TRIGGER + "at = 2026-12-24T18:00:00\n",
            (
                "5: triggers.t.at: saw 2026-12-24T18:00:00, which has no offset; "
                "expected a time with an offset like 2026-12-24T18:00:00+01:00 or 2026-12-24T17:00:00Z"
            ),
        ),
        ("[workflows]\nw = 3\n", "2: workflows.w: saw 3, expected a table [workflows.w]"),
        (
            "[triggers.'bad name']\n" + 'workflow = "w"\nmanual = true\n' + WORKFLOW,
            (
                "1: triggers.\"bad name\": saw the name 'bad name', expected up to 100 letters, digits, "
                "dots, dashes and underscores, a letter or digit first"
            ),
        ),
    ],
)
def test_one_mistake_is_one_complaint(tmp_path: Path, text: str, complaint: str) -> None:
    assert complaints(tmp_path, text) == [complaint]


@pytest.mark.parametrize(
    "key",
    [
        'feed = { url = "https://example.org" }',
        'coalesce = { window = "30s" }',
    ],
)
def test_a_key_that_would_do_nothing_is_refused(tmp_path: Path, key: str) -> None:
    [complaint] = complaints(tmp_path, TRIGGER + f"manual = true\n{key}\n")
    assert complaint.startswith(f"6: triggers.t.{key.split()[0]}: unknown key")


@pytest.mark.parametrize("cron", ["* * * *", "0 0 30 2 *", "61 * * * *", "@dayly", "", "0 0 * * * *"])
def test_a_cron_expression_that_cannot_fire_is_named(tmp_path: Path, cron: str) -> None:
    [complaint] = complaints(tmp_path, TRIGGER + f'cron = "{cron}"\n')
    assert complaint.startswith("5: triggers.t.cron: cron ")


@pytest.mark.parametrize("every", ["0s", "100ms", "5", "five minutes", "999999w"])
def test_an_interval_that_cannot_be_used_is_named(tmp_path: Path, every: str) -> None:
    [complaint] = complaints(tmp_path, TRIGGER + f'every = "{every}"\n')
    assert complaint.startswith("5: triggers.t.every: ")


def test_a_mistake_in_defaults_is_told_once_and_there(tmp_path: Path) -> None:
    text = "[defaults]\ntimeout = 'x'\nworkflow = 'v'\n" + WORKFLOW
    text += "[triggers.t]\nmanual = true\n[triggers.u]\nmanual = true\n"
    assert complaints(tmp_path, text) == [
        (
            "2: defaults.timeout: duration 'x' is not a duration; "
            "wanted a whole number with a unit, like 500ms, 30s, 5m, 2h, 1d, 1w or 1h30m"
        ),
        "3: defaults.workflow: saw 'v', expected the name of a workflow (there are: w)",
    ]


def test_a_misspelled_key_is_not_also_reported_as_missing(tmp_path: Path) -> None:
    text = '[workflows.w]\ncomand = ["echo"]\n[triggers.t]\nworkflw = "w"\ncrn = "* * * * *"\n'
    assert [complaint.split(":")[0] for complaint in complaints(tmp_path, text)] == ["2", "4", "5"]


def test_a_long_or_unprintable_value_is_shown_short_and_harmless(tmp_path: Path) -> None:
    text = TRIGGER + 'manual = true\noverlap = "\\u001b[2J\\u202e' + "x" * 5000 + '"\n'
    [complaint] = complaints(tmp_path, text)
    assert len(complaint) < 200
    assert complaint.isprintable()
