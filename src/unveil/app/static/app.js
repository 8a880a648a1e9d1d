/* The script of the app. Pages work without it; with it, forms exchange parts of a page and progress is streamed.

   data-swap="a b"    on a form or a link: fetch it, and replace the elements of these ids by those of the page that comes back
   data-live          on a form: send it whenever something in it changes
   data-stream        on an element: the progress of its job is shown there
   data-drop          on a form with a file: a file that is dropped on it is sent
   data-open="id"     on a button: open the dialog of this id
   data-tick="name"   on a button: tick (or untick) all boxes of this name in its form
   data-copy          on a button: copy the text of the element before it */

import {boards} from "./board.js";

const parser = new DOMParser();
let pending = null, busy = 0;

/* Mark the page as busy while parts of it are being replaced. */
function setBusy(by) {
  busy += by;
  document.getElementById("main")?.setAttribute("aria-busy", String(busy > 0));
}

function replaceParts(html, ids) {
  const page = parser.parseFromString(html, "text/html");
  for (const id of ["messages", "tools", "steps", ...ids]) {
    const fresh = page.getElementById(id), old = document.getElementById(id);
    if (!fresh || !old) continue;
    const focused = focusWithin(old);
    const open = new Set([...old.querySelectorAll("details[open][id]")].map(one => one.id));
    old.replaceWith(document.adoptNode(fresh));
    for (const one of fresh.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = true;
    if (focused) restoreFocus(fresh, focused);
    prepare(fresh);
  }
  if (page.body.dataset.version) document.body.dataset.version = page.body.dataset.version;
}

function focusWithin(element) {
  const at = document.activeElement;
  if (!at || !element.contains(at)) return null;
  return {id: at.id, name: at.name, value: at.value, start: at.selectionStart, type: at.type};
}

function restoreFocus(element, focused) {
  const all = [...element.querySelectorAll("input, button, select, textarea, summary, a")];
  const same = all.find(one => focused.id ? one.id === focused.id : one.name && one.name === focused.name
    && (one.type === "text" || one.type === "search" || one.value === focused.value));
  if (!same) return;
  same.focus({preventScroll: true});
  if (same.type === "text" || same.type === "search") same.setSelectionRange(focused.start, focused.start);
}

async function exchange(address, options, ids, element) {
  if (pending) pending.abort();
  const mine = pending = new AbortController();
  setBusy(1);
  try {
    const answer = await fetch(address, {...options, signal: mine.signal, credentials: "same-origin"});
    const html = await answer.text();
    if (!answer.ok || !ids.some(id => html.includes(`id="${id}"`))) { location.assign(answer.url); return; }
    replaceParts(html, ids);
    if (!options.method && element.dataset.address !== "keep") history.replaceState(null, "", address);
  } catch (problem) {
    if (problem.name !== "AbortError") say("The server does not answer. Has it been stopped?");
  } finally {
    setBusy(-1);
    if (pending === mine) pending = null;
  }
}

function send(form, submitter) {
  const data = new FormData(form, submitter);
  const ids = form.dataset.swap.split(" ");
  const address = submitter && submitter.hasAttribute("formaction") ? submitter.formAction : form.action;
  const words = new URLSearchParams(data);
  if (form.method === "post") exchange(address, {method: "POST", body: words}, ids, form);
  else exchange(`${address.split("?")[0]}?${words}`, {}, ids, form);
}

function say(line) {
  const place = document.getElementById("messages"), message = document.createElement("p");
  message.className = "message error";
  message.textContent = line;
  if (place) place.replaceChildren(message);
}

document.addEventListener("submit", event => {
  const form = event.target;
  if (form.dataset.swap) {
    event.preventDefault();
    send(form, event.submitter);
  }
});

const waiting = new WeakMap();
document.addEventListener("input", live);
document.addEventListener("change", event => { if (event.target.matches("select")) live(event); });

function live(event) {
  const form = event.target.form;
  if (!form || form.dataset.live === undefined || !form.dataset.swap) return;
  if (waiting.has(form)) clearTimeout(waiting.get(form));
  else setBusy(1);
  const typed = event.target.matches("input[type=text], input[type=search], input[type=range], textarea");
  waiting.set(form, setTimeout(() => { waiting.delete(form); send(form, null); setBusy(-1); }, typed ? 160 : 0));
}

document.addEventListener("click", event => {
  const link = event.target.closest("a[data-swap]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    exchange(link.href, {}, link.dataset.swap.split(" "), link);
    return;
  }
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.open) document.getElementById(button.dataset.open)?.showModal();
  if (button.dataset.copy !== undefined) navigator.clipboard?.writeText(button.previousElementSibling.textContent);
  if (button.dataset.tick) {
    const boxes = [...button.form.querySelectorAll("input[type=checkbox]")].filter(one => one.name === button.dataset.tick);
    const all = boxes.every(one => one.checked);
    for (const box of boxes) box.checked = !all;
    button.form.dispatchEvent(new Event("input", {bubbles: true}));
    if (boxes[0]) boxes[0].dispatchEvent(new Event("input", {bubbles: true}));
  }
});

