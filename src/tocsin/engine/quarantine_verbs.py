"""The verbs of the quarantine as they come through the socket: ``quarantining`` does the work."""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.engine.arguments import Arguments, flag, texts
from tocsin.engine.controls import Controls
from tocsin.engine.quarantining import Replayed
from tocsin.errors import BadRequest
from tocsin.trigger import Json


async def quarantine_replay(controls: Controls, arguments: Arguments) -> Json:
    """ids, vouched -> [{quarantine_id, state, decisions}].

    A decision has registration, answer, event_id and reason.
    """
    ids, vouched = some_ids(arguments), flag(arguments, "vouched")
    return documents(await controls.quarantine.replay(ids, vouched=vouched))


async def quarantine_rehearse(controls: Controls, arguments: Arguments) -> Json:
    """ids -> what quarantine_replay would answer, but for the ids of events that are not made."""
    return documents(await controls.quarantine.rehearse(some_ids(arguments)), rehearsed=True)


async def quarantine_drop(controls: Controls, arguments: Arguments) -> Json:
    """ids, or all -> ids."""
    everything = flag(arguments, "all")
    ids = [] if everything else some_ids(arguments)
    return await controls.quarantine.drop(ids, everything=everything)


def some_ids(arguments: Arguments) -> list[str]:
    """Whole ids, at least one, each once. Raises BadRequest."""
    found = list(dict.fromkeys(texts(arguments, "ids")))
    if not found:
        raise BadRequest("ids: expected the ids of quarantined deliveries, got none")
    return found


def documents(found: Sequence[Replayed], *, rehearsed: bool = False) -> Json:
    return [document(one, rehearsed=rehearsed) for one in found]


def document(replayed: Replayed, *, rehearsed: bool) -> Json:
    """rehearsed: what was accepted was undone, so its event's id is nobody's."""
    return {
        "quarantine_id": replayed.quarantine_id,
        "state": "waiting" if rehearsed else replayed.standing,
        "decisions": [
            {
                "registration": one.registration,
                "answer": one.answer,
                "event_id": None if rehearsed and one.answer != "duplicate" else one.event_id,
                "reason": one.reason,
            }
            for one in replayed.decisions
        ],
    }
