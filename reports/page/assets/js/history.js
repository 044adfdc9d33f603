// History: several campaigns side by side.
"use strict";
RF.views.history = function (_, query) {
  const { campaigns, oracles, findings } = RF.data.history;
  const xs = campaigns.map((campaign) => Date.parse(campaign.started) / 1000);
  const last = campaigns.length - 1;
  const rate = (pair) => (pair && pair[0] + pair[1] ? pair[0] / (pair[0] + pair[1]) : null);
  const low = (_, least) => [Math.min(0.99, (least ?? 1) - (1 - (least ?? 1)) * 0.2), 1];
  const trend = ({ name, counts }) => RF.h("section", { class: "box" }, RF.chart(`${name} · ${RF.percent(rate(counts[last]))}`, xs, [{ label: "pass rate", values: counts.map(rate) }],
    { time: true, points: true, range: low, height: 140, value: (share) => RF.percent(share),
    tick: (share) => `${+(share * 100).toFixed(2)}%` }));
  const f = { show: query.get("show") || "all" };
  const first = (row) => row.counts.findIndex(RF.met);
  const end = (row) => row.counts.length - 1 - [...row.counts].reverse().findIndex(RF.met);
  const kinds = {
    all: ["all", () => true],
    new: ["new in the latest campaign", (row) => first(row) === last],
    gone: ["gone in the latest campaign", (row) => !RF.met(row.counts[last])],
    again: ["in all campaigns", (row) => row.counts.every(RF.met)],
  };
  const list = RF.h("div");
  const count = RF.h("p", { class: "dim small", role: "status" });
  const row = (each) => RF.h("tr", null,
    RF.h("td", null, RF.finding(each.id) ? RF.h("a", { href: RF.link(each) }, RF.h("code", null, each.id)) : RF.h("code", null, each.id)),
    RF.h("td", { class: "wrap" }, `${each.oracle}: ${each.pass} `, each.standing !== "finding" && RF.badge(each.standing === "suspect" ? each.state : each.standing),
      RF.h("div", { class: "small dim clamp", title: each.line }, each.line)),
    RF.h("td", null, campaigns[first(each)].name), RF.h("td", null, campaigns[end(each)].name),
    each.counts.slice(-8).map((number) => RF.h("td", { class: RF.met(number) ? "n" : "n dim" }, RF.met(number) ? RF.number(number) : "·")));
  const show = (value) => {
    f.show = value;
    const rows = RF.apart(findings.filter(kinds[value][1]).sort((a, b) => b.counts[last] - a.counts[last])).flat();
    count.textContent = `${rows.length} of ${RF.counted(findings.length, "signature")}`;
    RF.replace(list, RF.paged(rows, 50, (chosen) => RF.table(["id", "finding", "first seen", "last seen", ...campaigns.slice(-8).map((campaign) => `#${campaign.name}`)],
      chosen.map(row))));
  };
  show(f.show in kinds ? f.show : "all");
  return RF.h("div", { class: "stack" }, RF.h("h1", null, `History of ${campaigns.length} campaigns`),
    RF.box("Campaigns", null, RF.table(["campaign", "started (UTC)", "TVM", "#seed", "#time", "#cases", "#findings", "#new",
      "#questions", "#suspects"],
      campaigns.map((campaign) => RF.h("tr", null, RF.h("td", { class: "wrap" }, campaign.name), RF.h("td", null, RF.day(campaign.started)),
        RF.h("td", null, campaign.tvm), RF.h("td", { class: "n" }, campaign.seed), RF.h("td", { class: "n" }, RF.duration(campaign.elapsed)),
        RF.h("td", { class: "n" }, RF.number(campaign.cases)), RF.h("td", { class: "n" }, RF.number(campaign.findings)),
        RF.h("td", { class: "n" }, RF.number(campaign.new)), RF.h("td", { class: "n" }, RF.number(campaign.questions)),
        RF.h("td", { class: "n" }, RF.number(campaign.suspects)))))),
    RF.h("h2", null, "Pass rate by oracle"), RF.h("div", { class: "charts" }, oracles.map(trend)),
    RF.h("section", { class: "box" }, RF.h("div", { class: "head" }, RF.h("h2", null, "Findings"), count),
      RF.h("div", { class: "tools" }, RF.select("show", Object.entries(kinds).map(([key, [label]]) => [key, label]), f.show, show)), list));
};
