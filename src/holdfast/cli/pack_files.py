"""What commands about packs share: reading them, with every defect listed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from holdfast.cli.terminal import output
from holdfast.errors import InvalidPack


@contextlib.contextmanager
def work(text: str, *, as_json: bool) -> Iterator[None]:
    """Show that something is under way; of a pack with several defects, list them all."""
    try:
        with output.status(text):
            yield
    except InvalidPack as error:
        defects = error.context.get("defects", ())
        if as_json or len(defects) < 2:  # noqa: PLR2004 - the message has the first
            raise
        for defect in defects:
            place = f"{defect['file']}:{defect['line']}:{defect['column']}"
            hint = f"; {defect['suggestion']}" if defect["suggestion"] else ""
            output.note(f"{place}: {defect['sentence']}{hint} ({defect['problem']})")
        message = f"the pack has {len(defects)} defects"
        raise InvalidPack(message, **error.context) from None


def refuse_problems(files: Mapping[str, bytes], *, as_json: bool) -> None:
    """Lint a pack; of one with errors, list what lint found, and raise InvalidPack."""
    from holdfast.host import linting
    from holdfast.host.flows import render

    report = linting.lint_pack(files)
    if report.is_valid:
        return
    first = next(problem for problem in report.problems if problem.severity == "error")
    message = str(first)
    if not as_json:
        output.note(render.as_lines(report.problems, report.sources).removesuffix("\n"))
        message = "the pack has errors"
    raise InvalidPack(
        message,
        problem=first.code,
        file=first.file,
        line=first.line,
        column=first.column,
        problems=[render.as_object(problem) for problem in report.problems],
    )
