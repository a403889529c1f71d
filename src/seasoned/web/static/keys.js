// Keys for people who do not reach for the mouse: / search, j k move, e edit, n add, ? help, u up.
"use strict";
(() => {
  const items = () => [...document.querySelectorAll("[data-item]")];
  const go = (name) => document.querySelector(`[data-key="${name}"]`)?.click();
  const move = (by) => {
    const all = items();
    if (!all.length) return;
    const at = all.indexOf(document.activeElement?.closest("[data-item]"));
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  const help = () => {
    const dialog = document.getElementById("keys");
    if (dialog.open) dialog.close();
    else dialog.showModal();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    const search = document.getElementById("q");
    const acts = {
      "/": () => { search?.focus(); search?.select(); },
      j: () => move(1), k: () => move(-1),
      e: () => go("edit"), n: () => go("add"), u: () => go("up"), "?": help,
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) help();
  });
  // Lines that were fetched take the focus of the link that fetched them, so that j and k go on from there.
  let from = -1;
  document.addEventListener("htmx:before:request", () => { from = items().indexOf(document.activeElement); });
  document.addEventListener("htmx:after:swap", () => {
    if (from >= 0 && document.activeElement === document.body) items()[from]?.focus();
  });
})();
