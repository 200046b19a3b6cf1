"""The text at the top of a run's page on the tracking server: verdict, table, figure, and where to read on."""

from __future__ import annotations

from sm_ops.core.home import Run
from sm_ops.tracking.sent import Child, Column, Json, Measures, Sent

TAG = "mlflow.note.content"
_UNDEFINED = "–"
_GAP = "&emsp;"  # the page sets a table's columns without any


def run_note(run: Run, results: Json, sent: Sent, here: str, comparison: str) -> str:
    """Markdown: first what the page shows before it is unfolded, the claims and the reference's verdict.

    `here` is the page's own address below the server's, `comparison` that of the runs beside each other.
    """
    claims, mlflow_run = results["claims"], here.rpartition("/")[2]
    figure = f"![{sent.title}](get-artifact?path={sent.figure}&run_uuid={mlflow_run})" if sent.figure else ""
    parts = (
        _verdict(claims),
        sent.remark(results),
        _table(sent.children(results), sent.columns),
        figure,
        "\n".join(_claim(claim) for claim in claims),
        f"[The report]({here}/artifacts/report.html) has the rest; [beside other runs]({comparison}). In the home: "
        f"`sm-ops report {run.id}`",
    )
    return "\n\n".join(part for part in parts if part)


def child_note(child: Child, columns: tuple[Column, ...]) -> str:
    """Markdown: the row of the table."""
    return _table([child], columns)


def _verdict(claims: list[Json]) -> str:
    holding = sum(claim["passed"] is True for claim in claims)
    failing = [claim["sentence"] for claim in claims if claim["passed"] is False]
    undefined = len(claims) - holding - len(failing)
    told = f"**{holding} of {len(claims)} claims hold"
    told += f", {undefined} undefined.**" if undefined else ".**"
    return told + (f" Not: {' '.join(failing)}" if failing else "")


def _claim(claim: Json) -> str:
    mark = {True: "✓", False: "✗", None: _UNDEFINED}[claim["passed"]]
    return f"* {mark} {claim['sentence']} ({claim['detail']})"


def _table(children: list[Child], columns: tuple[Column, ...]) -> str:
    """A row a child, and the columns of which any row has a number."""
    shown = [column for column in columns if any(child.measures.get(column.measure) is not None for child in children)]
    rows = [
        ["", *(column.heading for column in shown)],
        *([child.name, *(_cell(child.measures, column) for column in shown)] for child in children),
    ]
    header, *body = (f"| {f'{_GAP} | '.join(row)} |" for row in rows)
    return "\n".join((header, f"|{' --- |' * (len(shown) + 1)}", *body))


def _cell(measures: Measures, column: Column) -> str:
    """A number with its interval, or one standard error, where it has one."""
    value, low, high, error = (measures.get(f"{column.measure}{end}") for end in ("", "_low", "_high", "_se"))
    if value is None:
        return _UNDEFINED
    show = (lambda number: f"{100 * number:.1f}") if column.share else (lambda number: f"{number:.3f}")
    told = show(value) + (" %" if column.share else "")
    if low is not None and high is not None:
        return f"{told} [{show(low)}, {show(high)}]"
    return told if error is None else f"{told} ± {show(error)}"
