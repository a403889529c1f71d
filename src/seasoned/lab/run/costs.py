"""A rough estimate of a plan's tokens and dollars, before any model is called.

Always holds: nothing is run and no server is asked; the estimates help a person to decide whether to start, and never
enter a result.
"""

from __future__ import annotations

from collections.abc import Mapping

from seasoned.agents.dialogue import Dialogue
from seasoned.lab.run.acting import worked_first
from seasoned.lab.run.plan import Block, Plan
from seasoned.lab.run.recipe import Recipe
from seasoned.llm.openai import cost
from seasoned.llm.scripted import ScriptedModel
from seasoned.text import tokens, transcript

_STEP = 80  # tokens of one turn, if there is no worked attempt to measure
_REPLY = 60  # tokens of a reply of the agent
_LESSON = {"small": 100, "paper": 1000}  # tokens of a heuristic; ERL, appendix D: 20 are about 20,000
_WRITTEN = {"small": 150, "paper": 1200}  # tokens of a reply that writes lessons
_BASIC = 300  # tokens of a prompt without its attempts and lessons


def estimated_tokens(plan: Plan) -> dict[str, int]:
    """The tokens of all prompts and all replies, if every attempt takes half of its turns and half of its retries."""
    prompts, completions = zip(*(_block(plan, block) for block in plan.blocks), strict=True)
    return {"prompt": sum(prompts), "completion": sum(completions)}


def estimated_cost(recipe: Recipe, tokens: Mapping[str, int]) -> float | None:
    """The cost of these tokens in US dollars without caching: None if the price is unknown, 0 for a bundled model."""
    if recipe.llm.bundled and (recipe.learner is None or recipe.learner.bundled):
        return 0.0
    if recipe.learner is not None and recipe.learner.model != recipe.llm.model:
        return None  # the estimate does not separate the two models' tokens
    used = {"prompt_tokens": tokens["prompt"], "completion_tokens": tokens["completion"], "cached_tokens": 0}
    return cost(recipe.llm.model or "", recipe.llm.base_url, **used)


def _block(plan: Plan, block: Block) -> tuple[int, int]:
    recipe, benchmark, model = plan.recipe, block.benchmark, ScriptedModel([])
    guided = not plan.acts and recipe.agent.style == "guided"
    turns = 3 if guided else max(benchmark.max_turns // 2, 2)
    worked = [transcript(attempt) for attempt in benchmark.trajectories]
    steps = sum(len(attempt.steps) for attempt in benchmark.trajectories)
    step = sum(map(tokens, worked)) // steps if steps else _STEP
    attempt, lesson, written = turns * step, _LESSON[recipe.profile], _WRITTEN[recipe.profile]
    attempts = len(block.train) * (1 + plan.retries / 2) if plan.trains else 0.0
    task = max((tokens(one.text) for one in block.test), default=0)
    prompt, completion, learned = 0.0, 0.0, set[str]()
    for condition in plan.conditions:
        agent = condition.agent(recipe.for_seed(block.seed), benchmark, model, block.train)
        method = condition.method and condition.method(recipe, benchmark, model)
        before = agent.preamble() if isinstance(agent, Dialogue) else worked_first(agent)
        base = sum(tokens(message["content"]) for message in before) + task + attempt / 2
        shown = recipe.erl.k * lesson if condition.ranks else recipe.expel.k * attempt if condition.learns else 0
        for trained_on in plan.points(condition, block):
            tests = float(len(block.test) * plan.repeats(block, trained_on))
            tests *= 1 + (recipe.method.trials / 2 if condition.retries else 0)
            prompt += tests * turns * (base + shown)
            completion += tests * turns * _REPLY
            if condition.ranks and recipe.erl.retrieve in ("llm", "two-stage"):
                prompt += tests * (min(trained_on, recipe.erl.recall_first) * lesson + _BASIC)
                completion += tests * recipe.erl.k * 60
        pool = plan.pool(condition, block, len(block.train))
        if hasattr(method, "llm") and condition.writes and pool not in learned:
            learned.add(pool)
            prompt += attempts * (2 * attempt + _BASIC)
            completion += attempts * written
        if condition is plan.conditions[0]:  # the gathering agent has about the same prompt
            prompt += attempts * turns * base
            completion += attempts * turns * _REPLY
    return round(prompt), round(completion)
