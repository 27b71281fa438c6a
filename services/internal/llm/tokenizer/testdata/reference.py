"""The reference that the tokenizers of this package are compared with: the PyPI package `tokenizers`.

    reference.py train TEXT DIR    trains a small vocabulary per published split pattern on a text, for DIR/*.json
    reference.py ids FILE          answers each line of JSON texts with a line of JSON ids, as FILE cuts it
"""

import json
import sys

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CASED = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s|%s| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
PLAIN = SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def split(expression):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])


LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
BYTES = {
    "gpt-2": LEVEL,
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), LEVEL]),
    "llama-bpe": split(PLAIN % r"\p{N}{1,3}"),
    "qwen2": split(PLAIN % r"\p{N}"),
    "gpt-4o": split(CASED % (SHORT + "?", SHORT + "?", r"\p{N}{1,3}")),
    "tekken": split(CASED % ("", "", r"\p{N}")),
}
BLANK = "\u2581"


def byte_level(name, pre, text):
    t = Tokenizer(models.BPE(ignore_merges=name in ("llama-bpe", "tekken")))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    if name == "qwen2":
        t.normalizer = normalizers.NFC()
    t.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=900, show_progress=False, special_tokens=["<|begin|>", "<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if name == "llama-bpe":
        t.post_processor = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", t.token_to_id("<|begin|>"))])
    return t


def characters(name, text):
    t = Tokenizer(models.BPE(byte_fallback=name != "unknown", unk_token="<unk>", fuse_unk=True))
    t.decoder = decoders.Replace(BLANK, " ")
    if name == "metaspace":
        t.pre_tokenizer = pre_tokenizers.Metaspace(replacement=BLANK, prepend_scheme="first", split=True)
    else:
        steps = [normalizers.Replace(" ", BLANK)]
        if name == "prefix":
            steps.insert(0, normalizers.Prepend(BLANK))
        t.normalizer = normalizers.Sequence(steps)
        t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    lines = text.splitlines(keepends=True)
    t.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=1100, limit_alphabet=400, show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>", "\n\n"] + ["<0x%02X>" % b for b in range(256)]))
    own = json.loads(t.to_str())
    for a in own["added_tokens"]:
        a["special"] = a["content"] != "\n\n"
    # The tokens of bytes belong to the vocabulary and are not cut out of a text.
    own["added_tokens"] = [a for a in own["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(own))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    return t


def train(path, folder):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for name, pre in BYTES.items():
        byte_level(name, pre, text).save(f"{folder}/{name}.json", pretty=False)
    for name in ("gemma", "prefix", "metaspace", "unknown"):
        characters(name, text).save(f"{folder}/{name}.json", pretty=False)


def ids(path):
    t = Tokenizer.from_file(path)
    for line in sys.stdin:
        print(json.dumps(t.encode(json.loads(line)).ids))


if __name__ == "__main__":
    {"train": train, "ids": ids}[sys.argv[1]](*sys.argv[2:])
