"""The products of a WebShop catalogue: its files, its cleaned rows, and the search.

The public format is a list of rows (asin, name, pricing, small_description, customization_options, ...) and their
attributes by ASIN. Always holds: every product has an ASIN, a title and a price; texts are one line of valid Unicode
without HTML; a row that is not a product is left out and counted, and never raises; the same words find the same
products in the same order.
"""

from __future__ import annotations

import html
import logging
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seasoned.errors import DataError, MissingExtraError
from seasoned.text import prompt_line

NO_PRICE = 100.0
"""The price of a product without one, in US dollars, as in WebShop."""
MAX_TEXT = 20_000
"""Kept characters of one text of a row."""
ASIN_LENGTH = 10
"""Characters of an ASIN; products with a longer one are left out, as in WebShop."""
FILES = {"products": "items_shuffle", "attributes": "items_ins", "human": "items_human", "reviews": "reviews"}
"""The beginnings of the names of WebShop's files."""
TOP = 50
"""The most products that a search finds."""
K1, B = 0.9, 0.4
"""The constants of BM25 in Pyserini, which WebShop uses."""
MAX_QUERY = 1000
"""Used characters of a search."""

# A number keeps its fraction, as in Lucene's tokenizer: "3.5 inch" must not be found by "5".
_TOKEN = r"(?u)\w+(?:[.,]\d+)*"

Search = Callable[[str], tuple[str, ...]]
"""Finds products by words: their ASINs, best first."""

# Parts that a browser does not show; an unclosed one extends to the end of the text.
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)(?=[\s/>])[^<>]{0,2000}>.*?(?:</\1\s{0,9}>|\Z)", re.DOTALL | re.IGNORECASE
)
_QUOTED = r"(?:\"[^\"]{0,500}\"|'[^']{0,500}')"
_TAG = re.compile(rf"</?[A-Za-z](?:[^<>\"']{{0,200}}{_QUOTED}){{1,20}}[^<>\"']{{0,200}}>|</?[A-Za-z][^<>]{{0,500}}>")
_RAW_CHARS = 10 * MAX_TEXT  # read before cleaning
_MAX_UNESCAPES = 3
_NUMBER = re.compile(r"[0-9][0-9,]{0,15}(?:\.[0-9]{1,4})?")
_DOLLARS = re.compile(rf"\$\s{{0,3}}({_NUMBER.pattern})")


@dataclass(frozen=True, slots=True)
class Product:
    """One product; `price` is in US dollars, `tag` is the price on its page.

    `section` is the part of the shop ("beauty"), `query` the search by which WebShop found the product, `path` its
    categories from the top; `options` has the possible values by option name; `attributes` are only for the reward.
    """

    asin: str
    title: str
    price: float
    tag: str
    description: str = ""
    features: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    section: str = ""
    query: str = ""
    path: tuple[str, ...] = ()
    reviews: tuple[str, ...] = ()
    rating: str = "N.A."

    @property
    def document(self) -> str:
        """The text that is searched, as in WebShop: title, description, first feature and all options."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
        return " ".join((self.title, self.description, *self.features[:1], options)).lower()


def find_files(paths: Sequence[Path]) -> dict[str, Path]:
    """The smallest file of each kind, under the keys of `FILES`; DataError without products or attributes."""
    files: dict[str, Path] = {}
    for path in sorted(paths, key=lambda p: p.stat().st_size, reverse=True):
        files |= {kind: path for kind, start in FILES.items() if path.name.startswith(start)}
    for kind in ("products", "attributes"):
        if kind not in files:
            names = ", ".join(p.name for p in paths[:5])
            raise DataError(
                f"the benchmark webshop needs a folder with WebShop's files {FILES['products']}_1000.json and "
                f"{FILES['attributes']}_v2_1000.json, but none begins with {FILES[kind]}; it has {names}"
            )
    return files


def read_products(
    rows: Sequence[Any], attributes: Mapping[str, Any], reviews: Sequence[Any] = (), draw: random.Random | None = None
) -> tuple[dict[str, Product], int]:
    """The products by ASIN, in the order of the rows, and the number of rows left out.

    Args:
        rows: rows of the public format; untrusted.
        attributes: objects with a list `attributes`, by ASIN; untrusted.
        reviews: objects with `asin`, `average_rating` and a list `reviews`; untrusted.
        draw: draws a price from a price range, as in WebShop; None: the mean, as in ExpeL.
    """
    opinions = {str(r.get("asin")): r for r in reviews if isinstance(r, Mapping)}
    products: dict[str, Product] = {}
    for row in rows:
        asin = text_of(row.get("asin")) if isinstance(row, Mapping) else ""
        title = text_of(row.get("name")) if asin else ""
        if not title or asin == "nan" or len(asin) > ASIN_LENGTH or asin in products:
            continue
        price, tag = read_price(row.get("pricing"), draw)
        about, opinion = attributes.get(asin), opinions.get(asin, {})
        products[asin] = Product(
            asin=asin,
            title=title,
            price=price,
            tag=tag,
            description=text_of(row.get("full_description")),
            features=texts_of(row.get("small_description")),
            options=dict(_options(row.get("customization_options"))),
            attributes=texts_of(about.get("attributes")) if isinstance(about, Mapping) else (),
            section=text_of(row.get("category")),
            query=text_of(row.get("query")).lower(),
            path=tuple(part.strip() for part in text_of(row.get("product_category")).split("›")),
            reviews=tuple(_reviews(opinion.get("reviews"))),
            rating=text_of(opinion.get("average_rating")) or "N.A.",
        )
    return products, len(rows) - len(products)


def text_of(value: Any) -> str:
    """A text in one line without HTML, scripts, styles and control characters; "" if the value is not a text."""
    return prompt_line(_without_tags(value), MAX_TEXT) if isinstance(value, str) else ""


def texts_of(value: Any) -> tuple[str, ...]:
    """The non-empty texts of a list, or of a single text."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return tuple(text for v in values if (text := text_of(v)))


