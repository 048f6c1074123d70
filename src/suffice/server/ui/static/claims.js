// Connects claims with the words of the evidence that decide on them.
"use strict";
(() => {
  const numbers = (text) => (text ? text.split(" ") : []);
  const pieces = () => document.querySelectorAll("[data-decides]");
  const claims = () => document.querySelectorAll("[data-claims] [data-claim]");

  const clear = (name) =>
    document.querySelectorAll(`.${name}`).forEach((one) => one.classList.remove(name));

  // `name` is "lit" for a chosen claim and "hovered" for one under the pointer.
  const light = (n, name) => {
    clear(name);
    let first = null;
    for (const piece of pieces()) {
      const decides = numbers(piece.dataset.decides).includes(n);
      if (decides || numbers(piece.dataset.around).includes(n)) piece.classList.add(name);
      if (decides) first ??= piece;
    }
    for (const claim of claims()) claim.classList.toggle(name, claim.dataset.claim === n);
    return first;
  };

  const choose = (n) => {
    const first = light(n, "lit");
    for (const item of document.querySelectorAll("[data-claim-detail]")) {
      const own = item.dataset.claimDetail === n;
      item.classList.toggle("chosen", own);
      const details = item.querySelector(":scope > details");
      if (own && details) details.open = true;
    }
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    first?.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  };

  const next = (step) => {
    const all = [...claims()];
    if (!all.length) return;
    const at = all.indexOf(document.activeElement);
    const from = at < 0 && step < 0 ? 0 : at;
    const claim = all[(from + step + all.length) % all.length];
    claim.focus();
    choose(claim.dataset.claim);
  };

  document.addEventListener("click", (event) => {
    const claim = event.target.closest("a[data-claim]");
    if (!claim) return;
    event.preventDefault();
    choose(claim.dataset.claim);
  });
  document.addEventListener("mouseover", (event) => {
    const claim = event.target.closest("[data-claims] a[data-claim]");
    if (claim) light(claim.dataset.claim, "hovered");
    else clear("hovered");
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.target.closest?.("form")?.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || suffice.typing(event.target)) return;
    if (event.key === "j") next(1);
    if (event.key === "k") next(-1);
  });
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("result")?.focus({ preventScroll: true });
    const found = location.hash.match(/^#evidence-(\d+)$/);
    if (found) choose(found[1]);
  });
})();
