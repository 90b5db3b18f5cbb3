"""Messages of providers reach conversations once, and replies reach providers in order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from holdfast.channels import NAMES, Request
from holdfast.engine import Engine, open_engine, sending
from holdfast.engine.ingress import Ingress
from holdfast.engine.replying import Replying
from holdfast.errors import (
    EndpointNotFound,
    InvalidInput,
    InvalidSignature,
    NotDeliverable,
    RateLimited,
    StoreUnavailable,
)
from holdfast.model.deployments import NewDeployment, SplitEntry
from holdfast.model.endpoints import SENDER, Endpoint, EndpointRef, NewEndpoint
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.revisions import Gate
from holdfast.model.sessions import Entry
from holdfast.testing.polling import wait_for
from tests.support.channels import SECRETS, Sent, message, settings_of, whatsapp
from tests.support.conversing import NAME, Conversing, publish, turns
from tests.support.conversing import message as activity
from tests.support.fake_provider import Failure, FakeProvider, fake_provider

QUICK = RetryPolicy(max_attempts=3, backoff=Backoff(initial_ms=10, max_ms=20))


class Stage:
    """A store, a provider, and an endpoint between them."""

    def __init__(self, engine: Engine, provider: FakeProvider) -> None:
        self.engine = engine
        self.provider = provider
        self.admitted: list[int] = []
        self.ingress = Ingress(engine, self._admit)

    def _admit(self, endpoint: Endpoint, count: int) -> None:
        if endpoint.rate == 1 and self.admitted:
            raise RateLimited("too many", retry_after_ms=1)
        self.admitted.append(count)

    async def put(self, name: str, **fields: Any) -> Endpoint:
        """Make the endpoint `inbox` of a provider whose API is the fake."""
        new = NewEndpoint(
            **{
                "id": "inbox",
                "provider": name,
                "conversation": NAME,
                "settings": settings_of(name, self.provider.url),
                "secrets": SECRETS[name],
                **fields,
            }
        )
        await publish(self.engine)
        self.engine.opened_endpoints._known.clear()
        return (await self.engine.endpoints.put(new))[0]

    async def receive(self, sent: Sent | Request) -> bytes:
        """Receive a webhook."""
        request = sent.request() if isinstance(sent, Sent) else sent
        return (await self.ingress.receive("local", "inbox", request)).body

    async def lines(self) -> list[Entry]:
        """The lines of the one session."""
        (session,) = (await self.engine.sessions.list()).items
        return list((await self.engine.sessions.transcript(session.id)).entries)

    async def deliveries(self) -> list[str | None]:
        """What became of the replies."""
        return [line.delivery for line in await self.lines() if line.direction == "out"]

    async def until(self, *deliveries: str) -> None:
        """Wait until this became of the replies."""

        async def did() -> bool:
            return await self.deliveries() == list(deliveries)

        await wait_for(did)


@pytest.fixture
async def stage(real_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """With several partitions, and short pauses between tries."""
    monkeypatch.setenv("HOLDFAST_WEBHOOK_HOSTS", "127.0.0.1")
    async with open_engine(f"{real_url}&partitions=4") as engine, fake_provider() as provider:
        await engine.services.stop(Replying.name)
        engine.services.start(Replying(engine.store, engine.opened_endpoints, QUICK))
        found = Stage(engine, provider)
        yield found
        await found.ingress.close()


@pytest.fixture
async def conversing(stage: Stage) -> AsyncIterator[Conversing]:
    async with turns(stage.engine) as found:
        yield found


@pytest.mark.parametrize("name", NAMES)
async def test_a_message_is_answered_once(stage: Stage, conversing: Conversing, name: str) -> None:
    """Also if the provider repeats the webhook, before and after the answer."""
    await stage.put(name)
    for _ in range(2):
        await stage.receive(message(name, "Hello"))
    await conversing.answer("one", "two")
    await stage.provider.got("one", "two")
    await stage.until("sent", "sent")
    await stage.receive(message(name, "Hello"))
    await stage.receive(message(name, "Bye", number=2))
    await conversing.answer("three")
    await stage.provider.got("one", "two", "three")
    texts = [line.text for line in await stage.lines()]
    assert texts == ["Hello", "one", "two", "Bye", "three"]


@pytest.mark.parametrize("name", NAMES)
async def test_what_is_not_genuine_changes_nothing(stage: Stage, name: str) -> None:
    """It gets the same answer as a call of an endpoint that does not exist, and does not count."""
    await stage.put(name)
    genuine = message(name).request()
    forged = replace(genuine, headers={"content-type": genuine.header("content-type")})
    with pytest.raises(InvalidSignature) as refused:
        await stage.receive(forged)
    with pytest.raises(InvalidSignature) as unknown:
        await stage.ingress.receive("local", "nobody", genuine)
    assert refused.value.message == unknown.value.message
    for strange in ("", "a:b", "x" * 65, "\u00e9"):
        with pytest.raises(InvalidSignature):
            await stage.ingress.receive("local", strange, genuine)
    assert stage.admitted == []
    assert not (await stage.engine.sessions.list()).items


async def test_a_provider_that_fails_is_tried_again(stage: Stage, conversing: Conversing) -> None:
    """The next reply waits, so the order stays; the key of every try is the same."""
    await stage.put("webhook")
    await stage.receive(message("webhook"))
    stage.provider.failures = [Failure(500), Failure(503)]
    await conversing.answer("one", "two")
    await stage.provider.got("one", "two")
    assert stage.provider.calls == 4
    keys = [one.headers["webhook-id"] for one in stage.provider.taken]
    assert [key.rpartition(":")[2] for key in keys] == ["2", "3"]


async def test_a_provider_that_hangs_delays_no_other_session(
    stage: Stage, conversing: Conversing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it may have taken is sent again, with the same key."""
    monkeypatch.setattr(sending, "SEND_TIMEOUT_S", 0.5)
    await stage.put("webhook")
    await stage.receive(message("webhook"))
    stage.provider.failures = [Failure(None, takes=True)]
    await conversing.answer("one")
    await stage.provider.got("one")
    await stage.receive(message("webhook", number=2, user="bob"))
    await conversing.answer("two")
    await stage.provider.got("one", "two", "one")
    keys = [one.headers["webhook-id"] for one in stage.provider.taken]
    assert keys[0] == keys[2]


