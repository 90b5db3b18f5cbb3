"""Sessions keep users apart, lose no message and repeat no reply.

What went wrong in another system (the rows T and O of its reference), and the test that it does
not here. FILES has the letters.

T2 T31  keys that join alike      K test_no_two_keys_have_the_same_id
T18     users share a row         K test_every_part_of_a_key_makes_another_session
                                  D test_another_user_has_another_session
T19     one hint, two endpoints   G test_the_same_ids_at_two_endpoints_are_two_sessions
T20     endpoints with ":"        K test_a_colon_in_a_name_belongs_to_that_name
                                  K test_a_part_that_is_no_name_is_refused
T28     the last reply twice      G test_what_a_conversation_returns_is_not_said
T29     resumed with old input    W test_the_first_message_is_received_once
                                  G test_a_resumed_conversation_answers_the_new_message
T30     a button pressed again    W test_a_button_of_an_earlier_question_does_not_answer_the_next
T32     an answer to another wait W test_an_approval_by_the_right_person_resumes
                                  D test_a_person_gets_the_messages
                                  U test_an_approval_between_two_messages
                                  U test_a_message_before_its_time_turns_the_timeout_off
T33     parked by a failed call   G test_an_approval_that_is_refused_parks_nothing
T40     a retry repeats effects   W test_a_retry_says_nothing_twice
                                  U test_a_new_attempt_repeats_no_reply
                                  T test_the_support_bot_says_the_same_wherever_its_worker_dies
                                  C test_a_worker_killed_at_any_line_changes_nothing_that_is_said
T42     identities by default     K test_an_unknown_user_is_nobody
                                  H test_an_invalid_identity_is_refused_and_not_replaced
T43     the process has an env    G test_the_environment_is_that_of_the_message
T45     text taken for a button   W test_typed_text_is_never_a_button_press
T50     two envs, one namespace   G test_environments_do_not_touch_each_others_waits
T51     a failure says nothing    D test_a_failed_conversation_apologises
                                  D test_an_expired_conversation_apologises_and_goes_on
                                  W test_an_empty_reply_is_refused
                                  O test_wrong_options_are_refused
O1      no inbox, no outbox       R test_a_killed_server_neither_loses_nor_doubles_a_message
                                  S test_a_reply_that_never_arrives_is_dead_and_the_next_follows
                                  E test_a_dead_reply_is_sent_again
O7      messages race             R test_racing_messages_are_answered_once_and_in_order
                                  P test_two_workers_share_racing_sessions
                                  M test_each_message_is_answered_once_and_in_order
O10     one key for all effects   G test_a_key_for_an_effect_is_that_of_its_step_and_run
                                  P test_the_senders_of_an_app_deliver_replies
O11     snapshots leak and grow   H test_the_state_of_a_session_is_in_no_answer_to_its_user
                                  V test_the_number_of_values_is_bounded
                                  U test_the_journal_is_bounded
                                  W test_continuing_with_a_state_starts_an_empty_journal
O15     no timeline               G test_a_transcript_tells_what_each_line_belongs_to
                                  G test_explain_says_whose_message_is_missing
O17     no simulator              T test_a_line_that_is_not_journaled_is_found
                                  T test_an_unexpected_line_shows_the_talk_so_far
                                  W test_a_wait_times_out_with_an_exception
O19     one tenant takes all      G test_sessions_of_one_tenant_do_not_hold_up_another
                                  G test_a_session_that_waits_takes_no_place_of_a_quota
                                  D test_the_number_of_buffered_messages_is_bounded

Rows that are not about sessions, waits and turns belong to other parts:

17 packs and flows   T15 T16 T34 T35 T36 T37 T38 T39 T41 T46 T47 T48 T52 T53 T54 O8 O9 O12 O16
18 deployments       T1 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T26 T27 T44 O2 O3 O4 O5 O6
19 channels          T14 T17 T21 T22 T23 T24 T25 O13 O14 O18
everywhere           T49 (no store is in memory) T55 (tests/typing) O20 (docs/glossary.md)
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast import App, Chat
from holdfast.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.model.sessions import Activity, Effect, MessageWait, SessionState
from holdfast.model.states import State
from holdfast.testing import conversation
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer
from tests.support.conversing import NAME, key, message, publish, turns
from tests.support.lifecycle import claim_in
from tests.support.limits import claim_all, make_quota

TESTS = Path(__file__).parents[2]
FILES = {
    "C": "acceptance/test_conversation_crashes.py",
    "D": "lua/session/test_deliver.py",
    "E": "lua/session/test_resend.py",
    "G": "integration/engine/test_session_guarantees.py",
    "H": "server/test_sessions.py",
    "K": "unit/model/test_session_keys.py",
    "M": "property/test_sessions.py",
    "O": "unit/worker/test_conversation.py",
    "P": "integration/worker/test_parked_conversations.py",
    "R": "acceptance/test_racing_sessions.py",
    "S": "integration/engine/test_sending.py",
    "T": "integration/testing/test_conversations.py",
    "U": "lua/session/test_turn.py",
    "V": "lua/session/test_state.py",
    "W": "integration/worker/test_conversations.py",
}
MOST_T, MOST_O = 55, 20


def to(text: str, **parts: str) -> Activity:
    """A message with a key of which some parts are not the usual ones."""
    return Activity(key=key(**parts), payload=msgspec.json.encode({"text": text}), id="m1")


# The table


def test_every_test_of_the_table_exists() -> None:
    """It names what is tested elsewhere, so it must follow when tests are renamed."""
    named = re.findall(r"\b([A-Z]) (test_\w+)", __doc__ or "")
    defined = {letter: (TESTS / path).read_text() for letter, path in FILES.items()}
    missing = [test for letter, test in named if f"def {test}(" not in defined[letter]]
    assert missing == []
    assert {letter for letter, _ in named} == FILES.keys()
    assert len(re.findall(r"\btest_", __doc__ or "")) == len(named)


def test_every_row_of_the_reference_is_in_the_table() -> None:
    """Once: it is tested, or belongs to another part."""
    rows = Counter(re.findall(r"\b[TO]\d+\b", __doc__ or ""))
    wanted = [f"T{n}" for n in range(1, MOST_T + 1)] + [f"O{n}" for n in range(1, MOST_O + 1)]
    assert rows == dict.fromkeys(wanted, 1)


# Whose session it is


async def test_the_same_ids_at_two_endpoints_are_two_sessions(engine: Engine) -> None:
    """The message's id, too, belongs to its endpoint."""
    await publish(engine)
    found = [
        await engine.sessions.deliver(NAME, to("hi", endpoint=endpoint))
        for endpoint in ("mail", "web")
    ]
    assert len({one.session for one in found}) == 2
    assert [(one.effect, one.duplicate) for one in found] == [(Effect.STARTED, False)] * 2


