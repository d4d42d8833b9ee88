// Light, dark, or the system's theme.

import { effect } from "@preact/signals";
import { isOneOf, kept } from "./kept.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const systemDark = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

export const { chosen: theme, choose: chooseTheme } = kept<Theme>("theme", "system", isOneOf(THEMES));

export const applyTheme = (): void => {
  const show = (): void => {
    const asked = theme.value;
    document.documentElement.dataset.theme = asked === "system" ? (systemDark?.matches ? "dark" : "light") : asked;
  };
  effect(show);
  systemDark?.addEventListener("change", show);
};
