// The page's hands: rows are filtered and sorted, figures drawn when they come into sight.
"use strict";
(() => {
  const MOST = 24; // lines in one figure that an eye can follow
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Set();
  let onPaper = false; // which is white, whatever the screen is

  const look = () => {
    const night = dark.matches && !onPaper;
    const ink = night ? "#e6e9ed" : "#1b1f24";
    const line = night ? "#3a424c" : "#d5dae0";
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
    return { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, family: "system-ui, sans-serif" }, axis };
  };

  const layout = (figure) => {
    const { axis, ...rest } = look();
    const own = figure.layout;
    return { margin: { t: 20, r: 20 }, legend: { orientation: "h", y: -0.25 }, ...own, ...rest,
      xaxis: { ...axis, ...own.xaxis }, yaxis: { ...axis, ...own.yaxis } };
  };

  const shownCases = (section) => new Set(
    [...section.querySelectorAll("tbody tr:not([hidden])")].map((row) => row.dataset.case));

  const visible = (figure, cases) => {
    // All traces of a case count once; cases beyond the most are told below the figure.
    const kept = new Set();
    return figure.data.map((trace) => {
      if (!trace.meta) return true;
      const own = trace.meta.split(" ");
      if (!own.some((id) => cases.has(id))) return false;
      if (!kept.has(trace.meta) && kept.size >= MOST) return false;
      kept.add(trace.meta);
      return true;
    });
  };

  const tell = (holder, figure, cases) => {
    const all = new Set(figure.data.map((trace) => trace.meta).filter(Boolean));
    const found = [...all].filter((meta) => meta.split(" ").some((id) => cases.has(id))).length;
    const told = holder.parentElement.querySelector(".count");
    const count = Math.min(found, MOST);
    told.textContent = count < all.size ? `${count} of ${all.size} shown: the filter chooses.` : "";
  };

  const draw = (holder) => {
    if (!holder.figure) holder.figure = JSON.parse(holder.nextElementSibling.textContent);
    const figure = holder.figure;
    const cases = shownCases(holder.closest("section.run"));
    const chosen = visible(figure, cases);
    const data = figure.data.filter((_, place) => chosen[place]);
    Plotly.react(holder, data, layout(figure), { responsive: true, displaylogo: false });
    tell(holder, figure, cases);
    drawn.add(holder);
  };

  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      sight.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "200px" });

  const filter = (section) => {
    const words = section.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...section.querySelectorAll("tbody tr[data-case]")];
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const count = rows.filter((row) => !row.hidden).length;
    section.querySelector(".shown").textContent = `${count} of ${rows.length} cases shown`;
    for (const holder of drawn) if (section.contains(holder)) draw(holder);
  };

  const sort = (header) => {
    const table = header.closest("table");
    const place = [...header.parentElement.children].indexOf(header);
    const rising = header.getAttribute("aria-sort") !== "ascending";
    for (const other of header.parentElement.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const value = (row) => row.children[place].dataset.value ?? row.children[place].textContent;
    const compare = (a, b) => {
      const [first, second] = [value(a), value(b)];
      if (first === "" || second === "") return (first === "") - (second === "");
      const order = header.classList.contains("figure")
        ? Number(first) - Number(second) : first.localeCompare(second);
      return rising ? order : -order;
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(compare));
  };

  document.querySelectorAll("section.run").forEach((section) => {
    const box = section.querySelector("input");
    if (box) box.addEventListener("input", () => filter(section));
    section.querySelectorAll("th button").forEach((button) =>
      button.addEventListener("click", () => sort(button.closest("th"))));
    section.querySelectorAll(".plot").forEach((holder) => sight.observe(holder));
  });
  dark.addEventListener("change", () => drawn.forEach(draw));
  window.addEventListener("beforeprint", () => {
    onPaper = true;
    document.querySelectorAll(".plot").forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    onPaper = false;
    drawn.forEach(draw);
  });
})();