async def test_the_environment_is_that_of_the_message(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the processes that deliver it and answer it run in."""
    for name in ("HOLDFAST_ENV", "ENV", "ENVIRONMENT"):
        monkeypatch.setenv(name, "staging")
    await publish(engine)
    delivered = await engine.sessions.deliver(NAME, to("hi", env="prod"))
    async with turns(engine) as conversing:
        claim = await conversing.claim()  # type: ignore[operator]
    assert claim.session.key == key(env="prod")
    assert (await engine.sessions.get(delivered.session)).key.env == "prod"


async def test_environments_do_not_touch_each_others_waits(engine: Engine) -> None:
    """The same user in another environment resumes, buffers and ends nothing."""
    await publish(engine)
    one = await engine.sessions.deliver(NAME, to("hi", env="prod"))
    async with turns(engine) as conversing:
        await conversing.answer("Which order?")
        other = await engine.sessions.deliver(NAME, to("17", env="test"))
        assert (other.effect, other.duplicate) == (Effect.STARTED, False)
        await conversing.answer("Hello.", wait=False)
    await engine.sessions.erase(other.session)
    assert (await engine.sessions.get(one.session)).state is SessionState.WAITING
    texts = [entry.text for entry in (await engine.sessions.transcript(one.session)).entries]
    assert texts == ["hi", "Which order?"]


# Turns


async def test_what_a_conversation_returns_is_not_said(single_server: TestServer) -> None:
    """Only `say` says something, so that no last line comes twice."""
    app = App()

    @app.conversation
    async def polite(chat: Chat) -> str:
        await chat.say("Goodbye.")
        return "Goodbye."

    async with conversation(app, polite, server=single_server) as talk:
        await talk.say("bye")
        await talk.expect("Goodbye.")
        assert [line.who for line in await talk.transcript()] == ["user", "bot"]


@pytest.mark.parametrize("kept", [10, 0], ids=["kept", "replayed"])
async def test_a_resumed_conversation_answers_the_new_message(
    single_server: TestServer, kept: int
) -> None:
    """Nothing of the message before is left where the conversation looks."""
    app = App()

    @app.conversation
    async def repeat(chat: Chat) -> None:
        while True:
            received = await chat.receive()
            last = (await chat.history(1))[-1]
            await chat.say(f"{received.text} {chat.message.text} {last.text}")

    async with conversation(app, repeat, server=single_server, kept=kept) as talk:
        for text in ("one", "two", "three"):
            await talk.say(text)
        await talk.expect("one one one", "two two two", "three three three")


async def test_an_approval_that_is_refused_parks_nothing(single_server: TestServer) -> None:
    """The conversation learns it, goes on, and waits only for what exists."""
    app = App()

    @app.conversation
    async def refund(chat: Chat) -> None:
        with pytest.raises(InvalidInput):
            await chat.approval("x" * 100_000)
        await chat.say("Nobody can be asked.")
        await chat.receive()
        await chat.say(f"You said {(await chat.receive()).text}.")

    async with conversation(app, refund, server=single_server) as talk:
        first = await talk.say("refund")
        await talk.expect("Nobody can be asked.")
        assert first.execution is not None
        assert await talk.test.engine.waitpoints.of(first.execution) == []
        assert (await talk.say("pity")).effect is Effect.RESUMED
        await talk.expect("You said pity.")


async def test_a_key_for_an_effect_is_that_of_its_step_and_run(single_server: TestServer) -> None:
    """A retry has the same key; another step, turn or execution has another."""
    app = App()
    keys: list[str] = []

    @app.conversation(retries=1)
    async def pay(chat: Chat, state: int = 0) -> None:
        await chat.receive()
        keys.append(chat.idempotency_key("charge"))
        keys.append(chat.idempotency_key("mail"))
        if len(keys) == 2:
            raise RuntimeError
        if state == 0:
            await chat.continue_as(1)

    async with conversation(app, pay, server=single_server) as talk:
        await talk.say("one")
        await talk.test.run_until_idle()
        await talk.say("two")
        await talk.say("three")
    assert keys[:2] == keys[2:4]
    assert len(set(keys)) == len(keys) - 2 == 6


# What can be seen


async def test_a_transcript_tells_what_each_line_belongs_to(engine: Engine, clock: Clock) -> None:
    """The execution and the message that a reply answers, and when."""
    await publish(engine)
    async with turns(engine) as conversing:
        for number, waits in enumerate((True, False, False)):
            sent = await engine.sessions.deliver(NAME, message(f"m{number}"))
            await clock.advance_and_tick(1_000)
            await conversing.answer(f"r{number}", wait=waits)
        found = (await engine.sessions.transcript(sent.session)).entries
    lines = [(entry.text, entry.execution, entry.turn) for entry in found]
    first, second = f"{sent.session}~1", f"{sent.session}~2"
    assert lines == [
        ("m0", first, None),
        ("r0", first, 1),
        ("m1", first, None),
        ("r1", first, 3),
        ("m2", second, None),
        ("r2", second, 5),
    ]
    times = [entry.at for entry in found]
    assert times == sorted(times)
    assert len(set(times)) == 4


async def test_explain_says_whose_message_is_missing(engine: Engine) -> None:
    """And since when, or who answers in place of the conversation."""
    await publish(engine)
    sent = await engine.sessions.deliver(NAME, message("hi"))
    assert sent.execution is not None
    async with turns(engine) as conversing:
        await conversing.answer("Which order?")
    explained = await engine.explain(sent.execution)
    assert explained.state is State.SUSPENDED
    since = (await engine.sessions.get(sent.session)).since
    assert since is not None
    assert explained.why == (
        f"It waits for a message from user ann since {since.isoformat(timespec='milliseconds')}."
    )


# Tenants


async def test_sessions_of_one_tenant_do_not_hold_up_another(engine: Engine) -> None:
    """Their turns alternate, however many users one tenant has."""
    await publish(engine)
    tag, wanted = "", Counter[str]()
    for number in range(1_000):
        for tenant, most in (("big", 30), ("small", 5)):
            activity = to("hi", user=f"u{number}", tenant=tenant)
            if wanted[tenant] == most or tag not in ("", engine.store.tag_of(activity.key.id)):
                continue
            tag = engine.store.tag_of(activity.key.id)
            wanted[tenant] += 1
            await engine.sessions.deliver(NAME, activity)
    claims = await claim_in(engine.store, tag, limit=10)
    assert Counter(claim.tenant for claim in claims) == {"big": 5, "small": 5}


async def test_a_session_that_waits_takes_no_place_of_a_quota(engine: Engine) -> None:
    """A quota limits turns: the next session has its turn while the first waits for its user."""
    await make_quota(engine.store)
    about: dict[str, Any] = {"conversation": {"busy": "queue"}, "options": {"quotas": ["q"]}}
    await engine.tasks.publish({NAME: about})
    users = ("ann", "bob")
    sent = {user: await engine.sessions.deliver(NAME, message("hi", user)) for user in users}
    talked = []
    for _ in users:
        (claim,) = await claim_all(engine)
        assert await claim_all(engine) == []
        talked.append(claim.id)
        await engine.sessions.turn(claim.id, claim.lease, (), MessageWait(step="receive:1"))
        await engine.courier.settle()
        await engine.courier.carry_all()
    assert sorted(talked) == sorted(str(one.execution) for one in sent.values())
