"""The `[engine]` table and what it holds. Read by ``tables``; a description is what an editor shows."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import ConfigDict, Field

from tocsin.config.source_tables import Table
from tocsin.config.values import Count, Duration, Size, SomeDuration, SomeText, Url, Zone


class RetentionTable(Table):
    """How long history is kept; whatever still waits or runs is kept longer."""

    model_config = ConfigDict(title="[engine.retention]")

    payloads: SomeDuration = Field(
        default=timedelta(days=14), description="What was delivered; without it an event cannot be replayed."
    )
    events: SomeDuration = Field(
        default=timedelta(days=90), description="Events that have ended, and the journal."
    )
    runs: SomeDuration = Field(
        default=timedelta(days=90), description="Runs that have ended, and their logs."
    )
    dedupe: SomeDuration = Field(
        default=timedelta(days=90), description="The id of a delivery, after it was last seen."
    )
    quarantine: SomeDuration = Field(
        default=timedelta(days=30), description="What could not be verified, attributed or taken."
    )


class EngineTable(Table):
    """The engine: how it listens, how much it runs at once, how it stops."""

    model_config = ConfigDict(title="[engine]")

    host: SomeText = Field(default="127.0.0.1", description="The address to listen on; loopback unless told.")
    port: int = Field(default=7766, ge=0, le=65535, description="The port to listen on; 0 picks a free one.")
    max_concurrent_runs: Count = Field(default=4, description="Runs at once, over all workflows.")
    max_concurrent_runs_per_workflow: Count = Field(
        default=4, description="Runs at once of one workflow that does not say otherwise."
    )
    tz: Zone | None = Field(
        default=None, description="Time zone for cron; default: the system's.", examples=["Europe/Berlin"]
    )
    body_limit: Size = Field(
        default=1024 * 1024, description="The largest webhook body taken; at most 4MiB.", examples=["1MiB"]
    )
    shutdown_grace: Duration = Field(
        default=timedelta(seconds=10),
        description="How long running commands may go on when the engine stops.",
    )
    public_url: Url | None = Field(
        default=None,
        description="The address under which a tunnel or proxy makes the engine reachable.",
        examples=["https://hooks.example.org"],
    )
    serves: list[Literal["desktop", "cloud"]] = Field(
        default=["desktop", "cloud"],
        min_length=1,
        description="Scopes of the triggers that this engine serves; the others are idle.",
    )
    retention: RetentionTable | None = Field(
        default=None, description="How long history is kept.", examples=[{"events": "30d"}]
    )
