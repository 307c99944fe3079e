// The model that is looked at: the one that came with the page, the one that is
// trained in it, or a file. It is held by an engine of its own, viewer.engine.
//
// Whoever shows something of it listens:
//
//     addEventListener("model", () => viewer.engine.call("say", text)…)
//
// viewer.info is what describe_model says: options by name, step, parameters.
const viewer = {engine: null, info: null, from: "", bytes: null};

// Looks at a model. A file that is none costs nothing: it is tried in an engine
// of its own, and the error says why.
async function view(bytes, from) {
  const engine = new Engine(program);
  try {
    await engine.write("model.safetensors", bytes);
    await engine.call("load");
    Object.assign(viewer, {info: await engine.call("describe_model"), bytes, from});
  } catch (error) {
    engine.end();
    throw error;
  }
  if (viewer.engine) viewer.engine.end();
  viewer.engine = engine;
  const {info} = viewer;
  $("model-name").textContent = `${from}: ${info.layers}+${info.layers} layers, ` +
    `d_model ${info["d-model"]}, ${info.heads} heads, ` +
    `${info.parameters.toLocaleString("en")} parameters, step ${info.step}`;
  dispatchEvent(new Event("model"));
}

async function beginModels() {
  $("load").onchange = async () => {
    const [file] = $("load").files;
    $("load").value = "";
    if (file) await dropped(file);
  };
  $("download").onclick = () =>
    download("model.safetensors", viewer.bytes, "application/octet-stream");
  await view(await unpacked("pretrained.safetensors"), "the model of this page");
}

async function dropped(file) {
  try {
    await view(new Uint8Array(await file.arrayBuffer()), file.name);
    report(`${file.name} is looked at. It has not left this page.`, false);
  } catch (error) {
    report(error.message.replace("model.safetensors", file.name));
  }
}