/* Progress. Hidden tabs close their streams, because a browser opens only a few connections to one server. */
const streams = new Map();

function listen(element) {
  if (streams.has(element.id) || document.hidden) return;
  const stream = new EventSource(element.dataset.stream);
  streams.set(element.id, stream);
  stream.addEventListener("part", event => {
    const fresh = parser.parseFromString(event.data, "text/html").getElementById(element.id);
    const old = document.getElementById(element.id);
    if (fresh && old) showStep(old, fresh);
  });
  stream.addEventListener("end", () => { closeStream(element.id); reload(); });
}

/* The button stays while a job runs: a press that began on one button and ended on its successor would be lost. */
function showStep(old, fresh) {
  if (old.querySelector("form") && fresh.querySelector("form")) {
    for (const css of [".job-title", "progress"]) old.querySelector(css)?.replaceWith(document.adoptNode(fresh.querySelector(css)));
    return;
  }
  const focused = focusWithin(old);
  old.replaceWith(document.adoptNode(fresh));
  if (focused) fresh.querySelector("button")?.focus({preventScroll: true});
}

function closeStream(id) {
  streams.get(id)?.close();
  streams.delete(id);
}

async function reload() {
  setBusy(1);
  try {
    const answer = await fetch(location.href, {credentials: "same-origin"});
    if (answer.ok) replaceParts(await answer.text(), ["main"]);
  } catch {
    say("The server does not answer. Has it been stopped?");
  } finally {
    setBusy(-1);
  }
}

function prepare(root) {
  const streaming = [...root.querySelectorAll("[data-stream]")];
  if (root.dataset?.stream) streaming.push(root);
  for (const element of streaming) listen(element);
  for (const form of root.querySelectorAll("form[data-live] [data-send]")) form.hidden = true;
  boards(root);
}

/* Another tab may have changed the project. */
async function checkVersion() {
  if (document.hidden) return;
  try {
    const answer = await fetch("/version", {credentials: "same-origin"});
    if (!answer.ok) return;
    const version = await answer.text();
    const stale = document.getElementById("stale");
    if (stale && (version.endsWith("!") || Number.parseInt(version, 10) > Number(document.body.dataset.version))) stale.hidden = false;
  } catch { /* the server is gone; the next click says so */ }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) for (const id of [...streams.keys()]) closeStream(id);
  else { prepare(document); checkVersion(); }
});
setInterval(checkVersion, 5000);

/* Files that are dropped on the page. */
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, event => {
    const form = document.querySelector("form[data-drop]");
    if (!form || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    form.classList.toggle("dragged", kind === "dragover");
    if (kind !== "drop" || !event.dataTransfer.files.length) return;
    form.querySelector("input[type=file]").files = event.dataTransfer.files;
    form.requestSubmit();
  });
}

const address = new URL(location.href);
if (address.searchParams.has("note")) {
  address.searchParams.delete("note");
  history.replaceState(null, "", address);
}
document.querySelector(".steps [aria-current]")?.scrollIntoView({block: "nearest", inline: "center"});
prepare(document);
