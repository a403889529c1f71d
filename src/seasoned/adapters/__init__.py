"""Adapters: guidance for agents that use a framework, and the record of their runs.

Each framework has a module with a function `remembering`. Its arguments are the same for all:

- `where`: a memory, in which each run is an attempt, or an attempt that all runs belong to;
- `check`: takes the attempt, or the task and the answer, and returns the outcome; see `memory.checks`;
- `agent`: the agent's name, for the record.

It raises ConfigError for an argument of a wrong type or value, and MissingExtraError without the framework.

Always holds: given a memory, each run is an attempt, which is finished when the run ends, with the outcome of `check`
or as unknown; given an attempt, all runs belong to it, and the caller finishes it; guidance goes into the system
prompt, which stays unchanged if nothing is recalled; the caller gets the agent's result or error even if recording
fails, which is logged; a framework is imported only when its adapter is used.
"""
