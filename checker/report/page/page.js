"use strict";

// What a run looks like in each of its states, from how it starts and what each step changes.
class Course {
  constructor(told) {
    this.told = told;
  }

  at(number) {
    const { keys, values, start, changes } = this.told;
    const now = start.slice();
    for (const step of changes.slice(0, number)) {
      for (let i = 0; i < step.length; i += 2) now[step[i]] = step[i + 1];
    }
    return keys.map((key, i) => [key, values[now[i]]]);
  }
}

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

const told = JSON.parse(one("#courses").textContent);
const courses = {
  state: new Course(told.state),
  beliefs: new Course(told.beliefs),
  sites: new Course(told.sites),
};
const rows = all(".steps > li");
const last = rows.length;
const scrubber = one("#scrubber");
const box = one(".diagram");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const small = matchMedia("(max-width: 50rem)");
let current = -1;

function title(number) {
  return number ? `Step ${number} of ${last}` : "Before the first step";
}

function words(number) {
  return number ? one(".words", rows[number - 1]).textContent.trim() : "The initial state.";
}

// Scrolls the diagram and nothing else.
function reveal(row) {
  if (!box || !row) return;
  const inner = box.getBoundingClientRect();
  const outer = row.getBoundingClientRect();
  const head = one(".heads", box).offsetHeight;
  const end = one(".end.bad", box);
  const foot = end && getComputedStyle(end).position === "sticky" ? end.offsetHeight : 0;
  const above = outer.top - inner.top - head - 8;
  const below = outer.bottom - inner.bottom + foot + 8;
  const top = above < 0 ? above : Math.max(0, below);
  if (small.matches) return void row.scrollIntoView({ block: "nearest" });
  const left = box.classList.contains("wide") ? aside(row) : 0;
  if (top || left) box.scrollBy({ top, left, behavior: calm.matches ? "auto" : "smooth" });
}

// How far a wide diagram has to move so that the lane of a step is seen beside its words.
function aside(row) {
  const words = one(".telling", row).getBoundingClientRect().right;
  const lane = one(".lanes", row).getBoundingClientRect().left + Number(row.dataset.x);
  const right = box.getBoundingClientRect().right;
  if (lane < words + 32) return lane - words - 64;
  return lane > right - 32 ? lane - (words + right) / 2 : 0;
}

function mark(number) {
  const causes = new Set((rows[number - 1]?.dataset.causes ?? "").split(" "));
  rows.forEach((row, i) => {
    if (i === number - 1) row.setAttribute("aria-current", "step");
    else row.removeAttribute("aria-current");
    row.classList.toggle("cause", causes.has(String(i + 1)));
    one(".number", row).tabIndex = i === Math.max(0, number - 1) ? 0 : -1;
  });
}

function showParticulars(number) {
  const from = number ? one(".particulars", rows[number - 1]) : null;
  const copy = from ? from.cloneNode(true) : element("p", "Nothing has happened yet.");
  copy.classList.remove("particulars");
  one("#particulars").replaceChildren(copy);
}

// A text in which names are not broken between lines, as in the rest of the page.
function named(text) {
  const made = element("bdi");
  for (const piece of text.split(/([\w.@[\]]+(?:-[\w.@[\]]+)+)/)) {
    made.append(/\w-\w/.test(piece) && piece.length <= 30 ? element("span", piece, "nb") : piece);
  }
  return made;
}

function beliefRow([, [who, subject, believed, truth, standing]]) {
  const row = element("tr", "", { mistaken: "wrong", behind: "behind" }[standing] ?? "");
  const labels = ["Who", "Of", "Believes", "Truth"];
  [who, subject, believed, truth].forEach((text, i) => {
    const cell = element(i ? "td" : "th");
    if (!i) cell.scope = "row";
    cell.dataset.label = labels[i];
    cell.append(named(text));
    row.append(cell);
  });
  if (standing === "behind") row.lastChild.append(element("span", " and that is on its way", "aside"));
  return row;
}

function fill(table, beliefs) {
  one("tbody", table).replaceChildren(...beliefs.map(beliefRow));
  table.hidden = !beliefs.length;
}

function showBeliefs(number) {
  if (!one("#beliefs")) return;
  const held = courses.beliefs.at(number).filter(([, belief]) => belief);
  const of = (standing) => held.filter(([, belief]) => belief[4] === standing);
  const mistaken = of("mistaken");
  const others = of("true");
  fill(one("#beliefs"), [...mistaken, ...of("behind")]);
  fill(one("#true-beliefs"), others);
  one("#all-true").hidden = mistaken.length > 0;
  one("#true-count").textContent = others.length;
}

const gravest = ["failed", "suspect", "busy"];

// What several are like, each condition once.
function together(names, sites) {
  const counts = new Map();
  for (const name of names) {
    const [condition = "gone"] = sites.get(name) ?? [];
    counts.set(condition, (counts.get(condition) ?? 0) + 1);
  }
  const told = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return told.length === 1 ? told[0][0] : told.map(([what, n]) => `${n} ${what}`).join(", ");
}

