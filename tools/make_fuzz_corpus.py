#!/usr/bin/env python3
"""Writes the seed inputs of the fuzz targets: tiny models with fixed pseudo-random weights.

  make_fuzz_corpus.py [tests/fuzz/corpus]

GGUF: one file per tensor type and family, a vocabulary-only file, version 2. Safetensors and PyTorch:
config.json, a NUL byte, the file. Config: an override, a NUL byte, a text. Request: a byte for the route,
the body. Standard library only; the same bytes on every machine.
"""

import base64
import io
import json
import os
import random
import struct
import sys
import zipfile

U32, F32, STRING, ARRAY, U64 = 4, 6, 8, 9, 10
HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, VOCAB = 32, 2, 1, 16, 32, 24

# ggml type: (number, values per block, bytes per block, offsets of the block's f16 scales)
TYPES = {
    "f32": (0, 1, 4, None),
    "f16": (1, 1, 2, None),
    "bf16": (30, 1, 2, None),
    "q4_0": (2, 32, 18, (0,)),
    "q4_1": (3, 32, 20, (0, 2)),
    "q5_0": (6, 32, 22, (0,)),
    "q5_1": (7, 32, 24, (0, 2)),
    "q8_0": (8, 32, 34, (0,)),
    "iq4_nl": (20, 32, 18, (0,)),
    "q2_k": (10, 256, 84, (80, 82)),
    "q3_k": (11, 256, 110, (108,)),
    "q4_k": (12, 256, 144, (0, 2)),
    "q5_k": (13, 256, 176, (0, 2)),
    "q6_k": (14, 256, 210, (208,)),
    "iq4_xs": (23, 256, 136, (0,)),
}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def weights(rng, kind, count):
    _, values, size, scales = TYPES[kind]
    if kind == "f32":
        return struct.pack(f"<{count}f", *(rng.uniform(-0.5, 0.5) for _ in range(count)))
    if scales is None:
        base = 0x3E00 if kind == "bf16" else 0x3000
        return b"".join(
            struct.pack("<H", base | (rng.getrandbits(16) & 0x807F)) for _ in range(count)
        )
    out = bytearray(rng.randbytes(count // values * size))
    for block in range(0, len(out), size):
        for offset in scales:
            out[block + offset : block + offset + 2] = struct.pack(
                "<H", 0x1400 | rng.getrandbits(10)
            )
    return bytes(out)


def model_tensors(rng, kind, names, hidden, ffn, vocab):
    """(name, shape [outer, inner], kind, bytes) of a one-layer decoder."""
    q, kv = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    shapes = {
        "embed": (vocab, hidden),
        "q": (q, hidden),
        "k": (kv, hidden),
        "v": (kv, hidden),
        "o": (hidden, q),
        "gate": (ffn, hidden),
        "up": (ffn, hidden),
        "down": (hidden, ffn),
    }
    for part, name in names.items():
        if part in shapes:
            rows, cols = shapes[part]
            # 256-wide blocks do not divide the projection's width: it stays F32 there.
            own = kind if cols % TYPES[kind][1] == 0 else "f32"
            yield name, (rows, cols), own, weights(rng, own, rows * cols)
        else:
            width = HEAD_DIM if part.endswith("_norm_head") else hidden
            yield name, (width,), "f32", weights(rng, "f32", width)


def gguf(rng, arch, kind, version=3, with_tensors=True):
    hidden, vocab = HIDDEN, VOCAB
    ffn = max(FFN, TYPES[kind][1])  # blocks of 256 fit the down projection only
    tokens = ["<unk>", "<s>", "</s>"] + [chr(97 + i) for i in range(vocab - 3)]
    keys = [("general.architecture", STRING, text(arch))]
    for name, value in (
        ("block_count", 1),
        ("embedding_length", hidden),
        ("context_length", 64),
        ("feed_forward_length", ffn),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KV_HEADS),
        ("attention.key_length", HEAD_DIM),
        ("rope.dimension_count", HEAD_DIM),
        ("vocab_size", vocab),
    ):
        keys.append((f"{arch}.{name}", U32, struct.pack("<I", value)))
    keys.append((f"{arch}.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)))
    keys.append(("tokenizer.ggml.model", STRING, text("llama")))
    keys.append(
        (
            "tokenizer.ggml.tokens",
            ARRAY,
            struct.pack("<IQ", STRING, vocab) + b"".join(map(text, tokens)),
        )
    )
    keys.append(
        (
            "tokenizer.ggml.scores",
            ARRAY,
            struct.pack(f"<IQ{vocab}f", F32, vocab, *(-float(i) for i in range(vocab))),
        )
    )
    keys.append(
        (
            "tokenizer.ggml.token_type",
            ARRAY,
            struct.pack(f"<IQ{vocab}i", 5, vocab, 2, 3, 3, *([1] * (vocab - 3))),
        )
    )
    names = {
        "embed": "token_embd.weight",
        "last_norm": "output_norm.weight",
        "attn_norm": "blk.0.attn_norm.weight",
        "ffn_norm": "blk.0.ffn_norm.weight",
        "q": "blk.0.attn_q.weight",
        "k": "blk.0.attn_k.weight",
        "v": "blk.0.attn_v.weight",
        "o": "blk.0.attn_output.weight",
        "gate": "blk.0.ffn_gate.weight",
        "up": "blk.0.ffn_up.weight",
        "down": "blk.0.ffn_down.weight",
    }
    if arch in ("qwen3", "gemma3"):
        names |= {
            "q_norm_head": "blk.0.attn_q_norm.weight",
            "k_norm_head": "blk.0.attn_k_norm.weight",
        }
    if arch == "gemma3":
        names |= {
            "post1": "blk.0.post_attention_norm.weight",
            "post2": "blk.0.post_ffw_norm.weight",
        }
    tensors = list(model_tensors(rng, kind, names, hidden, ffn, vocab)) if with_tensors else []
    out = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(keys))
    out += b"".join(
        text(key) + struct.pack("<I", value_type) + value for key, value_type, value in keys
    )
    data = b""
    for name, shape, own, raw in tensors:
        dims = list(reversed(shape))
        out += text(name) + struct.pack(
            f"<I{len(dims)}QIQ", len(dims), *dims, TYPES[own][0], len(data)
        )
        data += raw + bytes(-len(raw) % 32)
    return out + bytes(-len(out) % 32) + data


def folder_parts(rng, arch, kind):
    """config.json, and (name, shape, kind, bytes) of the tensors, of a one-layer folder."""
    config = {
        "architectures": [arch],
        "hidden_size": HIDDEN,
        "intermediate_size": FFN,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "vocab_size": VOCAB,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "max_position_embeddings": 64,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
        "hidden_act": "silu",
    }
    layer = "model.layers.0."
    names = {
        "embed": "model.embed_tokens.weight",
        "last_norm": "model.norm.weight",
        "attn_norm": layer + "input_layernorm.weight",
        "ffn_norm": layer + "post_attention_layernorm.weight",
        "gate": layer + "mlp.gate_proj.weight",
        "up": layer + "mlp.up_proj.weight",
        "down": layer + "mlp.down_proj.weight",
    }
    names |= {part: f"{layer}self_attn.{part}_proj.weight" for part in "qkvo"}
    if arch.startswith("Qwen3"):
        names |= {f"{part}_norm_head": f"{layer}self_attn.{part}_norm.weight" for part in "qk"}
    tensors = list(model_tensors(rng, kind, names, HIDDEN, FFN, VOCAB))
    return json.dumps(config).encode(), tensors


def folder(rng, arch, kind):
    config, tensors = folder_parts(rng, arch, kind)
    header, data = {}, b""
    for name, shape, own, raw in tensors:
        header[name] = {
            "dtype": own.upper(),
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    head = json.dumps(header).encode()
    return config + b"\0" + struct.pack("<Q", len(head)) + head + data


STORAGES = {"f32": "FloatStorage", "f16": "HalfStorage", "bf16": "BFloat16Storage"}


def pickled_text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def pickled_global(module, name):
    return f"c{module}\n{name}\n".encode()


def pickled_sizes(values):
    return b"(" + b"".join(b"M" + struct.pack("<H", value) for value in values) + b"t"


def pickled_tensor(key, shape, strides, kind, is_old):
    """A call of torch._utils._rebuild_tensor_v2; the old layout names the storage's view."""
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    storage = (
        pickled_text("storage")
        + pickled_global("torch", STORAGES[kind])
        + pickled_text(key)
        + pickled_text("cpu")
        + b"J"
        + struct.pack("<i", count)
    )
    return (
        pickled_global("torch._utils", "_rebuild_tensor_v2")
        + b"(("
        + storage
        + (b"NtQ" if is_old else b"tQ")
        + b"K\0"
        + pickled_sizes(shape)
        + pickled_sizes(strides)
        + b"\x89"
        + pickled_global("collections", "OrderedDict")
        + b")RtR"
    )


def pytorch_folder(rng, arch, kind, is_old=False, transposed=""):
    """config.json, a NUL byte, what torch.save writes; one matrix may lie column by column."""
    config, tensors = folder_parts(rng, arch, kind)
    pickle = b"\x80\x02" + pickled_global("collections", "OrderedDict") + b")R("
    for key, (name, shape, own, _) in enumerate(tensors):
        strides = [1] if len(shape) == 1 else [shape[1], 1]
        if transposed and name.endswith(transposed):
            strides = [1, shape[0]]
        pickle += pickled_text(name) + pickled_tensor(str(key), shape, strides, own, is_old)
        if key < 128:
            pickle += b"q" + bytes([key])
    pickle += b"u}" + pickled_text("_metadata") + b"}sb."
    if is_old:
        data = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
        data += b"\x80\x02M\xe9\x03.\x80\x02}" + pickled_text("little_endian") + b"\x88s."
        data += pickle + b"\x80\x02]("
        data += b"".join(pickled_text(str(key)) for key in range(len(tensors))) + b"e."
        for _, shape, _, raw in tensors:
            count = shape[0] * (shape[1] if len(shape) > 1 else 1)
            data += struct.pack("<q", count) + raw
        return config + b"\0" + data
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        members = [("data.pkl", pickle), ("byteorder", b"little"), ("version", b"3\n")]
        members += [(f"data/{key}", tensor[3]) for key, tensor in enumerate(tensors)]
        for name, content in members:
            archive.writestr(zipfile.ZipInfo("m/" + name), content)
    return config + b"\0" + out.getvalue()


CONFIGS = {
    "new_key": ("a.b=[1, 2]", {"a": {"c": 1.5}, "weight_map": {"w": "m-1.bin", "v": "m-2.bin"}}),
    "integer": ("n=3", {"n": 2, "flags": [True, False], "ids": [1, 2], "x": [1, 2.5]}),
    "text": ("s=abc", {"s": "t", "deep": {"er": {"list": [1, "a", {"k": None}]}}, "none": None}),
    "array": ('names=["x"]', {"names": ["a", "b"], "empty": [], "big": 2**63, "tiny": -1e-300}),
    "null": ("rope=null", {"rope": {"type": "yarn", "factor": 2}}),
}


def json_tokenizer(model, **stages):
    value = {"version": "1.0", "added_tokens": [], "model": model, **stages}
    return b"\0" + json.dumps(value).encode() + b"\0abcab hello"


def tokenizers():
    """One file of each kind of tokenizer that fuzz_tokenizer reads; the first byte names the format."""
    letters = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}
    bpe = {"type": "BPE", "vocab": letters, "merges": ["a b", "ab c"]}
    pieces = [["<unk>", 0.0], ["\u2581", -2.0], ["a", -1.0], ["ab", -0.5]]
    marks = {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": "always",
        "split": True,
    }
    words = {"[UNK]": 0, "ab": 1, "##c": 2}
    split = {
        "type": "Split",
        "pattern": {"Regex": "\\w+|\\s"},
        "behavior": "Isolated",
        "invert": False,
    }
    ranks = b"".join(base64.b64encode(bytes([byte])) + f" {byte}\n".encode() for byte in range(256))
    return {
        "bpe": json_tokenizer(bpe, pre_tokenizer=split, normalizer={"type": "NFC"}),
        "unigram": json_tokenizer(
            {"type": "Unigram", "unk_id": 0, "vocab": pieces}, pre_tokenizer=marks, decoder=marks
        ),
        "wordpiece": json_tokenizer(
            {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": words,
            },
            pre_tokenizer={"type": "BertPreTokenizer"},
        ),
        "tiktoken": b"\2" + ranks + b"\0abc",
    }


# Bodies of requests; the first byte of a seed chooses the route: chat, completions, tokenize,
# detokenize, apply-template.
TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "hi \u00e9\U0001f600"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": "{}"}}]},
]
SAMPLING = {
    "n": 2,
    "seed": -3,
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": -1,
    "min_p": 0.1,
    "presence_penalty": 1,
    "frequency_penalty": -1,
    "repetition_penalty": 1.1,
    "logit_bias": {"1": 5, "2": -5.5},
    "allowed_token_ids": [1, 2],
    "bad_words": ["x y"],
    "stop": ["a", "b"],
    "stop_token_ids": [3],
}
REQUESTS = {
    "chat": (
        0,
        {"messages": TALK, "logprobs": True, "top_logprobs": 3, "max_completion_tokens": 9},
    ),
    "stream": (
        0,
        {"messages": TALK, "stream": True, "stream_options": {"include_usage": True}, "user": "u"},
    ),
    "tools": (0, {"messages": TALK, "tools": [{"type": "function"}], "tool_choice": "none"}),
    "sampling": (1, {"prompt": ["a", "b"], "max_tokens": 5, **SAMPLING}),
    "ids": (1, {"prompt": [[1, 2], [3]], "echo": True, "logprobs": 2, "max_tokens": 0}),
    "bias_list": (1, {"prompt": [1, 2], "logit_bias": [[1, 1.5]], "min_tokens": 2}),
    "times": (1, {"prompt": "x", "deadline_seconds": 1.5, "priority": -2, "cache_salt": "s"}),
    "tokenize": (2, {"content": "text", "add_special": False, "parse_special": True}),
    "detokenize": (3, {"tokens": [1, 2, 3]}),
    "template": (4, {"messages": TALK[:1], "chat_template_kwargs": {"a": [1]}, "documents": []}),
    "refused": (0, {"messages": TALK, "response_format": {"type": "json_object"}}),
}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "tests/fuzz/corpus"
    rng = random.Random(1)
    seeds = {f"fuzz_gguf/{kind}.gguf": gguf(rng, "llama", kind) for kind in TYPES}
    for arch in ("qwen2", "qwen3", "gemma3"):
        seeds[f"fuzz_gguf/{arch}.gguf"] = gguf(rng, arch, "q8_0")
    seeds["fuzz_gguf/version2.gguf"] = gguf(rng, "llama", "q4_0", version=2)
    seeds["fuzz_gguf/vocabulary.gguf"] = gguf(rng, "llama", "f32", with_tensors=False)
    for arch in ("LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM"):
        for kind in ("f32", "bf16", "f16"):
            seeds[f"fuzz_safetensors/{arch}.{kind}"] = folder(rng, arch, kind)
    for kind in STORAGES:
        seeds[f"fuzz_pytorch/llama.{kind}"] = pytorch_folder(rng, "LlamaForCausalLM", kind)
    for name, options in (
        ("old", {"is_old": True}),
        ("transposed", {"transposed": "up_proj.weight"}),
    ):
        seeds[f"fuzz_pytorch/{name}"] = pytorch_folder(rng, "LlamaForCausalLM", "bf16", **options)
    for name, (override, text_value) in CONFIGS.items():
        seeds[f"fuzz_config/{name}"] = override.encode() + b"\0" + json.dumps(text_value).encode()
    for name, data in tokenizers().items():
        seeds[f"fuzz_tokenizer/{name}"] = data
    for name, (route, body) in REQUESTS.items():
        seeds[f"fuzz_request/{name}"] = bytes([route]) + json.dumps(body).encode()
    for name, data in seeds.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
