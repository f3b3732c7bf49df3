"""The tables inside a trigger or a source: what `files`, `webhook`, `dedupe` and `after` may hold.

Read by ``tables``. Defaults stand here; a description is what an editor shows for the key.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tocsin.config.values import Duration, PathList, SomeText
from tocsin.dedupe import DEFAULT_N

MAX_REMEMBERED: Final = 100_000  # a repeated id counts those that came after it


class Table(BaseModel):
    """A table whose keys are known and whose values are taken as they are written."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, field_title_generator=lambda key, _: key
    )


class FilesTable(Table):
    """Fires when a file has appeared, changed or gone, and has come to rest."""

    model_config = ConfigDict(title="files")

    path: PathList = Field(description="The folder or file to watch, or a list of them.")
    recursive: bool = Field(default=False, description="Watch folders inside the folder too.")
    match: list[SomeText] | None = Field(
        default=None,
        min_length=1,
        description="Patterns (gitignore style) of the files that count; default: all.",
        examples=[["*.pdf"]],
    )
    ignore: list[SomeText] = Field(
        default=[],
        description="Patterns (gitignore style) of files that never count.",
        examples=[["archive/**"]],
    )
    on: list[Literal["created", "modified", "moved", "deleted"]] = Field(
        default=["created", "modified", "moved"], min_length=1, description="The kinds of change that fire."
    )
    debounce: Duration = Field(
        default=timedelta(milliseconds=500), description="How long a path must have been quiet."
    )
    settle: Duration = Field(
        default=timedelta(seconds=1), description="How long size and modification time must stay the same."
    )
    max_wait: Duration = Field(
        default=timedelta(minutes=10), description="The longest wait for a file that never rests."
    )
    at_max_wait: Literal["emit", "give-up"] = Field(
        default="emit", description="After max_wait: fire all the same, or give up and say so."
    )
    batch: bool = Field(
        default=False, description="One event for everything that settles together, with a list of files."
    )
    compare: Literal["stat", "content"] = Field(
        default="stat",
        description="What makes a file another: size, time and identity, or what it holds.",
    )
    start: Literal["new-since-stop", "ignore", "all"] = Field(
        default="new-since-stop",
        description="Which files that are already there count when the engine starts.",
    )

    @model_validator(mode="after")
    def _waits_long_enough(self) -> Self:
        if self.max_wait < self.debounce + self.settle:
            raise ValueError("saw a max_wait below debounce and settle together, expected a longer one")
        return self


class DedupeTable(Table):
    """How a repeated delivery to a webhook is recognised; without a key, by its exact body."""

    model_config = ConfigDict(title="dedupe")

    header: SomeText | None = Field(
        default=None, description="The header that holds the delivery's id.", examples=["X-Delivery"]
    )
    payload: SomeText | None = Field(
        default=None, description="The path of the delivery's id in the payload.", examples=["id"]
    )
    strategy: Literal["unique", "greatest", "last"] = Field(
        default="unique",
        description="unique: an id is accepted once. greatest: only an id above all before it is accepted. "
        "last: the n most recent ids are remembered.",
    )
    order: Literal["number", "time", "text"] | None = Field(
        default=None,
        description="How greatest compares ids: decimal numbers, RFC 3339 times, or text by code point.",
    )
    n: int = Field(
        default=DEFAULT_N, ge=1, le=MAX_REMEMBERED, description="How many ids last remembers; at most 100000."
    )
    body_window: Duration = Field(
        default=timedelta(seconds=10),
        description="Without an id: how long the same body counts as the same delivery; 0s: never.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.header is not None and self.payload is not None:
            raise ValueError("saw both header and payload, expected one of them")
        return self

    @model_validator(mode="after")
    def _what_the_strategy_needs(self) -> Self:
        is_ordered = self.strategy == "greatest"
        if is_ordered and self.order is None:
            raise ValueError('saw "greatest" without order, expected order = "number", "time" or "text"')
        if is_ordered and self.header is None and self.payload is None:
            raise ValueError(
                'saw "greatest" with neither header nor payload, expected one of them: a body has no order'
            )
        if self.order is not None and not is_ordered:
            raise ValueError(f'saw order beside "{self.strategy}", expected it only beside "greatest"')
        if "n" in self.model_fields_set and self.strategy != "last":
            raise ValueError(f'saw n beside "{self.strategy}", expected it only beside "last"')
        return self


class AfterTable(Table):
    """Fires when a run of another workflow or trigger has ended for good."""

    model_config = ConfigDict(title="after")

    workflow: SomeText | None = Field(default=None, description="The workflow whose runs are followed.")
    trigger: SomeText | None = Field(default=None, description="The trigger whose runs are followed.")
    on: Literal["success", "failure", "any"] = Field(default="success", description="The endings that count.")

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if (self.workflow is None) == (self.trigger is None):
            both = "both workflow and trigger" if self.workflow else "neither workflow nor trigger"
            raise ValueError(f"saw {both}, expected exactly one of them")
        return self
