// Coverage: what was generated, and what the passes did with it.
"use strict";
RF.views.coverage = function () {
  const c = RF.data.coverage;
  const seen = c.operators.filter((row) => row[2] > 0).length;
  const idioms = c.idioms.filter((row) => row[1] > 0).length;
  const acted = c.passes.filter((row) => row[2] > 0).length;
  const figure = (value, label) => RF.h("div", { class: "box figure" }, RF.h("b", null, value), RF.h("span", null, label));
  return RF.h("div", { class: "stack" },
    RF.h("h1", null, "Coverage"),
    RF.h("div", { class: "figures" },
      figure(`${seen} of ${c.operators.length}`, "operators occurred"),
      figure(RF.number(c.pairs.length), "distinct pairs of an operator and one that uses its result"),
      figure(`${c.features.filter((row) => row[1] > 0).length} of ${c.features.length}`, "language features of modules"),
      figure(`${idioms} of ${c.idioms.length}`, "inserted code patterns (idioms)"),
      figure(`${acted} of ${c.passes.length}`, "passes changed a module")),
    RF.acts(), RF.operators(), RF.pairs(),
    RF.h("div", { class: "two" }, RF.shares("Features", c.features.map(([name, count]) => [name, count]), c.least),
      RF.shares("Inserted code patterns (idioms), with almost-matching variants (near misses)", c.idioms.map(([name, count, near]) => [name, count,
        near.map(([miss, number]) => `${miss} ${number}`).join(", ")]), 0)));
};

RF.acts = function () {
  const rows = [...RF.data.coverage.passes].sort((a, b) => a[2] / a[1] - b[2] / b[1]);
  const lazy = rows.filter((row) => row[2] / row[1] < 0.05).length;
  const list = (chosen) => RF.table(["pass", "#tried", "#changed the module", "#ways", "most often"], chosen.map(([name, tried, changed, ways, often]) =>
    RF.h("tr", null, RF.h("td", { class: "wrap" }, RF.camel(name)), RF.h("td", { class: "n" }, RF.number(tried)),
      RF.h("td", { class: "n" }, RF.h("span", { class: "hide-phone" }, RF.meter(changed / tried)), RF.share(changed / tried)),
      RF.h("td", { class: "n" }, RF.number(ways)),
      RF.h("td", { class: "wrap small dim" }, often.length ? `${often[0][0]} (${often[0][1]} ×)` : "–"))));
  return RF.box("Passes: how often they changed a module", `${lazy} of ${rows.length} passes changed less than 5% of their modules`,
    list(rows.slice(0, 8)),
    rows.length > 8 && RF.h("details", null, RF.h("summary", null, `All ${rows.length} passes, least active first`), RF.h("div", null, list(rows))));
};

RF.short = (name) => name.replace(/^relax\./, "");
RF.tick = (name, count, most) => RF.h("div", { class: "tick" }, RF.h("span", { class: "name" }, name),
  RF.h("span", { class: count ? "n" : "n bad" }, count ? RF.number(count) : "never"), RF.meter(count / most, true));

RF.tint = (share, least = 8, most = 46) => (share > 0
  ? `background:color-mix(in srgb, var(--bar) ${Math.round(least + most * share)}%, var(--box))` : "background:var(--none-soft)");

RF.operators = function () {
  const c = RF.data.coverage;
  const most = Math.log1p(Math.max(1, ...c.operators.map((row) => row[2])));
  const body = RF.h("div");
  const chip = ([name, , count, ranks, dtypes]) => (count
    ? RF.h("li", { style: RF.tint(Math.log1p(count) / most), title: `${name}: ${RF.counted(ranks, "rank")}, ${RF.counted(dtypes, "dtype")}` },
      RF.short(name), " ", RF.h("small", null, RF.number(count)))
    : RF.h("li", { class: "never", title: name }, RF.short(name), " never"));
  const show = (text) => {
    const fits = c.operators.filter((row) => row[0].toLowerCase().includes(text.toLowerCase()));
    const groups = c.families.map((family, index) => [family, fits.filter((row) => row[1] === index).sort((a, b) => b[2] - a[2])]);
    RF.replace(body, groups.filter(([, rows]) => rows.length).map(([family, rows]) => RF.h("div", { class: "family" },
      RF.h("div", null, RF.h("h3", null, family), RF.h("span", { class: "small dim" }, `${rows.filter((row) => row[2]).length} of ${rows.length}`)),
      RF.h("ul", { class: "chips" }, rows.map(chip)))));
    if (!fits.length) RF.replace(body, RF.h("p", { class: "dim" }, "No operator name contains this text."));
  };
  show("");
  return RF.box("Operators", "number of modules that call each operator; a stronger colour means more",
    RF.h("div", { class: "tools" }, RF.search("Search operators", "", show)), body);
};

