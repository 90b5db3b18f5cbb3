"""A task that splits its work into child executions. Run it: `python examples/children.py`."""

from __future__ import annotations

from holdfast import App, Context, GiveUp
from holdfast.errors import ExecutionFailed

app = App()


@app.task(retries=2)
async def count_words(page: str) -> int:
    """Count the words of one page."""
    if not page:
        raise GiveUp("the page is empty")
    return len(page.split())


@app.task
async def count_book(ctx: Context, pages: list[str]) -> int:
    """Count the words of all pages in parallel, and skip pages that cannot be counted."""
    children = [await ctx.submit(count_words, page) for page in pages]
    total = 0
    for number, child in enumerate(children, start=1):
        try:
            total += await ctx.result(child)
        except ExecutionFailed as failed:
            print(f"page {number}: {failed.context['error']['message']}")
        await ctx.progress(100 * number / len(pages), f"page {number}")
    return total


if __name__ == "__main__":
    book = ["it was a dark night", "", "the end"]
    print("words:", app.run(count_book, book))
