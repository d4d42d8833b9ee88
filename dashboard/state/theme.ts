// Light, dark, or the system's theme. Only this choice is stored in the browser.

import { effect, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEPT_AS = "signalbox.theme";
const systemDark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

const kept = (): Theme => {
  try {
    const found = localStorage.getItem(KEPT_AS) as Theme | null;
    return found !== null && THEMES.includes(found) ? found : "system";
  } catch {
    return "system";
  }
};

export const theme = signal<Theme>(kept());
export const chooseTheme = (next: Theme): void => {
  theme.value = next;
  try {
    localStorage.setItem(KEPT_AS, next);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
};

export const applyTheme = (): void => {
  const show = (): void => {
    const asked = theme.value;
    document.documentElement.dataset.theme = asked === "system" ? (systemDark?.matches ? "dark" : "light") : asked;
  };
  effect(show);
  systemDark?.addEventListener("change", show);
};
