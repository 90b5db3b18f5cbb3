"""A host answers each message once, on the right revision, and refuses what is not certain.

What went wrong in another system (the rows T and O of its reference about deployments, hosts,
dispatch, routing, providers and welcomes), and the test that it does not here. FILES has the
letters. Pins have a table of their own.

T4      two changes both win      S test_two_who_change_the_same_generation
                                  E test_of_racing_changes_of_one_generation_one_wins
T6      a cookie outlives a drain D test_a_draining_revision_keeps_neither_pins_nor_cookies
T8      two reloads race          E test_a_split_and_a_drain_cannot_both_win
T9      new router, old host      A test_a_message_follows_one_snapshot
T10     equal content re-rolls    S test_equal_content_is_a_no_op
                                  C test_a_change_of_equal_content_is_none
T11     a missed change           E test_hosts_are_notified_of_changes
T12     a key is withdrawn        H test_a_pack_that_the_env_no_longer_trusts_does_not_load
T13     A's wait resumed by B     E test_a_conversation_ends_on_the_revision_on_which_it_began
                                  R test_a_release_breaks_no_conversation
T14     a deny ran the entry      V test_a_denied_message_runs_no_flow
                                  F test_a_message_that_routing_answers_has_no_execution
T15     an overlay shadows        N test_two_providers_of_a_type_are_ambiguous
                                  I test_two_different_ids_are_an_error
T16     an operation nobody gave  N test_other_operations_are_refused
                                  P test_a_loaded_revision_identifies_and_sends
T17     welcomed again            W test_a_crash_at_any_write_welcomes_once
                                  W test_of_racing_conversations_one_welcomes
T18     users share a marker      L test_welcomes_are_those_of_an_endpoint_and_a_user
T22     an unknown bot falls back I test_what_is_not_certain_is_refused
T26     a stale verdict           M test_a_verdict_holds_for_the_version_that_was_judged
T27     undo inside undo          B test_any_of_the_last_ten_can_be_returned_to
T40     a retry decides again     V test_a_crash_does_not_decide_again
T44     timers survive a swap     H test_schedules_belong_to_the_revision_with_the_largest_weight
T46     headers that nobody asked I test_a_provider_sees_the_headers_that_it_declared_and_no_others
                                  I test_no_provider_sees_credentials
T51     an answer without words   V test_a_failure_follows_the_stated_rule
T52     targets in two notations  V test_routing_that_leads_nowhere_is_refused_when_a_pack_is_loaded
T53     caches outlive a revision L test_two_revisions_of_a_pack_share_nothing
T54     a call ignores its time   V test_a_failure_follows_the_stated_rule
O2      waits lost in a release   R test_a_release_breaks_no_conversation
                                  H test_a_host_that_starts_again_loads_what_is_ready
O3      drains end by the clock   E test_the_drainer_ends_a_drain_when_the_last_need_ends
                                  K test_waits_and_runs_are_counted_as_they_change
O5      always healthy            P test_a_provider_that_is_ill_keeps_its_revision_from_being_ready
                                  H test_a_bad_pack_fails_its_own_revision_and_no_other
                                  G test_a_store_that_is_gone_is_not_ready
O15     nobody knows why          D test_an_explanation_has_the_reason_and_all_candidates
                                  V test_a_denied_message_runs_no_flow
O16     signed, but not checked   H test_a_pack_that_the_env_no_longer_trusts_does_not_load
O17     no seed, no explanation   D test_the_same_snapshot_and_seed_give_the_same_decision
                                  D test_an_explanation_ends_with_what_decided
O19     one tenant takes all      Q test_a_tenant_that_fills_its_slots_holds_up_no_other
                                  Q test_a_quota_of_a_tenant_bounds_its_turns_on_all_hosts

What a host and a dispatcher promise besides:

done    lifecycle: legal edges    M test_only_the_legal_edges_exist
done    weights hold              T test_weights_hold_within_statistical_bounds
done    reweighting moves nobody  D test_reweighting_moves_nobody_who_is_pinned
                                  O test_reweighting_moves_nobody_and_new_sessions_follow_it
done    missing or ambiguous      A test_missing_and_ambiguous_are_different
done    the lattice of identities I test_the_higher_answer_counts_in_any_order
                                  I test_every_type_begins_as_unsupported

Rows of other parts: O4 (rollouts), T21 T23 T24 T25 O13 O14 O18 (channels).
"""

from __future__ import annotations

import re

from tests.support import guarantees

FILES = {
    "A": "integration/host/test_activities.py",
    "B": "lua/split/test_rollback.py",
    "C": "lua/deployment/test_changes.py",
    "D": "unit/routing/test_dispatcher.py",
    "E": "integration/engine/test_deployments.py",
    "F": "integration/host/test_far_activities.py",
    "G": "server/test_probes.py",
    "H": "integration/host/test_host.py",
    "I": "unit/host/test_identifying.py",
    "K": "lua/revision/test_needs.py",
    "L": "integration/host/test_loading.py",
    "M": "lua/revision/test_move.py",
    "N": "unit/host/test_providers.py",
    "O": "integration/routing/test_router.py",
    "P": "integration/host/test_providers.py",
    "Q": "integration/host/test_fairness.py",
    "R": "acceptance/test_releases.py",
    "S": "lua/split/test_set.py",
    "T": "unit/routing/test_table.py",
    "V": "integration/host/test_directives.py",
    "W": "integration/host/test_welcome.py",
}
PINS = "integration/routing/test_pin_guarantees.py"
SESSIONS = "integration/engine/test_session_guarantees.py"


def test_every_test_of_the_table_exists() -> None:
    """It names what is tested elsewhere, so it must follow when tests are renamed."""
    guarantees.check_tests(__doc__ or "", FILES)


def test_every_row_about_deployments_is_in_a_table() -> None:
    """Those that the table of sessions leaves to deployments: here, with pins, or elsewhere."""
    own = guarantees.rows(__doc__ or "", "TO")
    assert len(own) == len(set(own))
    pins = guarantees.rows((guarantees.TESTS / PINS).read_text(), "PTO")
    others = re.search(r"^Rows of other parts: (.*)$", __doc__ or "", re.MULTILINE)
    sessions = (guarantees.TESTS / SESSIONS).read_text()
    lines = re.findall(r"^1[89] (?:deployments|channels) +(.*)$", sessions, re.MULTILINE)
    assert others is not None
    assert len(lines) == 2
    wanted = {row for line in lines for row in line.split()}
    assert wanted <= {*own, *pins, *re.findall(r"[TO]\d+", others[1])}
