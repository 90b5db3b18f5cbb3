"""hf_session_welcome."""

from __future__ import annotations

from holdfast.model.session_keys import SessionKey
from holdfast.store.store import Store
from tests.support.lifecycle import Dump

KEY = SessionKey(conversation="one", user="ann", endpoint="web")


async def _asks(store: Store, session: str, *, done: bool = False) -> bool:
    return await store.sessions.welcome(KEY.visitor, session, done=done)


async def test_the_first_session_that_asks_welcomes(store: Store) -> None:
    """And is answered the same again; others do not welcome meanwhile."""
    assert [await _asks(store, one) for one in ("a", "a", "b", "a")] == [True, True, False, True]


async def test_when_it_is_done_nobody_welcomes(store: Store, dump: Dump) -> None:
    """Neither another session nor the same one; a repeated call changes nothing."""
    assert await _asks(store, "a")
    assert await _asks(store, "a", done=True)
    before = dump()
    assert [await _asks(store, one) for one in ("a", "b")] == [False, False]
    assert not await _asks(store, "b", done=True)
    assert dump() == before


async def test_a_session_that_did_not_ask_cannot_be_done_for_another(store: Store) -> None:
    """What it says does not count while another one welcomes."""
    assert await _asks(store, "a")
    assert not await _asks(store, "b", done=True)
    assert await _asks(store, "a")


async def test_every_part_but_the_conversation_makes_another_visitor(store: Store) -> None:
    """Env, tenant, endpoint and user."""
    others = [
        SessionKey(conversation="one", user="ann", endpoint="mail"),
        SessionKey(conversation="one", user="bob", endpoint="web"),
        SessionKey(conversation="one", user="ann", endpoint="web", tenant="t"),
        SessionKey(conversation="one", user="ann", endpoint="web", env="prod"),
    ]
    ids = {KEY.visitor, *(key.visitor for key in others)}
    assert len(ids) == 5
    assert SessionKey(conversation="two", user="ann", endpoint="web").visitor == KEY.visitor
    assert KEY.id not in ids
    for visitor in ids:
        assert await store.sessions.welcome(visitor, "a", done=False)