def read_price(value: Any, draw: random.Random | None = None) -> tuple[float, str]:
    """The price in US dollars and its text on a page, from "$9.99", "$9.99 - $19.99" or a number, also as a text.

    A value without a price gives `NO_PRICE`.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        amounts = [float(value)]
    else:
        text = text_of(value)
        prices = _DOLLARS.findall(text)[:2] or ([text] if _NUMBER.fullmatch(text) else [])
        amounts = [float(amount.replace(",", "")) for amount in prices]
    amounts = [a for a in amounts if math.isfinite(a) and a >= 0] or [NO_PRICE]
    tag = " to ".join(f"${amount:.2f}" for amount in amounts)
    if draw is not None and len(amounts) > 1:
        return draw.uniform(*amounts), tag
    return sum(amounts) / len(amounts), tag


def _without_tags(text: str) -> str:
    text = _stripped(text[:_RAW_CHARS])
    for _ in range(_MAX_UNESCAPES):  # some shops escape their tags, some twice
        plain = html.unescape(text)
        if plain == text:
            break
        text = _stripped(plain)
    return text[:MAX_TEXT]


def _stripped(text: str) -> str:
    return _TAG.sub(" ", _HIDDEN.sub(" ", text))


def _options(value: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Option names and values in WebShop's spelling: lower case, " | " for a slash, repeated values kept."""
    for name, contents in value.items() if isinstance(value, Mapping) else ():
        raw = [c.get("value") for c in contents if isinstance(c, Mapping)] if isinstance(contents, list) else []
        values = tuple(text for v in raw if isinstance(v, str) and (text := _option(v)))
        if values and text_of(name):
            yield text_of(name).lower(), values


def _option(value: str) -> str:
    """A value in WebShop's spelling; no-break spaces stay, because its comparison of colours depends on them."""
    characters = (c if c.isprintable() or c == "\N{NO-BREAK SPACE}" else " " for c in _without_tags(value))
    return "".join(characters).strip().replace("/", " | ").lower()


def _reviews(value: Any) -> Iterator[str]:
    for review in value if isinstance(value, list) else ():
        if isinstance(review, Mapping):
            stars, text = review.get("stars"), text_of(review.get("review"))
            yield f"{text_of(str(stars))}: {text}" if stars is not None else text


def make_search(products: Mapping[str, Product]) -> Search:
    """BM25 over the products, ranked as by WebShop's Lucene index: Porter stems, no English stop words.

    It finds only products that share a word with the search. MissingExtraError without bm25s or PyStemmer.
    """
    try:
        import bm25s
        import numpy as np
        from Stemmer import Stemmer
    except ImportError as e:
        raise MissingExtraError("webshop", "PyStemmer" if e.name == "Stemmer" else "bm25s") from e

    # bm25s sets its logger to DEBUG, which would fill the log of a run.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    asins = tuple(products)

    def tokens(texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer("porter")  # threads must not share one
        stems: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, token_pattern=_TOKEN, show_progress=False, return_ids=False
        )
        return stems

    documents = tokens([product.document for product in products.values()])
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    if any(documents):
        index.index(documents, show_progress=False)
    vocabulary = {token for document in documents for token in document}

    def search(words: str) -> tuple[str, ...]:
        query = [token for token in tokens([words[:MAX_QUERY]])[0] if token in vocabulary]
        if not query:
            return ()
        scores = index.get_scores(query)
        best = np.argsort(-scores, kind="stable")[:TOP]
        return tuple(asins[i] for i in best if scores[i] > 0)

    return search
