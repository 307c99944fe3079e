// The model that is looked at: the one that comes with the page, the one that
// has been trained in it, or a file. An engine of its own, viewer.engine, holds
// it. (The GPT of gpt.js is looked at in One sentence alone.) Whoever shows
// something of it listens:
//
//     addEventListener("model", () => viewer.engine.call("inspect", text)…)
//
// viewer.info is what describe_model says: options by name, parameters.
// viewer.key is its key among the models.
const viewer = {engine: null, info: null, bytes: null, key: "page", training: null, asked: 0};

// The models that can be chosen: value in #model -> {name, bytes}.
const models = new Map();

function offer(key, name, bytes) {
  if (!models.has(key)) $("model").append(make("option", {value: key}));
  models.set(key, {name, bytes});
  $("model").querySelector(`[value=${key}]`).textContent = name;
}

// Looks at a model. A file that is none costs nothing: it is tried in an engine
// of its own, and the error says why.
async function view(bytes) {
  const engine = new Engine(program), turn = ++viewer.asked;
  let info;
  try {
    await engine.write("model.safetensors", bytes);
    await engine.call("load");
    info = await engine.call("describe_model");
  } catch (error) {
    engine.end();
    throw error;
  }
  const old = turn === viewer.asked ? viewer.engine : engine;
  if (old) old.end();
  if (old === engine) return;    // another model has been asked for since
  Object.assign(viewer, {engine, info, bytes});
  dispatchEvent(new Event("model"));
}

// What the chosen model is; and the words of One sentence that are for its kind.
function showModel() {
  $("flow").classList.toggle("gpt", isGpt());
  for (const part of document.querySelectorAll("[data-for]"))
    part.hidden = part.dataset.for !== (isGpt() ? "gpt" : "translator");
  const info = !isGpt() ? viewer.info : flow.model === GPT ? flow.info : null;
  if (!info) return;
  $("model-facts").textContent = (isGpt() ? "" : `${info.layers}+`) +
    `${info.layers} layers, d_model ${info["d-model"]}, ${info.heads} heads, ` +
    `${info.parameters.toLocaleString("en")} parameters`;
}

async function choose(key) {
  $("model").value = key;
  await view(models.get(key).bytes);
  beChosen(key);
}

// The model that is looked at has this key: One sentence begins anew with it.
function beChosen(key) {
  $("model").value = viewer.key = key;
  rememberGpt();
  showModel();
  dispatchEvent(new Event("chosen"));
}

// A point of the training's timeline. The first one of a training is chosen;
// then the model follows the timeline for as long as it is.
async function offerTrained(point) {
  const first = viewer.training !== current;
  viewer.training = current;
  offer("trained", `yours, step ${point.step}`, point.model);
  if (first || $("model").value === "trained") await choose("trained");
}

async function openModel(file) {
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    await view(bytes);
    offer("file", file.name, bytes);
    beChosen("file");
    report(`${file.name} is open. It has not left this page.`, false);
  } catch (error) {
    report(error.message.replace("model.safetensors", file.name));
  }
}

function openFile(file) {
  if (!file) return;
  if (/\.safetensors$/i.test(file.name)) openModel(file);
  else openPairs(file);
}

// The choice of the model stands below a training, and above what is looked at.
addEventListener("tab", ({detail}) => {
  if (["train", "flow"].includes(detail)) $(detail).append($("models"));
  else $(detail).querySelector("h2").after($("models"));
  $("look-inside").hidden = detail !== "train";
});

async function beginModels() {
  $("load").onchange = async () => {
    const [file] = $("load").files;
    if (file) await openModel(file);
    $("load").value = "";
  };
  $("model").onchange = () => {
    seen.typed = false;    // another model may not know what was typed
    for (const key of ["source", "sentence", "target"]) remember(key, "");
    if (isGpt()) {
      rememberGpt();
      dispatchEvent(new Event("chosen"));
    } else quietly(choose($("model").value));
  };
  $("download").onclick = () =>
    download("model.safetensors", models.get($("model").value).bytes, "application/octet-stream");
  $("look-inside").onclick = () => goToTab("look");
  addEventListener("dragover", event => event.preventDefault());
  addEventListener("drop", event => {
    event.preventDefault();
    openFile(event.dataTransfer.files[0]);
  });
  offer("page", "English → French, of this page", await unpacked("pretrained.safetensors"));
  offerGpt();
  await view(models.get("page").bytes);
  if (!isGpt()) beChosen("page");
}
