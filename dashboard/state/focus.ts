// Keeps the keyboard's focus in the page: what had it may go, or be switched off, by what it did or by what happened
// elsewhere. It then moves to what is left beside it, else to the page's heading.

/** Without buttons that throw something away at once: a second press of Enter would do that. */
const MAY_HAVE_FOCUS = "a[href], button:not([data-forgets]), input, select, textarea, [tabindex='0']";

let held: Element | null = null;
/** What it stood in, the nearest first: known before it goes. */
let around: Element[] = [];
/** The sign-in page has its own `main`. When that is removed, the focus starts at the top of the document. */
let main: Element | null = null;

const isUsable = (element: Element): boolean => element.isConnected && !element.matches(":disabled");

const placesAround = (element: Element): Element[] => {
  const end = element.closest("dialog, .page, main") ?? document.body;
  const places: Element[] = [];
  for (let one = element.parentElement; one !== null && end.contains(one) && one !== end; one = one.parentElement)
    places.push(one);
  return end.matches("dialog") ? [...places, end] : places;
};

/** Without a scroll: Back returns to where the reader was. */
const toHeading = (): void => document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });

const neighbour = (): HTMLElement | null => {
  for (const place of around) {
    const found = place.isConnected
      ? [...place.querySelectorAll<HTMLElement>(MAY_HAVE_FOCUS)].find((one) => isUsable(one) && one.checkVisibility())
      : undefined;
    if (found !== undefined) return found;
  }
  return null;
};

const look = (): void => {
  if (held === null || isUsable(held)) return;
  const { activeElement: at } = document;
  const isElsewhere = at !== held && at?.matches("body, dialog") === false;
  held = null;
  if (isElsewhere || main?.isConnected === false) return;
  const next = neighbour();
  if (next === null) toHeading();
  else next.focus();
};

const hold = ({ target }: Event): void => {
  if (!(target instanceof Element)) return;
  held = target;
  around = placesAround(target);
  main = target.closest("main");
};

/** A pointer that presses beside every control takes the focus away on purpose. */
const letGo = (): void => {
  held = null;
};

/** The browser takes the focus from what is switched off with the next frame or the one after. */
const lookSoon = (): void => {
  if (held !== null && !isUsable(held)) requestAnimationFrame(look);
};

export const keepFocus = (): void => {
  addEventListener("focusin", hold);
  addEventListener("pointerdown", letGo, { capture: true });
  new MutationObserver(lookSoon).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["disabled"],
  });
};

/** To where it was before, or to what is left there. */
export const giveBack = (before: Element | null): void => {
  if (before instanceof HTMLElement && before !== document.body && isUsable(before)) before.focus();
  else toHeading();
};
