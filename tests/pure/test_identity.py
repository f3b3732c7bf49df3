"""`tocsin.identity`: ids that sort by time, and the hash that says what counts as the same delivery."""

from __future__ import annotations

import hashlib
import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.identity import (
    dedupe_hash,
    document_hash,
    engine_key,
    idempotency_key,
    new_id,
    new_token,
    token_hash,
)
from tocsin.trigger import Kind

NOW = datetime(2026, 1, 1, 12, 0, 0, 123_456, tzinfo=UTC)
PART = st.text(max_size=12)


def hash_of(tenant: str, registration: str, kind: Kind, delivery: str) -> str:
    return dedupe_hash(tenant=tenant, registration_id=registration, kind=kind, delivery_id=delivery)


@pytest.mark.parametrize("prefix", ["trg", "evt", "run"])
def test_an_id_is_its_prefix_and_a_uuid_of_version_7(prefix: str) -> None:
    id_ = new_id(prefix, NOW)
    assert re.fullmatch(prefix + "_[0-9a-f]{32}", id_)
    found = uuid.UUID(id_.removeprefix(f"{prefix}_"))
    assert (found.version, found.variant) == (7, uuid.RFC_4122)


def test_an_id_begins_with_its_milliseconds() -> None:
    assert int(new_id("evt", NOW)[4:16], 16) == int(NOW.timestamp() * 1000)


@given(st.integers(min_value=0, max_value=10**12), st.integers(min_value=1, max_value=10**10))
def test_ids_sort_by_the_millisecond_they_were_made_in(start_ms: int, later_ms: int) -> None:
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=start_ms)
    assert new_id("evt", start) < new_id("evt", start + timedelta(milliseconds=later_ms))


def test_ids_of_one_instant_differ() -> None:
    assert len({new_id("evt", NOW) for _ in range(1000)}) == 1000


def test_the_dedupe_hash_is_over_lengths_and_bytes_of_four_fields() -> None:
    assert (
        hash_of("local", "abc", Kind.SCHEDULE, "1:23")
        == hashlib.sha256(b"5:local3:abc8:schedule4:1:23").hexdigest()
    )


def test_the_dedupe_hash_has_not_changed() -> None:
    """A ledger in the field depends on it; the value was worked out with sha256sum."""
    assert (
        hash_of("local", "abc", Kind.SCHEDULE, "1:23")
        == "3e9bf86daad97ac91ab994d97d1cc536751d7a8bac890c091e300b960af3e96d"
    )


def test_the_length_of_a_field_counts_bytes_not_characters() -> None:
    assert (
        hash_of("local", "x", Kind.FILE, "/é:1")
        == hashlib.sha256(b"5:local1:x4:file5:/\xc3\xa9:1").hexdigest()
    )


@given(st.tuples(PART, PART, st.sampled_from(Kind), PART), st.tuples(PART, PART, st.sampled_from(Kind), PART))
def test_two_deliveries_share_a_hash_only_when_all_four_fields_agree(
    one: tuple[str, str, Kind, str], other: tuple[str, str, Kind, str]
) -> None:
    assert (hash_of(*one) == hash_of(*other)) == (one == other)


def test_characters_that_move_between_fields_make_another_hash() -> None:
    assert hash_of("local", "ab", Kind.FILE, "c") != hash_of("local", "a", Kind.FILE, "bc")


def test_the_keys_of_an_event_and_its_attempts() -> None:
    assert idempotency_key("00ff") == "trigger:00ff"
    assert engine_key("trigger:00ff", 2) == "trigger:00ff:2"


def test_a_token_is_long_url_safe_and_new_each_time() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch("[A-Za-z0-9_-]{32}", token) for token in tokens)


def test_a_token_is_stored_as_its_sha256() -> None:
    assert token_hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_documents_hash_does_not_depend_on_the_order_of_its_keys() -> None:
    assert document_hash({"a": 1, "b": {"c": 2, "d": 3}}) == document_hash({"b": {"d": 3, "c": 2}, "a": 1})
    assert document_hash({"a": [1, 2]}) != document_hash({"a": [2, 1]})
