"""The pages, in a real browser: nothing comes from elsewhere, and they do what they are for."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from collections.abc import AsyncIterator

import httpx
import pytest
from playwright.async_api import Page, Route, async_playwright, expect

from tests.server.conftest import Site
from tests.server.test_waiting import prepared

CHROMIUM = shutil.which("chromium")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make browser`")


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A page of a browser; it fails the test if the page's script fails."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        yield page
        await browser.close()
    assert failures == []


@pytest.mark.parametrize("path", ["/docs", "/answer/x1~w1", "/answer/%3Cscript%3E"])
async def test_a_page_runs_its_own_script_only(anyone: httpx.AsyncClient, path: str) -> None:
    """Its policy allows one script and one style, by what is in them, and nothing of others."""
    response = await anyone.get(path)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for element in ("script", "style"):
        (inside,) = re.findall(f"<{element}>(.*?)</{element}>", response.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    assert not re.findall(r"\s(?:src|on\w+)=", response.text)


async def test_the_answer_page_tells_nothing_about_a_waitpoint(anyone: httpx.AsyncClient) -> None:
    """It is the same for all, whether they exist or not."""
    _, _, point = await prepared(anyone)
    pages = {(await anyone.get(f"/answer/{at}")).text for at in (point["id"], "another")}
    assert len(pages) == 1


@in_a_browser
async def test_a_person_answers(site: Site, anyone: httpx.AsyncClient, page: Page) -> None:
    """What is asked for is there; an answer counts once, however often the button is pressed."""
    one, _, point = await prepared(anyone, expires_ms=86_400_000, title="How much for <b>?")
    await page.goto(f"{site.url}/answer/{point['id']}#{point['token']}")
    await expect(page.get_by_role("heading")).to_have_text("How much for <b>?")
    await expect(page.get_by_text("open until")).to_be_visible()
    said = page.get_by_role("status")
    await page.get_by_label("Your name").fill("ann")
    await page.get_by_label("Answer in JSON").fill("{")
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_contain_text("not JSON")
    await page.get_by_label("Answer in JSON").fill('{"amount": 40}')
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_contain_text("Thank you")
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_have_text("You have already answered.")
    (came,) = (await anyone.get(f"/v1/executions/{one}/signals")).json()["items"]
    assert (came["name"], came["payload"], came["source"]["identity"]) == (
        "approve",
        {"amount": 40},
        "ann",
    )


@in_a_browser
async def test_people_approve(site: Site, anyone: httpx.AsyncClient, page: Page) -> None:
    """They choose their name, may comment, see how many have approved, and write no JSON."""
    one, token, point = await prepared(anyone, answerers=["ann", "ben", "cid"])
    condition = {
        "count": 2,
        "distinct": "sources",
        "of": [{"waitpoint": point["name"], "signal": "approve"}],
    }
    wait = {"waitpoints": [{"id": point["id"]}], "condition": condition, "timeout_ms": 60_000}
    await anyone.post(f"/v1/executions/{one}/suspend", json={"lease": token, **wait})
    await page.goto(f"{site.url}/answer/{point['id']}#{point['token']}")
    await expect(page.get_by_text("0 of 2 approvals.")).to_be_visible()
    await expect(page.get_by_text("open until")).to_be_visible()
    await expect(page.get_by_label("Answer in JSON")).to_be_hidden()
    said = page.get_by_role("status")
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_have_text("Only ann, ben and cid may answer. Choose your name.")
    await page.get_by_label("Your name").select_option("ben")
    await page.get_by_label("Comment").fill("fine")
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_contain_text("More answers are needed")
    await expect(page.get_by_text("1 of 2 approvals. So far: ben.")).to_be_visible()
    (came,) = (await anyone.get(f"/v1/executions/{one}/signals")).json()["items"]
    assert (came["payload"], came["source"]["identity"]) == (
        {"approved": True, "comment": "fine"},
        "ben",
    )


@in_a_browser
async def test_a_personal_link(site: Site, anyone: httpx.AsyncClient, page: Page) -> None:
    """It says who answers, asks no name, and has a field for each property of the schema."""
    schema = {
        "type": "object",
        "properties": {
            "amount": {"type": "integer", "title": "Amount"},
            "by": {"enum": ["mail", "post"]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "express": {"type": "boolean"},
        },
        "required": ["amount", "by"],
        "additionalProperties": False,
    }
    one, _, point = await prepared(
        anyone, answerers=["ann", "ben"], personal=True, schema=schema, title="Pay?"
    )
    await page.goto(f"{site.url}/answer/{point['id']}#{point['tokens']['ben']}")
    await expect(page.get_by_text("You answer as ben.")).to_be_visible()
    for label in ("Your name", "Answer in JSON", "Comment"):
        await expect(page.get_by_label(label)).to_be_hidden()
    said = page.get_by_role("status")
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_contain_text("The answer does not fit the question")
    await page.get_by_label("Amount").fill("40")
    await page.get_by_label("by").select_option("post")
    await page.get_by_label("express").check()
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_contain_text("Thank you")
    (came,) = (await anyone.get(f"/v1/executions/{one}/signals")).json()["items"]
    assert came["payload"] == {"amount": 40, "by": "post", "express": True}
    assert came["source"] == {"type": "person", "identity": "ben"}


@in_a_browser
async def test_a_link_that_was_cut_is_told_so(site: Site, page: Page) -> None:
    """And so is a wrong token."""
    await page.goto(f"{site.url}/answer/x1~w1")
    await expect(page.get_by_role("status")).to_contain_text("incomplete")
    await page.goto(f"{site.url}/answer/x2~w1#hf1.k1.a.b")
    await expect(page.get_by_role("status")).to_have_text("This link is not valid.")


@in_a_browser
async def test_a_button_says_what_the_command_says(
    site: Site, anyone: httpx.AsyncClient, page: Page
) -> None:
    """A task that reads `approved` need not know how it was answered; who is late is told so."""
    one, _, point = await prepared(anyone)
    await page.goto(f"{site.url}/answer/{point['id']}#{point['token']}")
    said = page.get_by_role("status")
    for button, payload in (("Approve", {"approved": True}), ("Deny", {"approved": False})):
        await page.get_by_role("button", name=button).click()
        await expect(said).to_contain_text("Thank you")
        came = (await anyone.get(f"/v1/executions/{one}/signals")).json()["items"]
        assert came[-1]["payload"] == payload
        await page.reload()
    await anyone.post(f"/v1/executions/{one}/waitpoints/{point['id']}/revoke")
    await page.get_by_role("button", name="Approve").click()
    await expect(said).to_contain_text("too late")
    await page.reload()
    await expect(said).to_contain_text("too late")


@in_a_browser
async def test_a_filter_does_not_wait_for_the_contract(site: Site, page: Page) -> None:
    """What was typed while it was loading, or before a reload, counts. Code looks like code."""

    async def slowly(route: Route) -> None:
        await page.get_by_role("searchbox").fill("rotation_conflict")
        await route.continue_()

    await page.route("**/openapi.json", slowly)
    await page.goto(f"{site.url}/docs")
    await expect(page.locator("details.call").filter(visible=True)).to_have_count(1)
    assert "`" not in (await page.text_content("main") or "`")


@in_a_browser
async def test_the_contract_is_read_by_people(site: Site, page: Page) -> None:
    """Every route is shown; a filter finds one by its codes; a link leads to it, opened."""
    await page.goto(f"{site.url}/docs")
    calls = page.locator("details.call")
    await expect(calls).not_to_have_count(0)
    async with httpx.AsyncClient() as client:
        document = (await client.get(f"{site.url}/openapi.json")).json()
    assert await calls.count() == sum(len(item) for item in document["paths"].values())
    await page.get_by_role("searchbox").fill("rotation_conflict")
    await expect(calls.filter(visible=True)).to_have_count(1)
    await page.goto(f"{site.url}/docs#workers_claim")
    claim = page.locator("#workers_claim")
    await expect(claim).to_have_attribute("open", "")
    await expect(claim).to_contain_text("curl -X POST")
    await expect(claim).to_contain_text("How long to wait for the first execution.")
