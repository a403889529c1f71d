"""The search of the shop: BM25 over the products, as the Lucene index of WebShop ranks them.

Always holds: the same words give the same products in the same order; a product that shares no word with the search is
not found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from seasoned.errors import MissingExtraError
from seasoned.lab.benchmarks.webshop.catalogue import Product

TOP = 50
"""Products that a search finds at most."""

K1, B = 0.9, 0.4
"""BM25's constants in Pyserini, which WebShop uses."""

MAX_QUERY = 1000
"""Characters of a search that are read."""

# A number keeps its fraction, as in Lucene's tokenizer: "3.5 inch" must not be found by "5".
_TOKEN = r"(?u)\w+(?:[.,]\d+)*"

Search = Callable[[str], tuple[str, ...]]
"""The ASINs that some words find, best first."""


def make_search(products: Mapping[str, Product]) -> Search:
    """Index the products; English stop words are dropped, words are cut to their stems (Porter).

    Raises:
        MissingExtraError: bm25s or PyStemmer is not installed.
    """
    try:
        import bm25s
        import numpy as np
        from Stemmer import Stemmer
    except ImportError as e:
        raise MissingExtraError("webshop", "PyStemmer" if e.name == "Stemmer" else "bm25s") from e

    # The library sets its logger to DEBUG, which would fill the log of a run.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    asins = tuple(products)

    def tokens(texts: list[str]) -> list[list[str]]:
        # A stemmer may not be shared by threads.
        found: list[list[str]] = bm25s.tokenize(
            texts,
            stopwords="en",
            stemmer=Stemmer("porter"),
            token_pattern=_TOKEN,
            show_progress=False,
            return_ids=False,
        )
        return found

    documents = tokens([product.document for product in products.values()])
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    if any(documents):
        index.index(documents, show_progress=False)

    vocabulary = {token for document in documents for token in document}

    def search(words: str) -> tuple[str, ...]:
        known = [token for token in tokens([words[:MAX_QUERY]])[0] if token in vocabulary]
        if not known:
            return ()
        scores = index.get_scores(known)
        best = np.argsort(-scores, kind="stable")[:TOP]
        return tuple(asins[i] for i in best if scores[i] > 0)

    return search
