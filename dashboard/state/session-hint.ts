// Whether this browser is signed in, told to its other tabs and to the next visit. Only a hint, not a secret: without
// it a page asks for its session at every visit, and does not learn what another tab did.

const KEPT_AS = "signalbox.signed-in";
const OUT = "out";

/** `out`: the user signed out. `none`: never signed in, or the session ended. */
type Hint = "in" | "out" | "none";

const say = (kept: string | null): void => {
  try {
    if (kept === null) localStorage.removeItem(KEPT_AS);
    else localStorage.setItem(KEPT_AS, kept);
  } catch {
    // As the header says.
  }
};

/** `endsAt`: of the session, where it is known. */
export const sayHint = (hint: Hint, endsAt: string | null = null): void => {
  // Other tabs hear only of changes, so each sign-in is another text.
  say(hint === "none" ? null : hint === "out" ? OUT : [Date.now(), endsAt].filter(Boolean).join(" "));
};

/** The end of the session that this browser was told of last. */
export const hintEndsAt = (): string | null => hintText()?.split(" ")[1] ?? null;

/** Whether the session has ended by itself. */
export const isHintOver = (): boolean => Date.parse(hintEndsAt() ?? "") <= Date.now();

/** Another text with each sign-in. */
export const hintText = (): string | null => {
  try {
    return localStorage.getItem(KEPT_AS);
  } catch {
    return null;
  }
};

export const readHint = (): Hint => {
  try {
    const kept = localStorage.getItem(KEPT_AS);
    return kept === null ? "none" : kept === OUT ? "out" : "in";
  } catch {
    return "in";
  }
};

export const whenAnotherTabSays = (listen: () => void): void =>
  addEventListener("storage", ({ key }) => {
    if (key === KEPT_AS) listen();
  });
