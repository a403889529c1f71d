"""Facts about your own library: found by calling it, recalled for a task, and checked when it changes. No key.

Run it with `python examples/facts_of_my_library.py`. The library runs in a sandbox, so this needs
bubblewrap (apt-get install bubblewrap) or sandlock.
"""

import sys
import tempfile
from pathlib import Path

import seasoned
from seasoned.methods.facts import Facts

SHOP = '''
"""The shop's amounts."""
__version__ = "{version}"

def price_tag(amount):
    """An amount as text."""
    return "%d{sign}%02d EUR" % divmod(amount, 100)

def stock(article):
    """How many there are."""
    return {{"TEA": 12, "JAM": 7}}[article]
'''

with tempfile.TemporaryDirectory() as folder:
    sys.path.insert(0, folder)
    library = Path(folder) / "corner_shop.py"
    library.write_text(SHOP.format(version="1.0", sign=","))

    with seasoned.Memory(f"{folder}/facts.db", method="facts", library="corner_shop", embedder=None) as memory:
        # A failed attempt: its calls become facts, and learning first explores the library.
        with memory.attempt("a price tag for 12 euros of 'tea'") as attempt:
            attempt.step(action=">>> stock('tea')", observation="KeyError: 'tea'")
            attempt.finish(success=False)
        memory.learn()
        print(memory.recall("use price_tag and stock").text)

        # The library changes: each fact is run again.
        library.write_text(SHOP.format(version="2.0", sign="."))
        checked = Facts(library="corner_shop").verify(memory.pool)
        print(f"\n{checked.held} facts still hold, {len(checked.stale)} do not, such as:")
        lesson, instead = checked.stale[0]
        print(f"{lesson.text}\nnow: {instead}")