async def test_a_provider_that_asks_to_wait_is_obeyed(stage: Stage, conversing: Conversing) -> None:
    """However often: such a try does not count. Other sessions of the endpoint wait, too."""
    await stage.put("slack")
    await stage.receive(message("slack"))
    await stage.receive(message("slack", number=2, user="bob"))
    stage.provider.failures = [Failure(429, {"Retry-After": "1"})]
    await conversing.answer("one")
    await conversing.answer("two")

    async def took_both() -> bool:
        return sorted(stage.provider.texts) == ["one", "two"]

    await wait_for(took_both)
    assert stage.provider.calls <= 4


@pytest.mark.parametrize("failures", [[Failure(400)], [Failure(500)] * 3])
async def test_a_dead_reply_is_seen_and_sent_again(
    stage: Stage, conversing: Conversing, failures: list[Failure]
) -> None:
    """One that is refused for good, or too often; the next one follows."""
    await stage.put("telegram")
    await stage.receive(message("telegram"))
    stage.provider.failures = list(failures)
    await conversing.answer("one", "two")
    await stage.until("dead", "sent")
    assert stage.provider.texts == ["two"]
    (dead,) = [line for line in await stage.lines() if line.delivery == "dead"]
    (session,) = (await stage.engine.sessions.list()).items
    (listed,) = (await stage.engine.dead_replies.list()).items
    assert (listed.session, listed.number, listed.key) == (session.id, dead.number, session.key)
    assert "the provider answered with" in listed.problem
    await stage.engine.sessions.resend(session.id, dead.number)
    await stage.until("sent", "sent")
    assert stage.provider.texts == ["two", "one"]
    assert not (await stage.engine.dead_replies.list()).items


async def test_parts_of_a_long_reply_are_sent_once(stage: Stage, conversing: Conversing) -> None:
    """A failure in the middle does not repeat those before it."""
    await stage.put("twilio")
    await stage.receive(message("twilio"))
    paragraphs = [letter * 1_500 for letter in "abcd"]
    stage.provider.failures = [*[Failure(200, takes=True)] * 2, Failure(500)]
    await conversing.answer("\n\n".join(paragraphs))
    await stage.provider.got(*paragraphs)
    await stage.until("sent")
    assert stage.provider.calls == 5


async def test_receipts_are_noted(stage: Stage, conversing: Conversing) -> None:
    """One that failed is dead; one of another endpoint's session is about nothing."""
    await stage.put("whatsapp")
    await stage.receive(message("whatsapp"))
    await conversing.answer("one", "two")
    await stage.until("sent", "sent")
    replies = [one for one in stage.provider.taken if "text" in one.body]
    references = [one.body["biz_opaque_callback_data"] for one in replies]
    await stage.receive(
        whatsapp(
            statuses=[
                {"id": "1", "status": "read", "biz_opaque_callback_data": references[0]},
                {"id": "2", "status": "failed", "biz_opaque_callback_data": references[1]},
                {"id": "3", "status": "read", "biz_opaque_callback_data": f"s{'0' * 24}:1"},
            ]
        )
    )
    assert [line.receipt for line in await stage.lines()] == [None, "read", "failed"]
    await stage.until("sent", "dead")


