// The stages of a sentence.

const BACK_THROUGH_SUM = {backTitle: "back through the sum",
  back: "A sum passes its gradient on unchanged, to both of its parts.",
  backOf: "{{link residual_leave_backward}}",
  backLines: ["{{line residual_leave_backward: add(dx, dy)}}"]};

// What each stage is: forward, what happens, as a sentence and as a formula, and
// the line that does it; then the same of its gradient.
const STAGES = {
  embedding: {tone: "value", title: "words become vectors",
    says: "Each token has a row of a table that is learned: its embedding. At this point, " +
      "it is all the model knows about the word. It is multiplied by √D, where D is the number " +
      "of columns.",
    target: {says: "The decoder reads the translation one place later, after <start>: each row " +
      "must say the word after its own. The decoder has a table of its own."},
    formula: "embedding = √D · token embedding", of: "{{link embedding_forward}}",
    lines: ["{{line embedding_forward: scale * from[j]}}"],
    backTitle: "back to the table of words",
    back: "What arrives is added to the token's row of the table: so the word itself learns.",
    backFormula: "dtable[token] += √D · dembedding", backOf: "{{link embedding_backward}}",
    backLines: ["{{line embedding_backward: to[j] += scale}}"]},
  positions: {tone: "value", title: "their positions are added",
    says: "Attention does not know the order of its tokens, so a pattern that stands for the " +
      "position, the positional encoding, is added. The sum is the input of the first layer.",
    formula: "input = embedding + positional encoding", of: "{{link embedding_forward}}",
    lines: ["{{line embedding_forward: row(positions, i % T)[j]}}"],
    backTitle: "what came back is added up",
    back: "The gradient of the first layer's input is the sum of what its query, key, value and " +
      "residual connection send back.",
    isSum: true, backOf: "{{link linear_backward}}",
    pre: {back: "The gradient of the first layer's input is the sum of what its norm and its " +
        "residual connection send back.",
      backOf: "{{link residual_leave_backward}}"}},
  k: {tone: "key", title: "keys",
    says: "Attention lets each token gather what it needs from the others: its query is compared " +
      "with every key, and of the values it takes most where the key fits best. In " +
      "self-attention, what looks and what is looked at are the same rows. A key says what a " +
      "token offers. {heads}",
    cross: {says: "Cross-attention is how the translation reads the source. Queries come from " +
        "the decoder's own rows; keys and values come from the memory, the encoder's last " +
        "output. A key says what a token of the source offers. {heads}",
      formula: "k = memory Wk + bk"},
    formula: "k = x Wk + bk, x: what came in",
    of: "{{link make_keys}}", lines: ["{{line make_keys: s->k = linear_forward}}"],
    backTitle: "back to the keys",
    back: "A key learns from every query that looked at it. In the code, d.weights has become dscores.",
    backFormula: "dk = dscoresᵀ q", backOf: "{{link attention_backward}}",
    backLines: ["{{line attention_backward: small_matmul_add(d.k}}"]},
  v: {tone: "value", title: "values",
    says: "A value is what a token hands over to whoever looks at it. In self-attention it is " +
      "made from the same row as the token's key and query; in cross-attention, like the key, " +
      "from the memory, while the query comes from the decoder.",
    cross: {formula: "v = memory Wv + bv"},
    formula: "v = x Wv + bv, x: what came in",
    of: "{{link make_keys}}", lines: ["{{line make_keys: s->v = linear_forward}}"],
    backTitle: "back to the values",
    back: "A value learns from each result that it went into, by the weight it had there.",
    backFormula: "dv = weightsᵀ dout", backOf: "{{link attention_backward}}",
    backLines: ["{{line attention_backward: small_matmul_add(d.v}}"]},
  q: {tone: "query", title: "queries",
    says: "A query says what a token is looking for. In self-attention it looks at the rows of " +
      "its own sentence, itself among them; in cross-attention a row of the decoder looks at the " +
      "source, whose keys and values come from the memory.",
    cross: {formula: "q = x Wq + bq, x: the decoder's row"},
    formula: "q = x Wq + bq, x: what came in",
    of: "{{link attend}}", lines: ["{{line attend: s->q = linear_forward}}"],
    backTitle: "back to the queries",
    back: "A query learns toward the keys that would have served better. In the code, d.weights " +
      "has become dscores.",
    backFormula: "dq = dscores k", backOf: "{{link attention_backward}}",
    backLines: ["{{line attention_backward: small_matmul_add(d.q}}"]},
  scores: {tone: "weight", title: "scores: how well do they fit?",
    says: "In each head, every query is multiplied by every key: the more they agree, the " +
      "higher the score. A row looks, a column is looked at: in self-attention both are the same " +
      "tokens; in cross-attention the columns are the tokens of the source, whose keys come from " +
      "the memory. In the code, scores, scaled and weights are one matrix, a.weights, which " +
      "changes in place.",
    formula: "scores = q kᵀ", of: "{{link attention_forward}}",
    lines: ["{{line attention_forward: a.q, transposed(a.k)}}"],
    backTitle: "back through the scale",
    back: "Scaling is a multiplication, so the gradient is multiplied by the same number.",
    backFormula: "dscores = dscaled / √K", backOf: "{{link attention_backward}}",
    backLines: ["{{line attention_backward: scale_by(}}"]},
  scaled: {tone: "weight", title: "scores, scaled",
    says: "A score is a sum of K = {K} products, one for each column of the head, and with more " +
      "products it would be larger. Divided by √K, it stays where the softmax can still choose.",
    formula: "scaled = scores / √K, here √{K} = {root}", of: "{{link attention_forward}}",
    lines: ["{{line attention_forward: scale_by(}}"],
    backTitle: "back through the softmax",
    back: "Weights sum to 1, so one can only gain what others lose: each row of this " +
      "gradient sums to 0.",
    backFormula: "dscaled = weights · (dweights − Σ weights · dweights)",
    backOf: "{{link softmax_backward}}",
    backLines: ["{{line attention_backward: softmax_backward(}}",
      "{{line softmax_backward: (d[j] - common)}}"]},
  weights: {tone: "weight", title: "weights: where it looks",
    says: "Softmax turns each row of scores into shares, which sum to 1. The row is the token that " +
      "looks; the columns are the tokens it can look at. What the mask hides gets 0: in the " +
      "decoder's self-attention, the words still to come. (In the code, most is the row's " +
      "largest score, which keeps e^x from overflowing.) A 1.00 in an odd place is not an error: " +
      "one head's weights need not make sense to a human reader.",
    formula: "weights = softmax(scaled), over what is visible", of: "{{link softmax_row}}",
    lines: ["{{line attention_forward: softmax_forward(}}", "{{line softmax_row: exponential(}}",
      "{{line softmax_row: *= share}}"],
    backTitle: "back through the mixture, to the weights",
    back: "A weight should grow if its value points where the result should go. In the code, " +
      "d.weights is this gradient, then, in the next two steps, dscaled and dscores.",
    backFormula: "dweights = dout vᵀ", backOf: "{{link attention_backward}}",
    backLines: ["{{line attention_backward: small_matmul(d.weights, d.out}}"]},
  out: {tone: "value", title: "the mixture of values",
    says: "Each query takes from every value as much as its weight says; the heads' results " +
      "stand side by side. In the code, the weights are a.dropped: in training, some of them are " +
      "dropped.",
    formula: "out = weights v", of: "{{link attention_forward}}",
    lines: ["{{line attention_forward: a.dropped, a.v}}"],
    backTitle: "back through the matrix that mixed the heads",
    backFormula: "dout = djoined Woᵀ", backOf: "{{link multi_head_backward}}",
    backLines: ["{{line multi_head_backward: linear_backward(d->context}}"]},
  joined: {tone: "value", title: "the heads are mixed",
    says: "One more matrix lets the numbers of different heads meet.",
    formula: "joined = out Wo + bo",
    of: "{{link attend}}", lines: ["{{line attend: return linear_forward}}"],
    ...BACK_THROUGH_SUM, backFormula: "djoined = dresidual"},
  residual: {tone: "value", title: "the residual connection",
    says: "What the sub-layer has found is added to what it was given, so nothing is lost on " +
      "the way.",
    formula: "residual = what came in + what was found", of: "{{link residual_leave}}",
    lines: ["{{line residual_leave: add(y, x)}}"],
    backTitle: "back through the norm",
    back: "Shifting or stretching a whole row does not change n, so these two parts of the " +
      "gradient are taken out: its mean, and its part along n.",
    backFormula: "dresidual = (dn − mean(dn) − n · mean(dn · n)) · rstd",
    backOf: "{{link norm_backward}}",
    backLines: ["{{line norm_backward: to[j] += rstd}}"],
    pre: {backTitle: "what came back is added up",
      back: "This sum goes into the next norm and, unless it is the last, into the next " +
        "residual connection, which sends its gradient back unchanged. So a gradient reaches the " +
        "first layer, however many layers there are.",
      isSum: true}},
  n: {tone: "value", title: "the norm: mean and deviation taken out",
    says: "Each row is shifted and scaled, to mean 0 and standard deviation 1: rstd is 1 / its " +
      "standard deviation.",
    formula: "n = (row − its mean) · rstd", of: "{{link norm_forward}}",
    lines: ["{{line norm_forward: real mean}}", "{{line norm_forward: real rstd}}"],
    backTitle: "back through the gain",
    back: "n was multiplied by the gain, so its gradient is, too.",
    backFormula: "dn = dnorm · gain", backOf: "{{link norm_backward}}",
    backLines: ["{{line norm_backward: real dn_mean}}"]},
  norm: {tone: "value", title: "the norm: gain and bias",
    says: "Each column has a gain and a bias of its own, which are learned. This is what the " +
      "next linear layers work with.",
    formula: "norm = n · gain + bias", of: "{{link norm_forward}}",
    lines: ["{{line norm_forward: y[j] = y[j] * rstd}}"],
    backTitle: "what came back is added up",
    back: "The gradient of a row is the sum of what every stage sends back that has used the row.",
    isSum: true, backOf: "{{link linear_backward}}",
    memory: {back: "The memory is the encoder's last output, which the cross-attention of every " +
      "decoder layer looks at. Each layer makes keys and values of it, so its gradient has two " +
      "parts for each layer."}},
  inner: {tone: "value", title: "widen",
    says: "Each token by itself: its vector is multiplied into a wider one, of d_ff numbers.",
    formula: "inner = x W1 + b1, x: what came in",
    of: "{{link ffn_forward}}", lines: ["{{line ffn_forward: s->inner = linear_forward}}"],
    backTitle: "back through the bend",
    back: "Where the activation gave 0, nothing comes back.",
    backFormula: "dinner = dactive, where inner > 0", backOf: "{{link activation_backward}}",
    backLines: ["{{line ffn_backward: activation_backward(}}",
      "{{line activation_backward: ? 0 : d[j]}}"],
    gelu: {back: "What comes back is multiplied by the slope of GELU there.",
      backFormula: "dinner = dactive · gelu'(inner)",
      backLines: ["{{line ffn_backward: activation_backward(}}",
        "{{line activation_backward: d[j] *=}}"]}},
  active: {tone: "value", title: "bend",
    says: "Whatever is negative becomes 0. Without this bend two layers would be no more than one.",
    formula: "active = max(0, inner)", of: "{{link activation_forward}}",
    lines: ["{{line activation_forward: ? 0 : from[j]}}"],
    backTitle: "back through the second matrix",
    backFormula: "dactive = douter W2ᵀ", backOf: "{{link ffn_backward}}",
    backLines: ["{{line ffn_backward: linear_backward(dinner}}"],
    gelu: {says: "What is clearly negative comes near 0. Without this bend two layers would be " +
        "no more than one.",
      formula: "active = gelu(inner)",
      lines: ["{{line activation_forward: normal_below(}}"]}},
  outer: {tone: "value", title: "narrow",
    says: "And back to the width of the model.",
    formula: "outer = active W2 + b2",
    of: "{{link ffn_forward}}", lines: ["{{line ffn_forward: return linear_forward}}"],
    ...BACK_THROUGH_SUM, backFormula: "douter = dresidual"},
  logits: {tone: "weight", title: "logits: a number for every word",
    says: "The last vector of each row is compared with every word of the other language.",
    formula: "logits = norm W + b",
    of: "{{link decode}}", lines: ["{{line decode: return linear_forward}}"],
    backTitle: "the way back begins",
    back: "Words that were too likely are pushed down, the right word is pushed up: " +
      "probability minus 1 for the right word, probability for all others. In the " +
      "code, share is 1 / T; even and smoothing belong to label smoothing and are 0 here.",
    backFormula: "dlogits = (probabilities − right) / T; right: 1 for the right word, else 0; " +
      "T: tokens",
    backOf: "{{link loss_backward}}",
    backLines: ["{{line loss_backward: d[j] = (exponential}}",
      "{{line loss_backward: d[expected[i]] -=}}"]},
  probabilities: {tone: "weight", title: "probabilities: the next word",
    says: "A softmax over the vocabulary: the model's guess at each next word. In use, it " +
      "writes the likeliest. For the loss, the program needs only the sum of all e^logit; subtracting " +
      "z[best], the largest logit of the row, keeps that from overflowing.",
    formula: "p = softmax(logits)", of: "{{link loss_forward}}",
    lines: ["{{line loss_forward: sum_exponentials(}}"]},
  loss: {tone: "weight", title: "the loss: how surprised is it?",
    says: "The negative logarithm of the probability that the model gave to the right next word. " +
      "The loss of the sentence is the mean of these.",
    formula: "loss = −ln p[right] = lse − logits[right], where lse = ln Σ e^logits, over all words",
    of: "{{link loss_forward}}",
    lines: ["{{line loss_forward: each[i].cross_entropy}}"]},
  step: {backTitle: "Adam's step: one parameter learns",
    back: "Every parameter has a gradient now, and Adam takes a step against it. The one that is " +
      "outlined has the largest gradient of all; any other can be clicked. Check its gradient, and " +
      "let only this one take a step; afterwards it is restored. In the code, step is " +
      "rate / (1 − β₁), and root 1 / √(1 − β₂).",
    backFormula: "p −= rate · m̂ / (√v̂ + ε); in step 1, m̂ = m / (1 − β₁) = m / 0.1 and " +
      "v̂ = v / (1 − β₂) = v / 0.02; ε = 10⁻⁹",
    backOf: "{{link adam_step}}", backLines: ["{{line adam_step: p[i] -= step}}"]},
};

