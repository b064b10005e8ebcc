// What a person has chosen for this browser: the theme, whose clock times are shown by, and whether single keys do something.
import { createStore } from "./store.js";

function kept(name, values) {
  let initial = values[0];
  try {
    const stored = localStorage.getItem(`tocsin.${name}`);
    if (values.includes(stored)) initial = stored;
  } catch {
    // A browser that keeps nothing starts with the default each time.
  }
  const store = createStore(initial);
  store.subscribe((value) => {
    try {
      localStorage.setItem(`tocsin.${name}`, value);
    } catch {
      // As above.
    }
  });
  return store;
}

export const THEMES = ["system", "light", "dark"];
export const theme = kept("theme", THEMES);
export const clock = kept("clock", ["mine", "utc"]);
export const keys = kept("keys", ["on", "off"]);

theme.subscribe((value) => {
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
});

export function nextTheme() {
  theme.set(THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length]);
  return theme.get();
}
