// Keys of the review queue and of a case. Every button works without them.
"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);

  // The claim that the keys act on: the chosen one, else the first that nobody judged.
  const claim = () =>
    one(".judged > .chosen") ?? one(".judged > li:not([data-judged])") ?? one(".judged > li");

  const choose = (n) => {
    const link = one(`[data-claims] [data-claim="${n}"]`);
    link?.click();
    link?.focus({ preventScroll: true });
  };

  const edit = () => {
    const item = claim();
    const details = item && one("[data-key=e]", item);
    if (!details) return;
    details.open = true;
    one("textarea", details).focus();
  };

  // A decision needs a reason. The browser asks for it, and Enter then sends what was chosen.
  let chosen = null;
  const decide = (button) => {
    chosen = button;
    if (!one("[name=reason]", button.form).value.trim()) one("[name=reason]", button.form).focus();
    else button.form.requestSubmit(button);
  };
  const sendsChosen = (event) => {
    if (event.key !== "Enter" || event.target.name !== "reason" || !chosen) return;
    event.preventDefault();
    event.target.form.requestSubmit(chosen);
  };

  // In the list, j and k move between the cases.
  const move = (step) => {
    const links = [...document.querySelectorAll(".case-question")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    links[Math.min(Math.max(at + step, 0), links.length - 1)].focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    if (suffice.typing(event.target)) {
      sendsChosen(event);
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const { key } = event;
    const page = one(`.decide [data-key="${key}"], a[data-key="${key}"]`);
    if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else if (key === "e") edit();
    else if (key === "a" || key === "o") claim() && one(`[data-key=${key}]`, claim()).click();
    else if (page?.localName === "a") page.click();
    else if (page) decide(page);
    else return;
    event.preventDefault();
  });

  // Focus lights the evidence too, wherever in a claim it is.
  document.addEventListener("focusin", (event) => {
    const target = event.target;
    const n =
      target.closest?.("[data-claims] [data-claim]")?.dataset.claim ??
      target.closest?.(".judged > li")?.dataset.claimDetail;
    if (!n || one(`.judged > .chosen[data-claim-detail="${n}"]`)) return;
    one(`[data-claims] [data-claim="${n}"]`)?.click();
  });

  document.addEventListener("DOMContentLoaded", () => {
    const found = location.hash.match(/^#claim-(\d+)$/);
    if (found) choose(found[1]);
    else one("#decided, #decide, #history")?.matches(":target") && one(":target").focus();
    if (location.hash === "#decided") one("a[data-key=n]")?.focus();
  });
})();
