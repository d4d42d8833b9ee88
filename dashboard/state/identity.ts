// Signing in with the organisation's identity: which tenant to offer, the way there, and the silent renewal of a
// person's session, whose role must be computed again before it ends.

import { effect, signal } from "@preact/signals";
import type { SessionAnswer } from "../../contract/access/session.ts";
import { api } from "../api.ts";
import { serverNow } from "./clock.ts";
import { session } from "./session.ts";
import { keepText, keptText } from "./storage.ts";

const KEPT_AS = "signalbox.tenant";
const FIRST_TENANT = "default";
/** Renewed this long before the end, and tried again at this pace while somebody types or the provider is away. */
const BEFORE_END_MS = 45_000;
const AGAIN_MS = 5_000;
/** In a tab that nobody sees, where browsers let timers run once a minute; of a session that is hardly longer, a share. */
const UNSEEN_BEFORE_END_MS = 90_000;
const UNSEEN_SHARE = 0.75;
/** The clock of this machine may be wrong until the live connection has told the time, or be set meanwhile. */
const LOOK_MS = 30_000;
/** The end of the session for whose renewal this tab has been at the provider. */
const TRIED_AS = "signalbox.renewal";

/** The end of a session that the provider does not renew without showing something. */
export const needsPersonBy = signal<string | null>(null);

/** The tenant of the address (`/?tenant=acme`), else the one of the last sign-in here. */
export const tenantToOffer = (): string => {
  const asked = new URLSearchParams(location.search).get("tenant");
  return asked ?? keptText("localStorage", KEPT_AS) ?? FIRST_TENANT;
};

const placeHere = (): string => (location.hash.startsWith("#/") ? `/${location.hash}` : "/");

export const startAddress = (tenant: string, mode: "sign_in" | "renew" | "test" = "sign_in"): string => {
  const query = new URLSearchParams({ return: placeHere(), ...(mode === "sign_in" ? {} : { mode }) });
  return `/auth/${encodeURIComponent(tenant)}/start?${query}`;
};

/** A reload would interrupt somebody who writes, or an answer that is being written. */
const isBusy = (): boolean => {
  const { activeElement: active } = document;
  const isField = active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement;
  return document.querySelector("dialog[open], [aria-busy=true]") !== null || (isField && active.value !== "");
};

/** Whether the way leads anywhere: an identity provider that is down would leave its error page instead of this one. */
const isOpen = (address: string): Promise<boolean> =>
  fetch(address, { redirect: "manual" }).then(
    ({ type }) => type === "opaqueredirect",
    () => false,
  );

/** Whether it could be tried. Another tab may have renewed it: the server knows. */
const renew = async (before: SessionAnswer): Promise<boolean> => {
  const found = await api.session.get().catch(() => null);
  if (found === null) return false;
  if (found.expires_at !== before.expires_at) {
    session.value = found;
    return true;
  }
  const address = startAddress(before.tenant, "renew");
  if (!(await isOpen(address))) return false;
  keepText("sessionStorage", TRIED_AS, before.expires_at);
  // Ends the page, so that its forms keep what was typed.
  session.value = undefined;
  location.replace(address);
  return true;
};

const renewInTime = (who: SessionAnswer): (() => void) => {
  const endsAt = Date.parse(who.expires_at ?? "");
  if (who.person === null || who.key_id !== null || Number.isNaN(endsAt)) return () => undefined;
  // Back without a new session: asking again would only reload the page.
  if (keptText("sessionStorage", TRIED_AS) === who.expires_at) {
    needsPersonBy.value = who.expires_at;
    return () => {
      needsPersonBy.value = null;
    };
  }
  let timer = 0;
  let isOver = false;
  let longest = 0;
  const wait = (ms: number): void => {
    timer = setTimeout(() => void look(), ms) as unknown as number;
  };
  const look = async (): Promise<void> => {
    const left = endsAt - serverNow();
    longest = Math.max(longest, left);
    const unseen = document.hidden ? Math.min(UNSEEN_BEFORE_END_MS, longest * UNSEEN_SHARE) : 0;
    const before = Math.max(BEFORE_END_MS, unseen);
    if (left > before) return wait(Math.min(left - before, LOOK_MS));
    const isLater = (isBusy() && left > 0) || !(await renew(who));
    if (isLater && !isOver) wait(AGAIN_MS);
  };
  wait(AGAIN_MS);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
};

export const keepIdentity = (): void => {
  effect(() => {
    const who = session.value;
    if (!who) return undefined;
    keepText("localStorage", KEPT_AS, who.tenant);
    return renewInTime(who);
  });
};
