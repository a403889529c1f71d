"""`seasoned certify` and `seasoned audit`: proof that a run's lessons help, and that the lift comes from them.

Always holds: checking a certificate calls no model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seasoned.cli.shared import (
    RUNS,
    STORE,
    JsonOption,
    QuietOption,
    RunsOption,
    StoreOption,
    find_run,
    open_store,
    print_json,
    show,
    tell,
)
from seasoned.errors import ConfigError

if TYPE_CHECKING:
    from seasoned.proof.certificate import Certificate
    from seasoned.store.sql import Store

ConditionOption = Annotated[
    list[str] | None,
    typer.Option("--condition", help="A condition that learned lessons. Repeatable. Default: all."),
]


def certify(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A finished run: its directory, name, or 'last'.")] = "",
    condition: ConditionOption = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="The number of gate tasks, from training tasks that the run did not use.")
    ] = None,
    crossfit: Annotated[
        int | None,
        typer.Option(min=2, help="The number of parts: learn on all but one, test on that one."),
    ] = None,
    check: Annotated[Path | None, typer.Option("--check", help="Check this certificate, without a model call.")] = None,
    model: Annotated[
        str, typer.Option("--model", help="With --check: the model in use now, to compare with the gate's.")
    ] = "",
    quiet: QuietOption = False,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Test a run's lessons on held-back tasks.

    Writes a certificate, or checks one with --check. Exit code 1 if the certificate is invalid.
    """
    if (check is None) == (not run):
        raise ConfigError("expected a run, or --check FILE: seasoned certify last")
    if check is not None:
        from seasoned.proof.certificate import read_certificate

        certificate = read_certificate(check)
        with open_store(store, must_exist=True) as opened:
            _report(certificate, opened, as_json, path=str(check), model=model)
        return
    from seasoned.lab.run.extend import certify as make
    from seasoned.lab.run.settings import GateSettings

    directory = find_run(run, runs)
    gate = None
    if tasks is not None or crossfit is not None:
        defaults = GateSettings()
        gate = GateSettings(tasks=tasks or defaults.tasks, crossfit=crossfit or 0)
    with open_store(store, must_exist=True) as opened:
        certificate = make(directory, opened, conditions=condition or (), gate=gate, quiet=quiet)
        _report(certificate, opened, as_json, path=str(directory / "certificate.json"))


def audit(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A finished run: its directory, name, or 'last'.")],
    condition: ConditionOption = None,
    quiet: QuietOption = False,
    store: StoreOption = STORE,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Test whether a gain comes from the lessons' text.

    Repeats a run's test with blank, shuffled, foreign and negated lessons.
    """
    from seasoned.lab.report.attempt_tables import show as show_tables
    from seasoned.lab.run.extend import audit as make

    directory = find_run(run, runs)
    with open_store(store, must_exist=True) as opened:
        summary = make(directory, opened, conditions=condition or (), quiet=quiet)
    if as_json:
        fields = summary.to_json()
        keys = ("headline", "remarks", "conditions", "pairs")
        print_json({"path": str(directory / "audit"), **{key: fields[key] for key in keys}})
        return
    from rich.console import Console

    show_tables(summary, Console())
    for remark in summary.remarks:
        if remark.startswith("Audit"):
            tell(remark)
    tell(f"\nreport:  {directory / 'audit' / 'report.html'}")


def _report(certificate: Certificate, store: Store, as_json: bool, path: str, model: str = "") -> None:
    """Show a certificate and its current problems, such as lessons that were edited since the gate's decision."""
    from seasoned.lab.run.rundir import prompts_digest
    from seasoned.proof.certificate import check

    problems = check(certificate, store, model=model, prompts=prompts_digest())
    hidden = {"lessons", "trials", "scope", "model", "prompts"}
    claims: list[dict[str, Any]] = []
    lines = []
    for claim in certificate.claims:
        shown = claim.model_dump(mode="json", exclude=hidden)
        claims.append({**shown, "lessons": len(claim.lessons), "promoted": claim.promoted})
        last = claim.looks[-1] if claim.looks else None
        counts = f"{last.won} won, {last.lost} lost of {last.tasks}, p = {last.p:.3g}" if last else "no look"
        name = f"{claim.condition} {claim.block}".rstrip()
        lines.append(f"{name}: {counts}: {'promoted' if claim.promoted else 'not promoted'}")
    lines += [f"no longer holds: {problem}" for problem in problems]
    if not problems:
        lines.append(f"{path} holds. Deployed: {certificate.deployed or 'nothing'}.")
    header = {"path": path, "run": certificate.run, "deployed": certificate.deployed}
    show(as_json, {**header, "valid": not problems, "problems": problems, "claims": claims}, lines)
    if problems:
        raise typer.Exit(1)