async def test_a_late_failure_of_the_first_sending_leaves_the_second_alone(
    stage: Stage, conversing: Conversing
) -> None:
    """Each sending has a reference of its own, which receipts carry."""
    await stage.put("whatsapp")
    await stage.receive(message("whatsapp"))
    await conversing.answer("one")
    await stage.until("sent")
    first = stage.provider.taken[-1].body["biz_opaque_callback_data"]
    failed = {"id": "1", "status": "failed", "biz_opaque_callback_data": first}
    await stage.receive(whatsapp(statuses=[failed]))
    await stage.until("dead")
    (session,) = (await stage.engine.sessions.list()).items
    await stage.engine.sessions.resend(session.id, 2)
    await stage.until("sent")
    await stage.receive(whatsapp(statuses=[failed]))
    assert await stage.deliveries() == ["sent"]
    second = stage.provider.taken[-1].body["biz_opaque_callback_data"]
    await stage.receive(whatsapp(statuses=[{**failed, "biz_opaque_callback_data": second}]))
    assert await stage.deliveries() == ["dead"]


async def test_whatsapp_is_told_that_somebody_types(stage: Stage) -> None:
    await stage.put("whatsapp")
    await stage.receive(message("whatsapp"))

    async def was_told() -> bool:
        return [one.body["status"] for one in stage.provider.taken] == ["read"]

    await wait_for(was_told)


async def test_an_endpoint_sends_only_for_its_tenant(stage: Stage, conversing: Conversing) -> None:
    """A session of another tenant at an endpoint of this name cannot speak through it."""
    await stage.put("webhook", tenant="acme")
    foreign = activity("hi")
    foreign = replace(foreign, key=replace(foreign.key, endpoint="inbox"))
    await stage.engine.sessions.deliver(NAME, foreign, sender=SENDER)
    await conversing.answer("one")
    await stage.until("dead")
    assert stage.provider.calls == 0


async def test_a_deleted_endpoint_has_no_secrets(stage: Stage, conversing: Conversing) -> None:
    """Its replies are dead, and sent again once it exists."""
    put = await stage.put("webhook")
    assert put.secrets == ("secret",)
    await stage.receive(message("webhook"))
    await stage.engine.endpoints.delete(put.ref)
    stage.engine.opened_endpoints._known.clear()
    with pytest.raises(EndpointNotFound):
        await stage.engine.endpoints.delete(put.ref)
    await conversing.answer("one")
    await stage.until("dead")
    with pytest.raises(InvalidInput, match="needs secret"):
        await stage.put("webhook", secrets={})
    await stage.put("webhook")
    (session,) = (await stage.engine.sessions.list()).items
    await stage.engine.sessions.resend(session.id, 2)
    await stage.provider.got("one")