RF.pairs = function () {
  const c = RF.data.coverage;
  const names = [...c.operators.map((row) => row[0]), ...c.others];
  const family = (number) => (number < c.operators.length ? c.operators[number][1] : -1);
  const size = c.families.map((_, index) => c.operators.filter((row) => row[1] === index).length);
  const found = c.families.map(() => c.families.map(() => 0));
  for (const [from, to] of c.pairs) if (family(from) >= 0 && family(to) >= 0) found[family(from)][family(to)] += 1;
  const share = (i, j) => found[i][j] / (size[i] * size[j]);
  const heat = RF.h("table", { class: "heat" },
    RF.h("caption", { class: "sr" }, "Distinct pairs: kinds of producers in rows, kinds of consumers in columns"),
    RF.h("thead", null, RF.h("tr", null, RF.h("td"), c.families.map((name) => RF.h("th", { scope: "col" }, name)))),
    RF.h("tbody", null, c.families.map((name, i) => RF.h("tr", null, RF.h("th", { scope: "row" }, name),
      c.families.map((other, j) => RF.h("td", {
        style: RF.tint(Math.sqrt(share(i, j))),
        title: `${name} into ${other}: ${found[i][j]} of ${size[i] * size[j]} pairs`,
      }, found[i][j] || "·"))))));
  const answer = RF.h("div", { class: "two" });
  const show = (text) => {
    const wanted = text.trim().toLowerCase();
    const number = wanted ? names.findIndex((name) => RF.short(name).toLowerCase() === wanted || name.toLowerCase() === wanted) : -1;
    const near = names.findIndex((name) => wanted && name.toLowerCase().includes(wanted));
    const chosen = number >= 0 ? number : near;
    const list = (title, rows, side) => RF.h("div", null, RF.h("h3", null, title), rows.length === 0 && RF.h("p", { class: "dim" }, "none"),
      rows.slice(0, 20).map((row) => RF.tick(RF.short(names[row[side]]), row[2], rows[0][2])),
      rows.length > 20 && RF.h("p", { class: "dim small" }, `and ${rows.length - 20} more`));
    if (chosen < 0) {
      const pair = (row) => RF.tick(`${RF.short(names[row[0]])} → ${RF.short(names[row[1]])}`, row[2], c.pairs[0][2]);
      const once = c.pairs.filter((row) => row[2] === 1).length;
      RF.replace(answer, RF.h("div", null, RF.h("h3", null, "Most frequent"), c.pairs.slice(0, 12).map(pair)),
        RF.h("div", null, RF.h("h3", null, `Rarest (${RF.number(once)} in one module only)`), c.pairs.slice(-12).map(pair)));
      return;
    }
    RF.replace(answer, list(`Operators that use the result of ${RF.short(names[chosen])}`, c.pairs.filter((row) => row[0] === chosen), 1),
      list(`Operators whose results ${RF.short(names[chosen])} uses`, c.pairs.filter((row) => row[1] === chosen), 0));
  };
  show("");
  return RF.box("Pairs of operators", "distinct pairs that occurred; a stronger colour means a larger share of the possible pairs",
    RF.h("div", { class: "scroll", tabindex: "0" }, heat),
    RF.h("p", { class: "small dim" }, "Rows: the kind of operator that produces a result. Columns: the kind that uses it."),
    RF.h("div", { class: "tools" }, RF.search("Enter an operator to see its partners", "", show)), answer);
};

RF.shares = function (title, rows, least) {
  const modules = Math.max(1, RF.data.coverage.modules);
  return RF.box(title, `of ${RF.counted(RF.data.coverage.modules, "module")}`,
    rows.map(([name, count, near]) => RF.h("div", null,
      RF.h("div", { class: "tick" }, RF.h("span", { class: "name" }, name, count / modules < least && RF.h("span", { class: "badge warn" },
        `under ${Math.round(least * 100)}%`)),
        RF.h("span", { class: "n" }, count ? RF.percent(count / modules, 1) : "never"), RF.meter(count / modules, true)),
      near && RF.h("p", { class: "small dim wrap" }, `near misses: ${near}`))));
};
