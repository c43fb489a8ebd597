/** Light or dark, as the system says or as people chose. */

export type Theme = "system" | "light" | "dark";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];

const KEY = "mooring-theme";

/** Returns what people chose; a browser that keeps nothing follows the system. */
export function chosenTheme(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system";
  }
}

/** Shows the page in a theme, and remembers it. Elements that paint with its colours listen to "mooring-theme" of the window. */
export function applyTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is left.
  }
  document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
  dispatchEvent(new Event("mooring-theme"));
}
