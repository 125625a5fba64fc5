"use strict";
// The box hides rows that do not have all of its words. Lists with a row that is left are open while it has words.
(function () {
  const box = document.getElementById("filter"), matches = document.getElementById("matches");
  const rows = Array.from(document.querySelectorAll(".row"));
  const texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
  const folds = Array.from(document.querySelectorAll("details.fold"));
  const groups = Array.from(document.querySelectorAll(".group, .core, .scroll"));
  let opened = [];
  function shown(part) { return part.querySelector(".row:not([hidden])") !== null; }
  box.addEventListener("input", function () {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach(function (row, i) {
      row.hidden = !words.every(function (word) { return texts[i].includes(word); });
      if (!row.hidden) { left++; }
    });
    groups.forEach(function (part) { part.hidden = words.length !== 0 ? !shown(part) : false; });
    opened.forEach(function (fold) { fold.open = false; });
    opened = words.length === 0 ? [] : folds.filter(function (fold) { return shown(fold) ? !fold.open : false; });
    opened.forEach(function (fold) { fold.open = true; });
    matches.textContent = words.length === 0 ? "" : left + " of " + rows.length + (rows.length === 1 ? " row" : " rows");
  });
  document.getElementById("filter-line").hidden = false;
})();
