// Overview: may it pass, what is new, what got worse, what could not be judged.
"use strict";
RF.views.overview = function () {
  const data = RF.data;
  const parts = RF.apart(data.findings);
  const [findings] = parts;
  const open = findings.filter((finding) => finding.stands === "fails");
  const fresh = data.findings.filter(RF.isNew);
  return RF.h("div", { class: "stack" }, RF.verdict(open, parts), RF.figures(findings, parts),
    data.history ? [RF.changed(fresh), RF.worse()] : null,
    RF.first(open), RF.oracles(), RF.notJudged());
};

RF.verdict = function (open, parts) {
  const campaign = RF.data.campaign;
  const gate = RF.data.verdict;
  const [findings] = parts;
  const news = open.filter(RF.isNew).length;
  const strangers = open.filter((finding) => !RF.isKnown(finding)).length;
  const groups = RF.counted(new Set(findings.map((finding) => finding.family[0])).size, "family", "families");
  const review = open.length === findings.length ? "" : `, ${open.length}`;
  const count = [open.length ? `${RF.counted(findings.length, "finding")} in ${groups}${review} to review` : "No findings to review",
    strangers < open.length && `, ${strangers || "none"} of them unknown`, RF.data.history && open.length > 0 &&
    (!news ? ", none of them for the first time" : news === open.length ? ", all for the first time" : `, ${news} of them for the first time`),
    RF.besides(parts, 1).map((told) => `; ${told}`)];
  const told = RF.h("p", { class: "dim" },
    `Seed ${campaign.seed}, TVM ${campaign.tvm} (ffi ${campaign.ffi}), started ${RF.day(campaign.started)} UTC, `,
    `${campaign.state === "running" ? "still running, so far " : ""}${RF.duration(campaign.elapsed)} with `,
    `${RF.counted(campaign.workers, "worker")}${campaign.state === "interrupted" ? ", interrupted" : ""}.`,
    campaign.not_compared.length > 0 && ` Not compared because different passes were tested: ${campaign.not_compared.join(", ")}.`);
  const [sign, edge, says] = gate ? {
    passed: ["✓", "good", "The gate passed"],
    failed: ["✕", "bad", "The gate failed"],
    "no evidence": ["?", "warn", "Not enough evidence to pass the gate"],
  }[gate.word] : open.length ? ["!", "bad", count] : campaign.blind ? ["?", "warn", campaign.blind] : ["✓", "good", count];
  const lines = (each) => RF.h("ul", { class: "decided" }, each.map((line) => RF.h("li", null, line)));
  return RF.h("section", { class: `box verdict ${edge}-edge`, id: "verdict" },
    RF.h("span", { class: `sign ${edge}`, "aria-hidden": "true" }, sign),
    RF.h("div", null, RF.h("h1", null, says), says !== count && RF.h("p", null, count),
      says !== campaign.blind && campaign.blind && RF.h("p", null, campaign.blind), told,
      gate ? [lines(gate.decided),
        gate.findings > 0 && RF.h("p", null, `${RF.counted(gate.findings, "finding")} that the policy does not accept: `,
          RF.h("a", { href: "#/findings?stands=fails" }, "show them")),
        gate.notes.length > 0 && [RF.h("p", { class: "dim" }, "Notes:"), lines(gate.notes)],
        RF.h("details", null, RF.h("summary", null, "Every requirement, with the numbers that decide it"),
          RF.h("div", null, RF.h("pre", { class: "message" }, gate.explained.join("\n")))),
        RF.h("p", { class: "dim small" }, gate.told)]
        : RF.h("p", { class: "dim small" }, "There is no gate verdict, because no policy was given (report --policy FILE).")));
};

RF.figures = function (findings, besides) {
  const { campaign, oracles } = RF.data;
  const sum = (index) => oracles.reduce((total, row) => total + row.n[index], 0);
  const [passed, failed, skipped, rejected, invalid] = [0, 1, 2, 3, 4].map(sum);
  const said = passed + failed + skipped + rejected + invalid;
  const states = new Map();
  for (const finding of findings) states.set(RF.stateOf(finding), (states.get(RF.stateOf(finding)) || 0) + 1);
  const parts = Object.keys(RF.STATES).filter((state) => states.has(state))
    .map((state) => `${states.get(state)} ${RF.STATES[state][3] ?? state}`);
  const figure = (value, ...label) => RF.h("div", { class: "box figure" }, RF.h("b", null, value), RF.h("span", null, label));
  const rate = campaign.elapsed ? ` · ${(campaign.examples / campaign.elapsed).toFixed(1)} a second` : "";
  return RF.h("div", { class: "figures" },
    figure(RF.number(findings.length), "findings: ", parts.join(", ") || "none",
      RF.besides(besides, 1).map((told) => `; ${told}`)),
    figure(RF.number(campaign.examples), "cases", rate),
    figure(RF.number(campaign.modules), `modules, tested with ${RF.counted(campaign.passes, "pass", "passes")}`),
    figure(RF.number(passed + failed), "checks (pass or fail)"),
    figure(RF.percent(passed + failed ? passed / (passed + failed) : null), `of checks passed, ${RF.number(failed)} failed`),
    figure(RF.percent(said ? (said - passed - failed) / said : null, 1), "of verdicts: skip, reject or invalid"));
};

