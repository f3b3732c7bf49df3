"""The tables of a configuration file as pydantic models: exactly the keys that do something.

Read by ``convert`` (values) and ``schema`` (editors). A key that is None was not set; what stands in
for it depends on other tables and is decided in ``convert``. Rules between keys are in ``rules``:
here only what one key can tell by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Literal, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from tocsin.components import VERSIONS
from tocsin.config.engine_table import EngineTable
from tocsin.config.problems import Fault, faults_of
from tocsin.config.shared_tables import ConnectionTable, SourceTable
from tocsin.config.source_tables import (
    AfterTable,
    DedupeTable,
    FilesTable,
    Table,
)
from tocsin.config.values import (
    Count,
    CronText,
    Dollars,
    Duration,
    FilterText,
    Instant,
    JsonTable,
    KeySourceText,
    PathText,
    SomeText,
    Zone,
)
from tocsin.config.webhook_table import RateText, WebhookTable
from tocsin.config.workflow_table import WorkflowOptions, WorkflowTable

SOURCES: Final = (*VERSIONS, "source")
SHARED: Final = ("files", "webhook", "shared")
SCHEDULES: Final = frozenset({"cron", "every", "at"})

Model = TypeVar("Model", bound=Table)


class TriggerOptions(Table):
    """Keys of a trigger that `[defaults]` may set for all of them."""

    workflow: SomeText | None = Field(default=None, description="The workflow to run.")
    tz: Zone | None = Field(
        default=None, description="Time zone for cron; default: the engine's.", examples=["Europe/Berlin"]
    )
    misfire: Literal["fire_once", "skip", "fire_all"] = Field(
        default="fire_once",
        description="What becomes of planned times that passed while the engine was away.",
    )
    misfire_grace: Duration = Field(
        default=timedelta(seconds=60), description="A planned time later than this has been missed."
    )
    misfire_limit: Count = Field(default=24, description="The most events that fire_all makes.")
    wake_delay: Duration = Field(
        default=timedelta(), description="What is made up for after a gap waits so long."
    )
    splay: Duration = Field(
        default=timedelta(),
        description="And up to so much longer, each trigger its own part, so that not all start at once.",
    )
    overlap: Literal["skip", "queue", "allow", "replace"] | None = Field(
        default=None,
        description="What a newcomer does while a run is going on; default: skip for schedules, allow for "
        "files and webhooks, queue for all others, with a serialize key and with a `state` output.",
    )
    serialize_key: SomeText | None = Field(
        default=None, description="Triggers that name the same key run one after the other."
    )
    serialize_by: KeySourceText | None = Field(
        default=None,
        description="The part of an event that names its lane; the same value runs one after the other.",
        examples=["payload:issue.id"],
    )
    dedupe: DedupeTable | None = Field(
        default=None,
        description="How a repeated delivery is recognised; webhooks only.",
        examples=[{"header": "X-Delivery"}],
    )
    rate: RateText | None = Field(
        default=None,
        description="The most deliveries of a webhook; more are told to come later.",
        examples=["60/min"],
    )
    config: JsonTable = Field(
        default={}, description="Values for the command, as {config.…} and in its params."
    )
    filter: FilterText | None = Field(
        default=None,
        description="A CEL expression over `event` and `config`; what it does not fit does not fire.",
        examples=['event.raw_payload.action == "created"'],
    )
    payload_schema: PathText | None = Field(
        default=None,
        alias="schema",  # an attribute of that name is pydantic's own
        description="A file with a JSON Schema; a payload that does not fit it goes into the quarantine.",
        examples=["schemas/order.json"],
    )
    tags: list[SomeText] = Field(
        default=[], description="Words to select triggers by.", examples=[["client-acme"]]
    )
    max_attempts: Count = Field(default=3, description="How often an event is tried before it has failed.")
    disable_after: Count = Field(
        default=5, description="Failures in a row after which the trigger is switched off."
    )
    max_runs: Count | None = Field(
        default=None, description="Successes after which the trigger is switched off."
    )
    max_runs_per_hour: Count | None = Field(
        default=None, description="Attempts begun within any hour, however they end; the rest waits."
    )
    max_usd: Dollars | None = Field(
        default=None,
        description="What its runs may cost in one budget_period; then the trigger is switched off.",
        examples=[5.0],
    )
    budget_period: Literal["day", "week", "month"] = Field(
        default="month", description="How long max_usd lasts, by the calendar of `tz`; weeks begin on Monday."
    )
    expires_at: Instant | None = Field(default=None, description="When the trigger is switched off.")
    scope: Literal["desktop", "cloud"] | None = Field(
        default=None,
        description="Where it can be served; default: desktop for files, cloud for all others.",
    )
    enabled: bool = Field(default=True, description="false keeps the trigger without letting it fire.")


class TriggerTable(TriggerOptions):
    """What makes a workflow run: exactly one of cron, every, at, files, webhook, after, manual, source."""

    model_config = ConfigDict(title="[triggers.NAME]")

    cron: CronText | None = Field(
        default=None, description="Five fields or @daily and the like.", examples=["0 8 * * mon-fri"]
    )
    every: Duration | None = Field(default=None, description="Elapsed time between fires.", examples=["10m"])
    anchor: Instant | None = Field(
        default=None, description="An instant on the grid of `every`; default: now."
    )
    at: Instant | None = Field(default=None, description="One instant, once.")
    files: FilesTable | None = Field(
        default=None,
        description="Files that appear, change or go.",
        examples=[{"path": "~/Inbox", "match": ["*.pdf"]}],
    )
    webhook: WebhookTable | None = Field(
        default=None, description="Something posted to the trigger's address.", examples=[{}]
    )
    after: AfterTable | None = Field(
        default=None,
        description="The end of another run.",
        examples=[{"workflow": "ocr", "on": "failure"}],
    )
    manual: Literal[True] | None = Field(default=None, description="Fires only by hand: `tocsin fire NAME`.")
    source: SomeText | None = Field(
        default=None, description="A source that feeds other triggers too.", examples=["downloads"]
    )


class DefaultsTable(TriggerOptions, WorkflowOptions):
    """Applied to every trigger and workflow that does not set the key itself."""

    model_config = ConfigDict(title="[defaults]")


class FileTables(Table):
    """A configuration file of tocsin."""

    model_config = ConfigDict(title="tocsin.toml")

    engine: EngineTable | None = Field(default=None, description="The engine.")
    defaults: DefaultsTable | None = Field(default=None, description="Keys for all triggers and workflows.")
    workflows: dict[str, WorkflowTable] = Field(default={}, description="What can run, by name.")
    connections: dict[str, ConnectionTable] = Field(default={}, description="Accounts at providers, by name.")
    sources: dict[str, SourceTable] = Field(default={}, description="What several triggers share, by name.")
    triggers: dict[str, TriggerTable] = Field(default={}, description="What makes it run, by name.")


def read_table(model: type[Model], raw: Mapping[str, Any]) -> tuple[Model, list[Fault]]:
    """The table without what is wrong in it, and what is wrong in it.

    So rules between the sound keys can still be checked: a file tells all its mistakes at once.
    """
    try:
        return model.model_validate(dict(raw)), []
    except ValidationError as error:
        faults = faults_of(error, model)
    faulty = {fault.keys[0] for fault in faults}
    sound = {key: value for key, value in raw.items() if key not in faulty}
    return model.model_validate(sound), faults
