"""The `[workflows.NAME]` tables. Read by ``tables``; a description is what an editor shows."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import ConfigDict, Field

from tocsin.config.source_tables import Table
from tocsin.config.values import Count, Duration, Environment, PathText, SomeDuration, SomeText, Text


class WorkflowOptions(Table):
    """Keys of a workflow that `[defaults]` may set for all of them."""

    cwd: PathText | None = Field(
        default=None,
        description="The folder commands start in; default: tocsin's home.",
        examples=["~/Documents"],
    )
    env: Environment = Field(
        default={},
        description="Variables added to the clean environment of a run.",
        examples=[{"LANG": "C.UTF-8"}],
    )
    timeout: SomeDuration | None = Field(
        default=None, description="The longest a run may take; default: no limit.", examples=["10m"]
    )
    kill_grace: Duration = Field(
        default=timedelta(seconds=10), description="Between TERM and KILL to the process group of a run."
    )
    max_concurrent: Count | None = Field(
        default=None, description="Runs of this workflow at once; default: the engine's limit per workflow."
    )
    inputs: list[SomeText] = Field(
        default=[], description="What the command reads from its params, for people."
    )
    outputs: list[SomeText] = Field(
        default=[],
        description="The keys the command writes to $TOCSIN_OUTPUT; `state` makes its triggers queue.",
        examples=[["state"]],
    )
    writes: list[SomeText] = Field(
        default=[],
        description="Patterns (gitignore style) of files that it writes: its own triggers ignore them.",
        examples=[["/srv/scans/**"]],
    )
    permanent_exit_codes: list[Annotated[int, Field(ge=1, le=255)]] = Field(
        default=[], description="Exit codes that no other attempt would help.", examples=[[65]]
    )


class WorkflowTable(WorkflowOptions):
    """What runs: a command, or a shell script."""

    model_config = ConfigDict(title="[workflows.NAME]")

    command: list[Text] | None = Field(
        default=None,
        min_length=1,
        description="Program and arguments; {event.…}, {config.…} and {state.…} are filled in.",
        examples=[["echo", "{event.raw_payload.path}"]],
    )
    shell: SomeText | None = Field(
        default=None, description="A script for `sh -c` instead; nothing is filled in."
    )
