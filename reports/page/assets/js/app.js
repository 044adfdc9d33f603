// The frame: which view is shown, and in which colours.
"use strict";
RF.TABS = [["overview", "Overview"], ["findings", "Findings"], ["passes", "Passes"], ["coverage", "Coverage"], ["growth", "Growth"],
  ["unjudged", "Not judged"], ["history", "History"]];

// What the address names: #/finding/ID, #/findings?oracle=numeric.
RF.where = function () {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, argument] = path.split("/");
  const view = name in RF.views && (name !== "history" || RF.data.history) ? name : "overview";
  return { view, argument: argument ? decodeURIComponent(argument) : "", query: new URLSearchParams(query || "") };
};

RF.show = function () {
  const { view, argument, query } = RF.where();
  for (const each of RF.plots) if (each.chart) each.chart.destroy();
  RF.plots = [];
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
  RF.replace(document.getElementById("main"), RF.views[view](argument, query));
  for (const link of document.querySelectorAll("nav a")) {
    const tab = link.dataset.view === (view === "finding" ? "findings" : view);
    if (tab) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  RF.drawAll();
  window.scrollTo(0, 0);
};

RF.remembered = function (value) {
  try {
    if (value) localStorage.setItem("relaxfuzz-theme", value);
    return localStorage.getItem("relaxfuzz-theme");
  } catch {
    return null; // a browser may forbid it to files
  }
};

RF.theme = function (name) {
  document.documentElement.dataset.theme = name;
  const button = document.getElementById("theme");
  button.textContent = name === "dark" ? "☀ Light" : "☾ Dark";
  button.setAttribute("aria-label", name === "dark" ? "Use light colours" : "Use dark colours");
};

RF.start = function (data) {
  RF.data = data;
  RF.byId = new Map(data.findings.map((finding) => [finding.id, finding]));
  const last = data.history ? data.history.campaigns.length - 1 : 0;
  RF.fresh = new Set((data.history ? data.history.findings : [])
    .filter((row) => row.counts.findIndex(RF.met) === last).map((row) => row.id));
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  RF.replace(document.querySelector("nav"), RF.TABS.filter(([view]) => view !== "history" || data.history).map(([view, label]) =>
    RF.h("a", { href: `#/${view}`, "data-view": view }, label,
      view === "findings" && RF.h("span", { class: "small" }, ` ${RF.apart(data.findings)[0].length}`))));
  RF.theme(RF.remembered() || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => { if (!RF.remembered()) { RF.theme(dark.matches ? "dark" : "light"); RF.drawAll(); } });
  document.getElementById("theme").addEventListener("click", () => {
    RF.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    RF.remembered(document.documentElement.dataset.theme);
    RF.drawAll();
  });
  window.addEventListener("hashchange", RF.show);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) { width = window.innerWidth; RF.drawAll(); }
  });
  RF.show();
};
