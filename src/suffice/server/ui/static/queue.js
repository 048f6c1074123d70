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

  const hint = (form, text) => {
    one("[data-enter-hint]", form)?.remove();
    if (!text) return;
    const said = document.createElement("p");
    said.className = "hint";
    said.dataset.enterHint = "";
    said.setAttribute("role", "alert");
    said.textContent = text;
    form.append(said);
  };

  // A decision needs a reason. The browser asks for it, and Enter then sends what was chosen.
  let chosen = null;
  const decide = (button) => {
    const reason = one("[name=reason]", button.form);
    if (reason.value.trim()) return button.form.requestSubmit(button);
    reason.focus();
    chosen = button;
    hint(button.form, `Type the reason. Enter sends: ${button.textContent.trim()}.`);
  };
  // Where Enter would have to choose between buttons, it sends nothing.
  const onEnter = (event) => {
    const { form } = event.target;
    if (event.target.localName !== "input" || !form || event.isComposing) return;
    if (!one("[data-no-default]", form)) return;
    event.preventDefault();
    if (chosen?.form === form) form.requestSubmit(chosen);
    else hint(form, "Nothing was sent. Choose one of the buttons.");
  };
  document.addEventListener("focusout", (event) => {
    if (!chosen || event.target.name !== "reason") return;
    hint(chosen.form, "");
    chosen = null;
  });

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
      if (event.key === "Enter") onEnter(event);
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
