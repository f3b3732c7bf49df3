"""What a delivery is answered: INTERFACE section 6. Answers of the door in, JSON out; no request, no rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from aiohttp import web

from tocsin.event import (
    Accepted,
    Answer,
    Declined,
    Duplicate,
    Filtered,
    Limited,
    Quarantined,
    Skipped,
    Unreadable,
)
from tocsin.trigger import Json
from tocsin.web.answers import answer
from tocsin.web.refusals import Code, bad_body, gone, rate_limited

UNREADABLE: Final = 400
GONE: Final = 410
APPLIED: Final = {"Preference-Applied": "wait"}  # RFC 7240, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one trigger says. status: as if it were the only one; event_id: of what is new and may run."""

    status: int
    document: Mapping[str, Json]
    event_id: str | None = None


def outcome_of(given: Answer, base: str, *, by_body: bool) -> Outcome:
    """One answer of the door. by_body: it was told apart by its body, which the sender should know."""
    how: dict[str, Json] = {"dedupe": "body"} if by_body else {}
    match given:
        case Accepted(event_id=event_id, run_id=run_id):
            known = ids(base, event_id, run_id) | {"duplicate": False} | how
            return Outcome(status=202, document=known, event_id=event_id)
        case Duplicate(event_id=event_id, run_id=run_id, reason=reason):
            why = {} if reason is None else {"reason": reason}
            return Outcome(status=200, document=ids(base, event_id, run_id) | {"duplicate": True} | why | how)
        case Skipped(event_id=event_id, reason=reason):
            return Outcome(status=202, document=ids(base, event_id, None) | {"skipped": reason} | how)
        case Filtered():
            return Outcome(status=200, document={"filtered": True})
        case Quarantined(quarantine_id=quarantine_id, reason=reason):
            return Outcome(status=202, document={"quarantine_id": quarantine_id, "reason": reason})
        case Unreadable(reason=reason):
            return Outcome(status=UNREADABLE, document={"error": Code.BAD_BODY, "message": reason})
        case Declined() | Limited():
            return Outcome(status=GONE, document={"error": Code.GONE, "message": str(gone())})


def ids(base: str, event_id: str, run_id: str | None) -> dict[str, Json]:
    """Where to find it again."""
    run: dict[str, Json] = {} if run_id is None else {"run_id": run_id}
    return {"event_id": event_id, **run, "status_url": f"{base}/api/events/{event_id}"}


def refuse_limited(answers: Sequence[Answer] | Limited) -> Sequence[Answer]:
    """The answers of the door. Raises a Refusal (429) when the source is over its rate."""
    if isinstance(answers, Limited):
        raise rate_limited(retry_after_s=ceil(answers.retry_after.total_seconds()))
    return answers


def said(outcomes: Sequence[Outcome], *, several: bool) -> web.Response:
    """202 when anything was kept, 200 when nothing is new. Raises a Refusal when nobody takes it.

    several: the delivery was told to more than one trigger.
    """
    told = [one for one in outcomes if one.status != GONE]
    if not told:
        raise gone()
    status = next((one for one in (202, 200) if any(each.status == one for each in told)), UNREADABLE)
    if status == UNREADABLE:
        raise bad_body(str(told[0].document["message"]))
    return answer(status, document_of([dict(one.document) for one in told], several=several))


def is_known(outcomes: Sequence[Outcome]) -> bool:
    """Whether nothing of it is new: a caller that waits would wait for what is not its own."""
    told = [one for one in outcomes if one.status != GONE]
    return bool(told) and all(one.document.get("duplicate") is True for one in told)


def said_known(outcomes: Sequence[Outcome], *, several: bool) -> web.Response:
    """409 to a caller that waits, with the original ids."""
    message = "this delivery was recorded before; nothing was run for it"
    known = document_of([dict(one.document) for one in outcomes if one.status != GONE], several=several)
    return answer(409, {"error": Code.DUPLICATE, "message": message, **known})


def said_ended(
    outcomes: Sequence[Outcome], ends: Mapping[str, Mapping[str, Json]], *, several: bool
) -> web.Response:
    """200 with how everything ended that was waited for."""
    told = [{**one.document, **ends.get(one.event_id or "", {})} for one in outcomes if one.status != GONE]
    return answer(200, document_of(told, several=several), APPLIED)


def document_of(told: Sequence[dict[str, Json]], *, several: bool) -> dict[str, Json]:
    return {"events": list(told)} if several else told[0]
