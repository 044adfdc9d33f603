// Growth: what was found and covered over time, and where the time went.
"use strict";
RF.views.growth = function () {
  const { growth, campaign, findings } = RF.data;
  const xs = growth.at;
  const curve = (title, key, note) => RF.h("section", { class: "box" }, RF.chart(title, xs, [{ label: title.toLowerCase(), values: growth[key] }], { note }));
  const seen = RF.apart(findings)[0].map((finding) => finding.first).sort((a, b) => a - b);
  const found = RF.h("section", { class: "box" }, RF.chart("Findings", [0, ...seen, campaign.elapsed],
    [{ label: "distinct signatures", values: [0, ...seen.map((_, index) => index + 1), seen.length] }],
    { steps: true, note: "distinct findings (signatures), by first occurrence; without questions and suspects" }));
  return RF.h("div", { class: "stack" }, RF.h("h1", null, "Growth and time"),
    RF.h("div", { class: "charts" }, found, xs.length > 1 && [
      curve("Cases", "examples", "modules run through one pass or pipeline"),
      curve("Pairs of operators", "pairs", "distinct"),
      curve("Operators", "operators", "distinct"),
      curve("Operands", "operands", "distinct operators with dtype and rank"),
      curve("Rewrites", "rewrites", "distinct changes that passes made"),
      growth.blocks.length > 0 && curve("Blocks of the compiler", "blocks", "reached in src/relax (run --coverage)")]),
    xs.length <= 1 && RF.h("p", { class: "dim" }, "Nothing else was recorded: the campaign is too short, or was run with an old version of relaxfuzz."),
    RF.spent());
};

RF.spent = function () {
  const spent = RF.data.spent;
  const total = spent.steps.reduce((sum, row) => sum + row[1], 0);
  if (!total) return RF.box("Where the time went", null, RF.h("p", { class: "dim" }, "Not recorded in this campaign."));
  const most = (rows) => Math.max(...rows.filter((row) => row[0] !== "idle").map((row) => row[1]));
  const table = (heads, rows, longest = most(rows)) => RF.table(heads, rows.map(([name, seconds, note]) => RF.h("tr", null,
    RF.h("td", { class: "wrap" }, RF.camel(name), note && RF.h("div", { class: "small dim" }, note)),
    RF.h("td", { class: "hide-phone" }, name !== "idle" && RF.meter(seconds / longest, true)), RF.h("td", { class: "n" }, RF.duration(seconds)),
    RF.h("td", { class: "n" }, RF.percent(seconds / total, 1)))), { class: "cards bars" });
  const known = RF.data.known;
  return RF.h("div", { class: "two" },
    RF.box("Where the time went", `${RF.duration(total)} of ${RF.counted(RF.data.campaign.workers, "worker")}`, table(["step", "~", "#time", "#share"], spent.steps),
      known.findings > 0 && RF.h("p", { class: "dim" }, `Known findings took ${RF.percent(known.share, 1)} of it: ${RF.duration(known.seconds)}`,
        ` for ${RF.counted(known.hits, "case")} of ${RF.counted(known.findings, "known finding")}.`)),
    RF.box("By pass", "the most expensive passes", table(["pass", "~", "#time", "#share"], spent.passes.slice(0, 15))));
};
