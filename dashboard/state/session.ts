// The session. The key is only in the request that signs in: never stored, never left in the address. All tabs of a
// browser share one session, so each follows what another does with it.

import { computed, effect, signal, untracked } from "@preact/signals";
import type { SessionAnswer } from "../../contract/access/session.ts";
import { ApiProblem } from "../../contract/client/problem.ts";
import { api, whenUnlike } from "../api.ts";
import { hintEndsAt, readHint, sayHint, whenAnotherTabSays } from "./session-hint.ts";

type Session = SessionAnswer | null;

/** undefined: not known yet; null: not signed in. */
export const session = signal<Session | undefined>(undefined);
/** Who is signed in; as long as it stays the same, so may the page. */
const user = computed(() => {
  const who = session.value;
  return who ? `${who.tenant}/${who.person?.id ?? who.name}/${who.role}` : who;
});
/** A key from an address that was opened while signed in: the user is asked before it replaces the session. */
export const offeredKey = signal<string | null>(null);
export const signInNote = signal<string | null>(null);
/** A person, who makes keys of the own; others hold a key. */
export const isPerson = computed(() => session.value?.person != null && session.value.key_id === null);
export const isAdmin = computed(() => session.value?.role === "admin");
export const mayOperate = computed(() => isAdmin.value || session.value?.role === "standard");
/** Other roles cannot open the dashboard. A viewer sees it without its controls. */
const mayLook = computed(() => mayOperate.value || session.value?.role === "viewer");

/** The user whose pages are shown; null while there is a sign-in page, or nothing yet. */
export const viewer = computed(() => (mayLook.value && offeredKey.value === null ? (user.value ?? null) : null));

/** For what a page keeps: the next user of this browser must not see it. It may be the same person in another role. */
export const whenUserChanges = (forget: (hasOtherRole: boolean) => void): void => {
  let before = user.peek();
  effect(() => {
    const after = user.value;
    const gone = before;
    before = after;
    if (gone && gone !== after) untracked(() => forget(withoutRole(gone) === withoutRole(after ?? "")));
  });
};

const withoutRole = (who: string): string => who.slice(0, who.lastIndexOf("/"));

const ENDED = "Your session has ended: it expired, or was ended, or its key was revoked or rotated.";
const SIGNED_OUT_ELSEWHERE = "You signed out in another tab.";
const KEEPS_NO_COOKIE = "This browser blocks cookies. Allow this site's: one of them is the session.";
const RESUME_AGAIN_MS = 3000;

const isUnknown = (error: unknown): boolean => error instanceof ApiProblem && error.status === 401;

export const signIn = async (key: string): Promise<void> => {
  const found = await api.session.signIn(key.trim());
  session.value = found;
  sayHint("in", found.expires_at);
  signInNote.value = null;
};

/** Throws if the coordinator did not end the session: then it is still open. */
export const signOut = async (): Promise<void> => {
  try {
    await api.session.signOut();
  } catch (error) {
    if (!isUnknown(error)) throw error;
  }
  sayHint("out");
  signInNote.value = null;
  session.value = null;
};

/** `npm start` prints an address with the key behind `#`; the key is removed before anything else happens. */
const takeKeyFromAddress = (): string | null => {
  const key = new URLSearchParams(location.hash.replace(/^#/, "")).get("key");
  if (key === null || location.hash.startsWith("#/")) return null;
  history.replaceState(null, "", location.pathname);
  return key;
};

/** Reads the session; the answer counts only if nobody has signed in or out since it was asked for. */
const read = async (whenFailed: (error: Error) => void): Promise<void> => {
  const before = session.peek();
  try {
    const found = await api.session.get();
    if (session.peek() !== before) return;
    session.value = found;
    signInNote.value = null;
  } catch (error) {
    if (session.peek() === before) whenFailed(error as Error);
  }
};

/**
 * Asks the server, whatever this browser remembers: a cookie outlives what a page keeps, and ends without it. `said`: why
 * the last try had no answer.
 */
const resume = async (said: string | null = null): Promise<void> => {
  await read((error) => {
    if (isUnknown(error)) {
      if (readHint() === "in") sayHint("none");
      if (signInNote.peek() === said) signInNote.value = null;
    } else {
      signInNote.value = error.message;
      setTimeout(resumeAgain, RESUME_AGAIN_MS, error.message);
    }
    session.value = null;
  });
  // A sign-in with the organisation's identity, perhaps to another tenant, ends in a fresh document. Other tabs must
  // hear of it: with the session before they would show one tenant and change another.
  const found = session.peek();
  if (found && hintEndsAt() !== found.expires_at) sayHint("in", found.expires_at);
};

/** After the coordinator was unreachable the session is read again, unless someone has signed in meanwhile. */
const resumeAgain = (said: string): void => {
  if (session.peek() === null) void resume(said);
};

const whyOver = (): string => {
  if (!navigator.cookieEnabled) return KEEPS_NO_COOKIE;
  return readHint() === "out" ? SIGNED_OUT_ELSEWHERE : ENDED;
};

/** A refused request may be of an earlier session, so the present one is asked for. */
const check = (): Promise<void> =>
  read((error) => {
    if (!isUnknown(error)) return;
    signInNote.value = whyOver();
    session.value = null;
  });

/** Another tab has signed in, perhaps with another key, or out. */
const followAnotherTab = (): void => {
  if (readHint() !== "out") void check();
  else if (session.peek() || signInNote.peek() === ENDED) {
    signInNote.value = SIGNED_OUT_ELSEWHERE;
    session.value = null;
  }
};

const signInFromAddress = async (key: string): Promise<void> => {
  try {
    await signIn(key);
  } catch (error) {
    signInNote.value = `The key in the address was not accepted: ${(error as Error).message}`;
    session.value = null;
  }
};

/** A key says whose it is (`sbx_a_<tenant>_<id>_…`), so that the printed address may be opened again and again. */
const isKeyOf = ({ tenant, key_id: id }: SessionAnswer, key: string): boolean =>
  id !== null && key.includes(`_${tenant}_${id}_`);

/** Anyone can send a link with a key, so another one never replaces a session without a question. */
const takeFromAddress = async (key: string): Promise<void> => {
  if (session.peek() === undefined) await resume();
  const found = session.peek();
  if (!found) await signInFromAddress(key);
  else if (!isKeyOf(found, key)) offeredKey.value = key;
};

export const acceptOfferedKey = async (): Promise<void> => {
  const key = offeredKey.peek();
  // Until the new session exists, no page of the old one is shown, because its reads would use the new session.
  if (key !== null) await signInFromAddress(key);
  offeredKey.value = null;
};

export const declineOfferedKey = (): void => {
  offeredKey.value = null;
};

/** Restores the session, or signs in with the key in the address, now and whenever the address changes. */
export const openSession = (): Promise<void> => {
  whenUnlike(() => {
    if (session.peek()) void check();
  });
  whenAnotherTabSays(followAnotherTab);
  addEventListener("hashchange", () => {
    const key = takeKeyFromAddress();
    if (key !== null) void takeFromAddress(key);
  });
  const key = takeKeyFromAddress();
  return key === null ? resume() : takeFromAddress(key);
};
