// The search of the pages finds what a reader would ask for.
//
//     node docs/test-script.js        after `make docs`; the last line is
//                                     "N passed, N failed"

"use strict";

const fs = require("fs"), path = require("path"), vm = require("vm");

// In place of a browser: whatever the script asks of it gives itself.
const any = new Proxy(function () {}, {
    get: () => any, set: () => true, apply: () => any, construct: () => any,
});
const page = vm.createContext({ document: any, window: any });
vm.runInContext(fs.readFileSync(path.join(__dirname, "script.js"), "utf8"), page);
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
    "dropout mask": "01-numbers.html#Dropout",
    "cross-entropy": "11-training.html#loss_forward",
    "SOFTMAX_R": "02-attention.html#softmax_row",
    "questions": "00-manual.html#manual-questions",
    "Where is EOS?": "09-masks.html#END",
    "what does --merges do": "14-saving.html#option-merges",
    "overfitting?": "own-language.html#is-it-overfitting",
};
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
claim(find("past_key_values key-value").length === 0 && find("qwxz").length === 0,
    "what is not there is not found");
claim(find("  ").length === 0, "blanks find nothing");
claim(find("Pâdding")[0][1] === find("padding")[0][1],
    "neither case nor accents count");
const sentences = find("token").filter(row => row[0] === "term").map(row => row[4]);
claim(sentences.length > 3 && new Set(sentences).size === sentences.length,
    "a term of several names comes once");

console.log(`${counts.ok} passed, ${counts.FAIL} failed`);
process.exitCode = counts.FAIL > 0 ? 1 : 0;
