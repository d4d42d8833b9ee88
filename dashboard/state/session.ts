// Who is signed in. The key itself is only ever in the request that signs in: never stored, never in the address.

import { computed, signal } from "@preact/signals";
import { ApiProblem } from "../../contract/client/problem.ts";
import type { SessionAnswer } from "../../contract/session.ts";
import { api, whenSignedOut } from "../api.ts";

export type Session = SessionAnswer | null;

/** undefined: not known yet; null: nobody. */
export const session = signal<Session | undefined>(undefined);
/** A key that an address brought while somebody was signed in: they are asked before it takes their place. */
export const offeredKey = signal<string | null>(null);
export const signInNote = signal<string | null>(null);
export const isAdmin = computed(() => session.value?.role === "admin");
/** A worker's key runs jobs; the console's reads are not for it. */
export const mayOperate = computed(() => session.value?.role === "admin" || session.value?.role === "standard");

export const signIn = async (key: string): Promise<void> => {
  session.value = await api.session.signIn(key.trim());
  keepHint(true);
  signInNote.value = null;
};

export const signOut = async (): Promise<void> => {
  await api.session.signOut().catch(() => undefined);
  keepHint(false);
  signInNote.value = null;
  session.value = null;
};

/** `npm start` prints an address that bears the key behind `#`: it is taken out before anything else happens. */
const takeKeyFromAddress = (): string | null => {
  const key = new URLSearchParams(location.hash.replace(/^#/, "")).get("key");
  if (key === null || location.hash.startsWith("#/")) return null;
  history.replaceState(null, "", location.pathname);
  return key;
};

const RESUME_AGAIN_MS = 3000;
const HINT = "signalbox.signed-in";

/** A hint, no secret: without it the page does not ask for a session that it never had. */
const keepHint = (isSignedIn: boolean): void => {
  try {
    if (isSignedIn) localStorage.setItem(HINT, "1");
    else localStorage.removeItem(HINT);
  } catch {
    // Without storage the page asks every time.
  }
};

const mayBeSignedIn = (): boolean => {
  try {
    return localStorage.getItem(HINT) !== null;
  } catch {
    return true;
  }
};

const resume = async (): Promise<void> => {
  if (!mayBeSignedIn()) {
    session.value = null;
    return;
  }
  try {
    session.value = await api.session.get();
    signInNote.value = null;
  } catch (error) {
    const isUnknown = error instanceof ApiProblem && error.status === 401;
    if (isUnknown) keepHint(false);
    else {
      signInNote.value = (error as Error).message;
      setTimeout(resumeAgain, RESUME_AGAIN_MS);
    }
    session.value = null;
  }
};

/** A coordinator that was out of reach is asked again, unless somebody has signed in meanwhile. */
const resumeAgain = (): void => {
  if (session.peek() === null) void resume();
};

const signInFromAddress = async (key: string): Promise<void> => {
  try {
    await signIn(key);
  } catch (error) {
    signInNote.value = `The key in the address was not accepted: ${(error as Error).message}`;
    session.value = null;
  }
};

/** Anybody can write an address that bears a key: it never takes the place of who is signed in without a question. */
const takeFromAddress = async (key: string): Promise<void> => {
  if (session.peek() === undefined) await resume();
  if (session.peek()) offeredKey.value = key;
  else await signInFromAddress(key);
};

export const acceptOfferedKey = async (): Promise<void> => {
  const key = offeredKey.peek();
  // Until the other is signed in, no page of the one before is shown: its reads would come with the new session.
  if (key !== null) await signInFromAddress(key);
  offeredKey.value = null;
};

export const declineOfferedKey = (): void => {
  offeredKey.value = null;
};

/** Takes up the session there is, or the one that the address asks for, now and while the page is open. */
export const openSession = (): Promise<void> => {
  whenSignedOut(() => {
    if (!session.peek()) return;
    signInNote.value = "Your session has ended: its time is over, or its key was revoked or rotated.";
    session.value = null;
  });
  addEventListener("hashchange", () => {
    const key = takeKeyFromAddress();
    if (key !== null) void takeFromAddress(key);
  });
  const key = takeKeyFromAddress();
  return key === null ? resume() : takeFromAddress(key);
};
