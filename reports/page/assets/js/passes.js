// Passes by oracles: pass rates, and what is behind each of them.
"use strict";
RF.THIN = 50; // checks below which a rate says little
RF.matrixFilter = { text: "", show: "all", sort: "name" };

RF.views.passes = function () {
  const f = RF.matrixFilter;
  const { oracles } = RF.data.matrix;
  const body = RF.h("tbody");
  const count = RF.h("p", { class: "dim small", role: "status" });
  const failures = (row) => row.cells.reduce((total, cell) => total + (cell ? cell.n[1] : 0), 0);
  const checks = (row) => row.cells.reduce((total, cell) => total + (cell ? cell.n[0] + cell.n[1] : 0), 0);
  const fits = {
    all: () => true,
    fail: (row) => failures(row) > 0,
    thin: (row) => row.cells.some((cell) => !cell || cell.n[0] + cell.n[1] < RF.THIN),
  };
  const sorts = {
    name: null,
    fail: (a, b) => failures(b) - failures(a),
    rate: (a, b) => failures(b) / (checks(b) || 1) - failures(a) / (checks(a) || 1),
    few: (a, b) => checks(a) - checks(b),
  };
  const show = () => {
    const rows = RF.data.matrix.rows.filter((row) => row.name.toLowerCase().includes(f.text.toLowerCase()) && fits[f.show](row));
    if (sorts[f.sort]) rows.sort(sorts[f.sort]);
    count.textContent = `${rows.length} of ${RF.data.matrix.rows.length} passes`;
    RF.replace(body, rows.map((row) => RF.h("tr", null, RF.h("th", { scope: "row" }, RF.camel(row.name)),
      row.cells.map((cell, index) => RF.cell(row, cell, oracles[index])))));
  };
  const change = (key) => (value) => { f[key] = value; show(); };
  const view = RF.h("section", { class: "box" },
    RF.h("div", { class: "head" }, RF.h("h1", null, "Passes and oracles"), count),
    RF.h("div", { class: "tools" }, RF.search("Search passes", f.text, change("text")),
      RF.select("show", [["all", "all"], ["fail", "with failures"], ["thin", `with fewer than ${RF.THIN} checks`]], f.show, change("show")),
      RF.select("order", [["name", "name"], ["fail", "most failures"], ["rate", "lowest pass rate"], ["few", "fewest checks"]],
        f.sort, change("sort"))),
    RF.h("div", { class: "matrix-box", tabindex: "0" }, RF.h("table", { class: "matrix" },
      RF.h("thead", null, RF.h("tr", null, RF.h("th", { scope: "col" }, "pass"), oracles.map((name) => RF.h("th", { scope: "col" }, name)))),
      body)),
    RF.h("div", { class: "legend" },
      RF.h("span", null, RF.h("i", { class: "cell-good" }), "100: all checks passed"),
      RF.h("span", null, RF.h("i", { class: "cell-bad" }), "pass rate in %, failures below"),
      RF.h("span", null, RF.h("i", { class: "cell-thin" }), `fewer than ${RF.THIN} checks`),
      RF.h("span", null, RF.h("i", { class: "cell-none" }), "–: nothing was judged"),
      RF.h("span", null, "Click a cell for details.")));
  show();
  return view;
};

RF.cell = function (row, cell, oracle) {
  const [passed, failed] = cell ? cell.n : [0, 0];
  const checks = passed + failed;
  if (!checks) {
    return RF.h("td", { class: "cell-none" }, RF.h("button", { type: "button", onclick: () => RF.behind(row, cell, oracle),
      "aria-label": `${row.name}, ${oracle}: nothing was judged` }, "–"));
  }
  const rate = failed ? (Math.floor((passed / checks) * 1000) / 10).toFixed(1) : "100";
  const kinds = [failed ? "cell-bad" : "cell-good", checks < RF.THIN ? "cell-thin" : ""].join(" ");
  return RF.h("td", { class: kinds }, RF.h("button", { type: "button", onclick: () => RF.behind(row, cell, oracle),
    "aria-label": `${row.name}, ${oracle}: ${rate}% of ${checks} checks passed, ${failed} failed` },
    rate, failed > 0 && RF.h("small", { class: "bad" }, `✕ ${RF.number(failed)}`)));
};

// The evidence behind a cell, in a dialog.
RF.behind = function (row, cell, oracle) {
  const findings = RF.data.findings.filter((finding) => finding.oracle === oracle && finding.pass === row.name);
  const names = ["pass", "fail", "skip", "reject", "invalid"];
  const said = cell ? cell.n.reduce((total, count) => total + count, 0) : 0;
  const dialog = RF.h("dialog", { "aria-label": `${row.name}, ${oracle}`, onclose: () => dialog.remove(),
    onclick: (event) => event.target === dialog && dialog.close() },
    RF.h("div", { class: "head" }, RF.h("h2", { class: "wrap" }, `${row.name} · ${oracle}`),
      RF.h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Close")),
    cell && cell.ci && RF.h("p", null, `${RF.percent(cell.n[0] / (cell.n[0] + cell.n[1]))} of `,
      `${RF.number(cell.n[0] + cell.n[1])} checks passed; 95% Wilson score interval ${RF.percent(cell.ci[0])} to ${RF.percent(cell.ci[1])}.`),
    !said && RF.h("p", null, "This oracle did not check this pass."),
    said > 0 && RF.table(["verdict", "#count", "share"], names.map((name, index) => RF.h("tr", null, RF.h("th", { scope: "row" }, name),
      RF.h("td", { class: "n" }, RF.number(cell.n[index])),
      RF.h("td", null, RF.meter(cell.n[index] / said), RF.share(cell.n[index] / said)))), { class: "plain" }),
    cell && Object.keys(cell.how).length > 0 && RF.h("p", null, "Results agree: ",
      Object.entries(cell.how).map(([way, count]) => `${RF.number(count)} ${way}`).join(", "), "."),
    cell && cell.why.length > 0 && [RF.h("h3", null, "Not judged, by reason"),
      RF.table(["#count", "verdict", "reason"], cell.why.map(([outcome, reason, count]) => RF.h("tr", null,
        RF.h("td", { class: "n" }, RF.number(count)), RF.h("td", null, outcome),
        RF.h("td", { class: "wrap" }, RF.data.matrix.reasons[reason]))))],
    RF.apart(findings)[0].length > 0 && RF.h("h3", null, "Findings"),
    RF.parts(findings, (rows) => RF.findingList(rows, "narrow"), "h3"));
  dialog.addEventListener("click", (event) => event.target.closest("a") && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
};
