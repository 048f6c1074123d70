// Behaviour that all pages share. Every page works without it.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  // Times in the reader's zone.
  const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const localTimes = (within) => {
    for (const time of within.querySelectorAll("time[datetime]")) {
      const when = new Date(time.dateTime);
      if (Number.isNaN(when.getTime()) || !time.dateTime.includes("T")) continue;
      time.textContent = moment.format(when);
      time.title = exact.format(when);
    }
  };

  // Light and dark: the choice is kept in a cookie, so that the server renders it.
  const dark = () =>
    root.dataset.theme === "dark" ||
    (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const toggleTheme = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    document.cookie = `suffice_theme=${root.dataset.theme};path=/ui;max-age=31536000;samesite=strict`;
  };

  // A form that takes a while says so, and is sent once.
  const busy = (form, button) => {
    button?.setAttribute("aria-busy", "true");
    // After the event: a disabled button's value would not be sent.
    setTimeout(() => form.querySelectorAll("button").forEach((one) => (one.disabled = true)), 0);
  };
  const ready = () => {
    for (const button of document.querySelectorAll("form[data-busy] button:not([data-no-default])")) {
      button.disabled = false;
      button.removeAttribute("aria-busy");
    }
  };

  const copy = async (button) => {
    const source = document.querySelector(button.dataset.copy);
    if (!source) return;
    const text = source.value ?? source.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Press Ctrl+C";
    }
  };

  // <input data-filter=".group">: shows the rows [data-filter-row] that contain the words typed.
  const filter = (input) => {
    const wanted = input.value.trim().toLowerCase();
    for (const group of document.querySelectorAll(input.dataset.filter)) {
      let any = false;
      for (const row of group.querySelectorAll("[data-filter-row]")) {
        row.hidden = Boolean(wanted) && !row.textContent.toLowerCase().includes(wanted);
        any ||= !row.hidden;
      }
      group.hidden = !any;
      if (group.tagName === "DETAILS") group.open = Boolean(wanted) && any;
    }
  };

  const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");
  let going = false;
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) return;
    const dialog = document.querySelector("dialog.shortcuts");
    if (going && /^[1-9]$/.test(event.key)) {
      document.querySelectorAll(".side a")[Number(event.key) - 1]?.click();
    } else if (event.key === "?" && !dialog.open) {
      event.preventDefault();
      dialog.showModal();
    } else if (event.key === "/") {
      const first = document.querySelector("main input:not([type=hidden]), main textarea");
      if (first) {
        event.preventDefault();
        first.focus();
      }
    }
    going = event.key === "g";
  };

  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("themeToggle" in button.dataset) toggleTheme();
    if ("shortcuts" in button.dataset) document.querySelector("dialog.shortcuts").showModal();
    if (button.dataset.copy) copy(button);
  });
  document.addEventListener("input", (event) => {
    if (event.target.dataset.filter) filter(event.target);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
    if (question && !confirm(question)) {
      event.preventDefault();
      return;
    }
    if ("busy" in form.dataset) busy(form, event.submitter);
  });
  addEventListener("pageshow", ready);
  document.addEventListener("DOMContentLoaded", () => localTimes(document));
  window.suffice = { localTimes, typing };
})();
