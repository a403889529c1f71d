"""Safe reading of untrusted data: JSON, JSON lines, CSV, lines, and Python literals in a field.

`hf:NAME`, `hf:NAME:SPLIT` or `hf:NAME:CONFIG:SPLIT` names a Hugging Face dataset (extra `datasets`), whose rows are
read like those of a file. NAME is a folder, a Parquet or Arrow file, or a dataset of the hub; SPLIT may be several with
a plus, such as `train+test`. Always holds: nothing in a file or dataset is ever run or unpickled; an unreadable file is
a `DataError` that names the file, the line and the expected content; every returned text is valid Unicode.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seasoned.errors import DataError, MissingExtraError
from seasoned.files import MAX_FILE_BYTES, read_file, read_text

MAX_FIELD = 100_000
"""The most characters of a field (CSV) or a line (JSON lines); a file with more is an error."""

MAX_ROWS = 500_000
"""The most rows of a dataset."""

PREFIX = "hf:"

_SHOWN = 3
_KINDS = {".parquet": "parquet", ".arrow": "arrow"}
_SAVED = ("dataset_dict.json", "dataset_info.json")  # files in a folder of `save_to_disk`


class Row(NamedTuple):
    """One row: its first line, counted from 1, and its values by column."""

    line: int
    values: dict[str, Any]


def read_lines(path: Path | str) -> list[tuple[int, str]]:
    """The non-blank lines of a text, with their numbers from 1; DataError as in `read_text`, or if there are none."""
    numbered = dataset_lines(path) if is_dataset(path) else enumerate(read_text(Path(path)).split("\n"), 1)
    lines = [(n, line) for n, line in numbered if line.strip()]
    if not lines:
        raise DataError(f"{path} holds no rows")
    return [(n, line.rstrip("\r")) for n, line in lines]


def read_jsonl(path: Path | str, required: Sequence[str]) -> list[Row]:
    """The rows of a file with one JSON object per line, each with the `required` names.

    DataError as in `read_lines`, or if lines are no such objects (the message lists the first).
    """
    rows: list[Row] = []
    faults: list[str] = []
    for number, line in read_lines(path):
        values, fault = _object(line)
        if not fault and (missing := [name for name in required if name not in values]):
            fault = f"{', '.join(missing)} missing, found {', '.join(values) or 'no names'}"
        if fault:
            faults.append(f"line {number}: {fault}")
        else:
            rows.append(Row(number, values))
    if faults:
        more = f"; and {len(faults) - _SHOWN} more lines" if len(faults) > _SHOWN else ""
        raise DataError(f"{path} should hold one JSON object per line; {'; '.join(faults[:_SHOWN])}{more}")
    return rows


def _object(line: str) -> tuple[dict[str, Any], str]:
    if len(line) > MAX_FIELD:
        return {}, f"longer than {MAX_FIELD} characters"
    try:
        value = json.loads(line)
        _check_texts(value)
    except UnicodeEncodeError:
        return {}, "half of a surrogate pair, which is no character"
    except (ValueError, RecursionError) as e:
        return {}, f"not valid JSON ({e})"
    if not isinstance(value, dict):
        return {}, "not an object (a JSON array should be written with one object per line)"
    return value, ""


def read_json(path: Path, kind: type[dict[str, Any]] | type[list[Any]], most: int = MAX_FILE_BYTES) -> Any:
    """The JSON value of a file; DataError if the file is unreadable or too large, or has another kind of JSON."""
    expected = "a JSON array" if kind is list else "a JSON object"
    try:
        value = json.loads(read_file(path, most, advice="use a smaller set").decode("utf-8-sig"))
    except (ValueError, RecursionError) as e:
        raise DataError(f"{path} should hold {expected}, but is not valid JSON in UTF-8 ({e})") from e
    if not isinstance(value, kind):
        raise DataError(f"{path} should hold {expected}, but holds a {type(value).__name__}")
    return value


def read_csv(path: Path | str, required: Sequence[str]) -> list[Row]:
    """The rows of a CSV file, as texts; its first line names the columns, of which `required` must exist.

    Commas separate the values, or tabs if the first line has no comma. DataError as in `read_lines`, or if a column is
    missing (the message names it), or a line is broken or too long.
    """
    if is_dataset(path):
        return [Row(line, {k: _as_text(v) for k, v in values.items()}) for line, values in read_jsonl(path, required)]
    text = read_text(Path(path))
    first = text.lstrip().partition("\n")[0]
    delimiter = "\t" if "\t" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows: list[Row] = []
    last = 0
    try:
        for fields in reader:
            line, last = last + 1, reader.line_num
            if not any(f.strip() for f in fields):
                continue
            if not header:
                header = [f.strip() for f in fields]
                if missing := ", ".join(name for name in required if name not in header):
                    expected = f"{path} should have the columns {', '.join(required)}"
                    raise DataError(f"{expected}; {missing} missing, found {', '.join(header)}")
                continue
            if len(fields) != len(header):
                raise DataError(f"{path}, line {line}: {len(fields)} fields, but the header has {len(header)}")
            if max(map(len, fields)) > MAX_FIELD:
                raise DataError(f"{path}, line {line}: a field is longer than {MAX_FIELD} characters")
            rows.append(Row(line, dict(zip(header, fields, strict=True))))
    except csv.Error as e:
        raise DataError(f"{path}, line {last + 1}: not valid CSV ({e})") from e
    if not rows:
        raise DataError(f"{path} holds no rows")
    return rows


def _as_text(value: Any) -> str:
    """A value of a dataset in the form of a CSV file."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def read_literal(text: str) -> Any:
    """The value of a Python or JSON literal, such as `('a', 'b')` or `[{"a": null}]`; DataError if it is neither."""
    if len(text) > MAX_FIELD:
        raise DataError(f"a literal of {len(text)} characters is longer than {MAX_FIELD}")
    try:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = ast.literal_eval(text.strip())
        _check_texts(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as e:
        raise DataError(f"{text[:60]!r} is not a list, tuple, object or text that could be read") from e
    return value


def _check_texts(value: Any) -> None:
    """Raise UnicodeEncodeError if a text in `value` has half of a surrogate pair, which no store can keep."""
    flat = json.dumps(value, ensure_ascii=False, skipkeys=True, default=lambda v: list(v) if isinstance(v, set) else "")
    flat.encode("utf-8")


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
