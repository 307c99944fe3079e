"""The tokenizers of GPT-2 and BERT once more, in Python, and texts that
are hard to cut. What they say is compared with the C program."""
import random
import re
import sys
import unicodedata

from lib import hub

CATEGORY = [unicodedata.category(chr(n)) for n in range(sys.maxunicode + 1)]


def character_class(wanted):
    """What stands between the brackets of a regular expression for the
    characters whose number is wanted."""
    ranges = []
    for n in filter(wanted, range(sys.maxunicode + 1)):
        if ranges and ranges[-1][1] == n - 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


LETTERS = character_class(lambda n: CATEGORY[n][0] == "L")
NUMBERS = character_class(lambda n: CATEGORY[n][0] == "N")
SPACES = character_class(lambda n: n in range(9, 14) or n == 0x85
                         or CATEGORY[n] in ("Zs", "Zl", "Zp"))
GPT2_PATTERN = (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|"
                r" ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def compiled(pattern):
    r"""A pattern with \p and \s, which Python's re does not know so."""
    pattern = pattern.replace(r"[^\s\p{L}\p{N}]",
                              f"[^{SPACES}{LETTERS}{NUMBERS}]")
    for sign, inside in ((r"\p{L}", LETTERS), (r"\p{N}", NUMBERS),
                         (r"\s", SPACES)):
        pattern = pattern.replace(sign, f"[{inside}]")
    return re.compile(pattern.replace(r"\S", f"[^{SPACES}]"))


# ---------------------------------------------------------------- added words

def around(text, words, rest):
    """The numbers of a text. `words` are found first, the longest where several
    begin: [(text, number, switches)], with the blanks that their switches say;
    rest(…) cuts what is between them."""
    found, end = [], 0
    blanks = f"[{SPACES}]*"
    either = "|".join(f"{blanks if 'lstrip' in how else ''}({re.escape(word)})"
                      f"{blanks if 'rstrip' in how else ''}"
                      for word, _, how in sorted(words, key=lambda w: -len(w[0])))
    number = {word: n for word, n, _ in words}
    for match in re.finditer(either, text) if words else ():
        found += [*rest(text[end:match.start()]), number[match[match.lastindex]]]
        end = match.end()
    return found + rest(text[end:])


class Tokenizer:
    """Finds words that were added around cut(…), before and after normal(…)."""
    words = ()

    def normal(self, text):
        return text

    def inside(self, text):
        return around(self.normal(text), [
            (self.normal(word), n, how) for word, n, how in self.words
            if "normalized" in how], self.cut)

    def encode(self, raw):
        """Bytes -> numbers"""
        return around(raw.decode("utf-8", "replace"), [
            word for word in self.words if "normalized" not in word[2]],
            self.inside)


# ---------------------------------------------------------------- byte pairs

class BytePairs(Tokenizer):
    def __init__(self, vocab, merges, words=None):
        self.words = ([("<|endoftext|>", vocab["<|endoftext|>"], ())]
                      if words is None else words)
        self.vocab = vocab
        self.rank = {pair: n for n, pair in enumerate(merges)}
        self.character = hub.byte_characters()
        self.pattern = compiled(GPT2_PATTERN)
        self.known = {}

    def join(self, piece):
        """A piece, as characters for bytes -> its tokens' numbers."""
        word = tuple(piece)
        while len(word) > 1:
            best = min(zip(word, word[1:]),
                       key=lambda pair: self.rank.get(pair, len(self.rank)))
            if best not in self.rank:
                break
            word = hub.joined(word, best)
        return [self.vocab[token] for token in word]

    def cut(self, text):
        found = []
        for piece in self.pattern.findall(text):
            piece = "".join(self.character[b] for b in piece.encode())
            if piece not in self.known:
                self.known[piece] = self.join(piece)
            found += self.known[piece]
        return found


# ---------------------------------------------------------------- word pieces

SPECIAL = ("[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]")
CHINESE = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF),
           (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
           (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


def is_punctuation(c):
    return (33 <= ord(c) <= 47 or 58 <= ord(c) <= 64 or 91 <= ord(c) <= 96
            or 123 <= ord(c) <= 126 or CATEGORY[ord(c)][0] == "P")


class WordPieces(Tokenizer):
    def __init__(self, tokens, lower=True, strip=None, chinese=True, words=()):
        self.id = {token: n for n, token in enumerate(tokens)}
        self.words = [*((word, self.id[word], ()) for word in SPECIAL), *words]
        self.lower, self.chinese = lower, chinese
        self.strip = lower if strip is None else strip

    def normal(self, text):
        found = ""
        for c in text:
            if c in "\t\n\r" or CATEGORY[ord(c)] in ("Zs", "Zl", "Zp"):
                found += " "
            elif ord(c) != 0xFFFD and CATEGORY[ord(c)] not in ("Cc", "Cf", "Co"):
                chinese = self.chinese and any(a <= ord(c) <= b
                                               for a, b in CHINESE)
                found += f" {c} " if chinese else c
        if self.strip:
            found = "".join(c for c in unicodedata.normalize("NFD", found)
                            if CATEGORY[ord(c)] != "Mn")
        return "".join(c.lower() for c in found) if self.lower else found

    def pieces(self, word):
        found, first = [], 0
        if len(word) > 100:
            return [self.id["[UNK]"]]
        while first < len(word):
            for end in range(len(word), first, -1):
                piece = ("##" if first else "") + word[first:end]
                if piece in self.id:
                    break
            else:
                return [self.id["[UNK]"]]
            found.append(self.id[piece])
            first = end
        return found

    def cut(self, text):
        spaced = "".join(f" {c} " if is_punctuation(c) else c for c in text)
        return [n for word in spaced.split(" ") if word
                for n in self.pieces(word)]

    def encode(self, raw):
        return [self.id["[CLS]"], *super().encode(raw), self.id["[SEP]"]]


# ---------------------------------------------------------------- hard texts

POOLS = (
    *(["the", "Transformer", "I'm", "they'll", "DON'T", "'S", "'ſa", "x'dx",
       "''s", "can't", "embedding"] for _ in range(3)),
    [" ", "  ", "   ", "\t", "\n", "\r\n", " \n ", "\n\n", " "],
    ["\u00a0", "\u2003", "\u2028", "\u2029", "\u3000", "\u1680", "\u202f",
     "\u200b", "\u0085", "\ufeff", "\x1c", "\x1d", "\x1e", "\x1f", "\x0b",
     "\x0c"],
    ["0", "7", "42", "1234567", "3.14", "١٢٣", "½", "Ⅳ", "²", "१२", "𝟘"],
    ["é", "e\u0301", "ÀÉÎ", "İ", "ΑΣ", "Σ", "ß", "ẞ", "ſ", "ﬁ", "Ǆ", "Å", "Å"],
    ["中文", "漢字", "豈", "㐀", "𠀀", "ひらがな", "カタカナ", "。", "「", "々"],
    ["한국어", "한", "하", "각", "ᄒ", "ᅡ", "ᆫ", "갂"],
    ["😀", "👩‍👩‍👧", "🇫🇷", "👍🏽", "✈️", "❤"],
    ["\x01", "\x07", "\x7f", "\x80", "\x9f", "\u00ad", "\u200d", "\u200e"],
    ["\ue000", "\uf8ff", "\U000f0000", "\U0010fffd", "\ufffe", "\uffff",
     "\ufffd"],
    ["$", "+", "^", "`", "|", "~", "€", "—", "…", "“a”", "...", "!?", "#"],
    ["\u302e\u1b44", "e\u302e\u0301\u1b44", "\u302e\u0903\u1b44",
     "\u0308", "\u0301\u0323", "\u0323\u0301", "\u302e\u302f", "का", "ศ์"],
    ["[MASK]", "[CLS]", "[mask]", "[PAD", "<|endoftext|>", "##the"],
)
BROKEN = (b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80",
          b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\x80", b"\xf8\x88\x80\x80\x80",
          b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xc3(")


def hard_texts(count, seed=1):
    """Texts as bytes, without a zero byte. Some have broken characters, some
    any character of Unicode, and some have a word that is very long."""
    dice = random.Random(seed)
    any_character = [n for n in range(1, sys.maxunicode + 1)
                     if not CATEGORY[n].startswith("C")]
    texts = [b"", b" ", b"\n", b"a" * 100, b"a" * 101, b"'", b" '",
             b"aaab" * 99]
    while len(texts) < count:
        text = b""
        for _ in range(dice.randrange(1, 14)):
            kind = dice.random()
            text += (dice.choice(BROKEN) if kind < 0.03 else
                     chr(dice.choice(any_character)).encode() if kind < 0.2 else
                     dice.choice(dice.choice(POOLS)).encode())
            text += b" " * (dice.random() < 0.3)
        texts.append(text)
    return texts


def write_texts(path, texts):
    """For 18-pretrained tokens."""
    with open(path, "wb") as file:
        file.writelines(text + b"\0" for text in texts)
