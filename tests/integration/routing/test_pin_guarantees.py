"""Pins keep sessions where they are, and never stand in the way.

What went wrong with pins in another system (the rows P of its reference, and T and O about pins),
and the test that it does not here. FILES has the letters.

P1      dead pins fill the cap    C test_only_live_pins_count_towards_the_cap
                                  T test_expired_pins_leave_memory
P2      a short pin hides others  C test_a_short_pin_does_not_hide_long_ones_from_the_cap
                                  T test_both_keys_of_a_scope_expire_after_the_last_pin
P3      whole seconds             C test_a_pin_expires_to_the_millisecond
P4      two clocks judge a pin    T test_an_expired_pin_is_a_miss
                                  L test_a_clock_that_was_set_back_does_not_prolong_a_pin
P5      a look-up deletes later   L test_a_pin_that_does_not_hold_is_removed
                                  R test_racing_routers_of_two_generations_end_on_the_newer_pin
P6      newer pins are deleted    C test_an_older_router_neither_removes_nor_replaces_a_newer_pin
                                  C test_what_an_older_router_pinned_is_judged_by_the_newer_one
                                  O test_routers_of_two_generations_settle_on_the_newer_pin
P7      a busy session loses it   C test_a_busy_session_keeps_its_pin
                                  C test_a_renewed_pin_keeps_its_own_ttl
                                  L test_a_later_hit_renews_the_pin
P8      keys in several slots     T test_keys_of_one_scope_share_a_slot_and_are_readable
P9      one cap for all tenants   C test_each_tenant_has_a_cap_of_its_own
                                  M test_abandoned_scopes_are_removed_by_the_use_of_others
P10     the wall clock moves      M test_the_wall_clock_does_not_matter
P11     an unreadable value       T test_a_value_that_cannot_be_read_is_replaced
P12     a limit before encoding   C test_a_part_over_256_encoded_bytes_is_not_pinned
P13     nobody sees a full cap    C test_counts_say_what_calls_found
                                  C test_with_eviction_the_soonest_to_expire_makes_room
P14     strangers fill the cap    O test_a_stranger_finds_a_pin_and_writes_none
T1      replaced, but not written C test_a_stale_pin_is_replaced_by_one_that_is_kept
T2      scopes that join alike    C test_scopes_do_not_collide
T3      refused, called inserted  C test_at_the_cap_a_new_session_is_not_pinned
                                  T test_at_the_cap_a_call_is_refused_and_changes_nothing
T5      pinned to what is gone    C test_a_pin_ends_when_its_revision_leaves_the_split
                                  O test_sessions_leave_a_revision_without_weight_and_stay_away
T7      a pin comes back to life  C test_a_revision_that_left_and_came_back_revives_no_pin
                                  X test_random_operations_agree_with_the_model
O6      pins that flap            C test_a_reweighting_keeps_the_pin
                                  U test_a_server_that_is_gone_raises_nothing
                                  U test_an_answer_that_nobody_knows_raises_nothing
                                  U test_a_full_store_keeps_its_pins_and_takes_no_new_ones

The tests of the original, by what they say, and ours:

seed    insert, then existing     C test_the_first_pin_is_inserted_and_the_next_caller_finds_it
seed    a bump evicts for all     C test_a_pin_ends_when_its_revision_leaves_the_split
seed    expiry drops              C test_a_pin_expires_to_the_millisecond
seed    bounded under rotation    C test_rotating_sessions_stay_within_the_cap
seed    two deployments apart     C test_scopes_do_not_collide
seed    eight racing re-pinners   C test_eight_callers_that_replace_a_stale_pin_agree_on_one
                                  R test_racing_routers_agree_on_one_pin_for_each_session
seed    one over the cap          C test_at_the_cap_a_new_session_is_not_pinned
"""

from __future__ import annotations

from tests.support import guarantees

FILES = {
    "C": "integration/routing/test_pins.py",
    "L": "lua/pin/test_lookup.py",
    "M": "unit/routing/test_memory_pins.py",
    "O": "integration/routing/test_router.py",
    "R": "integration/routing/test_races.py",
    "T": "lua/pin/test_try.py",
    "U": "chaos/test_unreachable_pins.py",
    "X": "property/test_machines.py",
}
MOST_P = 14


def test_every_test_of_the_table_exists() -> None:
    """It names what is tested elsewhere, so it must follow when tests are renamed."""
    guarantees.check_tests(__doc__ or "", FILES)


def test_every_row_about_pins_is_in_the_table() -> None:
    """Once."""
    rows = guarantees.rows(__doc__ or "", "PTO")
    assert len(rows) == len(set(rows))
    assert {f"P{n}" for n in range(1, MOST_P + 1)} <= set(rows)
