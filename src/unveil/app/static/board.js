/* A board on which values are dragged between groups. The text below it is still what is sent, and can be edited instead:

   data-board="groups"   on a text area of lines: the name of a group, then its values
   data-board="rows"     on a text area of rows: a value, then its group at each level; the groups of the first level are shown

   A value is dragged from group to group, or moved with the arrow keys; a group is renamed in place. */

const MOST = 80;

/* Cells are separated by semicolons; a cell that contains a semicolon, a quote, or blanks at its ends is quoted. */
function read(text) {
  const rows = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/[ \t]*(?:"((?:[^"]|"")*)"[ \t]*|([^;\n]*))(;|\n|$)/g)) {
    rows.at(-1).push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (end === "\n") rows.push([]);
    if (end === "") break;
  }
  return rows.filter(row => row.some(cell => cell));
}

function cell(text) {
  return text && text === text.trim() && !/[;"\r\n]/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

const written = rows => rows.map(row => row.map(cell).join("; ") + "\n").join("");

/* Groups as [name, values, what follows the name in a row]. */
function groupsOf(area) {
  const rows = read(area.value);
  if (area.dataset.board === "groups") return rows.map(([name, ...values]) => ({name, values: values.filter(one => one), above: []}));
  const groups = new Map();
  for (const [value, name = value, ...above] of rows) {
    if (!groups.has(name)) groups.set(name, {name, values: [], above});
    groups.get(name).values.push(value);
  }
  return [...groups.values()];
}

function keep(area, groups) {
  const full = groups.filter(group => group.values.length);
  const rows = area.dataset.board === "groups" ? full.map(({name, values}) => [name, ...values])
    : full.flatMap(({name, values, above}) => values.map(value => [value, name, ...above]));
  area.value = written(rows);
}

function create(tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

function chip(value, at, move) {
  const button = create("button", "chip", value);
  button.type = "button";
  button.draggable = true;
  button.addEventListener("dragstart", event => {
    event.dataTransfer.setData("text/plain", value);
    event.dataTransfer.effectAllowed = "move";
    button.classList.add("lifted");
  });
  button.addEventListener("dragend", () => button.classList.remove("lifted"));
  button.addEventListener("keydown", event => {
    const by = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
    if (!by) return;
    event.preventDefault();
    move(value, at + by);
  });
  return button;
}

function draw(area, board) {
  const groups = groupsOf(area), all = groups.flatMap(group => group.values);
  board.hidden = all.length > MOST || !all.length;
  if (board.hidden) return;
  const move = (value, to) => {
    const from = groups.findIndex(group => group.values.includes(value));
    if (from < 0 || to < 0 || from === to) return;
    if (!groups[to]) groups.push({name: fresh(groups), values: [], above: groups[0].above});
    groups[from].values.splice(groups[from].values.indexOf(value), 1);
    groups[Math.min(to, groups.length - 1)].values.push(value);
    keep(area, groups);
    draw(area, board);
    [...board.querySelectorAll(".chip")].find(one => one.textContent === value)?.focus();
  };
  board.replaceChildren(...[...groups.keys(), groups.length].map(at => bin(area, groups, at, move)));
}

function fresh(groups) {
  const names = new Set(groups.map(group => group.name));
  let number = groups.length + 1;
  while (names.has(`group ${number}`)) number += 1;
  return `group ${number}`;
}

function bin(area, groups, at, move) {
  const group = groups[at], place = create("div", group ? "bin" : "bin bin-new");
  if (group) {
    const name = create("input", "bin-name");
    name.value = group.name;
    name.setAttribute("aria-label", "Name of the group");
    name.addEventListener("input", event => event.stopPropagation());
    name.addEventListener("change", () => { if (name.value.trim()) { group.name = name.value.trim(); keep(area, groups); } });
    place.append(name, ...group.values.map(value => chip(value, at, move)));
  } else {
    place.append(create("span", "small faint", "Drop a value here for a new group"));
  }
  place.addEventListener("dragover", event => {
    if (event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    place.classList.add("bin-over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("bin-over"));
  place.addEventListener("drop", event => {
    if (event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    move(event.dataTransfer.getData("text/plain"), at);
  });
  return place;
}

export function boards(root) {
  for (const area of root.querySelectorAll("textarea[data-board]")) {
    if (area.dataset.drawn) continue;
    area.dataset.drawn = "1";
    const board = create("div", "board");
    board.setAttribute("role", "group");
    board.setAttribute("aria-label", "Groups: drag a value to another group, or move it with the arrow keys");
    area.closest("label").before(board);
    area.addEventListener("input", () => draw(area, board));
    draw(area, board);
  }
}
