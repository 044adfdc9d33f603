// Findings: the list with search and filters, and one finding in full.
"use strict";
RF.SORTS = {
  family: ["by family, most severe first", null],
  grave: ["most severe first", null],
  count: ["most frequent", (a, b) => b.count - a.count],
  first: ["newest first", (a, b) => b.first - a.first],
  small: ["smallest module", (a, b) => (a.bindings ?? 1e9) - (b.bindings ?? 1e9)],
};
RF.KNOWN = {
  no: ["unknown", (finding) => !RF.isKnown(finding)],
  yes: ["known", (finding) => RF.isKnown(finding)],
  unreported: ["not reported upstream", (finding) => !RF.isReported(finding)],
};
RF.filters = { text: "", severity: "", oracle: "", pass: "", family: "", known: "", stands: "", states: new Set(), fresh: false, sort: "family" };

RF.sightings = () => RF.data.findings.some((finding) => finding.seen.length > 0);

RF.findingList = (findings, short) => RF.h("ul", {
  class: `findings ${short ? short === "narrow" ? "short narrow" : "short" : RF.sightings() ? "" : "no-spark"}` },
  findings.map((finding) => RF.h("li", null, RF.h("a", { href: RF.link(finding) },
    RF.h("span", { class: "state" }, RF.grave(finding), " ", RF.badge(RF.stateOf(finding))),
    !short && RF.h("span", { class: "oracle" }, finding.oracle),
    RF.h("span", { class: "name" }, RF.camel(finding.pass), " ",
      short && RF.h("span", { class: "dim" }, finding.oracle), " ",
      RF.mark(finding)),
    RF.h("span", { class: "says", title: finding.line }, finding.line),
    !short && RF.sightings() && ((finding.seen.length > 0 && RF.spark(finding)) || RF.h("span", { class: "spark" })),
    RF.h("span", { class: "times", title: "failing cases" }, finding.count ? `${RF.number(finding.count)} ×` : "-")))));

RF.chosen = function () {
  const f = RF.filters;
  const words = f.text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = RF.data.findings.filter((finding) =>
    (!f.severity || finding.severity === f.severity) && (!f.oracle || finding.oracle === f.oracle) && (!f.pass || finding.pass === f.pass) &&
    (!f.family || finding.family[0] === f.family) && (!f.stands || finding.stands === f.stands) &&
    (!f.states.size || f.states.has(RF.stateOf(finding))) && (!f.fresh || RF.isNew(finding)) &&
    (!f.known || RF.KNOWN[f.known][1](finding)) &&
    words.every((word) => RF.haystack(finding).includes(word)));
  const compare = RF.SORTS[f.sort][1];
  return RF.apart(rows).flatMap((part) => (f.sort === "family" ? RF.byFamily(part) : compare ? part.sort(compare) : part));
};

// Findings of one family beside each other, where its first one stands.
RF.byFamily = function (rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.family[0], [...(groups.get(row.family[0]) || []), row]);
  return [...groups.values()].flat();
};

// A list with a heading where a family of several begins.
RF.familyList = function (rows) {
  const size = new Map();
  for (const row of rows) size.set(row.family[0], (size.get(row.family[0]) || 0) + 1);
  const list = RF.findingList(rows);
  [...list.children].forEach((item, index) => {
    const [id, text, reason] = rows[index].family;
    if (size.get(id) < 2) return;
    item.classList.add("member");
    if (index > 0 && rows[index - 1].family[0] === id) return;
    const members = rows.filter((row) => row.family[0] === id);
    const cases = members.reduce((sum, row) => sum + row.count, 0);
    const beside = RF.data.findings.filter((row) => row.family[0] === id && row.standing !== members[0].standing);
    item.before(RF.h("li", { class: "family-head" }, RF.h("b", null, text), " ", RF.h("span", { class: "small dim" }, reason && "by hand · ",
      RF.h("code", null, id), ` · ${RF.headline(members)}, ${RF.counted(cases, "case")}`,
      beside.length > 0 && ` · also ${RF.headline(beside)}`)));
  });
  return list;
};

RF.haystack = function (finding) {
  finding.hay ||= [finding.id, finding.severity, finding.class, finding.blame, finding.why, finding.oracle, finding.pass, finding.signature, finding.message, finding.note,
    ...finding.family, finding.passes, RF.text(finding.module)].join("\n").toLowerCase();
  return finding.hay;
};

