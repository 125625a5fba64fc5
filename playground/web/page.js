"use strict";
(function () {
  const get = function (id) { return document.getElementById(id); };
  const text = get("text"), out = get("out"), status = get("status");
  const flags = ["ignoreDaemonSets", "deleteEmptyDirData", "force"];
  // A link is at most so many characters, what it holds unpacks to at most so many bytes, and a textarea with more text is slow.
  const mostLink = 16000, mostUnpacked = 1 << 20, mostShown = 300000, mostInput = 200 << 20;
  const pages = "https://github.com/purekube/purekube/blob/main/docs/lint/";
  let file = null; // {name, bytes} in place of the text
  let none = [];
  let module = null, worker = null, busy = false, ready = false, asked = 0, timer = 0;

  // visible replaces what cannot be seen: characters that turn the direction of the text, and the like.
  function visible(s) {
    return String(s).replace(/[\p{C}\u2028\u2029]/gu, function (c) { return "\\u{" + c.codePointAt(0).toString(16) + "}"; });
  }
  // el makes an element. Children are elements or texts; no text of the input is ever read as HTML.
  function el(tag, attributes, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "click") { e.addEventListener("click", value); } else { e.setAttribute(name, value); }
    }
    for (const c of children) {
      if (c !== null) { e.append(c instanceof Node ? c : visible(c)); }
    }
    return e;
  }
  function list(items, name) {
    return el("ul", { class: name || "" }, ...(items || []).map(function (item) { return el("li", {}, item); }));
  }
  function counted(n, noun) { return n + " " + noun + (n === 1 ? "" : "s"); }
  function say(state, words) { status.dataset.state = state; status.textContent = visible(words); }

  function input() { return file ? file.bytes : new TextEncoder().encode(text.value); }
  function question() {
    const q = { none: none, nodes: Math.min(500, Math.max(1, Number(get("nodes").value) || 3)) };
    for (const f of flags) { q[f] = get(f).checked; }
    return q;
  }

  // start begins a worker with the module. Its script is a blob, so it has the policy of this page.
  function start() {
    const url = URL.createObjectURL(new Blob([get("worker").textContent], { type: "text/javascript" }));
    worker = new Worker(url);
    URL.revokeObjectURL(url);
    busy = ready = false;
    const mine = worker;
    worker.onmessage = function (event) {
      if (worker !== mine) { return; }
      if (event.data.ready) { ready = true; ask(); return; }
      if (event.data.ended) { crashed(); return; }
      busy = false;
      if (event.data.id === asked) { show(JSON.parse(event.data.answer)); }
    };
    worker.onerror = function (event) { event.preventDefault(); if (worker === mine) { crashed(); } };
    worker.postMessage(module);
  }
  function stop() { if (worker) { worker.terminate(); worker = null; } busy = ready = false; }
  function crashed() {
    stop();
    out.replaceChildren();
    say("failed", "The program ended without an answer: the input may need more memory than a browser gives. Use the command purekube for it.");
  }
  function soon() { clearTimeout(timer); timer = setTimeout(ask, 250); }
  function ask() {
    clearTimeout(timer);
    if (!module) { return; }
    if (!file && text.value.trim() === "") { asked++; out.replaceChildren(); say("ready", "Ready: choose a sample, or paste your own."); return; }
    if (busy) { stop(); } // what it is at is no longer asked
    if (!worker) { start(); return; }
    if (!ready) { return; }
    busy = true;
    say("working", "Working…");
    worker.postMessage({ id: ++asked, input: input(), question: question() });
  }

  const tones = { Now: "ok", InRounds: "ok", LeavesPending: "note", Never: "bad", NotStarted: "bad", allows: "ok", blocks: "note", never: "bad", error: "bad", warning: "note" };
  function badge(words, kind) { return el("span", { class: "badge " + (tones[kind] || "") }, words); }
  function part(title, ...children) { return el("section", { class: "part" }, el("h3", {}, title), ...children); }

  function summary(a) {
    if (a.drains && a.drains.totals) {
      return "Drains: " + a.drains.totals.map(function (t) { return t.nodes + " " + t.says; }).join(", ") + (a.drains.empty ? ", " + counted(a.drains.empty, "node") + " without pods" : "");
    }
    if (a.drains && a.drains.empty) { return counted(a.drains.empty, "node") + " without pods."; }
    if (a.refusals) { return "Not answered."; }
    return counted(a.objects, "object") + " read.";
  }
  function refusal(r) {
    const box = el("div", { class: "box bad" }, el("p", {}, el("strong", {}, r.question === "drain" ? "Drains are not answered. " : "Budgets are not answered. "), r.why),
      el("p", { class: "faint" }, "This prints what the answer rests on: ", el("code", {}, r.command)));
    if (r.missing && r.missing.length) {
      box.append(el("button", { type: "button", class: "none", click: function () { none = none.concat(r.missing); ask(); text.focus(); } }, "The cluster has no " + r.missing.join(", no ")));
    }
    return box;
  }
  function node(n) {
    const row = el("details", { class: "row" }, el("summary", {}, el("span", { class: "name" }, n.name), " ", badge(n.says, n.outcome),
      el("span", { class: "faint" }, " " + counted(n.pods, "pod") + ", " + n.evicted + " evicted" + (n.skipped ? ", " + n.skipped + " left alone" : "") + (n.stay ? ", " + n.stay + (n.stay === 1 ? " stays" : " stay") : ""))));
    row.append(list(n.steps, "steps"));
    return row;
  }
  function budget(b) {
    const row = el("details", { class: "row" }, el("summary", {}, el("span", { class: "name" }, b.name), " ", badge(b.state, b.state), el("span", { class: "faint" }, " " + b.rule)));
    const lines = [b.says];
    if (b.selector) { lines.push("Selects pods with " + b.selector + "."); }
    if (b.counts) { lines.push(b.counts.currentHealthy + " healthy, " + b.counts.desiredHealthy + " desired, " + b.counts.expectedPods + " expected, " + b.counts.disruptionsAllowed + " allowed."); }
    for (const p of b.pods || []) { lines.push("Pod " + p + "."); }
    if (b.writes) { lines.push("kube-controller-manager would write: " + b.writes); }
    row.append(list(lines, "steps"));
    return row;
  }
  function blocker(b) {
    return el("div", { class: "box note" }, el("p", {}, el("strong", {}, b.message)), el("p", { class: "faint" }, b.stops + (b.pods ? "; pods: " + b.pods : "")), b.fixes ? list(b.fixes, "fixes") : null);
  }
  function finding(f) {
    return el("div", { class: "row" }, badge(f.severity, f.severity), " ", el("a", { href: pages + encodeURIComponent(f.code) + ".md", rel: "noreferrer" }, f.code), " ",
      el("span", { class: "name" }, f.object), f.line ? el("span", { class: "faint" }, " line " + f.line) : null, el("p", { class: "faint" }, f.message));
  }
  function more(n, what) { return n ? el("p", { class: "faint" }, counted(n, "more " + what) + ": the command prints all of them.") : null; }

  function show(a) {
    const parts = [];
    get("nodes-label").hidden = !a.madeNodes;
    if (a.problems) { parts.push(el("div", { class: "box bad problems" }, el("p", {}, el("strong", {}, "Wrong with the input")), list(a.problems))); }
    for (const r of a.refusals || []) { parts.push(refusal(r)); }
    if (none.length) {
      parts.push(el("p", { class: "box" }, "Taken from you: the cluster has no " + none.join(", no ") + " besides the input. ",
        el("button", { type: "button", click: function () { none = []; ask(); text.focus(); } }, "Take back")));
    }
    if (a.atFullHealth) {
      parts.push(el("p", { class: "box" }, "The input has no pods. The answer is for the pods that its workloads have when all is well" + (a.madeNodes ? ", on " + counted(a.madeNodes, "added node") + " whose room is not known." : ".")));
    }
    const d = a.drains;
    if (d) {
      if (d.blockers) { parts.push(part("In the way", ...d.blockers.map(blocker), more(d.moreBlockers, "cause"))); }
      if (d.nodes) { parts.push(part("Nodes, each drained alone", el("p", { class: "faint" }, el("code", {}, d.command + " NODE")), ...d.nodes.map(node), more(d.moreNodes, "node"))); }
    }
    if (a.budgets) { parts.push(part("Budgets", ...a.budgets.map(budget))); }
    if (a.lint) {
      const info = a.lint.filter(function (f) { return f.severity === "info"; }), rest = a.lint.filter(function (f) { return f.severity !== "info"; });
      const folded = info.length ? el("details", {}, el("summary", {}, counted(info.length, "remark")), ...info.map(finding)) : null;
      parts.push(part("Lint", ...rest.map(finding), folded, more(a.moreLint, "finding")));
    }
    if (a.notes) { parts.push(part("Notes", list(a.notes))); }
    out.replaceChildren(...parts);
    say("answered", summary(a));
  }

  // take puts a file into the page. A small text is shown, anything else is named.
  async function take(f) {
    if (f.size > mostInput) { say("failed", "The file is larger than " + (mostInput >> 20) + " MB: use the command purekube for it."); return; }
    const bytes = new Uint8Array(await f.arrayBuffer());
    let words = null;
    if (bytes.length <= mostShown) { try { words = new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { } }
    reset();
    if (words === null) {
      file = { name: f.name, bytes: bytes };
      get("chip-name").textContent = visible(f.name) + ", " + Math.ceil(bytes.length / 1024) + " KiB";
      get("chip").hidden = false; text.hidden = true;
    } else { text.value = words; }
    ask();
  }
  function reset() {
    file = null; none = []; text.value = ""; text.hidden = false; get("chip").hidden = true; get("sample").value = ""; get("shared").textContent = "";
  }

  // Links: the question, and the input as base64url of deflate.
  function base64(bytes) {
    let s = "";
    for (let i = 0; i < bytes.length; i += 8192) { s += String.fromCharCode(...bytes.subarray(i, i + 8192)); }
    return btoa(s).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }
  function unbase64(s) { return Uint8Array.from(atob(s.replace(/-/g, "+").replace(/_/g, "/")), function (c) { return c.charCodeAt(0); }); }
  async function through(bytes, stream, most) {
    const parts = [], reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) { break; }
      size += value.length;
      if (size > most) { await reader.cancel(); throw new Error("too large"); }
      parts.push(value);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }
  async function share() {
    const shared = get("shared"), bytes = input();
    const data = bytes.length > mostUnpacked ? "" : base64(await through(bytes, new CompressionStream("deflate-raw"), mostUnpacked * 2));
    if (data === "" || data.length > mostLink) { shared.textContent = "The input is too large for a link."; return; }
    const q = question(), set = flags.map(function (f) { return q[f] ? "1" : "0"; }).join("");
    const hash = "#v=1&flags=" + set + "&nodes=" + q.nodes + (none.length ? "&none=" + none.join(",") : "") + "&input=" + data;
    history.replaceState(null, "", hash);
    shared.replaceChildren("The address of this page is the link now", el("a", { href: hash, class: "hidden" }, "link"));
    try { await navigator.clipboard.writeText(location.href); shared.firstChild.textContent = "Copied: the address of this page is the link now"; } catch { }
    shared.append(".");
  }
  async function fromLink() {
    const p = new URLSearchParams(location.hash.slice(1));
    if (!p.has("input")) { return false; }
    try {
      if (p.get("v") !== "1") { throw new Error("another version"); }
      const words = new TextDecoder().decode(await through(unbase64(p.get("input")), new DecompressionStream("deflate-raw"), mostUnpacked));
      reset();
      text.value = words;
      flags.forEach(function (f, i) { get(f).checked = (p.get("flags") || "")[i] === "1"; });
      get("nodes").value = Math.min(500, Math.max(1, Number(p.get("nodes")) || 3));
      none = (p.get("none") || "").split(",").filter(function (k) { return /^[A-Za-z]{1,40}$/.test(k); });
      ask();
    } catch { get("shared").textContent = "The link cannot be read: it may have been cut off."; return false; }
    return true;
  }

  async function load() {
    const samples = JSON.parse(get("samples").textContent), select = get("sample");
    for (const s of samples) { select.append(el("option", { value: s.name }, s.title)); }
    select.addEventListener("change", function () {
      const chosen = samples.find(function (s) { return s.name === select.value; });
      reset();
      if (chosen) { select.value = chosen.name; text.value = chosen.text; }
      ask();
    });
    // What was said of another input is not known of this one.
    text.addEventListener("input", function () { select.value = ""; none = []; soon(); });
    for (const f of flags) { get(f).addEventListener("change", ask); }
    get("nodes").addEventListener("input", soon);
    get("share").addEventListener("click", share);
    get("open").addEventListener("click", function () { get("file").click(); });
    get("file").addEventListener("change", function () { if (this.files.length) { take(this.files[0]); this.value = ""; } });
    get("chip-remove").addEventListener("click", function () { reset(); ask(); text.focus(); });
    const drop = get("drop");
    // A file that is dropped beside the box must not replace the page.
    for (const name of ["dragover", "drop"]) { addEventListener(name, function (event) { event.preventDefault(); }); }
    addEventListener("dragover", function () { drop.classList.add("over"); });
    addEventListener("dragleave", function (event) { if (!event.relatedTarget) { drop.classList.remove("over"); } });
    addEventListener("drop", function (event) {
      drop.classList.remove("over");
      if (event.dataTransfer.files.length) { take(event.dataTransfer.files[0]); return; }
      reset(); text.value = event.dataTransfer.getData("text/plain"); ask();
    });
    addEventListener("hashchange", fromLink);
    try {
      const packed = unbase64(get("module").textContent);
      get("module").remove();
      module = await WebAssembly.compile(await through(packed, new DecompressionStream("gzip"), 1 << 28));
    } catch {
      say("failed", "This browser does not run the page: it needs WebAssembly and DecompressionStream, which browsers have since 2023.");
      return;
    }
    start(); // also without a question: the first answer comes at once
    if (!await fromLink() && text.value.trim() === "") { select.value = samples[0].name; select.dispatchEvent(new Event("change")); } else { ask(); }
  }
  document.addEventListener("DOMContentLoaded", load);
})();
