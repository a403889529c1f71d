"""Rows of Hugging Face datasets, if the package `datasets` is installed (extra `datasets`).

`hf:NAME`, `hf:NAME:SPLIT` or `hf:NAME:CONFIG:SPLIT` names one; NAME is a folder, a Parquet or Arrow file, or a dataset
of the hub, and SPLIT may be several with a plus, such as `train+test`. Always holds: no code of a dataset is run; class
labels become names; a dataset that cannot be opened is a `DataError` that names it and the available splits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seasoned.errors import DataError, MissingExtraError

PREFIX = "hf:"
MAX_ROWS = 500_000
_KINDS = {".parquet": "parquet", ".arrow": "arrow"}
_SAVED = ("dataset_dict.json", "dataset_info.json")  # files in a folder of `save_to_disk`


def is_dataset(place: Path | str) -> bool:
    """Whether a path names a dataset."""
    return str(place).startswith(PREFIX)


def dataset_lines(place: Path | str) -> Iterator[tuple[int, str]]:
    """The rows of a dataset as JSON objects, with their numbers from 1.

    Raises:
        DataError: the name is malformed, there is no such dataset or split, or it has too many rows.
        MissingExtraError: the package `datasets` is not installed.
    """
    name, _, rest = str(place).removeprefix(PREFIX).partition(":")
    config, _, split = rest.rpartition(":")
    if not name or ":" in config:
        raise DataError(f"expected hf:NAME, hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT, but got {place}")
    number = 0
    for part in _splits(place, _open(place, name, config), split):
        labels = {column: kind for column, kind in part.features.items() if hasattr(kind, "int2str")}
        for values in part:
            number += 1
            if number > MAX_ROWS:
                raise DataError(f"{place} has more than {MAX_ROWS} rows: name a smaller split, or save a part of it")
            named = {column: _label(values[column], kind) for column, kind in labels.items()}
            yield number, json.dumps({**values, **named}, ensure_ascii=False, default=str)


def _label(value: Any, kind: Any) -> Any:
    return kind.int2str(value) if isinstance(value, int) and value >= 0 else None


def _open(place: Path | str, name: str, config: str) -> Any:
    """A dataset, or its splits by name."""
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError("datasets", "datasets") from error
    path = Path(name).expanduser()
    try:
        if any((path / file).is_file() for file in _SAVED):
            return datasets.load_from_disk(str(path))
        if path.is_file() and path.suffix in _KINDS:
            return datasets.load_dataset(_KINDS[path.suffix], data_files=str(path))
        return datasets.load_dataset(str(path) if path.exists() else name, config or None)
    except Exception as error:  # datasets, the hub, Arrow and the network all have different errors
        message = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataError(f"the dataset {place} cannot be opened: {message[:300]}") from error


def _splits(place: Path | str, dataset: Any, split: str) -> list[Any]:
    """The named splits, or the only one."""
    splits = dataset if isinstance(dataset, Mapping) else {"": dataset}
    names = split.split("+") if split else list(splits)
    if len(splits) > 1 and not split:
        raise DataError(f"{place} has the splits {', '.join(splits)}: name one, as in {place}:{next(iter(splits))}")
    if unknown := [one for one in names if one not in splits]:
        hint = f"it has {', '.join(splits)}" if "" not in splits else "it has no splits: leave it out"
        raise DataError(f"{place} has no split {unknown[0]!r}; {hint}")
    return [splits[one] for one in names]
