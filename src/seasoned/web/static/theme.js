// The colours that a person chose, before anything is drawn; without a choice, those of the system.
"use strict";
(() => {
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("seasoned-theme") || ""; } catch { return ""; } };
  const wear = (theme) => { if (theme) root.dataset.theme = theme; else delete root.dataset.theme; };
  wear(kept());
  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    if (!choice) return;
    choice.value = kept();
    choice.addEventListener("change", () => {
      try { localStorage.setItem("seasoned-theme", choice.value); } catch { /* it lasts until the next page */ }
      wear(choice.value);
    });
  });
})();
