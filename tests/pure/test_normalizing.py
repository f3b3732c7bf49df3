"""A payload in the names of its source's own mapping."""

from __future__ import annotations

import pytest

from tocsin.event import Normalized
from tocsin.normalizing import normalized
from tocsin.trigger import Json

PAYLOAD: Json = {"issue": {"id": 7, "labels": [{"name": "bug"}], "url": "https://x.example/7"}}


@pytest.mark.parametrize("props", [{}, {"normalize": None}, {"normalize": "odd"}])
def test_without_a_mapping_there_is_nothing(props: dict[str, Json]) -> None:
    assert normalized(props, PAYLOAD) == Normalized()


def test_each_name_has_what_stands_at_its_path_or_nothing() -> None:
    fields = {"id": "issue.id", "label": "issue.labels.0.name", "gone": "issue.x.y"}
    props: dict[str, Json] = {"normalize": {"model": "issue", "fields": fields, "hint": "issue.url"}}
    assert normalized(props, PAYLOAD) == Normalized(
        payload={"id": 7, "label": "bug", "gone": None}, model="issue", hint="https://x.example/7"
    )


@pytest.mark.parametrize("payload", [None, 1, "text", [], {}])
def test_a_payload_of_another_shape_has_none_of_it(payload: Json) -> None:
    props: dict[str, Json] = {"normalize": {"model": None, "fields": {"id": "issue.id"}, "hint": None}}
    assert normalized(props, payload) == Normalized(payload={"id": None})
