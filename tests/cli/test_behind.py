"""`event` of one that waits in a lane: behind whom, and how long that may take."""

from __future__ import annotations

from tests.cli.calling import Home

CONFIG = """
[workflows.quick]
command = ["true"]
[triggers.r1]
workflow = "quick"
manual = true
serialize_key = "k"
max_runs_per_hour = 1
[triggers.r2]
workflow = "quick"
manual = true
serialize_key = "k"
"""


def test_it_names_the_head_of_its_lane_and_when_that_is_due(home: Home) -> None:
    home.config.write_text(CONFIG)
    home.ok("apply")
    home.ok("fire", "r1")
    first = home.ok("fire", "r1", "--no-wait", "--json").json["event_id"]
    second = home.ok("fire", "r2", "--no-wait", "--json").json["event_id"]
    assert home.ok("event", second, "--json").json["trace"][-1]["reason"] == f"{first} of r1: pending"

    assert home("fire", "r2", "--timeout", "300ms").code == 7  # it looked: the head waits for its hour
    due = home.ok("event", first, "--json").json["next_fire_at"]
    told = f"{first} of r1: pending (max_runs_per_hour) until {due}"
    step = home.ok("event", second, "--json").json["trace"][-1]
    assert (step["what"], step["reason"]) == ("waits behind", told)
    shown = home.ok("event", second).out
    assert f"behind    {told}\n" in shown
    assert f"waits behind: {told}\n" in shown
    assert "waits behind" not in home.ok("event", first).out, "the head waits behind nobody"
