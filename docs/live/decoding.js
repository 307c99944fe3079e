// The detail of the output: the decoding, word by word, with its cache; and the map of
// the book's first page.

const MOST_SIDE = 16;        // how many columns of a key or a value are shown

// What the program says, step by step, and what its cache holds in the end.
async function decodeAgain() {
  const steps = await flow.engine.call("decode_greedily", $("flow-source").value.trim());
  const layer = sizeIn("layers") - 1, cache = await flow.engine.call("cached", layer, flow.head);
  const visible = token => token.replaceAll(" ", "␣");
  const said = steps.map(([[token]]) => visible(token));
  return {steps: steps.map(step => step.map(([token, p]) => [visible(token), p])), said, layer, cache,
    head: flow.head, input: ["<start>", ...said.slice(0, -1)]};
}

async function decoding() {
  if (!flow.engine) throw new NotYet();
  if (flow.decoded?.head !== flow.head) flow.decoded = await decodeAgain();
  flow.word = Math.min(flow.word ?? countIn(state.get("at")), flow.decoded.steps.length - 1);
  return [{element: drawDecoding()}];
}

function goToWord(word) {
  flow.word = Math.max(0, Math.min(word, flow.decoded.steps.length - 1));
  remember("at", flow.word, 0);
  const at = [...document.querySelectorAll("#decoding button")].indexOf(document.activeElement);
  $("decoding").replaceWith(drawDecoding());
  document.querySelectorAll("#decoding button")[at]?.focus();
}

function drawDecoding() {
  const {steps, said, input, layer, head} = flow.decoded, {word} = flow, of = name => make("tbody", {id: name});
  const button = (text, by) => make("button", {textContent: text, onclick: () => goToWord(word + by),
    ariaDisabled: !(word + by in steps)});
  const captioned = (text, body, ...more) => make("table", {}, make("caption", {}, text), ...more, body);
  const likeliest = of("likeliest"), cache = of("cache");
  likeliest.append(...steps[word].map(likely));
  cache.append(...upTo(input.length).map(i => make("tr", {className: i === word ? "new" : ""},
    make("th", {scope: "row"}, input[i]), ...cacheCells(i, i <= word))));
  return make("div", {id: "decoding"},
    make("div", {className: "line"}, button("Previous word", -1), button("Next word", 1),
      `word ${word + 1} of ${steps.length}`),
    ...[...flow.edits.keys()].every(key => isParameter(key.split(",")[0])) ? []
      : [make("p", {className: "hint"}, "This is decoded anew: only your changes to parameters count here.")],
    make("p", {id: "step-says"}, input.slice(0, word + 1).join(" ") + " → ",
      make("b", {}, said[word])),
    captioned("The likeliest next words; the model takes the first", likeliest),
    captioned(`The cache grows: one key and one value a word. Decoder, layer ${layer}, head ${head}`,
      cache));
}

function likely([token, probability], n) {
  const bar = make("td", {className: "bar"});
  bar.style.setProperty("--share", `${(100 * probability).toFixed(1)}%`);
  return make("tr", {className: n ? "" : "chosen"}, make("th", {scope: "row"}, token),
    make("td", {}, probability < 0.0001 ? "< 0.0001" : probability.toFixed(4)), bar);
}

// The cells of one position; those of a position that is not reached yet are empty.
function cacheCells(i, open) {
  return ["k", "v"].flatMap(name => {
    const rows = flow.decoded.cache[name], most = Math.max(...rows.flat().map(Math.abs));
    return rows[i].slice(0, MOST_SIDE).map((x, p) => {
      const cell = make("td", {className: `tone-${name === "k" ? "key" : "value"}${p ? "" : " first"}`,
        title: open ? `${name}[${i}][${p}] = ${x}` : ""});
      if (open) tint(cell, x, most);
      return cell;
    });
  });
}

// --------------------------------------------------------------- the start page

// Sends the start page of the book what it draws: where the model looks, as the mean of the
// last layer's heads, for a sentence that the start page has sent.
async function sendMap() {
  const path = `decoder.${sizeIn("layers") - 1}.cross_attention`, {source, input, expected} = flow.facts;
  const weights = await looks(path, input.length);
  parent.postMessage({sentence: $("flow-source").value, looked: source, wrote: expected, weights}, "*");
}

addEventListener("message", ({source, data}) => {
  if (source !== parent || !data.sentence) return;
  $("flow-source").value = data.sentence;
  $("flow-source").dispatchEvent(new Event("input"));
});
