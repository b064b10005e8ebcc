// Not a module, so that it runs before the first paint and no page flashes in the other theme.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("tocsin.theme");
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
