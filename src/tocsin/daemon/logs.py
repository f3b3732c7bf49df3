"""Words for notices: the one place that turns the engine's facts into log lines on stderr."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, Final

from tocsin import notices
from tocsin.event import State
from tocsin.gaps import signed
from tocsin.instants import rfc3339
from tocsin.quarantine import Reason
from tocsin.runs import RunState

LOGGER: Final = logging.getLogger("tocsin")


def configure() -> None:
    """Log to stderr, one line a record, with the local time and its offset."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%Y-%m-%d %H:%M:%S%z"))
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def log(notice: notices.Notice) -> None:
    """Say a notice."""
    level, text = WORDS[type(notice)](notice)
    LOGGER.log(level, "%s", clean(text))


def clean(text: str) -> str:
    """Names and errors come from outside: no control character reaches the terminal."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def event_recorded(notice: notices.EventRecorded) -> tuple[int, str]:
    text = f"{notice.registration}: event {notice.event_id} {notice.state}"
    if notice.planned_at is not None:
        text += f", planned for {rfc3339(notice.planned_at)}"
    if notice.missed:
        text += f", stands for {notice.missed} more"
    if notice.reason is not None:
        text += f" ({notice.reason})"
    return logging.INFO, text


def duplicate(notice: notices.DuplicateSeen) -> tuple[int, str]:
    what = "seen before, as" if notice.reason is None else f"discarded ({notice.reason}), not above that of"
    return logging.INFO, f"{notice.registration}: delivery {what} event {notice.event_id}"


def run_started(notice: notices.RunStarted) -> tuple[int, str]:
    attempt = f", attempt {notice.attempt} of {notice.max_attempts}" if notice.attempt > 1 else ""
    return logging.INFO, f"{notice.registration}: run {notice.run_id} of {notice.workflow} started{attempt}"


def filtered(notice: notices.DeliveryFiltered) -> tuple[int, str]:
    return logging.INFO, f"{notice.registration}: not wanted: {notice.reason}"


def quarantined(notice: notices.DeliveryQuarantined) -> tuple[int, str]:
    # a stranger can send as many as it likes; what is kept is bounded and tells of itself
    level = logging.DEBUG if notice.reason == Reason.FAILED_VERIFICATION else logging.WARNING
    whose = notice.registration or notice.route
    return level, f"{whose}: quarantined ({notice.reason}): `tocsin quarantine show {notice.quarantine_id}`"


def run_ended(notice: notices.RunEnded) -> tuple[int, str]:
    length = f"{notice.duration_s:.2f}s"
    text = f"{notice.registration}: run {notice.run_id} {notice.run_state} after {length}"
    if notice.error is not None:
        text += f": {notice.error}"
    if notice.event_state is State.HELD:
        text += "; its event waits for the end of the pause"
    elif notice.run_state is RunState.CANCELLED and notice.event_state is State.PENDING:
        text += "; its event waits for the next start"
    elif notice.retry_at is not None:
        text += f"; next attempt at {rfc3339(notice.retry_at)}"
    elif notice.event_state is State.FAILED:
        text += "; no attempt left"
    return logging.INFO if notice.run_state is RunState.SUCCEEDED else logging.WARNING, text


def disarmed(notice: notices.Disarmed) -> tuple[int, str]:
    return logging.WARNING, f"{notice.registration}: turned off ({notice.reason}): {notice.detail}"


def paused(notice: notices.Paused) -> tuple[int, str]:
    end = "it is resumed" if notice.until is None else rfc3339(notice.until)
    return logging.WARNING, f"{notice.registration}: paused until {end}"


def resumed(notice: notices.Resumed) -> tuple[int, str]:
    skipped = f"; planned for the pause and skipped: {notice.skipped}" if notice.skipped else ""
    waiting = f"; waiting events that go on: {notice.waiting}" if notice.waiting else ""
    return logging.INFO, f"{notice.registration}: resumed{skipped}{waiting}"


def stop_asked(notice: notices.StopAsked) -> tuple[int, str]:
    return (
        logging.WARNING,
        f"{notice.registration}: run of event {notice.event_id} is stopped ({notice.reason})",
    )


def deferred(notice: notices.EventsDeferred) -> tuple[int, str]:
    what = "an event waits" if notice.events == 1 else f"{notice.events} events wait"
    return logging.WARNING, f"{notice.registration}: {what} until {rfc3339(notice.until)}: {notice.reason}"


def dropped(notice: notices.EventDropped) -> tuple[int, str]:
    return logging.WARNING, f"{notice.registration}: event {notice.event_id} dropped ({notice.reason})"


def recovered(notice: notices.RunRecovered) -> tuple[int, str]:
    return logging.WARNING, f"{notice.registration}: run {notice.run_id} was lost with its engine; recovered"


def source_failed(notice: notices.SourceFailed) -> tuple[int, str]:
    return logging.ERROR, f"{notice.source}: {notice.error}"


def source_recovered(notice: notices.SourceRecovered) -> tuple[int, str]:
    return logging.INFO, f"{notice.source}: works again"


def config_applied(notice: notices.ConfigApplied) -> tuple[int, str]:
    counts = f"{notice.added} added, {notice.changed} changed, {notice.disabled} disabled"
    if notice.workflows:
        counts += f"; workflows: {notice.workflows} changed"
    return logging.INFO, f"configuration {notice.path} applied: {counts}"


def config_rejected(notice: notices.ConfigRejected) -> tuple[int, str]:
    problems = "; ".join(notice.problems)
    return logging.ERROR, f"configuration {notice.path} not applied, the last good one goes on: {problems}"


def contract_broken(notice: notices.ContractBroken) -> tuple[int, str]:
    return logging.WARNING, notice.warning


def given_up(notice: notices.HistoryGivenUp) -> tuple[int, str]:
    counts = {
        "payloads": notice.payloads,
        "runs": notice.runs,
        "logs": notice.logs,
        "events": notice.events,
        "deliveries": notice.deliveries,
        "hashes": notice.hashes,
        "quarantined deliveries": notice.quarantined,
        "journal rows": notice.journal,
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return logging.INFO, f"retention: {told} given up; {notice.bytes} bytes given back"


def zone_changed(notice: notices.ZoneChanged) -> tuple[int, str]:
    text = f"time zone {notice.after} now, it was {notice.before}: schedules without a tz follow"
    return logging.WARNING, text


def gap_found(notice: notices.GapFound) -> tuple[int, str]:
    gap = notice.gap
    text = f"gap ({gap.cause}) of {signed(gap.length)} from {rfc3339(gap.from_at)}: {gap.evidence}"
    return logging.WARNING, text + f"; planned meanwhile: {notice.triggers} triggers" * bool(notice.triggers)


def trouble(notice: notices.Trouble) -> tuple[int, str]:
    return logging.ERROR, f"{notice.where}: {notice.error}"


WORDS: Final[dict[type[notices.Notice], Callable[[Any], tuple[int, str]]]] = {
    notices.EventRecorded: event_recorded,
    notices.DuplicateSeen: duplicate,
    notices.DeliveryFiltered: filtered,
    notices.DeliveryQuarantined: quarantined,
    notices.RunStarted: run_started,
    notices.RunEnded: run_ended,
    notices.Disarmed: disarmed,
    notices.Paused: paused,
    notices.Resumed: resumed,
    notices.EventsDeferred: deferred,
    notices.EventDropped: dropped,
    notices.StopAsked: stop_asked,
    notices.RunRecovered: recovered,
    notices.SourceFailed: source_failed,
    notices.SourceRecovered: source_recovered,
    notices.ConfigApplied: config_applied,
    notices.ConfigRejected: config_rejected,
    notices.ContractBroken: contract_broken,
    notices.HistoryGivenUp: given_up,
    notices.ZoneChanged: zone_changed,
    notices.GapFound: gap_found,
    notices.Trouble: trouble,
}
