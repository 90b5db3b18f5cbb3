"""The smallest durable task. Run it: `python examples/hello.py`."""

from holdfast import App

app = App()


@app.task
async def hello(name: str) -> str:
    """Greet a person by name."""
    return f"Hello {name}"


if __name__ == "__main__":
    print(app.run(hello, "Ada"))
