"""Extensions of a finished run: a certificate for its lessons, and an audit of its lift.

Always holds: the run's own attempts, lessons and files stay as they are, and finished work is not repeated; gate tasks
are drawn after the training tasks, so the run has not used them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from seasoned import __version__
from seasoned.errors import ConfigError
from seasoned.lab.report.summary import Summary
from seasoned.lab.run.altered import ALTERATIONS
from seasoned.lab.run.conditions import GATE
from seasoned.lab.run.evaluate import check_parts, enter, evaluate
from seasoned.lab.run.experiment import open_session
from seasoned.lab.run.gate import certificate, check_candidates, decide, probe
from seasoned.lab.run.gather import gather
from seasoned.lab.run.outputs import write_outputs
from seasoned.lab.run.part import Part
from seasoned.lab.run.partners import open_models
from seasoned.lab.run.plan import Plan, make_plan
from seasoned.lab.run.progress import Watch
from seasoned.lab.run.redo import check_resume
from seasoned.lab.run.rundir import hold, recipe_of, write_text
from seasoned.lab.run.settings import GateSettings
from seasoned.proof.certificate import NAME, Certificate
from seasoned.protocols import LLM
from seasoned.store.sql import Store
from seasoned.types import now


def certify(
    directory: Path,
    store: Store,
    *,
    conditions: Sequence[str] = (),
    gate: GateSettings | None = None,
    llm: LLM | None = None,
    quiet: bool = False,
) -> Certificate:
    """Run the gates of a finished run's conditions, write `certificate.json` into its directory, and return it.

    `conditions` are the candidates, in order; by default, all that learned lessons. `gate` overrides the recipe's
    settings, and `llm` its model.

    Raises:
        ConfigError: the run has no such condition, no tasks are left for a gate, gates of the run had other candidates,
            or the store does not hold the run.
        SeasonedError: a part of the run failed. Finished work is kept, and the next call continues from it.
    """
    with _extended(directory, store, conditions, [GATE], gate, llm, quiet) as (plan, parts, _):
        check_candidates(plan, store, directory.name)
        for part in parts:
            entrants = enter(part, gather(part))
            decide(part, probe(part, [entrant for entrant in entrants if entrant.condition.gated]))
    result = certificate(plan, store, directory.name, __version__)
    assert result is not None
    write_text(directory / NAME, result.model_dump_json(indent=2) + "\n")
    return result


def audit(
    directory: Path, store: Store, *, conditions: Sequence[str] = (), llm: LLM | None = None, quiet: bool = False
) -> Summary:
    """Repeat a finished run's test tasks with lessons that cannot help, and write a report into its folder `audit`.

    Arguments and errors are as in `certify`.
    """
    started = now()
    with _extended(directory, store, conditions, ALTERATIONS, None, llm, quiet) as (plan, parts, names):
        entered = [(part, enter(part, gather(part))) for part in parts]
        evaluate([(part, [each for each in entrants if each.condition.altered]) for part, entrants in entered])
    folder = directory / "audit"
    folder.mkdir(exist_ok=True)
    model, learner = names
    return write_outputs(directory, plan, store, model=model, learner=learner, started=started, folder=folder)


@contextmanager
def _extended(
    directory: Path,
    store: Store,
    conditions: Sequence[str],
    endings: Sequence[str],
    gate: GateSettings | None,
    llm: LLM | None,
    quiet: bool,
) -> Iterator[tuple[Plan, list[Part], tuple[str, str]]]:
    """The plan of a run plus its learned conditions with each ending, its parts, and the models' names."""
    recipe = recipe_of(directory)
    run_plan = make_plan(recipe)
    learned = [
        text for text, made in zip(recipe.conditions, run_plan.conditions, strict=True) if made.writes and not made.of
    ]
    unknown = [name for name in conditions if name not in learned]
    if unknown or not learned:
        reason = f"it has no {unknown[0]!r}; it learned with {', '.join(learned) or 'none'}" if unknown else "none did"
        raise ConfigError(f"the run {directory.name} should have conditions that learned lessons: {reason}")
    added = [f"{text}+{ending}" for text in conditions or learned for ending in endings]
    changes = {
        "conditions": (*recipe.conditions, *(text for text in added if text not in recipe.conditions)),
        "gate": gate or recipe.gate,
    }
    plan = make_plan(recipe.model_copy(update=changes))
    with ExitStack() as stack:
        stack.enter_context(hold(directory))
        check_resume(directory, run_plan, store)
        check_parts(plan)
        models = open_models(recipe, stack, llm=llm, learner=llm)
        session = open_session(directory, recipe, store, models)
        watch = stack.enter_context(Watch(plan.episodes, quiet=quiet))
        names = (models["model"].name, models["learner"].name)
        yield plan, [Part(plan, block, session, watch) for block in plan.blocks], names
