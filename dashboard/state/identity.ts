// Signing in with the organisation's identity: which tenant to offer, the way there, and the silent renewal of a
// person's session, whose role must be computed again before it ends.

import { effect } from "@preact/signals";
import type { SessionAnswer } from "../../contract/access/session.ts";
import { api } from "../api.ts";
import { session } from "./session.ts";

const KEPT_AS = "signalbox.tenant";
const FIRST_TENANT = "default";
/** Renewed this long before the end, and tried again at this pace while somebody types. */
const BEFORE_END_MS = 45_000;
const AGAIN_MS = 5_000;

/** The tenant of the address (`/?tenant=acme`), else the one of the last sign-in here. */
export const tenantToOffer = (): string => {
  const asked = new URLSearchParams(location.search).get("tenant");
  if (asked !== null) return asked;
  try {
    return localStorage.getItem(KEPT_AS) ?? FIRST_TENANT;
  } catch {
    return FIRST_TENANT;
  }
};

const rememberTenant = (tenant: string): void => {
  try {
    localStorage.setItem(KEPT_AS, tenant);
  } catch {
    // Then the next visit offers the first tenant.
  }
};

const placeHere = (): string => (location.hash.startsWith("#/") ? `/${location.hash}` : "/");

export const startAddress = (tenant: string, mode: "sign_in" | "renew" | "test" = "sign_in"): string => {
  const query = new URLSearchParams({ return: placeHere(), ...(mode === "sign_in" ? {} : { mode }) });
  return `/auth/${encodeURIComponent(tenant)}/start?${query}`;
};

/** A reload would lose what somebody is writing. */
const isWriting = (): boolean => {
  const { activeElement: active } = document;
  const isField = active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement;
  return document.querySelector("dialog[open]") !== null || (isField && active.value !== "");
};

/** Another tab may have renewed it: the server knows. */
const renew = async (before: SessionAnswer): Promise<void> => {
  const found = await api.session.get().catch(() => null);
  if (found === null) return;
  if (found.expires_at !== before.expires_at) session.value = found;
  else location.assign(startAddress(before.tenant, "renew"));
};

const renewInTime = (who: SessionAnswer): (() => void) => {
  const endsAt = Date.parse(who.expires_at ?? "");
  if (who.person === null || who.key_id !== null || Number.isNaN(endsAt)) return () => undefined;
  let timer = 0;
  const wait = (ms: number): void => {
    timer = setTimeout(look, ms) as unknown as number;
  };
  const look = (): void => {
    if (isWriting() && Date.now() < endsAt) wait(AGAIN_MS);
    else void renew(who);
  };
  wait(Math.max(AGAIN_MS, endsAt - Date.now() - BEFORE_END_MS));
  return () => clearTimeout(timer);
};

export const keepIdentity = (): void => {
  effect(() => {
    const who = session.value;
    if (!who) return undefined;
    rememberTenant(who.tenant);
    return renewInTime(who);
  });
};
