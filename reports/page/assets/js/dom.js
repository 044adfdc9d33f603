// Building blocks: elements, numbers as text, badges.  Nothing of a campaign is ever parsed as markup: all text goes
// through text nodes and attributes, so that a module named <script> is five words on a page.
"use strict";
const RF = { views: {}, data: null };

// An element: h("a", {href: "#", class: "x", onclick: f}, child, ...); false and null are left out.
RF.h = function (tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  RF.fill(node, children);
  return node;
};

RF.fill = function (node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
};

RF.replace = function (node, ...children) {
  node.replaceChildren();
  RF.fill(node, children);
};

RF.svg = function (tag, props) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, String(value));
  return node;
};

RF.number = (value) => value.toLocaleString("en-US");
RF.counted = (value, noun, plural = `${noun}s`) => `${RF.number(value)} ${value === 1 ? noun : plural}`;

// Rounded down, so that 100% means no failure.
RF.percent = function (share, digits = 2) {
  if (share === null || share === undefined) return "–";
  const scale = 10 ** digits;
  return `${(Math.floor(share * 100 * scale + 1e-6) / scale).toFixed(digits)}%`;
};

RF.duration = function (seconds) {
  const whole = Math.round(seconds);
  const two = (value) => String(value).padStart(2, "0");
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  return whole >= 60 ? `${Math.floor(whole / 60)} min ${two(whole % 60)} s` : `${whole} s`;
};

RF.day = (iso) => `${iso.slice(0, 10)} ${iso.slice(11, 16)}`;

RF.STATES = {
  confirmed: ["●", "bad", "reproduced in fresh processes and by its script"],
  new: ["○", "warn", "not triaged (confirmed and minimized) yet", "untriaged"],
  known: ["✓", "good", "confirmed, and known on your list"],
  unscripted: ["◐", "warn", "reproduced in fresh processes, but not by a standalone script"],
  flaky: ["≈", "warn", "not reproduced every time"],
};

// The state of a finding; what a policy lists is known, whatever the campaign knew.
RF.stateOf = (finding) => (finding.stands === "known" ? "known" : finding.state);

// "new" is said of what no earlier campaign saw; the state of that name has another word here.
RF.stateText = (state) => `${RF.STATES[state]?.[0] ?? ""} ${RF.STATES[state]?.[3] ?? state}`;

RF.badge = function (state) {
  const [, kind, title] = RF.STATES[state] || ["", "", ""];
  return RF.h("span", { class: `badge ${kind}`, title }, RF.stateText(state));
};

// Findings; what goes against a claim of ours; and what was seen without being proven.
RF.apart = (rows) => RF.data.parts.map(([standing]) => rows.filter((row) => row.standing === standing));

RF.headline = (rows) => RF.besides(RF.apart(rows)).join(", ");

// How many there are of each part that is not empty, in words.
RF.besides = (parts, from = 0) => parts.map((part, at) => at >= from && part.length > 0 && RF.counted(part.length, RF.data.parts[at][0]))
  .filter(Boolean);

// A list of findings, and behind it one of questions and one of suspects, under headings that say what they are.
RF.parts = (rows, list, heading = "h2") => RF.apart(rows).map((part, at) => {
  const [standing, are] = RF.data.parts[at];
  return part.length > 0 && [are && RF.h("div", { class: "head part" },
    RF.h(heading, null, `${standing[0].toUpperCase()}${standing.slice(1)}s`), RF.h("span", { class: "small dim" }, are)), list(part)];
});

RF.gravity = (finding) => `${finding.final ? "" : "provisional until triage confirms and minimizes it, which may lower or raise it: "}${finding.gravity}`;
RF.grave = (finding) => RF.h("span", { class: `badge ${finding.severity < "S4" ? "bad" : "warn"}`, title: RF.gravity(finding) },
  finding.severity + (finding.final ? "" : "?"));

