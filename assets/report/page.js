// Filters and sorts the table of all rows; figures show the cases of the rows that are shown.
"use strict";
(() => {
  const rowsOf = (table) => [...table.tBodies[0].rows];

  const filter = (table, box, count) => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = rowsOf(table).filter((row) => row.dataset.case);
    for (const row of rowsOf(table)) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = new Set(rows.filter((row) => !row.hidden).map((row) => row.dataset.case));
    count.textContent = words.length ? `${shown.size} of ${rows.length} cases, in the figures too` : "";
    for (const part of table.closest("section").querySelectorAll("svg [data-cases]")) {
      const visible = part.dataset.cases.split(" ").some((id) => shown.has(id));
      part.style.display = visible || !words.length ? "" : "none";
    }
  };

  const sort = (header) => {
    const table = header.closest("table");
    const place = [...header.parentElement.children].indexOf(header);
    const rising = header.getAttribute("aria-sort") !== "ascending";
    for (const other of header.parentElement.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const numeric = header.classList.contains("figure");
    const value = (row) => numeric ? row.cells[place].dataset.value ?? "" : row.cells[place].textContent;
    const compare = (a, b) => {
      const [first, second] = [value(a), value(b)];
      if (first === "" || second === "") return (first === "") - (second === "");
      const order = numeric ? Number(first) - Number(second) : first.localeCompare(second);
      return rising ? order : -order;
    };
    table.tBodies[0].append(...rowsOf(table).sort(compare));
  };

  const make = (name, properties, ...inside) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...inside);
    return element;
  };

  for (const table of document.querySelectorAll("table.cases")) {
    const box = make("input", { type: "search", placeholder: "words of a row" });
    const count = make("span", { className: "quiet" });
    count.setAttribute("aria-live", "polite");
    box.addEventListener("input", () => filter(table, box, count));
    table.closest(".scroll").before(make("div", { className: "filter" }, make("label", {}, "Filter", box), count));
    for (const header of table.tHead.rows[0].cells) {
      const button = make("button", { type: "button" }, ...header.childNodes);
      button.addEventListener("click", () => sort(header));
      header.append(button);
    }
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
  });
})();
