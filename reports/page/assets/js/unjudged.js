// Not judged: skips, rejects and invalid verdicts by reason.
"use strict";
// One row a reason; of one oracle, or of all.
RF.silences = function (only) {
  const { oracles, rows, reasons } = RF.data.matrix;
  const found = new Map();
  let said = 0;
  for (const row of rows) {
    row.cells.forEach((cell, index) => {
      if (!cell || (only && oracles[index] !== only)) return;
      said += cell.n.reduce((total, count) => total + count, 0);
      for (const [outcome, reason, count] of cell.why) {
        const key = `${outcome} ${reason}`;
        if (!found.has(key)) found.set(key, { outcome, reason: reasons[reason], count: 0, passes: new Map(), oracles: new Map() });
        const one = found.get(key);
        one.count += count;
        one.passes.set(row.name, (one.passes.get(row.name) || 0) + count);
        one.oracles.set(oracles[index], (one.oracles.get(oracles[index]) || 0) + count);
      }
    });
  }
  return [...found.values()].map((row) => ({ ...row, share: row.count / said })).sort((a, b) => b.count - a.count);
};

RF.most = function (counts, shown, noun, plural) {
  const rows = [...counts].sort((a, b) => b[1] - a[1]);
  const rest = rows.length - shown;
  return rows.slice(0, shown).map(([name, count]) => `${name} ${RF.number(count)}`).join(", ") +
    (rest > 0 ? ` and ${RF.counted(rest, `more ${noun}`, `more ${plural}`)}` : "");
};

RF.silenceTable = (rows) => RF.table(["#count", "#share", "verdict", "reason"], rows.map((row) => RF.h("tr", null,
  RF.h("td", { class: "n" }, RF.number(row.count)),
  RF.h("td", { class: "n" }, RF.h("span", { class: "hide-phone" }, RF.meter(row.share)), RF.share(row.share)),
  RF.h("td", { class: row.outcome === "invalid" ? "warn" : null }, row.outcome),
  RF.h("td", { class: "wrap" }, row.reason,
    RF.h("div", { class: "small dim" }, `oracles: ${RF.most(row.oracles, 4, "oracle", "oracles")}`),
    RF.h("div", { class: "small dim" }, `passes: ${RF.most(row.passes, 3, "pass", "passes")}`)))));

RF.views.unjudged = function () {
  const f = { text: "", oracle: "", outcome: "" };
  const list = RF.h("div");
  const count = RF.h("p", { class: "dim small", role: "status" });
  const show = () => {
    const chosen = RF.silences(f.oracle).filter((row) => (!f.outcome || row.outcome === f.outcome) &&
      `${row.reason} ${[...row.passes.keys()].join(" ")}`.toLowerCase().includes(f.text.toLowerCase()));
    const total = chosen.reduce((sum, row) => sum + row.count, 0);
    count.textContent = `${RF.counted(chosen.length, "reason")}, ${RF.counted(total, "verdict")}`;
    RF.replace(list, chosen.length ? RF.paged(chosen, 40, RF.silenceTable) : RF.h("p", { class: "dim" }, "No reason matches the filters."));
  };
  const change = (key) => (value) => { f[key] = value; show(); };
  const options = (names) => [["", "all"], ...names.map((name) => [name, name])];
  show();
  return RF.h("section", { class: "box" },
    RF.h("div", { class: "head" }, RF.h("h1", null, "Not judged, and why"), count),
    RF.h("p", { class: "dim" }, "skip: the oracle does not apply, or the comparison cannot be decided. reject: the pass refused the module with a " +
      "documented error. invalid: an error in relaxfuzz, or a pass that cannot be built. Shares refer to all verdicts, or to those of the selected oracle."),
    RF.h("div", { class: "tools" }, RF.search("Search reasons and passes", "", change("text")),
      RF.select("oracle", options(RF.data.matrix.oracles), "", change("oracle")),
      RF.select("verdict", options(["skip", "reject", "invalid"]), "", change("outcome"))),
    list);
};