RF.changed = function (seen) {
  const parts = RF.apart(seen);
  const [fresh] = parts;
  const history = RF.data.history;
  const last = history.campaigns.length - 1;
  const gone = history.findings.filter((row) => !RF.met(row.counts[last]) && RF.met(row.counts[last - 1]));
  const before = history.campaigns[last - 1];
  return RF.box(`New since ${before.name}`, `${RF.day(before.started)} UTC`,
    fresh.length ? RF.findingList(fresh.slice(0, 12), true) : RF.h("p", { class: "dim" }, "No new findings."),
    fresh.length > 12 && RF.h("p", null, RF.h("a", { href: "#/findings?new=1" }, `All ${fresh.length} new findings`)),
    RF.besides(parts, 1).length > 0 && RF.h("p", { class: "dim" }, `${RF.besides(parts, 1).join(", ")} that did not occur before: `,
      RF.h("a", { href: "#/findings?new=1" }, "show them")),
    gone.length > 0 && RF.h("p", { class: "dim" }, `${RF.headline(gone)} of ${before.name} did not occur again: `,
      RF.h("a", { href: "#/history?show=gone" }, "show them")));
};

RF.worse = function () {
  const rows = RF.data.history.worse;
  const rate = ([passed, failed], kind) => RF.h("td", { class: "n" }, RF.h("span", { class: kind }, RF.percent(passed / (passed + failed))),
    RF.h("div", { class: "small dim" }, `of ${RF.number(passed + failed)}`));
  return RF.box("Got worse", "more failures than chance explains (Fisher's exact test)",
    rows.length === 0 ? RF.h("p", { class: "dim" }, "No oracle-pass pair fails more often than in the previous campaign.")
      : RF.table(["pass and oracle", "#pass rate before", "#now"], rows.map((row) => RF.h("tr", null,
        RF.h("td", { class: "wrap" }, RF.camel(row.pass), RF.h("div", { class: "dim" }, row.oracle)), rate(row.before),
        rate(row.after, "bad")))));
};

RF.first = function (open) {
  if (!open.length) return null;
  const [strangers, unreported] = ["no", "unreported"].map((key) => open.filter(RF.KNOWN[key][1]).length);
  const shown = open.slice(0, 8);
  const link = (key, many, what) => many > 0 && many < open.length && [" · ", RF.h("a", { href: `#/findings?known=${key}` }, `${many} ${what}`)];
  return RF.box("Most severe findings", `${shown.length} of ${RF.counted(open.length, "open finding")}${
    strangers < open.length ? ` (${strangers} unknown, ${open.length - strangers} known)` : ""}`,
    RF.findingList(shown, true), RF.h("p", null, RF.h("a", { href: "#/findings" }, "All findings"),
      link("no", strangers, "unknown"), link("unreported", unreported, "not reported upstream")));
};

RF.oracles = function () {
  const cell = (value, kind) => RF.h("td", { class: `n ${value && kind ? kind : ""}` }, RF.number(value));
  const rows = RF.data.oracles.map(({ name, n }) => {
    const [passed, failed, skipped, rejected, invalid] = n;
    const rate = passed + failed ? passed / (passed + failed) : null;
    return RF.h("tr", null, RF.h("th", { scope: "row" }, RF.h("a", { href: `#/findings?oracle=${encodeURIComponent(name)}` }, name)),
      RF.h("td", { class: "n" }, RF.percent(rate)), RF.h("td", { class: "hide-phone" }, RF.stacked(n)), cell(passed), cell(failed, "bad"),
      cell(skipped), cell(rejected), cell(invalid, "warn"));
  });
  return RF.box("Oracles", "pass rate = pass / (pass + fail)",
    RF.table(["oracle", "#pass rate", "~share of all verdicts", "#pass", "#fail", "#skip", "#reject", "#invalid"], rows),
    RF.h("div", { class: "legend hide-phone" }, RF.OUTCOMES.map((name, index) => RF.h("span", null,
      RF.h("span", { class: "stacked" }, RF.h("i", { class: `s${index}`, style: "flex:1" })), name))));
};

RF.notJudged = function () {
  const rows = RF.silences().slice(0, 6);
  if (!rows.length) return null;
  return RF.box("Not judged", "the most frequent reasons", RF.silenceTable(rows),
    RF.h("p", null, RF.h("a", { href: "#/unjudged" }, "All reasons")));
};
