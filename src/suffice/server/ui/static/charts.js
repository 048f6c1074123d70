// Hover values of charts. Without it, browsers show the titles of the areas themselves.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.hidden = true;
  document.body.append(tip);
  const place = (event) => {
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18;
    const y = below + box.height > innerHeight ? event.clientY - box.height - 12 : below;
    tip.style.left = `${Math.max(x, 8)}px`;
    tip.style.top = `${Math.max(y, 8)}px`;
  };
  const hide = () => (tip.hidden = true);
  for (const area of document.querySelectorAll(".chart .hit")) {
    const title = area.querySelector("title");
    const text = title.textContent;
    title.remove(); // else the browser shows it a second time
    area.addEventListener("pointerenter", (event) => {
      tip.textContent = text;
      tip.hidden = false;
      place(event);
    });
    area.addEventListener("pointermove", place);
    area.addEventListener("pointerleave", hide);
  }
  addEventListener("scroll", hide, { passive: true });
})();
