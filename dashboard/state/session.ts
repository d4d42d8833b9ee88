// The session. The key is only in the request that signs in: never stored, never left in the address.

import { computed, signal } from "@preact/signals";
import { ApiProblem } from "../../contract/client/problem.ts";
import type { SessionAnswer } from "../../contract/session.ts";
import { api, whenSignedOut } from "../api.ts";

export type Session = SessionAnswer | null;

/** undefined: not known yet; null: not signed in. */
export const session = signal<Session | undefined>(undefined);
/** A key from an address that was opened while signed in: the user is asked before it replaces the session. */
export const offeredKey = signal<string | null>(null);
export const signInNote = signal<string | null>(null);
export const isAdmin = computed(() => session.value?.role === "admin");
/** A worker's key runs jobs; it cannot use the dashboard. */
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

/** `npm start` prints an address with the key behind `#`; the key is removed before anything else happens. */
const takeKeyFromAddress = (): string | null => {
  const key = new URLSearchParams(location.hash.replace(/^#/, "")).get("key");
  if (key === null || location.hash.startsWith("#/")) return null;
  history.replaceState(null, "", location.pathname);
  return key;
};

const RESUME_AGAIN_MS = 3000;
const HINT = "signalbox.signed-in";

/** Only a hint, not a secret: without it the page does not ask for a session that never existed. */
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

/** After the coordinator was unreachable the session is read again, unless someone has signed in meanwhile. */
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

/** Anyone can send a link with a key, so it never replaces a session without a question. */
const takeFromAddress = async (key: string): Promise<void> => {
  if (session.peek() === undefined) await resume();
  if (session.peek()) offeredKey.value = key;
  else await signInFromAddress(key);
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
  whenSignedOut(() => {
    if (!session.peek()) return;
    signInNote.value = "Your session has ended: it expired, or its key was revoked or rotated.";
    session.value = null;
  });
  addEventListener("hashchange", () => {
    const key = takeKeyFromAddress();
    if (key !== null) void takeFromAddress(key);
  });
  const key = takeKeyFromAddress();
  return key === null ? resume() : takeFromAddress(key);
};
