// Charts: curves by uPlot, and a small line beside a finding.
"use strict";
RF.plots = [];

// A curve or several over x; series: {label, values, color, dash}.  The page's summary of it is for those who cannot see it.
RF.chart = function (title, xs, series, options = {}) {
  const plot = RF.h("div", { class: "plot", role: "img", "aria-label": `${title}. ${RF.said(series, options)}` });
  const box = RF.h("div", { class: "chart" }, RF.h("h3", null, title),
    options.note && RF.h("p", { class: "small dim" }, options.note), plot);
  RF.plots.push({ plot, draw: () => RF.draw(plot, xs, series, options), chart: null });
  return box;
};

RF.said = (series, options) => series.map((each) => {
  const known = each.values.filter((value) => value !== null);
  const show = options.value || RF.number;
  return known.length ? `${each.label}: from ${show(known[0])} to ${show(known[known.length - 1])}` : "";
}).join("; ");

RF.draw = function (plot, xs, series, options) {
  const grid = { stroke: RF.color("line"), width: 1 };
  const axis = { stroke: RF.color("dim"), grid, ticks: grid, font: "12px system-ui, sans-serif" };
  const value = options.value || ((number) => (number === null ? "–" : RF.number(number)));
  // Without a pointer, as on a phone, the legend says where the curves end.
  const end = (chart) => { if (chart.cursor.idx === null || chart.cursor.idx === undefined) chart.setLegend({ idx: xs.length - 1 }, false); };
  return new uPlot({
    hooks: { ready: [end], setLegend: [end] },
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    width: Math.max(200, plot.clientWidth), height: options.height || 170, cursor: { y: false },
    legend: { show: true, live: true },
    scales: { x: options.time ? { time: true } : { time: false, range: (_, low, high) => [Math.min(0, low), Math.max(high, 1)] },
      y: { range: options.range || ((_, low, high) => [0, high * 1.05 || 1]) } },
    axes: [
      options.time ? { ...axis, space: 80, values: (_, ticks) => RF.dates(ticks) }
        : { ...axis, space: 50, incrs: RF.INCREMENTS, values: (_, ticks) => ticks.map(RF.clock) },
      { ...axis, size: 60, space: 28, values: (_, ticks) => ticks.map((tick) => (options.tick || RF.compact)(tick)) },
    ],
    series: [
      { label: options.time ? "started" : "after", value: (_, at) => (at === null || at === undefined ? "–"
        : options.time ? RF.day(new Date(at * 1000).toISOString()) : RF.duration(at)) },
      ...series.map((each) => ({
        label: each.label, stroke: RF.color(each.color || "c1"), width: 2, dash: each.dash, spanGaps: true,
        points: { show: Boolean(options.points), size: 6 },
        paths: options.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        value: (_, number) => (number === null || number === undefined ? "–" : value(number)),
      })),
    ],
  }, [xs, ...series.map((each) => each.values)], plot);
};

RF.INCREMENTS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
RF.compact = (value) => value.toLocaleString("en-US", { notation: "compact" });

// Days, or hours where the whole axis is within three days; UTC.
RF.dates = (ticks) => ticks.map((at) => {
  const iso = new Date(at * 1000).toISOString();
  return ticks[ticks.length - 1] - ticks[0] > 3 * 86400 ? iso.slice(5, 10) : `${iso.slice(11, 16)}\n${iso.slice(5, 10)}`;
});

RF.clock = function (seconds) {
  if (seconds >= 3600) return `${+(seconds / 3600).toFixed(1)} h`;
  return seconds >= 60 ? `${+(seconds / 60).toFixed(1)} min` : `${seconds} s`;
};

// Plots are drawn when their place is on the page, and again when its width or the colours change.
RF.drawAll = function () {
  for (const each of RF.plots) {
    if (each.chart) each.chart.destroy();
    each.plot.replaceChildren();
    each.chart = each.draw();
  }
};

// How the count of a finding grew over the campaign.
RF.spark = function (finding) {
  const end = Math.max(RF.data.campaign.elapsed, 1);
  const points = RF.cumulated(finding);
  if (points.length < 3) return null;
  const box = RF.svg("svg", { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" });
  const total = points[points.length - 1][1] || 1;
  const place = ([at, count]) => `${((at / end) * 100).toFixed(1)},${(23 - (count / total) * 22).toFixed(1)}`;
  box.append(RF.svg("polyline", { points: points.map(place).join(" ") }));
  return box;
};

RF.cumulated = function (finding) {
  let total = 0;
  const points = finding.seen.map(([at, count]) => [at, (total += count)]);
  if (!points.length) return [];
  return [[0, 0], [points[0][0], 0], ...points, [RF.data.campaign.elapsed, total]];
};