RF.views.findings = function (_, query) {
  const f = RF.filters;
  if ([...query.keys()].length) {
    Object.assign(f, { text: query.get("text") || "", severity: query.get("severity") || "", oracle: query.get("oracle") || "", pass: query.get("pass") || "",
      family: query.get("family") || "", known: query.get("known") || "", stands: query.get("stands") || "", fresh: query.get("new") === "1", states: new Set(query.getAll("state")) });
  }
  const list = RF.h("div", { id: "list" });
  const count = RF.h("p", { class: "dim", role: "status", id: "count" });
  const show = () => {
    const rows = RF.chosen();
    const [all, shown] = [RF.data.findings, rows].map(RF.apart);
    count.textContent = RF.data.parts.map(([noun], index) => (all[index].length > 0 || !index) &&
      `${shown[index].length} of ${RF.counted(all[index].length, noun)}`).filter(Boolean).join(", ");
    const part = (chosen) => RF.paged(chosen, 100, f.sort === "family" ? RF.familyList : (some) => RF.findingList(some));
    RF.replace(list, rows.length ? RF.parts(rows, part)
      : RF.h("p", { class: "dim" }, RF.data.findings.length ? "No finding matches the filters." : "The campaign has no findings."));
  };
  const change = (key) => (value) => { f[key] = value; show(); };
  const names = (key) => [...new Set(RF.data.findings.map((finding) => finding[key]).filter(Boolean))].sort();
  const options = (key, all) => [["", all], ...names(key).map((name) => [name, name])];
  // Findings are counted without questions and suspects, as on the overview; only suspects have the states of suspects.
  const number = (fits) => RF.apart(RF.data.findings.filter(fits)).find((part) => part.length > 0)?.length ?? 0;
  const knowing = Object.entries(RF.KNOWN).map(([key, [label, fits]]) => [key, `${label}: ${RF.apart(RF.data.findings.filter(fits))[0].length}`]);
  const states = Object.keys(RF.STATES).map((state) => [state, number((x) => RF.stateOf(x) === state)]);
  const toggle = (pressed, label, act) => {
    const button = RF.h("button", { class: "button", type: "button", "aria-pressed": String(pressed), onclick: () => {
      button.setAttribute("aria-pressed", String(act()));
      show();
    } }, label);
    return button;
  };
  const view = RF.h("section", { class: "box" },
    RF.h("div", { class: "head" }, RF.h("h1", null, "Findings"), count),
    RF.h("div", { class: "tools" },
      RF.search("Search id, pass, message, module", f.text, change("text")),
      RF.select("severity", options("severity", "all"), f.severity, change("severity")),
      RF.select("oracle", options("oracle", "all"), f.oracle, change("oracle")),
      RF.select("pass", options("pass", "all"), f.pass, change("pass")),
      RF.select("family", RF.families(), f.family, change("family")),
      RF.select("known", [["", "all"], ...knowing], f.known, change("known")),
      RF.select("order", Object.entries(RF.SORTS).map(([key, [label]]) => [key, label]), f.sort, change("sort"))),
    RF.h("div", { class: "tools", role: "group", "aria-label": "states" },
      states.filter(([, many]) => many).map(([state, many]) => toggle(f.states.has(state),
        `${RF.stateText(state)} ${many}`, () => {
          if (!f.states.delete(state)) f.states.add(state);
          return f.states.has(state);
        })),
      RF.data.verdict && toggle(f.stands === "fails", "fails the gate", () => {
        f.stands = f.stands ? "" : "fails";
        return f.stands === "fails";
      }),
      RF.data.history && toggle(f.fresh, `new ${number(RF.isNew)}`, () => (f.fresh = !f.fresh)),
      RF.h("button", { class: "button", type: "button", onclick: () => {
        Object.assign(f, { text: "", severity: "", oracle: "", pass: "", family: "", known: "", stands: "", fresh: false, states: new Set() });
        location.hash = "#/findings";
        RF.show();
      } }, "Clear")),
    list);
  show();
  return view;
};

