#!/usr/bin/env python3
"""Writes tests/data/files/tokenizers: tokenizer.json files in the forms of well-known models, trained by Hugging Face's
`tokenizers` on a small text, and what that library makes of awkward texts (expected.json), for test_tokenizer.c."""
import json, os, random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", "tokenizers")
words = """the a of ship line load cargo harbour captain water deep sail sailing sailed wind windy storm north south compass
don't it's we'll they've I'm you'd you're can't mast masts 10 100 1876 2024 3.14 12,000 weight weights weighing""".split()
other = ["naïve café", "Straße über", "Привет мир", "你好 世界", "日本語のテキスト", "안녕하세요", "שלום", "مرحبا بالعالم", "नमस्ते", "🙂🚢⚓"]
draw = random.Random(1)
corpus = [" ".join(draw.choice(words) for _ in range(12)) + draw.choice([".", "!", "?", ";\n", "\n\n", "  ok"]) for _ in range(600)]
corpus += [draw.choice(other) + " " + draw.choice(words) for _ in range(200)]

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def train(tokenizer, size, specials, **more):
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False, **more))
    return tokenizer


def gpt2():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return train(t, 700, ["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def roberta():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    return train(t, 500, ["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def llama3():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 700, ["<|begin_of_text|>", "<|eot|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    t.add_tokens([AddedToken("  ship  ", normalized=False)])
    return t


def starcoder():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    return train(t, 600, [AddedToken("<fim>", normalized=False, special=True)], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def llama():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    specials = [AddedToken(s, normalized=False, special=True) for s in ("<unk>", "<s>", "</s>")]
    train(t, 900, specials + [f"<0x{i:02X}>" for i in range(256)])
    made = json.loads(t.to_str())
    made["pre_tokenizer"] = None  # as the files of LLaMA have it: one piece
    made["added_tokens"] = [a for a in made["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(made))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return t


def metaspace(scheme):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=scheme == "first"))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    t.decoder = decoders.Metaspace(prepend_scheme=scheme)
    return train(t, 400, [AddedToken("<unk>", normalized=False, special=True), AddedToken("[SEP]", normalized=False, special=True)],
                 limit_alphabet=60)


def removed():
    t = Tokenizer(models.BPE(unk_token="?"))
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(" ", "removed"),
                                               pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}+"), "removed", invert=True)])
    return train(t, 300, [AddedToken("?", normalized=False)])


tokenizers = {"gpt2": gpt2(), "roberta": roberta(), "llama3": llama3(), "starcoder": starcoder(), "llama": llama(),
              "metaspace-first": metaspace("first"), "metaspace-always": metaspace("always"), "removed": removed()}

texts = ["", " ", "  ", "\n", "a", " a", "a ", "  a  b   c    ", "the ship's captain didn't sail", "I'LL SAY IT'S FINE",
         "line one\nline two\n\n\nline five\r\nand\tsix \n", "12345678901234 1,000,000 ½ ⅷ ١٢٣ 4th", "naïve café vs cafe\u0301 nai\u0308ve",
         "ﬁne ﬀ ℌ Å Å ① ㎏", "👩‍👩‍👧‍👦 🇩🇪🏴󠁧󠁢󠁳󠁣󠁴󠁿 🚢⚓️", "\u00a0nbsp\u2003em\u2028line\u2029para\u0085nel\u180emvs\u200bzwsp\ufeffbom\u3000wide",
         "\x1c\x1d\x1e\x1f \x0b\x0c \x7f\x01", "…—“quoted” ‘it’s’ don’t", "Привет мир, 你好世界! 日本語のテキスト 안녕 שלום مرحبا नमस्ते",
         "<|endoftext|>the<|endoftext|> <s>ship</s> <unk>[SEP] load [SEP]", "<|begin_of_text|>sail  ship  sail<|eot|><|eot", "<fim>12<fim>ab",
         "▁already▁marked ▁x", "\U00010348\U0001F9FF\U000E0001\u0378 unassigned", "!!!???...\n\n...", "word.\nNext\n.x\n  y", "a" * 300, " " * 70 + "x" + "\n" * 9,
         "x\u0301\u0302\u0303\u0323", "<0x41><0x0A>", "Ġ Ċ ġ ĉ"]
blocks = [(0x20, 0x7e), (0x20, 0x20), (0x0a, 0x0d), (0x61, 0x7a), (0xa0, 0x17f), (0x300, 0x34f), (0x370, 0x52f), (0x590, 0x6ff), (0x900, 0x97f),
          (0xe00, 0xe7f), (0x1100, 0x11ff), (0x1e00, 0x1fff), (0x2000, 0x2bff), (0x3000, 0x30ff), (0x4e00, 0x4fff), (0xac00, 0xacff),
          (0xfb00, 0xfeff), (0x1d400, 0x1d7ff), (0x1f300, 0x1faff)]
for _ in range(40):
    out = ""
    for _ in range(draw.randint(3, 12)):
        low, high = draw.choice(blocks)
        out += "".join(chr(draw.randint(low, high)) for _ in range(draw.randint(1, 5)))
    texts.append(out)

expected = []
for name, t in tokenizers.items():
    t.save(os.path.join(here, name + ".json"), pretty=False)
    for text in texts:
        made = t.encode(text, add_special_tokens=False)
        expected.append({"tokenizer": name, "text": text, "ids": made.ids, "decoded": t.decode(made.ids)})
with open(os.path.join(here, "expected.json"), "w") as out:
    out.write("[\n" + ",\n".join(json.dumps(e) for e in expected) + "\n]\n")