// What the texts say of the model at hand: {K}, {heads}, …
const FACTS = {
  K: () => widthOfHead(),
  root: () => four(Math.sqrt(widthOfHead())),
  heads: () => {
    const H = sizeIn("heads"), K = widthOfHead();
    return H < 2 ? "The layer has one head, to which all columns belong." : `The layer does all ` +
      `this ${H} times side by side, each time in ${K} columns of its own. Such a part is a head: ` +
      `columns 0–${K - 1} are head 0, ${K}–${2 * K - 1} head 1` + (H > 2 ? ", and so on." : ".");
  },
};

const withFacts = text => text.replace(/\{(\w+)\}/g, (_, fact) => FACTS[fact]());

// What a stage is, with the model's own activation.
function aboutStage(name) {
  const about = STAGES[kindOf(name)];
  const other = isMemory(name) && about.memory
    || flow.info.activation === "gelu" && about.gelu
    || flow.info.norm === "pre" && about.pre
    || name.includes("cross_attention") && about.cross
    || name.startsWith("target.") && about.target;
  const all = {...about, ...other};
  if (all.isSum) Object.assign(all, sentBack(name));
  for (const text of ["says", "formula", "back"]) if (all[text]) all[text] = withFacts(all[text]);
  return all;
}

// For each way in which a stage is used, the line that brings its gradient back.
const SENT_BACK = {
  linear: "{{line linear_backward: matmul_add(dx, dy}}",
  residual: "{{line residual_leave_backward: add(dx, dy)}}",
  n: "{{line norm_backward: to[j] += rstd}}",
};

// The gradient of what several stages have used: the sum of what they send back.
function sentBack(name) {
  const users = usersOfStage(name);
  const kinds = users.map(user => keyIn(SENT_BACK, kindOf(user)) ? kindOf(user) : "linear");
  const part = (user, kind) => kind === "residual" ? gradientOfResidual(name)
    : kind === "n" ? "what the norm sends back"
      : `d${kindOf(user)} · ${matrixLetter(user)}${isTied(user) ? "" : "ᵀ"}` +
        (isMemory(name) ? ` (layer ${user.split(".")[1]})` : "");
  return {backFormula: `d${called(name)} = ` +
      users.map((user, n) => part(user, kinds[n])).join(" + "),
    backLines: Object.keys(SENT_BACK).filter(kind => kinds.includes(kind))
      .map(kind => SENT_BACK[kind])};
}
