// The held-out queries behind the table: reading, searching and filtering them.
const queryRows = (function () {
  "use strict";
  const SAME = 1e-9;
  const collections = JSON.parse(document.getElementById("query-data").textContent);
  const all = [];
  collections.forEach(function (found, c) {
    for (let i = 0; i < found.n; i += 1) all.push({ c: c, i: i, words: null });
  });

  function coded(row, name) {
    const column = collections[row.c].coded[name];
    return column ? column.names[column.codes[row.i]] : "";
  }

  function number(row, name) {
    const column = collections[row.c].numbers[name];
    return column ? column[row.i] : null;
  }

  function text(row, name) {
    const column = collections[row.c].texts[name];
    return column ? column[row.i] : null;
  }

  // The first text of a rewrite; where that is the query, an action may still have mixed something in.
  function sent(row) {
    if (!collections[row.c].texts.text || text(row, "text")) return text(row, "text");
    const kept = coded(row, "action") === "keep";
    return kept ? "the query as it is" : "the query's own words, with what the action mixes in";
  }

  function collection(row) {
    return collections[row.c].name;
  }

  function gain(row) {
    const policy = number(row, "policy"), keep = number(row, "keep");
    return policy === null || keep === null ? null : policy - keep;
  }

  // 1 where the policy helps, -1 where it hurts, 0 where it changes nothing.
  function side(row) {
    const value = gain(row);
    return value === null ? null : value > SAME ? 1 : value < -SAME ? -1 : 0;
  }

  function plain(words) {
    return words.normalize("NFKC").toLowerCase();
  }

  function words(row) {
    if (row.words === null) {
      const parts = [text(row, "query"), text(row, "text"), text(row, "query_id")];
      parts.push(coded(row, "kind"), coded(row, "action"), collection(row));
      row.words = plain(parts.filter(Boolean).join("\n"));
    }
    return row.words;
  }

  // Rows that hold every word of the search and pass every filter that is not "".
  function matching(search, filters) {
    const wanted = plain(search).split(/\s+/).filter(Boolean);
    return all.filter(function (row) {
      return (filters.collection === "" || row.c === Number(filters.collection)) &&
        (filters.kind === "" || "=" + coded(row, "kind") === filters.kind) &&
        (filters.action === "" || "=" + coded(row, "action") === filters.action) &&
        (filters.outcome === "" || side(row) === Number(filters.outcome)) &&
        wanted.every(function (word) { return words(row).includes(word); });
    });
  }

  // Names that a column has anywhere, as filter values; "=" tells an empty name from no filter.
  function names(column) {
    const found = new Set();
    for (const one of collections) {
      for (const name of one.coded[column] ? one.coded[column].names : []) found.add(name);
    }
    return Array.from(found).sort().map(function (name) { return ["=" + name, name || "(none)"]; });
  }

  return { collections, all, coded, number, text, sent, collection, gain, side, matching, names };
})();
