"""Adapters: guidance for agents that are made with somebody's framework, and the record of what they did.

One module a framework, each with a function `remembering`. Always holds: given a memory, each run is an attempt of its
own, which is finished when the run ends, with what `check` says or as unknown; given an attempt, the runs belong to it
and finishing it is the caller's; guidance goes into the system prompt, and where nothing is recalled nothing is added;
a result or an error of the agent goes on to the caller, also where it cannot be recorded, which is logged; a framework
is imported when its adapter is used.
"""