async def test_a_deletion_that_was_interrupted_is_repeated_without_a_tenant(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose the secrets are is still known."""
    put = await stage.put("webhook")
    ref = replace(put.ref, tenant=None)
    endpoints = stage.engine.endpoints

    async def fail(_: object) -> None:
        raise StoreUnavailable("no connection")

    with monkeypatch.context() as patch:
        patch.setattr(endpoints._sealed, "remove", fail)
        with pytest.raises(StoreUnavailable):
            await endpoints.delete(ref)
    await endpoints.delete(ref)
    assert await endpoints._names(ref, put.tenant) == []
    with pytest.raises(EndpointNotFound):
        await endpoints.get(ref)


async def test_secrets_that_are_left_out_stay(stage: Stage) -> None:
    """Unless the provider changes; nothing shows a value."""
    await stage.put("slack")
    kept = await stage.put("slack", secrets={"bot_token": "xoxb-2"}, rate=7)
    assert kept.secrets == ("bot_token", "signing_secret")
    opened = await stage.engine.endpoints.open(kept.ref)
    assert opened.channel.secrets == {**SECRETS["slack"], "bot_token": "xoxb-2"}
    assert "xoxb" not in repr(opened)
    with pytest.raises(InvalidInput, match="needs token"):
        await stage.put("http", secrets={})
    changed = await stage.put("http")
    assert changed.secrets == ("token",)
    assert await stage.engine.endpoints.get(EndpointRef(id="inbox")) == changed


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "pigeon"},
        {"settings": {"urll": "x"}},
        {"settings": {"url": 7}},
        {"secrets": {"secret": "x", "more": "y"}},
        {"secrets": {"secret": ""}},
        {"id": "a:b"},
        {"id": ""},
        {"deployment": "shop"},
        {"rate": 0},
    ],
)
async def test_what_is_wrong_is_refused(stage: Stage, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await stage.put("webhook", **wrong)
    assert not (await stage.engine.endpoints.list()).items


async def test_what_nothing_takes_is_repeated_by_the_provider(stage: Stage) -> None:
    """A conversation or a deployment that does not exist, or a key that is not here."""
    await stage.put("webhook", conversation="nobody")
    with pytest.raises(NotDeliverable, match="conversation_not_found"):
        await stage.receive(message("webhook"))
    await stage.put("webhook", conversation=None, deployment="none")
    with pytest.raises(NotDeliverable, match="deployment_not_found"):
        await stage.receive(message("webhook"))
    await stage.put("webhook", conversation=None)
    with pytest.raises(NotDeliverable, match="deployment_not_found"):
        await stage.receive(message("webhook"))


@pytest.mark.parametrize("named", [True, False])
async def test_a_deployment_answers(stage: Stage, named: bool) -> None:
    """The one that the endpoint names, or the one that has the host of the call."""
    deployments = stage.engine.deployments
    for name, host in (("shop", "bots.example"), ("other", "else.example")):
        new = NewDeployment(env="local", id=name, tenant="default", app=NAME, hosts=(host,))
        made, _ = await deployments.create(new)
        await deployments.stage(made.ref, revision_id=f"r-{name}")
        seen = await deployments.warm(made.ref, f"r-{name}")
        gates = [Gate(name="loads", passed=True)]
        await deployments.judge(made.ref, f"r-{name}", gates, seen=seen.version)
        entries = [SplitEntry(revision=f"r-{name}", weight_bps=10_000)]
        await deployments.set_split(made.ref, entries, expected_generation=0)
    await stage.put("slack", conversation=None, deployment="other" if named else None)
    await stage.receive(message("slack"))
    (session,) = (await stage.engine.sessions.list()).items
    assert session.revision == ("r-other" if named else "r-shop")
    assert session.key.endpoint == "inbox"


async def test_a_sealed_secret_without_its_key_accepts_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = stage.engine.secrets
    monkeypatch.setenv("HOLDFAST_SECRET_KEYS", f"k1:{'ab' * 16}")
    secrets._known = None
    await stage.put("webhook")
    monkeypatch.setenv("HOLDFAST_SECRET_KEYS", f"k2:{'cd' * 16}")
    secrets._known = None
    with pytest.raises(NotDeliverable):
        await stage.receive(message("webhook"))
    monkeypatch.setenv("HOLDFAST_SECRET_KEYS", f"k2:{'cd' * 16},k1:{'ab' * 16}")
    secrets._known = None
    await stage.receive(message("webhook"))


async def test_an_endpoint_has_a_rate(stage: Stage) -> None:
    await stage.put("webhook", rate=1)
    await stage.receive(message("webhook"))
    with pytest.raises(RateLimited):
        await stage.receive(message("webhook", number=2))


async def test_a_busy_conversation_refuses_without_a_repetition(stage: Stage) -> None:
    """The provider is told that the message arrived: a repetition would come too late."""
    await stage.put("webhook")
    await publish(stage.engine, "reject")
    for number in (1, 2):
        await stage.receive(message("webhook", number=number))
    assert [line.text for line in await stage.lines()] == ["Hello"]


async def test_addresses_of_the_own_network_are_not_called(
    stage: Stage, conversing: Conversing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the environment lists them; the same for calls without TLS."""
    monkeypatch.delenv("HOLDFAST_WEBHOOK_HOSTS")
    await stage.put("webhook")
    await stage.receive(message("webhook"))
    await conversing.answer("one")
    await stage.until("dead")
    assert stage.provider.calls == 0


async def test_no_secret_is_logged(
    stage: Stage, conversing: Conversing, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even that of Telegram, which is part of the address."""
    caplog.set_level("DEBUG")
    await stage.put("telegram")
    genuine = message("telegram").request()
    with pytest.raises(InvalidSignature):
        await stage.receive(replace(genuine, headers={}))
    await stage.receive(genuine)
    stage.provider.failures = [Failure(500), Failure(403)]
    await conversing.answer("one")
    await stage.until("dead")
    # The server of the fake has a log of its own.
    ours = [one.getMessage() for one in caplog.records if one.name != "aiohttp.access"]
    assert any("was not sent" in line for line in ours)
    for secret in SECRETS["telegram"].values():
        assert secret not in " ".join(ours)
