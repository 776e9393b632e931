// Light or dark: as the system says, until the reader says otherwise.
(function () {
  "use strict";
  const style = document.getElementById("dark-style");
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = remembered();

  function remembered() {
    try {
      return window.localStorage.getItem("rl-rewriter-theme");
    } catch (error) {
      return null; // a browser may keep storage from files
    }
  }

  function remember(name) {
    try {
      window.localStorage.setItem("rl-rewriter-theme", name);
    } catch (error) {
      // then the choice holds for this page only
    }
  }

  function isDark() {
    return chosen ? chosen === "dark" : system.matches;
  }

  function apply() {
    style.media = isDark() ? "screen" : "not all"; // paper is always light
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    document.dispatchEvent(new Event("theme-changed"));
  }

  button.hidden = false;
  button.addEventListener("click", function () {
    chosen = isDark() ? "light" : "dark";
    remember(chosen);
    apply();
  });
  system.addEventListener("change", apply);
  window.addEventListener("beforeprint", function () { style.media = "not all"; });
  window.addEventListener("afterprint", apply);
  apply();
})();
