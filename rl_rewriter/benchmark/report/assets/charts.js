// Charts are drawn when they come near the screen, in the colours of the page.
(function () {
  "use strict";
  const figures = JSON.parse(document.getElementById("figure-data").textContent);
  const settings = { displaylogo: false, displayModeBar: false, responsive: true, typesetMath: false };
  const NARROW = 520;
  const PAPER = 660;
  const drawn = new Set();
  const styles = window.getComputedStyle(document.body);

  function colour(value) {
    if (Array.isArray(value)) return value.map(colour);
    const name = typeof value === "string" ? /^var\((--[a-z0-9-]+)\)$/.exec(value) : null;
    return name ? styles.getPropertyValue(name[1]).trim() : value;
  }

  // A copy in which the names of colours are replaced by colours.
  function coloured(part, name) {
    if (/color$/.test(name)) return colour(part);
    if (Array.isArray(part)) return part.map(function (item) { return coloured(item, ""); });
    if (part === null || typeof part !== "object") return part;
    const copy = {};
    for (const key of Object.keys(part)) copy[key] = coloured(part[key], key);
    return copy;
  }

  // Without a width, a chart is as wide as its place, and follows it.
  function draw(element, width) {
    const figure = coloured(figures[element.id], "");
    const layout = figure.layout;
    layout.font.family = styles.getPropertyValue("font-family") || "sans-serif";
    if (element.clientWidth < NARROW && layout.meta && layout.meta.narrow) {
      layout.yaxis.ticktext = layout.meta.narrow;
    }
    layout.width = width;
    drawn.add(element);
    window.Plotly.react(element, figure.data, layout, settings);
  }

  const seen = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "600px 0px" });

  document.querySelectorAll(".plot").forEach(function (element) { seen.observe(element); });
  document.addEventListener("theme-changed", function () {
    drawn.forEach(function (element) { draw(element); });
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (element) { element.open = true; });
    document.querySelectorAll(".plot").forEach(function (element) { draw(element, PAPER); });
  });
})();
