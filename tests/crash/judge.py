"""After the kills: whether all that was answered for came to one end, and nothing ran twice at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.crash.load import MAX_ATTEMPTS, Load
from tests.crash.rig import Home
from tests.store.raw import beside

ALL = "1000000"
LANE = ("first", "second")  # the triggers that share one
ENDED = {"succeeded", "failed", "skipped"}
FOLLOWED = {
    "hook": ("then", {"succeeded", "failed"}),
    "flaky": ("after-flaky", {"succeeded"}),
    "second": ("after-flaky", {"succeeded"}),
    "hopeless": ("after-hopeless", {"failed"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """faults: a sentence each. figures: what there was to judge."""

    faults: Sequence[str]
    figures: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The evidence. events: in accept order. worked: (word, event, run) in the order written."""

    home: Home
    load: Load
    events: Sequence[Mapping[str, Any]]
    runs: Sequence[Mapping[str, Any]]
    worked: Sequence[tuple[str, str, str]]


def judge(here: Path, home: Home, load: Load) -> Verdict:
    """Read everything; nothing may be unfinished any more."""
    lines = (here / "worked").read_text("utf-8").splitlines()
    case = Case(
        home=home,
        load=load,
        events=home.json("events", "--limit", ALL)[::-1],
        runs=home.json("runs", "--limit", ALL),
        worked=[(word, event, run) for word, event, run in (line.split(" ") for line in lines)],
    )
    faults = [*load.broken]
    for look in (acknowledged, chains, ends, attempts, overlaps, in_line, planned, whole, audited):
        faults += look(case)
    return Verdict(faults=faults, figures=figures(case))


def figures(case: Case) -> dict[str, int]:
    states = Counter(run["state"] for run in case.runs)
    return {
        "deliveries acknowledged": len(case.load.acknowledged),
        "deliveries sent": case.load.tries,
        "keys fired": len(case.load.fired),
        "files dropped": len(case.load.dropped),
        "events": len(case.events),
        "runs": len(case.runs),
        "runs lost": states["lost"],
        "commands begun": sum(word == "begin" for word, _, _ in case.worked),
    }


def acknowledged(case: Case) -> Iterator[str]:
    """Every delivery, key and file has exactly one event: the one its sender was told."""
    told = {(name, id_): event for (name, id_), event in case.load.acknowledged.items()}
    told |= {("hand", key): event for key, event in case.load.fired.items()}
    found: dict[tuple[str, str], list[str]] = {}
    for event in case.events:
        found.setdefault((event["registration"], event["delivery_id"]), []).append(event["id"])
    for what, event_id in told.items():
        if found.get(what) != [event_id]:
            yield f"{what} was answered with {event_id}, there is {found.get(what)}"
    for what, ids in found.items():
        if len(ids) > 1:
            yield f"{what} has {len(ids)} events: {ids}"
    files = Counter(
        file_of(event["delivery_id"]) for event in case.events if event["registration"] == "inbox"
    )
    for name in case.load.dropped:
        if files[name] != 1:
            yield f"file {name} has {files[name]} events"


def file_of(delivery_id: str) -> str:
    """The name in a file's delivery id, `PATH:GENERATION`."""
    return Path(delivery_id).name.partition(".txt")[0] + ".txt"


def chains(case: Case) -> Iterator[str]:
    """Each end that a chain waits for has one event there, and only such."""
    by_id = {event["id"]: event for event in case.events}
    followers = {
        (event["registration"], event["delivery_id"]) for event in case.events if event["kind"] == "run"
    }
    wanted = {
        (FOLLOWED[event["registration"]][0], event["id"])
        for event in case.events
        if event["registration"] in FOLLOWED and event["state"] in FOLLOWED[event["registration"]][1]
    }
    for name, id_ in wanted ^ followers:
        there = "is missing" if (name, id_) in wanted else "should not be"
        yield f"{name} after {id_} ({by_id[id_]['state']}) {there}"


def ends(case: Case) -> Iterator[str]:
    """One ending each; a success has one successful run."""
    successes = Counter(run["event_id"] for run in case.runs if run["state"] == "succeeded")
    for event in case.events:
        if event["state"] not in ENDED or event["settled_at"] is None:
            yield f"{event['id']} ({event['registration']}) is {event['state']} ({event['reason']})"
        if successes[event["id"]] != (event["state"] == "succeeded"):
            yield f"{event['id']} is {event['state']} with {successes[event['id']]} successful runs"
    for run in case.runs:
        if run["finished_at"] is None:
            yield f"{run['id']} never ended: {run['state']}"


def attempts(case: Case) -> Iterator[str]:
    """No command beyond the attempts that were counted, nor they beyond what is allowed."""
    begun = Counter(event for word, event, _ in case.worked if word == "begin")
    runs = Counter(run for word, _, run in case.worked if word == "begin")
    counted = {event["id"]: event["attempts"] for event in case.events}
    for event_id, n in begun.items():
        if n > counted.get(event_id, 0):
            yield f"{event_id}: {n} commands were begun, {counted.get(event_id)} attempts counted"
    yield from (f"{event_id}: {n} attempts" for event_id, n in counted.items() if n > MAX_ATTEMPTS)
    yield from (f"{run} was begun {n} times" for run, n in runs.items() if n > 1)


def overlaps(case: Case) -> Iterator[str]:
    """The worker holds a lock for its event as long as any process of its run lives."""
    yield from (
        f"{run} ran beside another of {event}" for word, event, run in case.worked if word == "overlap"
    )


def in_line(case: Case) -> Iterator[str]:
    """In a lane no event begins before an earlier one, and none twice around another."""
    order = [event["id"] for event in case.events if event["registration"] in LANE]
    place = {id_: n for n, id_ in enumerate(order)}
    begun = [place[event] for word, event, _ in case.worked if word == "begin" and event in place]
    yield from (f"lane: {order[b]} began after {order[a]}" for a, b in pairwise(begun) if b < a)


def planned(case: Case) -> Iterator[str]:
    """No planned instant has two events."""
    instants = Counter(event["planned_at"] for event in case.events if event["registration"] == "tick")
    yield from (f"tick at {at}: {n} events" for at, n in instants.items() if n > 1)


def whole(case: Case) -> Iterator[str]:
    """SQLite's own opinion, and the engine's: nothing is left claimed."""
    with beside(case.home.path / "tocsin.db") as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check").fetchall()]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    yield from (f"integrity_check: {line}" for line in found if line != "ok")
    yield from (f"foreign key: {tuple(row)}" for row in broken)


def audited(case: Case) -> Iterable[str]:
    """`tocsin audit` agrees."""
    done = case.home.tocsin("audit", "--json")
    return [] if done.returncode == 0 else [f"audit: {json.dumps(done.stdout)}"]