RF.views.finding = function (id) {
  const finding = RF.finding(id);
  if (!finding) return RF.box("No such finding", null, RF.h("p", null, `There is no finding ${id} in this campaign.`));
  const rows = RF.apart(RF.chosen()).flat();
  const at = rows.indexOf(finding);
  const same = rows.filter((row) => row.standing === finding.standing);
  const step = (other, label) => (other ? RF.h("a", { class: "button", href: RF.link(other) }, label)
    : RF.h("span", { class: "dim small" }, `no ${label.toLowerCase()} one`));
  const rest = RF.h("div", { class: "tools" }, RF.h("a", { class: "button", href: "#/findings" }, "← Findings"),
    at >= 0 && [step(rows[at - 1], "Previous"), step(rows[at + 1], "Next"),
      RF.h("span", { class: "dim small" }, `${same.indexOf(finding) + 1} of ${RF.counted(same.length, finding.standing)}`)]);
  return RF.h("div", { class: "stack" }, rest, RF.findingHead(finding), RF.findingCode(finding), RF.findingTime(finding));
};

// A word of a shell's, as shlex.quote writes it.
RF.quoted = (text) => (text.startsWith("-") ? RF.quoted(`./${text}`) : /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

RF.scriptCommand = (finding) => (finding.repro ? `${RF.data.campaign.programs[0]} ${RF.quoted(`${RF.data.campaign.directory}/${finding.repro}`)}`
  : `${RF.data.campaign.programs[1]} repro ${RF.quoted(RF.data.campaign.directory)} ${finding.id}`);

RF.minimizing = (what) => `${RF.data.campaign.programs[1]} minimize ${RF.quoted(RF.data.campaign.directory)} ${what}`;

RF.findingHead = function (finding) {
  const fact = (name, ...value) => (value.some(Boolean) ? [RF.h("dt", null, name), RF.h("dd", null, value)] : null);
  const command = RF.scriptCommand(finding);
  return RF.h("section", { class: "box" },
    RF.h("div", { class: "head" },
      RF.h("h1", { class: "wrap" }, finding.line),
      RF.h("span", null, RF.mark(finding), " ", RF.badge(RF.stateOf(finding)))),
    RF.h("p", { class: "wrap dim" }, finding.blame === finding.pass ? `${finding.oracle}: ${finding.pass}` : `found while testing ${finding.pass} (${finding.oracle})`),
    finding.standing === "suspect" && RF.h("p", { class: "warn" }, "This is a suspect and is not counted as a finding: it is flaky, or no standalone script reproduces it."),
    finding.standing === "question" && RF.h("p", { class: "warn" }, "This is a question and is not counted as a finding: neither TVM's documentation and tests nor a contract of yours rules it out."),
    RF.h("dl", { class: "facts" },
      fact("id", RF.h("code", null, finding.id)),
      fact("severity", RF.grave(finding), ` ${RF.gravity(finding)}`),
      fact("evidence", finding.class),
      finding.blame !== finding.pass && fact("at fault", finding.blame),
      fact("reason", finding.why),
      fact("seen", `${finding.count === 1 ? "once" : RF.counted(finding.count, "time")}, first after ${RF.duration(finding.first)}, last after `,
        RF.duration(finding.last)),
      fact("module", finding.bindings === null ? ["not minimized; to minimize it, run ", RF.h("code", null, RF.minimizing(finding.id)), " ",
        RF.copy("Copy command", () => RF.minimizing(finding.id)), " or, for all untriaged findings, ", RF.h("code", null, RF.minimizing("--all"))]
        : `${RF.counted(finding.bindings, "binding")}${finding.minimized ? "" : " (not minimized)"}`),
      finding.cost && fact("time", `${RF.duration(finding.cost[0])} spent testing its cases, ${RF.duration(finding.cost[1])} on triage`),
      finding.known && fact("known", /^https?:/.test(finding.known.reference) ? RF.h("a", { href: finding.known.reference }, finding.known.line)
        : finding.known.line),
      finding.known?.cause && [fact(finding.known.same_program ? "cause" : "perhaps the cause", !finding.known.line.includes(finding.known.cause.reason) && finding.known.cause.reason), fact("where", RF.linked(finding.known.cause.place)),
        fact("possible fix", finding.known.cause.mend)],
      fact("see also", finding.others),
      fact("note", finding.note),
      fact("releases of TVM", finding.releases),
      fact(finding.stands, finding.excuse),
      RF.familyFact(finding),
      fact("signature", finding.signature),
      finding.frames.length > 0 && fact("frames", finding.frames.map((frame, at) => [at > 0 && " < ", RF.sourceOf(frame)])),
      fact("script", !finding.repro && "not written yet; to write it, run ", RF.h("code", null, command), " ",
        RF.copy("Copy command", () => command))),
    RF.h("div", { class: "tools" },
      finding.issue && RF.copy("Copy title", () => RF.text(finding.issue).split("\n")[0].slice(2)),
      finding.issue && RF.copy("Copy body", () => RF.text(finding.issue).split("\n").slice(2).join("\n")),
      RF.issueButtons(finding),
      RF.copy("Copy the entry for findings.toml", () => RF.knownEntry(finding)),
      RF.h("a", { class: "button", href: RF.upstream(finding), target: "_blank", rel: "noopener" }, "Search upstream")));
};

// What `relaxfuzz triage known` writes, without a reference where nobody knows one.
RF.knownEntry = function (finding) {
  const text = (value) => JSON.stringify(value.replace(/\s+/g, " "));
  const known = finding.known || {};
  return ["[[known]]", `id = ${text(finding.id)}`, `pass = ${text(finding.pass)}`,
    ...(known.reference ? [`reference = ${text(known.reference)}`] : []),
    `reason = ${text(known.sentence || finding.line)}`, ""].join("\n");
};

// A link to a file of TVM's in the release that was tested.
RF.source = (path, text) => (path.split("/").includes("..") ? text
  : RF.h("a", { href: `https://github.com/apache/tvm/blob/v${RF.data.campaign.tvm}/${path}`, target: "_blank", rel: "noopener" }, text));

// A frame with a link; of a user's pass only the name of the file is known.
RF.sourceOf = function (frame) {
  const path = frame.slice(0, frame.indexOf(":"));
  if (!/^[\w-]+(\/[\w.-]+)+$/.test(path)) return frame;
  return RF.source(/^(src|include)\//.test(path) ? path : `python/tvm/${path}`, frame);
};

// A text with links where it names files of TVM's.
RF.linked = (text) => text.split(/((?:src|include|python)\/[\w./-]+\.(?:cc|h|py))\b/)
  .map((part, at) => (at % 2 ? RF.source(part, part) : part));

// Where it is reported, or a new issue. GitHub refuses addresses that are too long: of a long issue the title alone is filled in.
RF.issueButtons = function (finding) {
  const link = (href, text, title) => RF.h("a", { class: "button", href, title, target: "_blank", rel: "noopener" }, text);
  const reported = (finding.known?.reported || "").split(" ")[0].replace(/^apache\/tvm#/, "https://github.com/apache/tvm/issues/");
  if (reported && (finding.known.listed || finding.known.same_program)) return link(reported, "Reported upstream", "already reported");
  const command = `${RF.data.campaign.programs[1]} repro ${RF.quoted(RF.data.campaign.directory)} ${finding.id} --markdown`;
  if (!finding.issue) return !finding.pass.includes(":") && RF.h("span", null, RF.h("button", { class: "button", disabled: true }, "New issue"), " ",
    RF.h("span", { class: "dim small" }, "no script was written for the finding yet; to write a bug report, run ", RF.h("code", null, command)));
  const [title, , ...body] = RF.text(finding.issue).split("\n");
  if (!title.startsWith("# [Bug]")) return null;
  const short = `https://github.com/apache/tvm/issues/new?template=bug-report.md&labels=${encodeURIComponent("needs-triage,type: bug")}&title=${encodeURIComponent(title.slice(2))}`;
  const whole = `${short}&body=${encodeURIComponent(body.join("\n"))}`;
  const fits = whole.length <= 8000;
  const notes = [reported && "perhaps already reported", !finding.minimized && "not minimized"].filter(Boolean);
  const issue = link(fits ? whole : short, "New issue", notes.join("; ") || "opens an issue with title and body filled in");
  const said = RF.h("span", { class: "dim small", role: "status" }, !fits && "The body is too long for a link: New issue copies it, to be pasted there.");
  if (!fits) issue.addEventListener("click", async () => {
    said.textContent = await RF.toClipboard(body.join("\n")) ? "The body is copied: paste it into the issue." : "The body could not be copied: use Copy body.";
  });
  return [reported && link(reported, "Perhaps reported upstream", "the failure reported there looks the same"), issue, !fits && said];
};

// What a maintainer would type: the pass at fault, or the tested one where it is no pass, and the operator, or else what TVM's own message or the title says without names and numbers.
RF.FILLERS = new Set("after another before does from fails function gives have inside into leaves more that their which with".split(" "));
RF.upstream = function (finding) {
  const operator = (/\brelax\.(?!expr\b)(\w+(?:\.\w+)*)/.exec(finding.line) || [])[1];
  const said = finding.said.slice(0, 2000).split(/["'`()\[\]{}<>:=,\n]|\S*\d\S*/);
  const longest = said.map((part) => part.trim()).sort((a, b) => b.length - a.length)[0] || "";
  const pass = /^\w+$/.test(finding.blame) ? finding.blame : finding.pass.split(":")[0];
  const title = finding.line.split(/[^\w.]+/).filter((word) => /^[a-z]{4,}$/.test(word) && !RF.FILLERS.has(word)).slice(0, 5).join(" ");
  const query = [pass, operator || longest.split(/\s+/).slice(0, 8).join(" ") || title].join(" ").trim();
  return `https://github.com/apache/tvm/issues?q=${encodeURIComponent(query)}`;
};

// Families of several findings, the largest first; those of one are no choice.
RF.families = function () {
  const sizes = new Map();
  for (const { family } of RF.data.findings) sizes.set(family[0], [family[1], (sizes.get(family[0])?.[1] || 0) + 1]);
  const many = [...sizes].filter(([, [, size]]) => size > 1).sort((a, b) => b[1][1] - a[1][1]);
  const proven = new Set(RF.apart(RF.data.findings)[0].map(({ family }) => family[0])).size;
  return [["", `all ${proven}`], ...many.map(([id, [text, size]]) => [id, `${size}: ${text.slice(0, 80)}`])];
};

RF.familyFact = function (finding) {
  const [id, text, reason] = finding.family;
  const others = RF.data.findings.filter((other) => other.family[0] === id && other !== finding);
  return [RF.h("dt", null, "family"), RF.h("dd", null, RF.h("code", null, id), " ", text, reason && RF.h("span", { class: "dim" }, " (by hand)"),
    others.length > 0 && [" · ", RF.h("a", { href: `#/findings?family=${encodeURIComponent(id)}` },
      `with ${RF.headline(others)}`)])];
};

RF.findingCode = function (finding) {
  const script = RF.text(finding.script);
  return [
    finding.module ? RF.code(!finding.minimized ? "Module, not minimized" : finding.reduced ? "Minimized module" : "Module (not reduced)", RF.text(finding.module))
      : RF.h("p", { class: "dim" }, "The module cannot be printed as TVMScript."),
    RF.code(finding.passes.includes("\n") ? "Passes, in order" : "Pass", finding.passes, { wrap: true }),
    finding.change && RF.code("Changed lines", finding.change),
    finding.neighbour && RF.code(`The nearest module that passes: ${finding.neighbour[0]}`, finding.neighbour[1]),
    finding.expected && RF.code("Expected", finding.expected, { plain: true }),
    RF.code(finding.issue ? "Observed" : finding.observed ? "Message" : "Message from TVM", finding.message, { plain: true }),
    finding.observed && finding.observed !== finding.message && RF.code("Observed", finding.observed, { plain: true }),
    script ? RF.h("details", { class: "box", id: "script" }, RF.h("summary", null, `Script: ${finding.repro}`),
      RF.h("div", null, RF.code(RF.counted(script.split("\n").length, "line"), script, { copy: "Copy script" })))
      : finding.repro && RF.h("p", { class: "dim" }, `The script ${finding.repro} is in the campaign's directory.`),
  ];
};

RF.findingTime = function (finding) {
  const points = RF.cumulated(finding);
  const history = RF.data.history;
  const row = history && history.findings.find((each) => each.id === finding.id);
  return [
    points.length > 0 && RF.h("section", { class: "box" }, RF.chart("Failing cases over the course of the campaign",
      points.map((point) => point[0]), [{ label: "cases", values: points.map((point) => point[1]) }], { steps: true })),
    row && RF.box("History", null, RF.table(["campaign", "started", "#failing cases"],
      history.campaigns.map((campaign, index) => RF.h("tr", null, RF.h("td", { class: "wrap" }, campaign.name),
        RF.h("td", null, RF.day(campaign.started)), RF.h("td", { class: "n" }, RF.met(row.counts[index]) ? RF.number(row.counts[index]) : "·"))))),
  ];
};
