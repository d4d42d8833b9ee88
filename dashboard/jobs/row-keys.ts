// Keyboard shortcuts of the job list: j and k move, x selects, Enter opens, / focuses the search line. The current row
// is the one whose link has the focus, so Enter and screen readers work unchanged.

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox])"));

const rowLinks = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("tr[data-job] .row-link")];

const step = (by: 1 | -1): void => {
  const links = rowLinks();
  const row = document.activeElement?.closest("tr[data-job]");
  const at = links.findIndex((link) => link.closest("tr") === row);
  const next = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: "nearest" });
};

const KEYS: Record<string, () => void> = {
  j: () => step(1),
  k: () => step(-1),
  x: () => document.activeElement?.closest("tr[data-job]")?.querySelector<HTMLInputElement>("input")?.click(),
  "/": () => document.querySelector<HTMLInputElement>(".search-line input")?.focus(),
};

const onKey = (event: KeyboardEvent): void => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]") !== null || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]?.();
};

export const followRowKeys = (): (() => void) => {
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
};