function showRack(number) {
  const boxes = all("#rack [data-site], #rack [data-sites]");
  if (!boxes.length) return;
  const sites = new Map(courses.sites.at(number));
  one("#racked-when").textContent = number ? `after step ${number}` : "before the first step";
  for (const each of boxes) {
    const members = each.dataset.sites ? JSON.parse(each.dataset.sites) : [each.dataset.site];
    const condition = together(members, sites);
    each.dataset.condition = gravest.find((one) => condition.includes(one)) ?? condition;
    one(":scope > .site .condition", each).textContent = condition;
    if (each.dataset.sites) continue;
    const [, ...notes] = sites.get(each.dataset.site) ?? [];
    one(":scope > .notes", each).replaceChildren(...notes.map((note) => element("li", note)));
  }
}

function showState(number) {
  const before = courses.state.at(Math.max(0, number - 1));
  const after = courses.state.at(number);
  all("#state tbody tr").forEach((row, i) => {
    row.cells[1].firstChild.textContent = before[i][1];
    row.cells[2].firstChild.textContent = after[i][1];
    row.classList.toggle("changed", before[i][1] !== after[i][1]);
  });
}

function show(number) {
  one("#inspected").textContent = title(number);
  one("#inspected-words").textContent = words(number);
  showParticulars(number);
  showBeliefs(number);
  showRack(number);
  showState(number);
}

function go(number, { announce = true, link = true, scroll = true } = {}) {
  const next = Math.min(last, Math.max(0, number));
  if (next === current) return;
  current = next;
  mark(next);
  show(next);
  if (scroll || !small.matches) reveal(rows[Math.max(0, next - 1)]);
  scrubber.value = next;
  scrubber.setAttribute("aria-valuetext", title(next));
  one("#position").textContent = title(next);
  if (announce) one("#live").textContent = `${title(next)}: ${words(next)}`;
  if (link) history.replaceState(null, "", `#step-${next}`);
}

function linked() {
  const found = /^#step-(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}

// After a link to a step: the whole of the run comes into view, and the step in it.
function follow() {
  const number = linked();
  if (number === null) return;
  if (!small.matches) one(".run").scrollIntoView();
  go(number, { link: false });
  if (small.matches) rows[Math.max(0, number - 1)]?.scrollIntoView();
  else reveal(rows[Math.max(0, number - 1)]);
}

const keys = {
  ArrowLeft: () => go(current - 1),
  ArrowRight: () => go(current + 1),
  k: () => go(current - 1),
  j: () => go(current + 1),
  Home: () => go(0),
  End: () => go(last),
  "?": () => one("#help").showModal(),
};

function onKey(event) {
  const typing = event.target.closest?.("input:not([type=range]), textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
}

function filter() {
  const wanted = one("#filter").value.trim().toLowerCase();
  const ever = new Set(told.state.changes.flatMap((step) => step.filter((_, i) => i % 2 === 0)));
  const changing = one("#changing").checked;
  let found = 0;
  all("#state tbody tr").forEach((row, i) => {
    const fits = row.textContent.toLowerCase().includes(wanted) && (!changing || ever.has(i));
    row.hidden = !fits;
    found += fits;
  });
  one("#found").textContent = `${found} shown`;
}

function copying(button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = one(`#${button.dataset.copies}`);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
  });
}

function onClick(event) {
  if (getSelection().toString()) return; // who marks a text does not mean to go there
  const row = event.target.closest(".steps > li");
  if (row) go(rows.indexOf(row) + 1);
}

// Paper shows the end of the run, and all that is folded but the full state.
function toPaper() {
  show(last);
  const folded = all("details:not([open], .state)");
  for (const each of folded) each.toggleAttribute("data-unfolded", (each.open = true));
}

function fromPaper() {
  show(current);
  for (const each of all("[data-unfolded]")) each.open = each.toggleAttribute("data-unfolded");
}

function begin() {
  document.documentElement.classList.add("scripted");
  all("[data-copies]").forEach(copying);
  if (!scrubber) return;
  all("[data-scripted]").forEach((part) => (part.hidden = false));
  all("[data-go]").forEach((button) =>
    button.addEventListener("click", () => {
      const steps = { first: 0, back: current - 1, on: current + 1, last };
      go(steps[button.dataset.go]);
    }),
  );
  all("#state thead th").forEach((head, i) => {
    head.textContent = ["Field", "Before", "After"][i];
  });
  one("#ask-help").addEventListener("click", keys["?"]);
  scrubber.addEventListener("input", () => go(Number(scrubber.value)));
  one("#filter").addEventListener("input", filter);
  one("#changing").addEventListener("change", filter);
  one(".steps")?.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
  filter();
  const start = Number(box?.dataset.start ?? 0);
  go(linked() ?? start, { announce: false, link: false, scroll: false });
  addEventListener("load", follow);
}

begin();