RF.text = (numbers) => (numbers ? numbers.map((number) => RF.data.lines[number]).join("\n") : "");
RF.finding = (id) => RF.byId.get(id);
RF.link = (finding) => `#/finding/${encodeURIComponent(finding.id)}`;
RF.met = (count) => count !== null; // of a finding's counts by campaign; null: not met
// Known on a list, upstream or in the corpus, whatever an earlier campaign saw.
RF.isKnown = (finding) => Boolean(finding.known) || RF.stateOf(finding) === "known";
RF.isReported = (finding) => Boolean(finding.reported); // upstream, and the report is open
RF.isNew = (finding) => RF.fresh.has(finding.id);
// Without earlier campaigns those are marked that are known nowhere, while others are known.
RF.mark = (finding) => (RF.data.history ? RF.isNew(finding) : finding.standing === "finding" && !RF.isKnown(finding)
  && RF.data.findings.some(RF.isKnown)) && RF.h("span", { class: "badge mark" }, RF.data.history ? "new" : "unknown");
RF.color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// A name of many words run together, with places to break it.
RF.camel = (name) => name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[.>_:])/).flatMap((part, at) => (at ? [RF.h("wbr"), part] : [part]));

RF.meter = (share, wide) =>
  RF.h("span", { class: wide ? "meter wide" : "meter", "aria-hidden": "true" },
    RF.h("i", { style: `width:${Math.max(0, Math.min(1, share || 0)) * 100}%` }));

RF.share = (share) => RF.h("span", { class: "pc" }, share > 0 && share < 0.001 ? "< 0.1%" : RF.percent(share, 1));

RF.OUTCOMES = ["pass", "fail", "skip", "reject", "invalid"];
RF.stacked = (counts) => RF.h("span", { class: "stacked", role: "img",
  "aria-label": RF.OUTCOMES.map((name, index) => `${name} ${counts[index]}`).join(", ") },
  counts.map((count, index) => count > 0 && RF.h("i", { class: `s${index}`, style: `flex:${count} 0 0`,
    title: `${RF.OUTCOMES[index]} ${RF.number(count)}` })));

RF.table = function (heads, rows, props) {
  // "#" before a name: a column of numbers; "~": one that a phone does without.
  const kinds = { "#": "n", "~": "hide-phone" };
  const head = heads.map((name) => RF.h("th", { scope: "col", class: kinds[name[0]] }, name.replace(/^[#~]/, "")));
  // On a phone each row is a card, and its cells say what they are.
  for (const row of rows) {
    [...row.children].forEach((cell, index) => cell.setAttribute("data-label", heads[index].replace(/^[#~]/, "")));
  }
  return RF.h("div", { class: "scroll", tabindex: "0" },
    RF.h("table", { class: "cards", ...props }, RF.h("thead", null, RF.h("tr", null, head)), RF.h("tbody", null, rows)));
};

// The first rows of many, and a button for more.
RF.paged = function (rows, size, render) {
  const box = RF.h("div");
  const show = (count) => RF.replace(box, render(rows.slice(0, count)),
    rows.length > count && RF.h("p", null, RF.h("button", { class: "button", type: "button", onclick: () => show(count + 4 * size) },
      `Show more (${RF.number(rows.length - count)} left)`)));
  show(size);
  return box;
};

RF.box = (title, aside, ...children) =>
  RF.h("section", { class: "box" },
    title && RF.h("div", { class: "head" }, RF.h("h2", null, title), aside && RF.h("span", { class: "small dim" }, aside)),
    children);

// A select of [value, label] pairs with its label.
RF.select = (label, options, value, change) =>
  RF.h("label", null, label, RF.h("select", { "aria-label": label, onchange: (event) => change(event.target.value) },
    options.map(([key, text]) => RF.h("option", { value: key, selected: key === value }, text))));

RF.search = (label, value, change) =>
  RF.h("input", { type: "search", "aria-label": label, placeholder: label, value, autocomplete: "off", spellcheck: "false",
    oninput: (event) => change(event.target.value) });

RF.copy = function (label, text) {
  const button = RF.h("button", { class: "button", type: "button" }, label);
  const said = RF.h("span", { class: "sr", role: "status" });
  button.addEventListener("click", async () => {
    const done = await RF.toClipboard(text());
    button.textContent = done ? "Copied ✓" : "Copy failed: select the text";
    said.textContent = button.textContent;
    setTimeout(() => { button.textContent = label; said.textContent = ""; }, 2500);
  });
  return RF.h("span", null, button, said);
};

// From disk some browsers have no clipboard interface: the old command is the way out.
RF.toClipboard = async function (text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = RF.h("textarea", { class: "sr", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
};
