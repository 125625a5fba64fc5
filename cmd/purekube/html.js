"use strict";
(function () {
  const all = function (what) { return Array.from(document.querySelectorAll(what)); };
  // The box hides rows that do not have all of its words. Lists with a row that is left are open while it has words.
  const box = document.getElementById("filter"), matches = document.getElementById("matches");
  const rows = all(".row"), folds = all("details.fold"), groups = all(".group, .core, .scroll");
  const texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
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
    matches.textContent = words.length === 0 ? "" : left + " of " + rows.length + " match";
    grids.forEach(function (grid) { enter(grid); });
  });
  document.getElementById("filter-line").hidden = false;

  // A grid is one stop of the Tab key: the arrow keys go from cell to cell.
  const grids = all(".grid"), cells = ".cell:not([hidden]) > summary, .box";
  const stops = new Map();
  function enter(grid, cell) {
    const before = stops.get(grid), at = cell || grid.querySelector(cells);
    if (before) { before.tabIndex = -1; }
    if (at) { at.tabIndex = 0; }
    stops.set(grid, at);
  }
  function next(list, from, key) {
    const i = list.indexOf(from), here = from.getBoundingClientRect();
    switch (key) {
    case "ArrowRight": return list[i + 1];
    case "ArrowLeft": return list[i - 1];
    case "Home": return list[0];
    case "End": return list[list.length - 1];
    }
    const down = key === "ArrowDown" ? 1 : -1;
    let best, least = Infinity;
    list.forEach(function (cell) {
      const there = cell.getBoundingClientRect(), rows = down * (there.top - here.top);
      // The nearest row first, and in it the nearest cell.
      const far = rows * 10000 + Math.abs(there.left - here.left);
      if (rows > 4 ? least > far : false) { best = cell; least = far; }
    });
    return best;
  }
  grids.forEach(function (grid) {
    grid.querySelectorAll(cells).forEach(function (cell) { cell.tabIndex = -1; });
    enter(grid);
    grid.addEventListener("keydown", function (event) {
      const from = event.target.closest(cells);
      if (!from || !/^(Arrow|Home|End)/.test(event.key)) { return; }
      const to = next(Array.from(grid.querySelectorAll(cells)), from, event.key);
      event.preventDefault();
      if (to) { enter(grid, to); to.focus(); }
    });
  });
  document.addEventListener("keydown", function (event) {
    const open = document.querySelector(".cell[open]");
    if (event.key === "Escape" ? open : false) {
      open.open = false;
      open.querySelector("summary").focus();
    } else if (event.key === "/" ? event.target !== box : false) {
      event.preventDefault();
      box.focus();
    }
  });

  // A link opens what it leads to.
  function reveal() {
    let at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (; at; at = at.parentElement) { if (at.localName === "details") { at.open = true; } }
  }
  addEventListener("hashchange", reveal);
  reveal();
})();
