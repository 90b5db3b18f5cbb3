"""The router: one snapshot, one decision, one pin."""

from __future__ import annotations

from collections import Counter

from holdfast.model.pins import Finding, Pin, PinRules
from holdfast.routing import Candidate, Cookie, Decision, Reason, Router, RoutingTable
from tests.support.pinning import RULES, TTL_MS, PinWorld, key

READY = {"a": "ready", "b": "ready"}
EMPTY = RoutingTable("local", "d", "t", 0, ())
BOTH = EMPTY.followed_by({"a": 5_000, "b": 5_000}, READY)
SESSIONS = [f"s{n}" for n in range(40)]


def router(world: PinWorld, rules: PinRules = RULES) -> Router:
    """Return a router, as a process has one."""
    return Router(world.router(rules))


async def test_a_new_session_is_pinned_where_the_weights_put_it(world: PinWorld) -> None:
    """The next message is decided by the pin."""
    routing = router(world)
    first = await routing.route(BOTH, "s")
    assert first == Decision(BOTH.choose("s"), Reason.WEIGHTS)
    assert await routing.route(BOTH, "s") == Decision(first.revision, Reason.PIN)


async def test_reweighting_moves_nobody_and_new_sessions_follow_it(world: PinWorld) -> None:
    """Also after a restart of the router, because the generation is durable."""
    before = {s: (await router(world).route(BOTH, s)).revision for s in SESSIONS}
    assert len(set(before.values())) == 2
    after = BOTH.followed_by({"a": 1, "b": 9_999}, READY)
    restarted = router(world)
    for session, revision in before.items():
        assert await restarted.route(after, session) == Decision(revision, Reason.PIN)
    fresh = Counter([(await restarted.route(after, f"new{n}")).revision for n in range(40)])
    assert fresh == {"b": 40}


async def test_sessions_leave_a_revision_without_weight_and_stay_away(world: PinWorld) -> None:
    """Its return does not revive their pins."""
    routing = router(world)
    for session in SESSIONS:
        await routing.route(BOTH, session)
    only_b = BOTH.followed_by({"b": 10_000}, READY)
    back = only_b.followed_by({"a": 9_999, "b": 1}, READY)
    for session in SESSIONS[:20]:
        assert (await routing.route(only_b, session)).revision == "b"
        assert await routing.route(back, session) == Decision("b", Reason.PIN)
    unseen = [s for s in SESSIONS[20:] if BOTH.choose(s) == "a"]
    for session in unseen:
        assert (await routing.route(back, session)).reason is Reason.WEIGHTS


async def test_a_wait_decides_without_asking_for_a_pin(world: PinWorld) -> None:
    """The session goes where its state is, even if a pin says otherwise."""
    routing = router(world)
    await routing.route(BOTH, "s")
    routing.pins.counts.clear()
    assert await routing.route(BOTH, "s", wait="old") == Decision("old", Reason.WAIT)
    assert not routing.pins.counts


async def test_a_cookie_decides_until_the_session_has_a_pin(world: PinWorld) -> None:
    """The session is pinned where the cookie leads; a later cookie does not move it."""
    routing = router(world)
    other = "b" if BOTH.choose("s") == "a" else "a"
    cookie = Cookie("local", "d", "t", other, 1, 0)
    assert await routing.route(BOTH, "s", cookie=cookie) == Decision(other, Reason.COOKIE)
    assert await routing.route(BOTH, "s") == Decision(other, Reason.PIN)
    later = Cookie("local", "d", "t", str(BOTH.choose("s")), 1, 0)
    assert await routing.route(BOTH, "s", cookie=later) == Decision(other, Reason.PIN)


async def test_a_stranger_finds_a_pin_and_writes_none(world: PinWorld) -> None:
    """An unauthenticated message cannot use up the cap of a tenant."""
    routing = router(world, PinRules(ttl_ms=TTL_MS, cap=1))
    for session in SESSIONS:
        decision = await routing.route(BOTH, session, may_pin=False)
        assert decision == Decision(BOTH.choose(session), Reason.WEIGHTS)
    user = await routing.route(BOTH, "user")
    found = await routing.route(BOTH, "user", may_pin=False)
    assert found == Decision(user.revision, Reason.PIN)


async def test_without_a_pin_a_session_stays_while_the_weights_do(world: PinWorld) -> None:
    """The cap is reached, yet no conversation moves from message to message."""
    routing = router(world, PinRules(ttl_ms=TTL_MS, cap=1))
    await routing.route(BOTH, "first")
    for session in SESSIONS[:10]:
        revisions = {(await routing.route(BOTH, session)).revision for _ in range(3)}
        assert len(revisions) == 1
    assert routing.pins.counts[Finding.REFUSED] == 30


async def test_routers_of_two_generations_settle_on_the_newer_pin(world: PinWorld) -> None:
    """The older one follows, says that it is behind, and undoes nothing."""
    newer, older = router(world), router(world)
    later = BOTH.followed_by({"b": 10_000}, READY)
    for session in SESSIONS[:10]:
        await older.route(BOTH, session)
        assert (await newer.route(later, session)).revision == "b"
        was_a = BOTH.choose(session) == "a"
        behind = await older.route(BOTH, session)
        assert behind == Decision("b", Reason.PIN, is_behind=was_a)
        assert await newer.route(later, session) == Decision("b", Reason.PIN)


async def test_a_router_that_lacks_the_revision_decides_by_itself(world: PinWorld) -> None:
    """It leaves the newer pin for those that know the revision."""
    newer, older = router(world), router(world)
    later = BOTH.followed_by({"c": 10_000}, {**READY, "c": "ready"})
    await newer.route(later, "s")
    decision = await older.route(BOTH, "s")
    assert decision == Decision(BOTH.choose("s"), Reason.WEIGHTS, is_behind=True)
    assert await newer.route(later, "s") == Decision("c", Reason.PIN)


async def test_nothing_is_pinned_while_no_revision_takes_sessions(world: PinWorld) -> None:
    """There is no revision to pin to."""
    routing = router(world)
    assert await routing.route(EMPTY, "s") == Decision(None, Reason.WEIGHTS)
    assert not routing.pins.counts


async def test_an_explanation_changes_nothing(world: PinWorld) -> None:
    """It says what the next message would find."""
    routing = router(world)
    candidate = Candidate(revision="a", weight_bps=10_000, lifecycle="ready", since=1)
    table = RoutingTable("local", "d", "t", 1, (candidate,))
    assert (await routing.explain(table, "s")).reason is Reason.WEIGHTS
    assert await routing.pins.lookup(key("s"), table.roster) is None
    await routing.route(table, "s")
    explained = await routing.explain(table, "s")
    assert (explained.revision, explained.reason) == ("a", Reason.PIN)
    assert await routing.pins.lookup(key("s"), table.roster, peek=True) == Pin("a", 1)
