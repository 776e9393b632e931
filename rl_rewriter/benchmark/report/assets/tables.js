// Tables whose headings sort them; the order of equal rows stays.
(function () {
  "use strict";

  function key(row, column) {
    const text = row.cells[column].dataset.key;
    if (text === undefined) return null;
    const number = Number(text);
    return text.trim() === "" || Number.isNaN(number) ? text : number;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b));
  }

  function sort(table, column, direction) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, function (row) {
      return { row: row, key: key(row, column) };
    });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return direction * compare(a.key, b.key);
    });
    body.append(...rows.map(function (entry) { return entry.row; }));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = Array.from(table.tHead.rows[0].cells);
    headings.forEach(function (heading, column) {
      const first = table.tBodies[0].rows[0];
      const isNumber = first && typeof key(first, column) === "number";
      heading.classList.toggle("words", !isNumber);
      heading.querySelector("button").addEventListener("click", function () {
        const was = heading.getAttribute("aria-sort");
        // Numbers start with the greatest, words with the first of the alphabet.
        const next = was === null ? (isNumber ? "descending" : "ascending")
          : was === "ascending" ? "descending" : "ascending";
        headings.forEach(function (other) { other.removeAttribute("aria-sort"); });
        heading.setAttribute("aria-sort", next);
        sort(table, column, next === "ascending" ? 1 : -1);
      });
    });
  }
})();
