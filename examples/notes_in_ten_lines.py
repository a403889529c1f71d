"""One case in training, one note, and the next case reads it. Run it: python examples/notes_in_ten_lines.py

The model is scripted, so this needs no key and no download. For a real one, change only the model:
`OpenAIChat("gpt-5-mini")`, or `LocalModel()` in a `with` block.
"""

from seasoned import ExperiencePool, ExpNote, Guidance, ScriptedModel, Store, Task
from seasoned.agents.dialogue import Dialogue
from seasoned.lab.benchmarks.answer import AnswerEnvironment, Scored


def score(text, data):
    return Scored(text, text == data["answer"])


# The replies in order: to the first case, to the verdict on its answer, and to the second case.
model = ScriptedModel(["ANSWER[water it]", "NOTE[basil]: too wet\nEND", "ANSWER[let it dry]"])
agent = Dialogue(llm=model, instruction="Say what the plant needs: water it, or let it dry.", style="free")
pool = ExperiencePool(Store("ten_lines.db"), "greenhouse")
method = ExpNote()

first = Task(id="1", text="The basil has yellow leaves.", data={"answer": "let it dry"})
attempt = agent.run(first, AnswerEnvironment(score, reveal=True, max_turns=10), Guidance())
method.learn([pool.record(attempt)], pool)

second = Task(id="2", text="My basil looks ill.", data={"answer": "let it dry"})
guidance = method.recall(second, pool)
again = agent.run(second, AnswerEnvironment(score, reveal=False, max_turns=10), guidance)

print(f"first case: {attempt.outcome.answer!r}, right: {attempt.outcome.success}")
print(guidance.text)
print(f"second case: {again.outcome.answer!r}, right: {again.outcome.success}")
