"""A crawl: a graph fans out to one execution for each page, and one adds up what they found.

python examples/crawl.py
"""

import asyncio

from holdfast import App

app = App()

SITE = {"/": "welcome to the shop", "/tea": "green tea and black tea", "/cups": "two cups"}


@app.task(retries=3)
async def fetch(path: str) -> dict[str, int]:
    """Count the words of a page; a real one downloads it."""
    words = SITE[path].split()
    return {word: words.count(word) for word in words}


@app.task
async def merge(counts: list[dict[str, int]]) -> list[str]:
    """Return the words that occur more than once."""
    words = {word for page in counts for word in page}
    totals = {word: sum(page.get(word, 0) for page in counts) for word in words}
    return sorted(word for word, total in totals.items() if total > 1)


async def main() -> None:
    """Submit the graph as a whole; the store starts each member when its turn comes."""
    async with app.worker():
        async with app.graph() as graph:
            pages = graph.map(fetch, list(SITE))
            graph.reduce(merge, pages)
        print("more than once:", (await graph.result())["merge"])


if __name__ == "__main__":
    asyncio.run(main())
