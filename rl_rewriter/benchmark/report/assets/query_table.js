// The table of all queries: filters, sorting, pages. Data only ever become text nodes.
(function () {
  "use strict";
  const table = document.getElementById("query-table");
  if (!table) return;
  const PAGE = 25;
  const rows = queryRows;
  const find = function (name) { return document.getElementById("query-" + name); };
  const filters = ["collection", "kind", "action", "outcome"];

  function signed(value) {
    const digits = Math.abs(value).toFixed(3);
    return Number(digits) === 0 ? digits : (value < 0 ? "−" : "+") + digits;
  }

  function fixed(value) {
    return value.toFixed(3);
  }

  function numbers(title, name) {
    return { title: title, show: fixed, key: function (row) { return rows.number(row, name); } };
  }

  const columns = [
    { title: "Gain", show: signed, key: rows.gain },
    { title: "Query", key: function (row) { return rows.text(row, "query"); } },
    rows.collections.length > 1 && { title: "Collection", key: rows.collection },
    rows.names("kind").length && { title: "Kind", key: function (row) { return rows.coded(row, "kind"); } },
    { title: "Action", key: function (row) { return rows.coded(row, "action"); } },
    numbers("Keep", "keep"),
    numbers("Policy", "policy"),
    numbers("Best single action", "best_fixed"),
    numbers("Per-query best (hindsight)", "oracle"),
  ].filter(Boolean);
  const details = [
    ["Id", function (row) { return rows.text(row, "query_id"); }],
    ["First text sent", rows.sent],
    ["Group", function (row) { return rows.coded(row, "group"); }],
    ["Turns before it", "history_len"],
    ["Fold", "fold"],
    ["Probability of the action", "action_probability"],
    ["Predicted gain", "predicted_gain"],
    ["A random action scores", "random"],
    ["Searches", "searches"],
    ["Texts embedded", "embedded"],
    ["LLM calls", "llm_calls"],
  ];
  const open = new Set();
  let order = { column: columns[0], direction: -1 };
  let shown = [];
  let page = 0;

  function element(name, content, className) {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    if (className) made.className = className;
    return made;
  }

  function compare(a, b) {
    const x = order.column.key(a), y = order.column.key(b);
    if (x === null || y === null) return (x === null) - (y === null);
    return order.direction * (typeof x === "number" ? x - y : x.localeCompare(y));
  }

  function cell(row, column) {
    const value = column.key(row);
    if (column.title === "Query") {
      const made = element("td", undefined, "query");
      const button = element("button", value || "(empty)", "open");
      button.type = "button";
      button.dir = "auto";
      button.setAttribute("aria-expanded", String(open.has(row)));
      button.addEventListener("click", function () { toggle(row, button); });
      made.append(button);
      return made;
    }
    if (!column.show) return element("td", value, "words");
    const tone = column.title === "Gain" ? { "1": "good", "-1": "bad" }[rows.side(row)] : "";
    return element("td", value === null ? "–" : column.show(value), tone);
  }

  function toggle(row, button) {
    const line = button.closest("tr");
    if (open.delete(row)) {
      line.nextElementSibling.remove();
    } else {
      open.add(row);
      line.after(detail(row));
    }
    button.setAttribute("aria-expanded", String(open.has(row)));
  }

  function detail(row) {
    const line = element("tr", undefined, "details");
    const only = element("td");
    const list = element("dl");
    only.colSpan = columns.length;
    for (const [name, read] of details) {
      const value = typeof read === "string" ? rows.number(row, read) : read(row);
      if (value === null || value === "") continue;
      const said = element("dd", String(value));
      said.dir = "auto";
      list.append(element("dt", name), said);
    }
    only.append(list);
    line.append(only);
    return line;
  }

  function show() {
    const last = Math.max(0, Math.ceil(shown.length / PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    const first = page * PAGE;
    const visible = shown.slice(first, first + PAGE);
    table.tBodies[0].replaceChildren(...visible.flatMap(function (row) {
      const line = element("tr");
      line.append(...columns.map(function (column) { return cell(row, column); }));
      return open.has(row) ? [line, detail(row)] : [line];
    }));
    find("count").textContent = shown.length.toLocaleString("en") + " of " +
      rows.all.length.toLocaleString("en") + " queries";
    find("page").textContent = visible.length ? (first + 1) + "–" + (first + visible.length) : "none";
    find("previous").disabled = page === 0;
    find("next").disabled = page === last;
  }

  function update() {
    const chosen = {};
    for (const name of filters) chosen[name] = find(name).value;
    shown = rows.matching(find("search").value, chosen).sort(compare);
    page = 0;
    show();
  }

  function sortBy(column) {
    const start = column.show ? -1 : 1; // numbers from the greatest, words from the first
    order = { column: column, direction: order.column === column ? -order.direction : start };
    mark();
    update();
  }

  function mark() {
    columns.forEach(function (column, i) {
      const heading = table.tHead.rows[0].cells[i];
      heading.removeAttribute("aria-sort");
      if (column === order.column) {
        heading.setAttribute("aria-sort", order.direction > 0 ? "ascending" : "descending");
      }
    });
  }

  function fill(name, pairs) {
    const select = find(name);
    select.append(new Option("any", ""));
    for (const [value, label] of pairs) select.append(new Option(label, value));
    select.closest("label").hidden = pairs.length < 2;
  }

  const line = element("tr");
  for (const column of columns) {
    const heading = element("th", undefined, column.show ? "" : "words");
    const button = element("button", column.title, "sort");
    heading.scope = "col";
    button.type = "button";
    button.addEventListener("click", function () { sortBy(column); });
    heading.append(button);
    line.append(heading);
  }
  table.tHead.append(line);
  fill("collection", rows.collections.map(function (one, c) { return [String(c), one.name]; }));
  fill("kind", rows.names("kind"));
  fill("action", rows.names("action"));
  find("search").addEventListener("input", update);
  for (const name of filters) find(name).addEventListener("change", update);
  find("form").addEventListener("submit", function (event) { event.preventDefault(); });
  find("previous").addEventListener("click", function () { page -= 1; show(); });
  find("next").addEventListener("click", function () { page += 1; show(); });
  mark();
  update();
})();
