// The GPT of One sentence: the same without a source. What differs from a
// translator, and the text that it writes on.

// What One sentence asks of each kind of model: the functions of the program, the
// paths of the stages, what a reader has typed as the program takes it, and a token
// as it is shown.
const TRANSLATOR = {
  load: "load", begin: "flow_begin", text: "sentence", stages: {},
  sides: {encoder: "source", decoder: "target"}, writer: "decoder",
  reads: {encoder: "the encoder reads", decoder: "the decoder has read"},
  tensor: "decoder.0.cross_attention.query.weight",
  first: () => sentences()[0],
  bytes: async () => viewer.bytes,
  typed: text => text.trim(),
  visible: token => token.replaceAll(" ", "␣"),
  invisible: shown => shown.replaceAll("␣", " "),
  unknown: facts => facts.source.includes("<unknown>"),
  follow: async () => {},
};

// In its text a blank belongs to the word after it. A token that goes on with a word
// has no blank of its own.
const GPT = {
  load: "gpt_load", begin: "gpt_begin", text: "text",
  sides: {encoder: "text"}, writer: "encoder", reads: {encoder: "the model has read"},
  tensor: "encoder.0.self_attention.query.weight",
  first: () => "the red car is",
  bytes: async () => models.get("gpt").bytes ??= await unpacked("gpt.safetensors"),
  typed: text => text.trim().replace(/^(?=[\p{L}\p{N}])/u, " "),
  visible: token => /^<\w+>$/.test(token) ? token
    : (token.startsWith(" ") ? token.slice(1) || "·" : "…" + token).replaceAll("␠", "␣"),
  invisible: shown => shown.replace(/^[…·]/, "").replaceAll("␣", " "),
  unknown: facts => facts.input.includes("<unknown>"),
  follow: () => showNext(),
  // Where its stages are told in another way than those of a translator.
  stages: {
    embedding: {says: "Each token has a row of a table that is learned: its embedding. It is " +
      "multiplied by √D, where D is the number of columns. Here a token is a word together with " +
      "the blank before it (␣), or a punctuation mark; a word that the training text does not " +
      "contain is cut into pieces."},
    positions: {says: "Attention does not know the order of its tokens. So each position has a row " +
      "in a second table, which is learned, too. The sum is the input of the first layer."},
    weights: {says: "Softmax turns each row of scores into shares, which sum to 1. The row is the " +
        "token that looks; the columns are the tokens it can look at. What the causal mask " +
        "hides gets 0: the words still to come. This mask is all that distinguishes the layer " +
        "from one of the encoder. {most} {odd}",
      lines: ["{{line gpt_forward: causal_mask(}}",
        "{{line attention_forward: softmax_forward(}}", "{{line softmax_row: exponential(}}",
        "{{line softmax_row: *= share}}"]},
    logits: {says: "The last vector of each row is compared with every token. The output layer " +
        "has no matrix of its own: it uses the table of embeddings, E, in the other direction.",
      formula: "logits = norm Eᵀ + b", of: "{{link gpt_forward}}",
      lines: ["{{line gpt_forward: return linear_forward}}"]},
    probabilities: {says: "A softmax over the vocabulary: the model's guess at the next word, " +
      "in each row at once. Only the last row is used to continue the text: the likeliest word " +
      "is taken, or one is drawn. {sum}"},
    loss: {says: "The negative logarithm of the probability that it gave to the right next " +
      "word. Every row counts, and the loss is their mean: a text is as many exercises as it has " +
      "words. Some of them nobody can solve: even the best model cannot know the first noun of a " +
      "sentence."},
  },
};

const isGpt = () => $("model").value === "gpt";

const rememberGpt = () => remember("model", isGpt() ? "gpt" : "");

// A page with another program in it has none.
function offerGpt() {
  if (!$("double.wasm")) return;
  offer("gpt", "GPT: English, of this page");
  showChoice(shownTab);
  if (isGpt()) dispatchEvent(new Event("chosen"));
}

// It can be chosen where it is shown; elsewhere its place is taken by the translator
// that was chosen last.
function showChoice(tab) {
  const option = $("model").querySelector("[value=gpt]"), isHere = tab === "flow";
  const choice = $("model").parentElement;
  if (isHere) $("flow").querySelector("[data-part=sentence]").prepend(choice);
  else $("models").prepend(choice);
  if (!option) return;
  option.disabled = !isHere;
  if (isHere && state.get("model") === "gpt") $("model").value = "gpt";
  if (!isHere && isGpt()) {
    $("model").value = viewer.key;
    if (viewer.bytes !== models.get(viewer.key).bytes) quietly(view(models.get(viewer.key).bytes));
  }
  showModel();
}

addEventListener("tab", ({detail}) => showChoice(detail));

// ---------------------------------------------------------------- it writes on

const temperature = () => Math.min(100, Math.max(0, $("gpt-temperature").valueAsNumber || 0));
const gptSeed = () => Math.min(2 ** 31 - 1, countIn($("gpt-seed").value));

// What may come next, at this temperature; at 0, the model's own probabilities, which
// are those of 1.
async function showNext() {
  const found = await flow.engine.call("gpt_likeliest", temperature() || 1);
  $("gpt-next").textContent = "What may come next: " + found.filter(([, p]) => p > 0)
    .map(([token, p]) => `“${GPT.visible(token)}” ${p < 0.001 ? "< 0.001" : p.toFixed(3)}`)
    .join(", ") + (temperature() ? "" : ". At temperature 0, the first is taken.");
}

// The next word becomes a part of the text, and all follows.
async function writeWord() {
  if ($("flow-body").hidden || flow.model !== GPT) return;
  const more = await flow.engine.call("gpt_write", temperature(), gptSeed());
  $("flow-source").value = ($("flow-source").value.trim() + more).trim();
  $("flow-source").scrollLeft = $("flow-source").scrollWidth;
  $("flow-target").value = "";
  remember("sentence", $("flow-source").value);
  remember("target", "");
  forgetStages();
  await readSentence();
}

function beginGpt() {
  $("gpt-temperature").value = state.get("temperature") ?? 0;
  $("gpt-seed").value = state.get("gpt-seed") ?? 1;
  $("gpt-word").onclick = () => inTurn(writeWord);
  $("gpt-words").onclick = () => { for (let n = 0; n < 10; n++) inTurn(writeWord); };
  $("gpt-temperature").oninput = () => {
    remember("temperature", temperature(), 0);
    inTurn(showNext);
  };
  $("gpt-seed").oninput = () => remember("gpt-seed", gptSeed(), 1);
}
