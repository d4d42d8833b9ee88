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

type Keys = Readonly<Record<string, () => void>>;

const ROW_KEYS: Keys = {
  j: () => step(1),
  k: () => step(-1),
  x: () => document.activeElement?.closest("tr[data-job]")?.querySelector<HTMLInputElement>("input")?.click(),
  "/": () => document.querySelector<HTMLInputElement>(".search-line input")?.focus(),
};

const isPlain = ({ ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean =>
  !ctrlKey && !metaKey && !altKey && !isTyping(target) && document.querySelector("dialog[open]") === null;

/** Follows keys that are pressed alone and outside a field, until the returned function is called. */
export const followKeys = (keys: Keys): (() => void) => {
  const onKey = (event: KeyboardEvent): void => {
    if (!Object.hasOwn(keys, event.key) || !isPlain(event)) return;
    event.preventDefault();
    keys[event.key]?.();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
};

export const followRowKeys = (): (() => void) => followKeys(ROW_KEYS);
