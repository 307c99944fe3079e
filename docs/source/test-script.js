// The search of the pages finds what a reader would ask for.
//
//     node docs/source/test-script.js        after `make docs`; the last line is
//                                     "N passed, N failed"

"use strict";

const fs = require("fs"), path = require("path"), vm = require("vm");

// In place of a browser: whatever the script asks of it gives itself.
const any = new Proxy(function () {}, {
    get: () => any, set: () => true, apply: () => any, construct: () => any,
});
const page = vm.createContext({ document: any, window: any,
    location: { search: "", hash: "", pathname: "/index.html", origin: "" } });
for (const name of ["script.js", "texts.js"])
    vm.runInContext(fs.readFileSync(path.join(__dirname, "..", name), "utf8"), page);
const FOUND = vm.runInContext("FOUND", page), MOST = vm.runInContext("MOST", page);
const find = page.find, counts = { ok: 0, FAIL: 0 };

function claim(holds, text) {
    const said = holds ? "ok" : "FAIL";
    counts[said]++;
    console.log(said.padEnd(5) + text);
}

// What is asked for, and where the first thing that is found leads to.
const FIRST = {
    "EOS": "09-masks.html#END",
    "bos": "09-masks.html#START",
    "dk": "02-attention.html#attention_backward",
    "KV cache": "12-decoding.html#LayerCache",
    "cache kv": "12-decoding.html#LayerCache",
    "label smoothing": "11-training.html#loss_forward",
    "causal mask": "09-masks.html#causal_mask",
    "--merges": "14-saving.html#option-merges",
    "label-smoothing": "14-saving.html#option-label-smoothing",
    "K": "00-manual.html#manual-letters",
    "perplexity": "15-commands.html#evaluate_command",
    "bias correction": "11-training.html#adam_step",
    "dropout mask": "02-attention.html#Dropout",
    "cross-entropy": "11-training.html#loss_forward",
    "SOFTMAX_R": "02-attention.html#softmax_row",
    "questions": "00-manual.html#manual-questions",
    "Where is EOS?": "09-masks.html#END",
    "what does --merges do": "14-saving.html#option-merges",
    "overfitting?": "own-language.html#is-it-overfitting",
    // what readers of other programs ask for
    "loss.backward()": "02-attention.html#attention-how-to-differentiate-a-program",
    "nn.Embedding": "04-embedding.html#embedding_forward",
    "MultiheadAttention": "03-multi-head.html#multi_head_forward",
    "masked_fill": "02-attention.html#Mask",
    "permute": "01-numbers.html#Mat",
    "einsum": "01-numbers.html#matmul_definition",
    "DataLoader": "09-masks.html#Batch",
    "no_grad": "11-training.html#evaluate_loss",
    "rotary": "../notebook/17-since-2017.ipynb",
    "RMSNorm": "../notebook/17-since-2017.ipynb",
    "RoPE": "../notebook/17-since-2017.ipynb",
    "SwiGLU": "../notebook/17-since-2017.ipynb",
    "GQA": "../notebook/17-since-2017.ipynb",
    "flash attention": "gpt.html#what-large-models-do-differently",
    "LSTM": "../notebook/08-rnn.ipynb",
    "encoder-only": "../notebook/15-classifier.ipynb",
    "classifier": "../notebook/15-classifier.ipynb",
    "BERT": "../notebook/18-pretrained.ipynb",
    "extrapolation": "../notebook/03-positions.ipynb",
    "complexity": "../notebook/13-cost.ipynb",
    "permutation": "04-embedding.html#embedding-where-a-token-stands",
    "GPU": "01-numbers.html#numbers-shape-and-several-threads",
    "MPI": "../notebook/19-machines.ipynb",
    "data parallelism": "../notebook/19-machines.ipynb",
    "residual stream": "06-residual.html#residual_enter",
    "gradient of memory": "08-decoder.html#decoder_layer_backward",
    "why divide by sqrt": "02-attention.html#attention_forward",
    // what stands in the text
    "saturated from the start": "02-attention.html#attention-break-it",
    "message catalogues": "own-language.html#where-pairs-come-from",
    "why does post-norm need warm-up": "../notebook/05-norms.ipynb",
    "Gradescope": "teacher.html#gradescope",
    "Radford": "gpt.html#what-a-decoder-only-model-drops",
    "bahdanau": "../notebook/08-rnn.ipynb",
    "OpenMP macOS": "using.md",
    "saturatde": "02-attention.html#attention_forward", // a slip of the finger
};
claim(find("softmax").length === 0, "before the texts are there, nothing is found");
page.indexAll();
for (const [query, address] of Object.entries(FIRST)) {
    const [first] = find(query);
    claim(first && first[1] === address,
        `"${query}" finds ${address}` + (first && first[1] === address ? ""
            : `, not ${first && first[1]}`));
}

const hidden = FOUND.filter(([kind, address, name]) => kind !== "section" && !find(name)
    .slice(0, MOST).some(row => row[1] === address)).map(row => row[2]);
claim(!hidden.length, `each of ${FOUND.length} things is found by its name`
    + (hidden.length ? `, but not ${hidden}` : ""));
claim(find("qwxz").length === 0, "what is not there is not found");
claim(find("  ").length === 0, "blanks find nothing");
claim(find("Pâdding")[0][1] === find("padding")[0][1],
    "neither case nor accents count");
const sentences = find("token").filter(row => row[0] === "term").map(row => row[4]);
claim(sentences.length > 3 && new Set(sentences).size === sentences.length,
    "a term of several names comes once");
const [[, , , , said]] = find("spreads evenly over hidden");
claim(/spread evenly/.test(said), `the sentence with the words is shown: ${said}`);
const [[, , , , sqrt]] = find("paper divides the scores of attention");
claim(/by √d_k/.test(sqrt), `a formula is shown as it is read: ${sqrt}`);

// Blanks: what is said of a number that has been typed.
const usual = [["2", "the sum is missing"], ["0.278", "added"]];
for (const [typed, answer, said] of [
    ["-1/2", "-1/2", ""], [" -0.5 ", "-1/2", ""], ["−1/2", "-1/2", ""], [".5", "1/2", ""],
    ["0,5", "1/2", ""], ["0.41", "0.408", "not yet"], ["0.4076", "0.408", ""],
    ["0.407", "0.408", ""], ["0.41", "0.4", "not yet"], ["2", "-1/2", "the sum is missing"],
    ["4/2", "-1/2", "the sum is missing"], ["0.2780", "0.211", "added"],
    ["1/0", "1", "not yet"], ["log 2", "0.693",
        "a number is wanted, such as -1/2 or 0.25"], ["1/2/3", "1/2",
        "a number is wanted, such as -1/2 or 0.25"]])
    claim(page.judge(typed, answer, usual) === said, `${typed} for ${answer}: `
        + `"${page.judge(typed, answer, usual)}"`);

console.log(`${counts.ok} passed, ${counts.FAIL} failed`);
process.exitCode = counts.FAIL > 0 ? 1 : 0;
