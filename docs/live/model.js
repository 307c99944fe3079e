// The model that a sentence is followed through: the one that comes with the page, the
// one that has been trained in it, or a file.

// Those that can be chosen: value in #model -> {name, bytes}.
const models = new Map();

function offer(key, name, bytes) {
  if (!models.has(key)) $("model").append(make("option", {value: key}));
  models.set(key, {name, bytes});
  $("model").querySelector(`[value=${key}]`).textContent = name;
}

// An engine with this model in double precision. A file that is not a model does no harm:
// it is tried in an engine of its own, and the error says why it was refused.
async function engineWith(bytes) {
  const engine = new Engine(await doubleProgram());
  try {
    await engine.write("model.safetensors", bytes);
    await engine.call("load");
    return {engine, info: await engine.call("describe_model")};
  } catch (error) {
    engine.end();
    throw error;
  }
}

const choose = key => inTurn(async () => {
  const found = await engineWith(models.get(key).bytes);
  $("model").value = key;
  await beginSentence(found, key);
});

function showModel({layers, heads, parameters, "d-model": width}) {
  $("model-facts").textContent = `${layers}+${layers} layers, d_model ${width}, ${heads} ` +
    `heads, ${parameters.toLocaleString("en")} parameters`;
}

// Offers the model of this point of the training's timeline.
function offerTrained(point) {
  const is = $("model").value === "trained";
  offer("trained", `yours, step ${point.step}`, point.model);
  if (is) flow.stale = true;
}

async function openModel(file) {
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    (await engineWith(bytes)).engine.end();
    offer("file", file.name, bytes);
    await choose("file");
    report(`${file.name} is open. It has not left this page.`, false);
  } catch (error) {
    report(error.message.replace("model.safetensors", file.name));
  }
}

let programThere;    // a promise, kept when the page's model can be followed

async function beginModels() {
  $("load").onchange = async () => {
    const [file] = $("load").files;
    if (file) await openModel(file);
    $("load").value = "";
  };
  $("model").onchange = () => choose($("model").value);
  $("download").onclick = () =>
    download("model.safetensors", models.get($("model").value).bytes, "application/octet-stream");
  addEventListener("tab", ({detail}) => {
    if (detail === "flow" && flow.stale) choose($("model").value);
  });
  offer("page", "English → French, from this page", await unpacked("eng-fra.safetensors"));
  if (shownTab === "flow") await choose("page");
  else flow.stale = true;
}
