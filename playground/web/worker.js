"use strict";
// The worker has the module. It answers one question after the other; the page ends a worker that takes too long.
onmessage = async function (event) {
  onmessage = null;
  const go = new Go();
  const instance = await WebAssembly.instantiate(event.data, go.importObject);
  go.run(instance).then(function () { postMessage({ ended: true }); });
  onmessage = function (asked) {
    let answer;
    try { answer = globalThis.purekube(asked.data.input, JSON.stringify(asked.data.question)); } catch { }
    postMessage(typeof answer === "string" ? { id: asked.data.id, answer: answer } : { ended: true });
  };
  postMessage({ ready: true });
};
